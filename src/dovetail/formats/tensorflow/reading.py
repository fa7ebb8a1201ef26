"""Reading: nodes of TensorFlow become operations of the graph that is being built, one after the other.

A reader goes from the wanted results back to the nodes that they need, and calls Dovetail's ops in this order.  So a
function that a node calls becomes part of the graph, and bodies of branches and loops are traced like Python functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.base.hooks import hooks
from dovetail.core.dtypes import DType
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes import reading
from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.nodes.opaque import OpaqueOp, Unreadable, is_refusal, opaque_outputs
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.calls import by_row, listed
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.ops import READ, SPECIAL
from dovetail.formats.tensorflow.places import Place, Places
from dovetail.formats.tensorflow.read_nodes import Body, Node, by_node, types_of
from dovetail.formats.tensorflow.records import Records
from dovetail.formats.tensorflow.results import first_number
from dovetail.formats.tensorflow.tensor_lists import TensorList, Variants
from dovetail.formats.tensorflow.unread import UNREAD
from dovetail.formats.tensorflow.values import Foreign, Handle, Host, Spec
from dovetail.graph.naming import keep_names, name_new, unique_name
from dovetail.graph.operation import GraphTensor
from dovetail.graph.reach import reach
from dovetail.ops.control.plumbing import INPUTS

FOREIGN = re.compile(r"\w*(Dataset|Iterator|Queue|Summary|Reader)(V2|V3)?$|Serialize\w+")  # results are no tensors
CHANGES = re.compile("Assign|Scatter|Apply|CountUpTo")  # in types that give variables new values


class Reader(reading.Reader):
    """A reader of nodes into the graph that is being built.

    Args:
        file: the file, for errors.
        functions: name → message `FunctionDef`.
        variable: (node of a variable) → the variable.
        scope: the name scope of all operations, with its slash; empty for none.
        is_session: whether sessions will run parts of the graph: they may feed placeholders that have defaults, and
            control inputs say which assignments a part needs.

    Attributes:
        runs: whether it computes each node at once, instead of recording it.
        moves_integers: whether the host computes integers of values of the host alone.
        places: tell who computes a node.
        opaque: names of operations that Dovetail does not compute → the reason.
        effects: stand-ins for host nodes without results, which change tables.
        feeds: results of host nodes that the graph takes → their placeholders.
        order: node that was read → its number.
        origins: tensor of the graph → the node that gave it, and the number of the result.
        lists: id of a list, or of variants → it, the node that gave it, and the number of the result.
        records: the operations that each node became.
    """

    runs = False
    moves_integers = True

    def __init__(
        self,
        file: str | os.PathLike[str],
        functions: Mapping[str, Any],
        variable: Callable[[Any], Any],
        scope: str = "",
        is_session: bool = False,
    ) -> None:
        super().__init__(file)
        self.functions, self.variable, self.scope = functions, variable, scope
        self.is_session = is_session
        self.opaque: dict[str, str] = {}
        self.effects: list[Host] = []
        self.feeds: dict[Host, Any] = {}
        self.order: dict[Node, int] = {}
        self.origins: dict[Any, tuple[Node, int]] = {}
        self.lists: dict[int, tuple[Any, Node, int]] = {}
        self.records = Records()
        self._bodies: dict[str, Body] = {}
        self.places = Places(functions, self.moves_integers)

    # bodies

    def read(self, body: Body, wanted: Iterable[str]) -> list[Any]:
        """The values that some references name; all nodes that they need are read.

        Raises:
            FormatError: a node is missing, or needs itself.
        """
        wanted = list(wanted)
        body.wanted = by_node(wanted)
        notes_taken = not self.runs and self.graph.outermost.dialect.records_effects
        with keep_names(self.graph, body.titles) if not self.runs else nullcontext() as give:
            for proto in self.in_order(body, wanted):
                name = proto.name
                inputs = [self.value(body, text) for text in body.needs(proto) if not text.startswith("^")]
                inputs = [_held(self.graph, value) for value in inputs] if notes_taken else inputs
                node = Node(self, body, proto, inputs)
                if give is not None:
                    give(node.title)
                with self.counted(node), self.records.reading(body, name, inputs) as results, self._waiting(body, name):
                    results += self._results(node)
                if notes_taken:
                    _note_taken(node, results)
                body.values[name] = results
        return [self.value(body, text) for text in wanted if not text.startswith("^")]

    @contextmanager
    def _waiting(self, body: Body, name: str) -> Iterator[None]:
        """Let the operations of a node wait for those with effects that its control inputs name."""
        graph = self.graph
        if not self.is_session or graph.changed_ops is None:  # a function or a branch orders its effects itself
            yield
            return
        texts, first = body.needs(body.nodes[name]), len(graph.changed_ops)
        effects_before = {text: body.effects[key] for text in texts if (key := split(text)[0]) in body.effects}
        before = [op for text, (ops, waits) in effects_before.items() if waits or text.startswith("^") for op in ops]
        with graph.control_dependencies(before):
            yield
        made = [op for op in dict.fromkeys(graph.changed_ops[first:]) if op.type not in INPUTS]
        effects = [op for op in made if op.is_kept or op.type == "NoOp"]
        if effects:
            name_new(graph, effects[0], name)
            for other in effects[1:]:
                effects[0].add_control_input(other)
        if effects or effects_before:
            behind = [op for ops, _ in effects_before.values() for op in ops]
            body.effects[name] = (made, False) if made else (behind, True)  # a constant does not wait itself

    def value(self, body: Body, reference: str) -> Any:
        """The value that a reference names, of a node that is read.

        Raises:
            FormatError: the node has no such result.
        """
        name, output, number = split(reference)
        values = body.values[name]
        if output and name in body.nodes:
            number += first_number(body.nodes[name], output)
        if not 0 <= number < len(values):
            actual = f"the input {reference!r} of a node with {len(values)} results"
            raise FormatError(self.file, body.place, actual, "one of these results")
        return values[number]

    def call(self, name: str, values: Sequence[Any]) -> list[Any]:
        """The results of a function of the library, whose nodes become part of the graph.

        Raises:
            FormatError: there is no such function, or it calls itself.
        """
        function = self.functions.get(name)
        if function is None:
            raise FormatError(self.file, "the library", f"a call of {name!r}", "one of its functions")
        arguments = [argument.name for argument in function.signature.input_arg]
        if len(arguments) != len(values):
            actual = f"a call with {len(values)} values"
            raise FormatError(self.file, f"the function {name!r}", actual, f"{len(arguments)} values")
        given = {argument: [value] for argument, value in zip(arguments, values, strict=True)}
        if name not in self._bodies:
            self._bodies[name] = Body(f"the function {name!r}", function.node_def, {})
        body = self._bodies[name].inside(given)
        self.records.call(body, name)
        waited = {*function.control_ret.values()}  # a map, which has no order
        controls = [f"^{node.name}" for node in function.node_def if node.name in waited]
        results = [function.ret[output.name] for output in function.signature.output_arg]
        with self.calling(name), self.graph.at_scope(self.scope):
            return self.read(body, [*controls, *results])

    # nodes

    def _results(self, node: Node) -> list[Any]:
        """The values of a node, which is an opaque operation if Dovetail does not compute it."""
        place = Place.GRAPH
        try:
            node.check_inputs()
            place = node.place
            results = self._hosted(node) if place is Place.HOST else self._computed(node)
            if place is Place.SHAPED:
                results = [Host(node, number, Spec(value.shape, value.dtype)) for number, value in enumerate(results)]
        except FormatError:
            raise
        except Exception as error:
            if not is_refusal(error):
                raise
            is_hosts = place in (Place.EITHER, Place.SHAPED)
            results = self._hosted(node) if is_hosts else self._opaque(node, str(error).rstrip("."))
        return self.noted(node, results)

    def noted(self, node: Node, results: list[Any]) -> list[Any]:
        """The results of a node, by which it is found later."""
        self.order[node] = len(self.order)
        for number, value in enumerate(results):
            if is_tensor(value):
                self.origins.setdefault(value, (node, number))
            elif isinstance(value, (TensorList, Variants)):
                self.lists.setdefault(id(value), (value, node, number))
        return results

    def given(self, proto: Any, spec: Spec) -> Any:
        """The value of a placeholder: a tensor of the graph, or a value of the host."""
        node = Node(self, Body("the inputs", [], {}), proto, [])
        is_number = spec.dtype is not None
        name = unique_name(self.graph, node.title)
        value = self.graph.placeholder(TensorSpec(*spec), f"{name}/") if is_number else Host(node, 0, spec)
        return self.noted(node, [value])[0]

    def read_constant(self, proto: Any) -> list[Any]:
        """The values of a node without inputs that is in no graph."""
        return self.read(Body("a constant", [proto], {}), [proto.name])

    def current(self, variable: Any) -> Any:
        """The value that a variable has at this place of the graph."""
        return hooks.read(self.graph, variable)

    def assign(self, variable: Any, value: Any) -> Any:
        """Give a variable a value from this place of the graph on."""
        return hooks.assign(self.graph, variable, value)

    # host nodes

    def _hosted(self, node: Node) -> list[Any]:
        """The results of a node that the host will compute."""
        dtypes, shapes = types_of(node)
        results = [Host(node, i, Spec(*pair)) for i, pair in enumerate(zip(shapes, dtypes, strict=True))]
        node.body.hosts[node.name] = Host(node, 0, Spec((), None))
        if not results:
            self.effects.append(node.body.hosts[node.name])
        return results

    def fed(self, value: Host) -> Any:
        """The placeholder of the outermost graph for a result of a host node."""
        if value not in self.feeds:
            graph = self.graph.outermost
            with graph.at_scope(self.scope):
                name = unique_name(graph, value.node.title)
                self.feeds[value] = graph.placeholder(TensorSpec(*value.spec), f"{name}/")
        return self.feeds[value]

    def _computed(self, node: Node) -> list[Any]:
        if node.type in SPECIAL:
            return self.named_results(node.title, lambda: listed(SPECIAL[node.type](node)))
        if node.type in self.functions:
            return self.call(node.type, node.inputs)
        if node.type not in READ:
            raise Unreadable(UNREAD.get(node.type, f"Dovetail has no rule for TensorFlow's op {node.type}"))
        return self.named_results(node.title, lambda: by_row(READ[node.type], node))

    def _opaque(self, node: Node, reason: str) -> list[Any]:
        """The values of a node that Dovetail does not compute; variables that it changes get values of it, too."""
        changed = [value.variable for value in node.inputs if isinstance(value, Handle) and CHANGES.search(node.type)]
        dtypes, shapes = types_of(node)
        others: list[Any] = []
        if None in dtypes or FOREIGN.match(node.type):
            others, dtypes, shapes = [Foreign(node.name, reason)] * len(dtypes), [], []
        if not dtypes and not changed:
            return others
        dtypes = [*(v.dtype for v in changed), *dtypes]
        shapes = [*(None if v.shape.rank is None else v.shape for v in changed), *shapes]
        tensors = [value for value in node.inputs if is_tensor(value)]
        results = self._operation(node, reason, tensors, dtypes, shapes)
        for variable, value in zip(changed, results, strict=False):
            self.assign(variable, value)
        return others or results[len(changed) :]

    def _operation(self, node: Node, reason: str, tensors: list[Any], dtypes: list[Any], shapes: list[Any]) -> Any:
        """The results of a new opaque operation."""
        name = unique_name(self.graph, node.title)
        self.opaque[name] = f"{node.type} {node.name!r} is an opaque operation: {reason}"
        op = OpaqueOp(node.type, self.opaque[name])
        return opaque_outputs(self.graph, op, tensors, reason, dtypes, shapes, name)


def _held(graph: Any, value: Any) -> Any:
    """A value, or the copy that a branch or a body has of a constant around it."""
    is_constant = type(value) is GraphTensor and value.op.type == "Const" and not value.dtype.is_differentiable
    return hooks.capture(graph, value) if is_constant else value


def _note_taken(node: Node, results: Sequence[Any]) -> None:
    """Let the operations of a node's results know the tensors whose values were taken while it was read."""
    given = {number: t for number, t in enumerate(node.inputs) if type(t) is GraphTensor}
    tensors_of_results = {t for t in results if type(t) is GraphTensor}
    made = reach(tensors_of_results, control=False, given=given.values())
    used = {*tensors_of_results, *(t for op in made for t in (*op.inputs, *op.takes()))}
    is_one = len([op for op in made if op.type not in ("Const", "Cast", "Placeholder")]) == 1 and node.type in READ
    words = [one.param for one in READ[node.type].inputs] if is_one else []  # else several may have the value
    graph = node.reader.graph
    for number, tensor in given.items():
        if graph.captures.get(tensor, tensor) in used:
            continue
        word = words[number] if number < len(words) else f"input {number}"
        same = [] if is_one else [place for op in made for place in _places_with(op, constant_of(tensor))]
        for operation, name in (
            same if len(same) == 1 else [(op, word) for op in {t.op for t in tensors_of_results} & {*made}]
        ):
            operation.taken = {name: hooks.capture(graph, tensor), **operation.taken}


def _places_with(operation: Any, value: Any) -> list[tuple[Any, str]]:
    """The static integers of an operation that are the elements of an array, each with the operation."""
    names = [operation.op.params[index].name for index in operation.op.ints_positions if value is not None]
    names = [name for name in names if value.ndim or name != "shape"]  # no scalar is a shape
    return [(operation, name) for name in names if operation.attrs.get(name) == tuple(value.reshape(-1).tolist())]


def spec_of(node: Any, producer: int) -> Spec:
    """The spec of a placeholder, without a dtype if its values are no numbers.

    Args:
        node: its message.
        producer: the version of graphs that wrote it; up to 21, no axes mean any shape.
    """
    attrs = Attributes(node)
    shape = attrs("shape", None, (tuple, type(None)))
    is_open = shape == () and node.op == "Placeholder" and producer <= 21
    return Spec(None if is_open else shape, attrs("dtype", None, (DType, type(None))))
