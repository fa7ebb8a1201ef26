"""Writing: graphs of Dovetail as nodes and functions of TensorFlow.

    writer = Writer()
    nodes = writer.nodes(graph, {kernel: "dense/kernel"})
    name, captured = writer.function("serve", [("x", x)], [("y", y)])
    functions = writer.library.values()

The first call gives the nodes of a main graph, the second adds a function; branches and loops add functions, too.

An operation is written by a function or a row of its family in `ops`, or by the operations of its body; a node of its
name gives its results.  An operation that must know a rank calls one of several functions, each for one rank.  Reads
and assignments wait for each other as in a run of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.core.base.errors import UnknownRank
from dovetail.formats.nodes import writing
from dovetail.formats.nodes.opaque import is_refusal
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.names import argument_name, node_name
from dovetail.formats.tensorflow.ops import BODIES, NO_WAY, WRITE, WRITTEN
from dovetail.formats.tensorflow.ranks import by_rank
from dovetail.formats.tensorflow.written_nodes import Nodes, Place, Ref, by_row, fits
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of, shape_proto
from dovetail.graph.effects import ASSIGN, READ
from dovetail.graph.operation import Operation

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


class Writer(writing.Writer):
    """A writer of graphs, which gathers the functions of branches, loops and calls.

    Args:
        names: the names that are taken; the names of new functions are added.
        theirs: whether constants below nodes have the names of TensorFlow's inputs; older files have the names of
            parameters.
        otherwise: makes a node without inputs for an operation that TensorFlow cannot compute, if not given an error.

    Attributes:
        library: name → message `FunctionDef`.
    """

    format, bodies, functions, no_way = "TensorFlow", BODIES, WRITE, NO_WAY

    def __init__(
        self,
        names: set[str] | None = None,
        otherwise: Callable[[Operation], Any] | None = None,
        theirs: bool = True,
    ) -> None:
        self.theirs, self.library = theirs, dict[str, Any]()
        self._names = set[str]() if names is None else names
        self._bodies: dict[Any, str] = {}
        self._otherwise = otherwise

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
        nodes.graph(graph.operations, {}, is_session=True)
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
        if graph not in self._bodies:
            outputs = [(f"output_{number}", tensor) for number, tensor in enumerate(graph.outputs)]
            inputs = [(tensor.op.name, tensor) for tensor in graph.inputs]
            self._bodies[graph] = self.function(name, inputs, outputs).name
        return self._bodies[graph]

    def build(self, name: str, arguments: Sequence[Named], fill: Fill, results: Sequence[str] = ()) -> str:
        """Add a function to the library, and return its name.

        Args:
            name: its name; a number follows if it is taken.
            arguments: the name of each, and its spec, "variant", or the variable of a handle.
            fill: adds its nodes.
            results: the names of its results.
        """
        function_name = unique(node_name(name), self._names)
        message = self.library[function_name] = TENSORFLOW.FunctionDef()
        message.signature.name = function_name
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
        return function_name

    def written(self, place: Place) -> list[Ref]:
        try:
            return super().written(place)
        except Exception as error:
            if self._otherwise is None or not is_refusal(error):
                raise
            return place.kept(self._otherwise(place.operation))

    def add_nodes(self, place: Place) -> list[Ref]:
        first = len(place.nodes.messages)
        try:
            return super().add_nodes(place)
        except UnknownRank:
            del place.nodes.messages[first:]
            refs = by_rank(place)
            if refs is None:
                raise
            return refs

    def by_row(self, place: Place) -> list[Ref] | None:
        row = WRITTEN.get(place.operation.type)
        return by_row(place, row) if row is not None and fits(row, place.operation) else None
