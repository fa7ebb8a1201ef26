"""Nodes of TensorFlow that are being written, and the places of Dovetail's operations among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes import writing
from dovetail.formats.nodes.kernels import Casts, casts
from dovetail.formats.nodes.rows import Row
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.attributes import CONVERTERS, constant_node, set_attribute
from dovetail.formats.tensorflow.names import ORIGINAL, node_name
from dovetail.formats.tensorflow.op_defs import DTYPES, definition
from dovetail.formats.tensorflow.results import result_name
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of
from dovetail.graph.effects import needed_with_taken, waits_of_effects, waits_of_runs
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.shape_values import known_value
from dovetail.ops.control.plumbing import PRINTS
from dovetail.ops.linalg.systems import real_dtype
from dovetail.ops.shapes.shape import rank_of

if TYPE_CHECKING:
    from dovetail.formats.tensorflow.writing import Writer

HANDLES = "resource", "variant"  # dtypes of handles of variables and of lists


class Ref(NamedTuple):
    """A value among nodes: its name as an input, and its dtype; "resource" and "variant" are dtypes, too."""

    text: str
    dtype: Any

    @property
    def number(self) -> int:
        """TensorFlow's number of the dtype."""
        is_handle = isinstance(self.dtype, str) and self.dtype in HANDLES
        return DTYPES[self.dtype] if is_handle else number_of(self.dtype)


class Nodes:
    """The nodes of a graph or of a function, in the order in which they were added.

    Args:
        writer: writes the functions that nodes call.
        handles: variable → its handle.
        in_function: whether they are a function's; there a name of a value has the name of the output, too.

    Attributes:
        messages: the messages `NodeDef`.
        effects: the names of the nodes that run even if nobody uses their results.
        names: the names that are taken.
        named: operation → the name of its node.
    """

    def __init__(self, writer: Writer, handles: Mapping[Any, Ref], in_function: bool) -> None:
        self.writer, self.handles, self.in_function = writer, handles, in_function
        self.messages: list[Any] = []
        self.effects: list[str] = []
        self.names: set[str] = {handle.text for handle in handles.values()}
        self.named: dict[Operation, str] = {}
        self.held: dict[str, tuple[Ref, Any]] = {}  # of the operation whose body is added

    def add(
        self,
        type: str,
        name: str,
        inputs: Sequence[Ref | Sequence[Ref]],
        dtypes: Iterable[Any],
        attrs: Mapping[str, Any],
        waits: Iterable[str] = (),
        device: str = "",
    ) -> list[Ref]:
        """Add a node, and return its results.

        Args:
            type: TensorFlow's type.
            name: its name, which no other node has.
            inputs: its inputs, in TensorFlow's order; the dtypes of the inputs are attributes.
            dtypes: of its results.
            attrs: its other attributes.
            waits: the names of nodes that run before it.
            device: its device, in TensorFlow's words.
        """
        node = TENSORFLOW.NodeDef(name=name, op=type, device=device)
        known: Any = definition(type)
        for value, arg in zip(inputs, known.inputs, strict=True):
            refs: Any = value if arg.is_many else [value]
            node.input.extend(ref.text for ref in refs)
            if arg.is_list:
                node.attr[arg.attribute].list.SetInParent()
                node.attr[arg.attribute].list.type.extend(ref.number for ref in refs)
            elif arg.attribute and refs:
                node.attr[arg.attribute].type = refs[0].number
            if arg.number:
                node.attr[arg.number].i = len(refs)
        for key, item in attrs.items():
            set_attribute(node.attr[key], item)
        node.input.extend(f"^{other}" for other in dict.fromkeys(waits))
        self.messages.append(node)
        return self.refs(node, dtypes)

    def refs(self, node: Any, dtypes: Iterable[Any]) -> list[Ref]:
        """The results of a node."""
        return [Ref(self.reference(node, node.name, number), dtype) for number, dtype in enumerate(dtypes)]

    def reference(self, node: Any, name: str, number: int) -> str:
        """The reference of a result of a node, which has the name here."""
        if not self.in_function:
            return f"{name}:{number}" if number else name
        return f"{name}:{result_name(node, number)}"

    def constant(self, array: Any, name: str) -> Ref:
        """Add a constant."""
        node = TENSORFLOW.NodeDef(name=name)
        constant_node(node, np.asarray(array))
        self.messages.append(node)
        return Ref(self.reference(node, name, 0), np.asarray(array).dtype)

    def graph(
        self,
        operations: Sequence[Operation],
        given: Mapping[GraphTensor, Ref],
        scope: str = "",
        is_session: bool = False,
    ) -> dict[GraphTensor, Ref]:
        """Add operations, and return the values of all tensors.

        Args:
            operations: of one graph, in program order.
            given: the values of its inputs.
            scope: a name scope, with its slash, for all nodes.
            is_session: whether each run takes some of them, not all.
        """
        known, waits = dict(given), (waits_of_runs if is_session else waits_of_effects)(operations)
        inputs = {tensor.op for tensor in given}
        names = {one: unique(node_name(scope + one.name), self.names) for one in operations if one not in inputs}
        self.named |= names
        for operation, name in names.items():
            first = len(self.messages)
            before = [*operation.control_inputs, *waits.get(operation, ())]
            refs = [known[tensor] for tensor in operation.inputs]
            place = Place(self, operation, name, refs, [names[other] for other in before if other in names])
            taken = {word: (known[t], known_value(t)) for word, t in operation.taken.items() if t in known}
            place.held = taken or self.held
            known.update(zip(operation.outputs, self.writer.written(place), strict=False))
            if not scope and name != operation.name:
                own = next(one for one in reversed(self.messages[first:]) if one.name == name)
                own.attr[ORIGINAL].s = operation.name.encode()
            if operation.is_kept or operation.type in PRINTS:
                self.effects.append(name)
        return known

    def part(
        self, graph: Any, given: Mapping[GraphTensor, Ref], wanted: Sequence[GraphTensor], scope: str = ""
    ) -> list[Ref]:
        """Add the operations that some tensors and the effects of a graph need, and return the values of the tensors.

        Args:
            graph: the graph.
            given: the values of its inputs.
            wanted: the tensors.
            scope: as for `graph`.
        """
        needed = needed_with_taken(graph, [*wanted, *(one for one in graph if one.is_kept)]) if graph else ()
        known = self.graph(needed, given, scope)
        return [known[tensor] for tensor in wanted]


