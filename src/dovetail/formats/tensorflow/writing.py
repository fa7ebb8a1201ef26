"""Writing: graphs of Dovetail as nodes and functions of TensorFlow.

    writer = Writer()
    nodes = writer.nodes(graph, {kernel: "dense/kernel"})       # of the main graph
    name, captured = writer.function("serve", [("x", x)], [("y", y)])
    writer.library                                              # the functions, those of loops and branches too

An operation is written by a function of `written`, by a row, or by the operations of its body; a node of its name gives
its results.  Reads and assignments wait for each other as in a run of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.core.hooks import hooks
from dovetail.core.recording import record_on
from dovetail.core.table import OPS
from dovetail.formats.tensorflow import written_bodies, written_control  # noqa: F401  # they fill the tables
from dovetail.formats.tensorflow.names import argument_name
from dovetail.formats.tensorflow.nodes import BODIES, WRITE, Nodes, Place, Ref, by_row, fits, unique
from dovetail.formats.tensorflow.rows import WRITTEN
from dovetail.formats.tensorflow.written import NO_WAY
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of, shape_proto
from dovetail.graph.effects import ASSIGN, READ
from dovetail.graph.operation import GraphTensor, Operation

Named = tuple[str, Any]
Fill = Callable[[Nodes, list[Ref]], Sequence[Ref]]  # (nodes of a function, its arguments) → its results


class Written(NamedTuple):
    """A function of the library.

    Attributes:
        name: its name.
        captured: the variables whose handles are its last arguments, in order.
    """

    name: str
    captured: list[Any]


class Writer:
    """A writer of graphs, which gathers the functions of branches, loops and calls.

    Args:
        names: the names that no new function may have; those of new functions are added.

    Attributes:
        library: name → message `FunctionDef`.
    """

    def __init__(self, names: set[str] | None = None) -> None:
        self.library: dict[str, Any] = {}
        self._names = set[str]() if names is None else names

    def nodes(self, graph: Any, handles: Mapping[Any, str] | None = None) -> list[Any]:
        """All operations of a graph as the messages `NodeDef` of a main graph.

        Args:
            graph: the graph.
            handles: variable → the name of the node that gives its handle; no operation of the graph has this name.

        Raises:
            NotImplementedError: TensorFlow has no way to compute an operation.
            LookupError: a variable has no handle.
        """
        given = {variable: Ref(text, "resource") for variable, text in (handles or {}).items()}
        nodes = Nodes(self, given, in_function=False)
        nodes.graph(graph.operations, {})
        return nodes.messages

    def function(self, name: str, inputs: Sequence[Named], outputs: Sequence[Named]) -> Written:
        """Add the part of a graph between its inputs and some tensors to the library, with the effects of the graph.

        Args:
            name: the function's name; a number follows if it is taken.
            inputs, outputs: pairs of a name and a tensor; the inputs are all that the graph has.

        Raises:
            NotImplementedError: TensorFlow has no way to compute an operation.
        """
        tensors = [tensor for _, tensor in outputs]
        graph = next((tensor.op.graph for _, tensor in (*inputs, *outputs)), ())
        captured = [*dict.fromkeys(one.attrs["variable"] for one in graph if one.type in (READ, ASSIGN))]
        arguments = [*((title, tensor.spec) for title, tensor in inputs), *((v.op_name, v) for v in captured)]

        def fill(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
            nodes.handles = dict(zip(captured, refs[len(inputs) :], strict=True))
            given = {tensor: ref for (_, tensor), ref in zip(inputs, refs, strict=False)}
            return nodes.part(graph, given, tensors)

        return Written(self.build(name, arguments, fill, [title for title, _ in outputs]), captured)

    def body(self, name: str, graph: Any) -> str:
        """Add a graph of a branch or a call, which has no variables, to the library, and return the function's name."""
        outputs = [(f"output_{number}", tensor) for number, tensor in enumerate(graph.outputs)]
        return self.function(name, [(tensor.op.name, tensor) for tensor in graph.inputs], outputs).name

    def build(self, name: str, arguments: Sequence[Named], fill: Fill, results: Sequence[str] = ()) -> str:
        """Add a function to the library, and return its name.

        Args:
            name: its name; a number follows if it is taken.
            arguments: the name of each, and its spec, "variant", or the variable of a handle.
            fill: adds its nodes.
            results: the names of its results.
        """
        found = unique(re.sub(r"[^\w.\-/]", "_", name), self._names)
        message = self.library[found] = TENSORFLOW.FunctionDef()
        message.signature.name = found
        nodes, refs, shapes = Nodes(self, {}, in_function=True), list[Ref](), message.attr["_input_shapes"].list.shape
        for title, spec in arguments:
            is_variable, text = hasattr(spec, "assign"), argument_name(title, nodes.names)
            nodes.names.add(text)
            refs.append(Ref(text, "resource" if is_variable else getattr(spec, "dtype", spec)))
            argument = message.signature.input_arg.add(name=text, type=refs[-1].number)
            if is_variable:
                argument.handle_data.add(dtype=number_of(spec.dtype), shape=shape_proto(spec.shape))
            shapes.append(shape_proto(() if is_variable else getattr(spec, "shape", ())))
        taken: list[str] = []
        for number, value in enumerate(fill(nodes, refs)):
            taken.append(argument_name(results[number] if results else f"output_{number}", taken))
            message.signature.output_arg.add(name=taken[-1], type=value.number)
            message.ret[taken[-1]] = value.text
        message.node_def.extend(nodes.messages)
        for effect in nodes.effects:
            message.signature.control_output.append(effect)
            message.control_ret[effect] = effect
        message.signature.is_stateful = any(ref.dtype == "resource" for ref in refs) or bool(nodes.effects)
        return found

    def written(self, place: Place) -> list[Ref]:
        """Add the nodes of an operation, and return the values of its results.

        Raises:
            NotImplementedError: TensorFlow has no way to compute it.
        """
        operation = place.operation
        if operation.type in WRITE:
            return WRITE[operation.type](place, *operation.arguments(place.inputs))
        own = _traced(operation, BODIES[operation.type]) if operation.type in BODIES else None
        row = WRITTEN.get(operation.type)
        if own is None and row is not None and fits(row, operation):
            return by_row(place, row)
        if own is None and operation.op.body is not None and operation.type not in NO_WAY:
            own = _traced(operation, operation.op.body)
        if own is None:
            reason = NO_WAY.get(operation.type, "it has neither a row nor a body")
            raise place.refused(
                NotImplementedError, f"TensorFlow has no way to compute it: {reason}. Cut the graph before it."
            )
        given = dict(zip(own.inputs, place.inputs, strict=True))
        return place.results(place.nodes.part(own, given, own.outputs, f"{place.name}/"))


def _traced(operation: Operation, body: Callable[..., Any]) -> Any:
    """The graph of a function of an operation's arguments; None if the function leaves the operation as it is."""
    graph = hooks.new_graph(operation.type)
    given = [graph.placeholder(t.spec, "input") for t in operation.inputs]
    with record_on(()), graph.as_default():
        found = body(*operation.arguments(given))
        if found is NotImplemented:
            return None
        listed = found if isinstance(found, (list, tuple)) else [found]
        graph.outputs = [value if type(value) is GraphTensor else OPS["Identity"](value) for value in listed]
    return graph
