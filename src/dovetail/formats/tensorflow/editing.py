"""Editing: a graph that was read and edited becomes nodes again; untouched nodes are written as they were.

A node is whole if its operations are all there, as they were read, and no other node uses its inner tensors.  It is
written with the names that its inputs have now.  A call that is not whole is inlined.  The `Writer` writes the
operations of other nodes, and new operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dovetail.core.base.errors import op_error
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.frames import EXITS, MERGES
from dovetail.formats.tensorflow.names import node_name, split
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.read_nodes import Body
from dovetail.formats.tensorflow.records import Record, Records
from dovetail.formats.tensorflow.results import first_number
from dovetail.formats.tensorflow.saved_model import Read
from dovetail.formats.tensorflow.tensor_lists import TensorList, Variants
from dovetail.formats.tensorflow.values import Host
from dovetail.formats.tensorflow.written_nodes import Nodes, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.control.plumbing import NEVER_PRUNED, PRINTS


class Place(NamedTuple):
    """A result of a node that was read.

    Attributes:
        body, name: the nodes around it, and its name there.
        rest: the rest of the reference; `#` with the number of a result; or `^` for the node itself.
    """

    body: Body
    name: str
    rest: str


class Argument(NamedTuple):
    """A value that is captured: a reference to a node of the main graph, or the name of an argument of a function."""

    name: str
    hint: str


Source = Any  # a graph tensor, an operation to wait for, a `Place`, or an `Argument`
Original = Callable[[str, str], Any]  # (function, or "" for the main graph; name) → the node as it stands in the file


class Whole:
    """The nodes that are whole.

    Args:
        records: of the reading.
        outputs: of the graph.
    """

    def __init__(self, records: Records, outputs: Iterable[Any]) -> None:
        self._records, self._outputs = records, {*outputs}
        self._known: dict[Record, bool] = {}
        self.swapped: dict[Record, dict[Any, Any]] = {}  # tensors that a node took → its new tensors

    def __call__(self, record: Record) -> bool:
        if record not in self._known:
            self._known[record] = self._is_whole(record)
        return self._known[record]

    def around(self, record: Record | None) -> Record | None:
        """The outermost whole node around one, which may be the node itself; None if there is none."""
        outermost = None
        while record is not None:
            outermost = record if self(record) else outermost
            record = record.around
        return outermost

    def _is_whole(self, record: Record) -> bool:
        operations = {*record.all_operations()}
        inputs, results = ({value for value in some if is_tensor(value)} for some in (record.inputs, record.values))
        given, now = results | _carried(record.values), dict[Any, Any]()
        for operation in operations:
            if operation.is_removed:
                if operation.type in (*NEVER_PRUNED, *PRINTS):
                    return False
                continue
            state = self._records.states[operation]
            if not state.is_kept(operation) or not state.swapped(operation, inputs, now):
                return False
            for tensor in operation.outputs:
                is_used = tensor in self._outputs or any(one not in operations for one in tensor.consumers())
                if is_used and tensor not in given and not self._is_of_neighbour(record, tensor):
                    return False
        self.swapped[record] = {old: new for old, new in now.items() if old is not new}
        taken = (results - inputs) | _carried(record.inputs)
        others = [self._records.owner.get(tensor.op) for tensor in taken if tensor.op not in operations]
        is_join = record.node.op in (*MERGES, *EXITS) and self.swapped[record]
        return not is_join and all(other is None or self(other) for other in others)

    def _is_of_neighbour(self, record: Record, tensor: Any) -> bool:
        """Whether another node beside one has a tensor as its result, as each exit of a loop has one."""
        other = self._records.origin.get(tensor)
        return other is not None and other is not record and other.around is record.around


def _carried(values: Iterable[Any]) -> set[Any]:
    """The tensors of lists and of variants among some values."""
    given = list(values)
    parts = [part for one in given if isinstance(one, TensorList) for part in (one.data, one.size)]
    variants = [one for one in (*given, *parts) if isinstance(one, Variants)]
    return {tensor for tensor in (*parts, *(t for one in variants for t in one.tensors())) if is_tensor(tensor)}


class Edited:
    """The nodes of an edited graph.

    Args:
        read: the graph, with the records of its nodes.
        functions: name → message `FunctionDef`.
        original: gives nodes as they stand in the file.
        in_function: whether the nodes are to be a function's.
        captures: whether handles and tables of the main graph are captured, and not written again.
    """

    def __init__(
        self,
        read: Read,
        functions: Mapping[str, Any],
        original: Original,
        in_function: bool = True,
        captures: bool = True,
    ) -> None:
        self.read, self.records, self.graph = read, read.records, read.graph
        self.whole = Whole(read.records, read.graph.outputs)
        self.taken = {one.node.name for one in read.program.inputs if isinstance(one, Host)}  # arguments with strings
        self.captured: dict[str, str] = {}  # captured value, or one of these arguments → a good name
        self.variables: dict[Any, None] = {}  # that the `Writer` reads or assigns
        self._functions, self._original = functions, original
        self._in_function, self._captures = in_function, captures
        self._callers = {id(record.inner): record for record in self.records.all if record.inner is not None}
        self._main = {one.name: one for one in self.records.all if id(one.body) not in self.records.functions}
        self._operations: set[Operation] = set()
        self._nodes: dict[tuple[int, str], tuple[Body, list[list[Source]]]] = {}
        self._effects: list[Source] = []
        self._stack: list[Source] = []
        self._feeds = read.program.feeds
        self.results = [self._result(value) for value in read.program.values]
        self._visit([*self.results, *self._kept()])

    @property
    def names(self) -> dict[Any, str]:
        """Input of the graph → the name that the innermost function gives it, of those whose nodes are here."""
        names: dict[Any, str] = {}
        for body in self.inlined():
            for argument in self._functions[self.records.functions[id(body)]].signature.input_arg:
                value = self._value_of(body, argument.name)
                if isinstance(value, Host) or (is_tensor(value) and self._is_input(value)):
                    names[value] = argument.name
        return names

    # what is needed

    def need(self, names: Iterable[str]) -> None:
        """Write nodes of the main graph that no result needs, too."""
        body = next(iter(self._main.values())).body
        self._visit(Place(body, name, "^") for name in names)

    def record(self, name: str) -> Record | None:
        """The record of a node of the main graph; None if it was not read."""
        return self._main.get(name)

    def is_gone(self, name: str) -> bool:
        """Whether all operations of a node of the main graph are removed, or it is not as it was."""
        record = self.record(name)
        return record is not None and (self._is_dead(record) or not self.whole(record))

    def operations_of(self, name: str) -> Iterator[Operation]:
        """The operations of a node of the main graph."""
        record = self.record(name)
        return iter(()) if record is None else record.all_operations()

    def reads(self, variable: Any) -> list[Operation]:
        """The operations that are written and read a variable."""
        return [one for one in self._operations if one.type == "ReadVariableOp" and one.attrs["variable"] is variable]

    def _kept(self) -> Iterator[Source]:
        """The nodes and operations that run even if nobody uses their results."""
        for operation in self.graph.operations:
            if operation.is_kept or operation.type in PRINTS:
                self._effects.append(self._waited(operation))
        for body in self.inlined():
            for name in self._functions[self.records.functions[id(body)]].control_ret.values():
                self._effects += self._controls(body, name)
        self._effects = list(dict.fromkeys(self._effects))
        yield from self._effects

    def inlined(self) -> Iterator[Body]:
        """The nodes of the functions whose calls are not whole, outer ones first."""
        if self.records.top is not None:
            yield self.records.top
        for record in reversed(self.records.all):
            if record.inner is not None and self.whole.around(record) is None and not self._is_dead(record):
                yield record.inner

    def _is_dead(self, record: Record) -> bool:
        operations = list(record.all_operations())
        return bool(operations) and all(operation.is_removed for operation in operations)

    def _waited(self, operation: Operation) -> Source:
        unit = self.whole.around(self.records.owner.get(operation))
        return operation if unit is None else Place(unit.body, unit.name, "^")

    def _visit(self, sources: Iterable[Source]) -> None:
        stack = list(sources)
        while stack:
            source = stack.pop()
            if isinstance(source, Place):
                stack += self._visit_node(source)
            elif isinstance(source, Operation):
                stack += self._visit_operation(source)
            elif is_tensor(source) and not self._is_input(source):
                stack.append(self._place_of(source) or source.op)

    def _is_input(self, tensor: Any) -> bool:
        return tensor.op.type == "Placeholder" and tensor not in self._feeds

    def _result(self, value: Any) -> Source:
        """The source of a tensor, or of a value of the host."""
        if not isinstance(value, Host):
            return value
        unit = self.whole.around(self.records.find(value.node.body, value.node.name))
        if unit is None:
            return Place(value.node.body, value.node.name, f"#{value.number}")
        number = next(i for i, one in enumerate(unit.values) if isinstance(one, Host) and one == value)
        return Place(unit.body, unit.name, f"#{number}")

    def _place_of(self, tensor: Any) -> Place | None:
        """The place of a tensor of a whole node, or of the host node whose result it is."""
        if tensor in self._feeds:
            return self._result(self._feeds[tensor])
        unit = self.whole.around(self.records.origin.get(tensor))
        if unit is None:
            return None
        number = next(i for i, value in enumerate(unit.values) if value is tensor)
        return Place(unit.body, unit.name, f"#{number}")

    def _visit_operation(self, operation: Operation) -> list[Source]:
        if operation in self._operations:
            return []
        self._operations.add(operation)
        if "variable" in operation.attrs:
            self.variables[operation.attrs["variable"]] = None
        return [*operation.inputs, *map(self._waited, operation.control_inputs)]

    def _visit_node(self, place: Place) -> list[Source]:
        key = id(place.body), place.name
        if key in self._nodes:
            return []
        record = self.records.find(place.body, place.name)
        swapped = {} if record is None else self.whole.swapped[record]
        sources: list[list[Source]] = []
        for text in self.node(place).input:
            if text.startswith("^"):
                sources.append(self._controls(place.body, text[1:]))
                continue
            value = self._value_of(place.body, text)
            sources.append(
                [swapped[value] if is_tensor(value) and value in swapped else self._source(place.body, text)]
            )
        self._nodes[key] = place.body, sources
        for source in (one for some in sources for one in some):
            if isinstance(source, Argument):
                self.captured.setdefault(source.name, source.hint)
        return [source for some in sources for source in some if not isinstance(source, Argument)]

    def node(self, place: Place) -> Any:
        """A node as it stands in the file."""
        return self._original(self.records.functions.get(id(place.body), ""), place.name)

    def _value_of(self, body: Body, text: str) -> Any:
        """The value that a reference names; None if it was not read."""
        name, output, number = split(text)
        values = body.values.get(name, ())
        if output and name in body.nodes:
            number += first_number(body.nodes[name], output)
        return values[number] if 0 <= number < len(values) else None

    def _source(self, body: Body, text: str, hint: str = "") -> Source:
        """The source of a value, from the reference that a node has."""
        name, output, number = split(text)
        if name in body.nodes:
            record, value = self.records.find(body, name), self._value_of(body, text)
            number += first_number(body.nodes[name], output) if output else 0
            if is_tensor(value) and self._is_input(value):
                return value
            if record is None or self.whole(record):
                is_main = id(body) not in self.records.functions
                if is_main and self._captures and not is_tensor(value):
                    return Argument(f"{name}:{number}" if number else name, hint or name)
                return Place(body, name, text[len(name) :])
            if record.inner is not None:
                function = self._functions[self.records.functions[id(record.inner)]]
                return self._source(record.inner, function.ret[function.signature.output_arg[number].name], hint)
            if is_tensor(value):
                return value
            problem = f"the node {name!r} was changed, and other nodes take its result, which is no tensor."
            raise op_error(NotImplementedError, record.node.op, problem)
        value = self._value_of(body, name)
        if is_tensor(value) and self._is_input(value):
            return value
        caller = self._callers.get(id(body))
        if caller is None:
            return Argument(name, hint or name)
        arguments = [one.name for one in self._functions[self.records.functions[id(body)]].signature.input_arg]
        texts = [one for one in caller.node.input if not one.startswith("^")]
        place = arguments.index(name) + len(texts) - len(arguments)  # branches that are known have a condition before
        return self._source(caller.body, texts[place], hint or name)

    def _controls(self, body: Body, name: str) -> list[Source]:
        """The sources for a control input."""
        record = self.records.find(body, name)
        if name not in body.nodes or (record is not None and self._is_dead(record) and not self.whole(record)):
            return []
        if record is None or self.whole(record):
            return [Place(body, name, "^")]
        if record.inner is not None:
            function = self._functions[self.records.functions[id(record.inner)]]
            return [one for inner in function.control_ret.values() for one in self._controls(record.inner, inner)]
        return [operation for operation in record.operations if not operation.is_removed][-1:]

    # writing

    def write(self, nodes: Nodes, given: Mapping[Any, Ref], captured: Mapping[str, str]) -> list[Ref]:
        """Add the nodes, and return the results.

        Args:
            nodes: of the function or the main graph.
            given: input of the graph → its name.
            captured: name of a captured value → its name among the nodes.
        """
        ordered = [operation for operation in self.graph.operations if operation in self._operations]
        taken = nodes.names | {node_name(operation.name) for operation in ordered}
        depth = {id(body): number for number, body in enumerate(self.inlined())}
        inner_first = sorted(self._nodes, key=lambda key: -depth.get(key[0], -1))
        names = {key: unique(key[1], taken) for key in inner_first}
        nodes.names |= {*names.values()}
        known = {value: ref for value, ref in given.items() if is_tensor(value)}
        for tensor in self._crossing(ordered):
            place = None if tensor in known else self._place_of(tensor)
            if place is not None:
                known[tensor] = Ref(self._text(nodes, place, names), tensor.dtype)
        known = nodes.graph(ordered, known)
        written = {message.name: message for message in nodes.messages}
        for operation in ordered:
            waits = [self._waited(other) for other in operation.control_inputs]
            texts = [f"^{names[id(one.body), one.name]}" for one in waits if isinstance(one, Place)]
            written[nodes.named[operation]].input.extend(texts)
        for key, (body, sources) in self._nodes.items():
            message = type(self.node(Place(body, key[1], "")))()
            message.CopyFrom(self.node(Place(body, key[1], "")))
            message.name = names[key]
            given_texts = [self._texts(nodes, one, names, known, captured) for one in sources]
            controls = [text.startswith("^") for text in message.input]
            del message.input[:]
            for is_control, some in zip(controls, given_texts, strict=True):
                message.input.extend(f"^{text.partition(':')[0]}" if is_control else text for text in some)
            nodes.messages.append(message)
        for effect in self._effects:
            if isinstance(effect, Place):
                nodes.effects.append(names[id(effect.body), effect.name])
        return [
            Ref(self._text(nodes, source, names), "object") if isinstance(source, Place) else known[source]
            for source in self.results
        ]

    def _crossing(self, ordered: Iterable[Operation]) -> Iterator[Any]:
        """The tensors that operations, results and swapped inputs take."""
        yield from (source for source in self.results if is_tensor(source))
        for operation in ordered:
            yield from operation.inputs
        for _, sources in self._nodes.values():
            yield from (one for some in sources for one in some if is_tensor(one))

    def _texts(
        self, nodes: Nodes, sources: list[Source], names: Any, known: Mapping[Any, Ref], captured: Mapping[str, str]
    ) -> list[str]:
        texts = []
        for source in sources:
            if isinstance(source, Place):
                texts.append(self._text(nodes, source, names))
            elif isinstance(source, Argument):
                texts.append(captured[source.name])
            elif isinstance(source, Operation):
                texts.append(nodes.named[source])
            else:
                texts.append(known[source].text)
        return texts

    def _text(self, nodes: Nodes, place: Place, names: Mapping[tuple[int, str], str]) -> str:
        """The reference of a node's result among the new nodes."""
        name = names[id(place.body), place.name]
        if place.rest.startswith("#"):
            return self._known_text(place, name) or nodes.reference(self.node(place), name, int(place.rest[1:]))
        if place.rest == "^":
            return name
        if (id(place.body) in self.records.functions) == self._in_function:
            return name + place.rest
        _, output, number = split(name + place.rest)
        number += first_number(place.body.nodes[place.name], output) if output else 0
        return nodes.reference(self.node(place), name, number)

    def _known_text(self, place: Place, name: str) -> str:
        """The reference of a result as the function around it has it, for types that TensorFlow does not define.

        Args:
            place: of the result, by its number.
            name: of the node now.
        """
        function = self._functions.get(self.records.functions.get(id(place.body), ""))
        if not self._in_function or function is None or definition(self.node(place).op) is not None:
            return ""
        texts = [text for node in function.node_def for text in node.input]
        for text in (*texts, *function.ret.values()):
            node, output, number = split(text)
            if node == place.name and output and f"#{first_number(self.node(place), output) + number}" == place.rest:
                return f"{name}:{output}:{number}"
        return ""