def casts_of(type: str, inputs: Sequence[Ref | Sequence[Ref]]) -> Casts:
    """The casts that a node of a type needs."""
    firsts = [one if isinstance(one, Ref) else next(iter(one), None) for one in inputs]
    return casts("tensorflow", type, [None if one is None else str(one.dtype) for one in firsts])


def _made(dtypes: Sequence[Any], needed: Casts) -> list[Any]:
    """The dtypes of the results of a node."""
    return [needed.results.get(number, dtype) for number, dtype in enumerate(dtypes)]


class Place(writing.Place):
    """The place of an operation among the nodes.  Its results come from a node of its name; others are below the name.

    Attributes:
        waits: the names of the nodes that run before it.
        held: static argument → the value of the tensor of which it was taken, and the elements; see `constant`.
    """

    def __init__(
        self, nodes: Nodes, operation: Operation, name: str, inputs: list[Ref], waits: Sequence[str] = ()
    ) -> None:
        super().__init__(nodes, operation, name, inputs)
        self.waits, self.held = waits, dict[str, tuple[Ref, Any]]()

    def result(self, type: str, *inputs: Ref | Sequence[Ref], dtypes: Any = None, **attrs: Any) -> list[Ref]:
        """Add the node of the operation's name, and return its results.

        Args:
            type: TensorFlow's type.
            inputs: its inputs; a list for an input that is a list.
            dtypes: of its results, if they are not the operation's.
            attrs: its attributes, except the dtypes of inputs.
        """
        dtypes = [t.dtype for t in self.operation.outputs] if dtypes is None else dtypes
        given, needed = self._cast_inputs(type, inputs)
        name = unique(f"{self.name}/{type}", self.nodes.names) if needed.results else self.name
        device, made = _device(self.operation.device), _made(dtypes, needed)
        refs = self.nodes.add(type, name, given, made, attrs, self.waits, device)
        if not needed.results:
            return refs
        if len(refs) == 1:
            return self.result("Cast", refs[0], dtypes=dtypes, DstT=as_dtype(dtypes[0]), Truncate=False)
        return self.results([self.cast(ref, dtype) for ref, dtype in zip(refs, dtypes, strict=True)])

    def _cast_inputs(self, type: str, inputs: Sequence[Ref | Sequence[Ref]]) -> tuple[list[Any], Casts]:
        """The inputs in the dtypes that a node takes, and all casts that it needs."""
        needed = casts_of(type, inputs)
        given: list[Any] = []
        for number, one in enumerate(inputs):
            dtype = needed.inputs.get(number)
            many: Any = [one] if isinstance(one, Ref) else one
            cast = [ref if dtype is None else self.cast(ref, dtype) for ref in many]
            given.append(cast[0] if isinstance(one, Ref) else cast)
        return given, needed

    def cast(self, x: Ref, dtype: Any) -> Ref:
        """A value in another dtype; TensorFlow's Cast to bool looks at real parts alone."""
        dtype, given = as_dtype(dtype), as_dtype(x.dtype)
        if dtype.is_bool and given.is_complex:
            return self.node("NotEqual", x, self.constant(0, dtype=given), dtype=dtype, incompatible_shape_error=True)
        return x if given == dtype else self.node("Cast", x, dtype=dtype, DstT=dtype, Truncate=False)

    def kept(self, node: Any) -> list[Ref]:
        """Add a node for the operation, to which its inputs are added, and return its results."""
        node.name = self.name
        node.input.extend([*(ref.text for ref in self.inputs), *(f"^{other}" for other in self.waits)])
        self.nodes.messages.append(node)
        return self.nodes.refs(node, [tensor.dtype for tensor in self.operation.outputs])

    def several(self, type: str, *inputs: Ref | Sequence[Ref], dtypes: Sequence[Any], **attrs: Any) -> list[Ref]:
        """Add a node below the operation's name, and return its results."""
        given, needed = self._cast_inputs(type, inputs)
        name = unique(f"{self.name}/{type}", self.nodes.names)
        refs = self.nodes.add(type, name, given, _made(dtypes, needed), attrs)
        pairs = enumerate(zip(refs, dtypes, strict=True))
        return [self.cast(ref, dtype) if number in needed.results else ref for number, (ref, dtype) in pairs]

    def node(self, type: str, *inputs: Ref | Sequence[Ref], dtype: Any = None, **attrs: Any) -> Ref:
        """Add a node below the operation's name, and return its result, with the first input's dtype if not given."""
        first: Any = inputs[0] if inputs else None
        return self.several(type, *inputs, dtypes=[first.dtype if dtype is None else dtype], **attrs)[0]

    def constant(self, value: Any, name: str = "Const", dtype: Any = "int32", title: str = "") -> Ref:
        """Add a constant below the operation's name, and return its value; once, that of the tensor it was taken of.

        Args:
            value: its elements.
            name: the parameter, or what it is.
            dtype: of the elements, if they are no array.
            title: the name below the operation's, if it is another one.
        """
        array = value if isinstance(value, np.ndarray) else np.asarray(value, getattr(dtype, "numpy", dtype))
        attrs = () if self.held is self.nodes.held else self.operation.attrs  # none if a node of its body asks
        for word, (ref, elements) in self.held.items():
            if word == name if name in attrs and word in attrs else np.array_equal(elements, array):
                del self.held[word]
                return self.cast(ref, array.dtype)
        return self.nodes.constant(array, unique(f"{self.name}/{title or name}", self.nodes.names))

    def computed(self, function: Callable[..., Any], *given: tuple[Ref, TensorSpec]) -> list[Ref]:
        outer, self.nodes.held = self.nodes.held, self.held
        try:
            return super().computed(function, *given)
        finally:
            self.nodes.held = outer

    def scalar(self, values: Ref, index: int = 0) -> Ref:
        """An element of a tensor of one axis."""
        ends = (
            self.constant([number], name) for number, name in ((index, "begin"), (index + 1, "end"), (1, "strides"))
        )
        masks = {"begin_mask": 0, "end_mask": int(index == -1), "ellipsis_mask": 0, "new_axis_mask": 0}
        return self.node("StridedSlice", values, *ends, shrink_axis_mask=1, **masks)

    @property
    def real(self) -> Any:
        """The real dtype of the same precision as its first input's."""
        return real_dtype(self.operation.inputs[0].dtype)

    def taken(self, value: Any, name: str = "Const") -> Ref:
        """Integers, such as a shape, as the value of a node: they may be static, or a tensor."""
        return value if isinstance(value, Ref) else self.constant(value, name)

    def results(self, values: Sequence[Ref]) -> list[Ref]:
        """Give the operation's name to values of other nodes."""
        if len(values) == 1:
            return self.result("Identity", values[0])
        return self.result("IdentityN", list(values)) if values else self.result("NoOp")

    def handle(self, variable: Any) -> Ref:
        """The handle of a variable.

        Raises:
            LookupError: none is known.
        """
        if variable not in self.nodes.handles:
            raise self.refused(LookupError, f"the variable {variable.name!r} has no node or argument for its handle.")
        return self.nodes.handles[variable]


def _device(name: str) -> str:
    """A device, such as "gpu:0", in TensorFlow's words."""
    return f"/device:{name.upper()}" if name and not name.startswith("/") else name


# -- rows -------------------------------------------------------------------------------------------------------------


LAST_AXIS = ("Softmax", "LogSoftmax")  # the rows say this axis, as a number from the start or from the end


def fits(row: Row, operation: Operation) -> bool:
    """Whether a row says all static arguments of an operation: each other argument is the default."""
    named = {one.param for one in row.inputs} | {one.ours for one in row.attributes}
    if operation.type in LAST_AXIS:
        return operation.attrs["axis"] in (-1, len(operation.inputs[0].shape or ()) - 1)
    others = (p for p in operation.op.params if p.name in operation.attrs and p.name not in named)
    return all(operation.attrs[p.name] == p.default for p in others)


def by_row(place: Place, row: Row) -> list[Ref]:
    """Add the nodes that a row says: the operation's, and constants for static arguments that are inputs there."""
    operation = place.operation
    arguments = dict(zip((p.name for p in operation.op.params), operation.arguments(place.inputs), strict=True))
    known: Any = definition(row.type)
    pairs = [(arg, one, arguments[one.param]) for arg, one in zip(known.inputs, row.inputs, strict=True)]
    dtypes = {arg.attribute: value.dtype for arg, _, value in pairs if isinstance(value, Ref)}
    inputs: list[Any] = []
    for arg, one, value in pairs:
        if not isinstance(value, Ref) and one.way != "*":
            title = arg.name if place.nodes.writer.theirs else ""
            value = _static(place, one.param, dtypes.get(arg.attribute, "int32"), title)
        inputs.append(value)
    if operation.op.body is not None and not casts_of(row.type, inputs).are_exact:
        return place.by_body()
    refs = place.result(row.type, *inputs)
    node, layout = next(one for one in reversed(place.nodes.messages) if one.op == row.type), layout_of(operation)
    for attribute in row.attributes:
        if attribute.result is not None and attribute.theirs not in node.attr:
            node.attr[attribute.theirs].type = refs[attribute.result].number
        elif attribute.only is not None:
            set_attribute(node.attr[attribute.theirs], attribute.only)
        elif attribute.theirs == "num_split":
            node.attr[attribute.theirs].i = len(refs)
        elif attribute.ours:
            CONVERTERS[attribute.converter][1](node, attribute.theirs, operation.attrs[attribute.ours], layout)
    return refs


def layout_of(operation: Operation) -> str:
    """The order of a window's numbers, in TensorFlow's letters."""
    spatial = "DHW" if "3D" in operation.type else "HW"
    return f"NC{spatial}" if operation.attrs.get("data_format") == "channels_first" else f"N{spatial}C"


def _static(place: Place, param: str, dtype: Any, title: str) -> Ref:
    """A static argument as numbers; None means all axes."""
    operation = place.operation
    value, is_reversed = operation.attrs[param], operation.type == "Transpose"
    if value is None and operation.inputs[0].shape is not None:
        value = [*range(rank_of(operation.inputs[0]))][:: -1 if is_reversed else 1]
    if value is not None:
        return place.constant(value, param, dtype, title)
    zero, one = place.constant(0, "start"), place.constant(1, "delta")
    rank = place.node("Rank", place.inputs[0], dtype="int32")
    axes = place.node("Range", zero, rank, one)
    return place.node("Sub", place.node("Sub", rank, one), axes) if is_reversed else axes
