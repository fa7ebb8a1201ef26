"""Nodes of ONNX that are being written, and the places of Dovetail's operations among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes import writing
from dovetail.formats.nodes.kernels import Casts, casts
from dovetail.formats.nodes.rows import Input, Row
from dovetail.formats.nodes.writing import Shapes, unique
from dovetail.formats.onnx.encoding import attribute, tensor_proto, value_info
from dovetail.formats.onnx.forms import exists, form
from dovetail.formats.onnx.table import WRITTEN
from dovetail.formats.wire.messages import ONNX
from dovetail.graph.effects import needed_for
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.formats.onnx.writing import Writer

LAST = 2**63 - 1  # an end behind all elements


class Ref(NamedTuple):
    """A value among nodes: its name, and its dtype."""

    text: str
    dtype: DType


Given = Ref | Sequence[Ref] | None  # an input of a node: a value, several, or none


class NeedsOpset(NotImplementedError):
    """An opset lacks a node, `what`; `opset` is the first that has it."""

    opset = 0
    what = ""


class Lacking(Exception):
    """What an opset lacks, and the first opset that has it; the writer says of which operation."""


def _flat(inputs: Iterable[Given]) -> list[Ref | None]:
    return [ref for one in inputs for ref in ([one] if one is None or isinstance(one, Ref) else one)]


def _casts(type: str, refs: Sequence[Ref | None], opset: int) -> Casts:
    """The casts that a node of a type needs."""
    return casts("onnx", type, [None if ref is None else ref.dtype.name for ref in refs], opset)


class Nodes:
    """The nodes of a graph, in the order in which they were added.  They may take values of the graphs around it.

    Args:
        writer: holds the names and the constants of the whole model.
        is_inner: whether they are of a branch or a loop.

    Attributes:
        messages: the messages `NodeProto`.
        own: names of initializers of the model → those of a branch or a loop that have the same values.
        kept: the messages among them that are as in the file.
        held: name → the message of an initializer of a branch or a loop in the file.
        parts: the graphs whose operations they are.
    """

    def __init__(self, writer: Writer, is_inner: bool = False) -> None:
        self.writer, self.is_inner = writer, is_inner
        self.messages: list[Any] = []
        self.own: dict[str, str] = {}
        self.kept: list[Any] = []
        self.held: dict[str, Any] = {}
        self.parts: list[Any] = []

    def add(self, type: str, name: str, inputs: Sequence[Given], dtypes: Iterable[Any], attrs: Any) -> list[Ref]:
        """Add a node, and return its results.

        Args:
            type: ONNX's type.
            name: its name, which no other node has.
            inputs: its inputs, in ONNX's order.
            dtypes: of its results; None for one that is left out.
            attrs: its attributes; None for one that is left out.

        Raises:
            Lacking: the opset does not have the node.
        """
        node = ONNX.NodeProto(op_type=type, name=name)
        refs = _flat(inputs)
        said = {key: item for key, item in attrs.items() if item is not None}
        said, first, reason = form(type, len(refs), said, self.writer.opset)
        if first:
            raise Lacking(f"{type}{reason}", first)
        needed = _casts(type, refs, self.writer.opset)
        for number, ref in enumerate(refs):
            ref = ref and self.cast(ref, needed.inputs.get(number, ref.dtype), name)
            node.input.append("" if ref is None else ref.text)
        while node.input and not node.input[-1]:
            node.input.pop()
        node.attribute.extend(attribute(key, item) for key, item in said.items())
        named_results = []
        dtypes = list(dtypes)
        for number, dtype in enumerate(dtypes):
            text = "" if dtype is None else unique(f"{name}:{number}", self.writer.values)
            node.output.append(text)
            named_results.append(Ref(text, as_dtype(needed.results.get(number, dtype or "bool"))))
        self.messages.append(node)
        wanted = [
            as_dtype(dtype) if dtype is not None else ref.dtype
            for ref, dtype in zip(named_results, dtypes, strict=True)
        ]
        return [self.cast(ref, dtype, name) for ref, dtype in zip(named_results, wanted, strict=True)]

    def named(self, ref: Ref) -> str:
        """The name of a value; an initializer of the model gets a copy for a branch or a loop."""
        if not self.is_inner or not self.writer.is_fixed(ref):
            return ref.text
        if ref.text not in self.own:
            self.own[ref.text] = unique(ref.text, self.writer.values)
        return self.own[ref.text]

    def cast(self, x: Ref, dtype: Any, name: str) -> Ref:
        """A value in another dtype, by a node below a name."""
        if x.dtype == as_dtype(dtype):
            return x
        return self.add("Cast", unique(f"{name}/Cast", self.writer.names), [x], [dtype], {"to": as_dtype(dtype)})[0]

    def graph(self, operations: Iterable[Operation], given: Mapping[GraphTensor, Ref], scope: str = "") -> Any:
        """Add operations in program order, and return the values of all tensors.

        Args:
            operations: of one graph.
            given: the values of its inputs.
            scope: a name scope, with its slash, for all nodes.
        """
        known, inputs = dict(given), {tensor.op for tensor in given}
        for one in operations:
            if one not in inputs:
                place = Place(self, one, scope + one.name, [known[tensor] for tensor in one.inputs])
                known.update(zip(one.outputs, self.writer.written(place), strict=True))
        return known

    def part(
        self, graph: Any, given: Mapping[GraphTensor, Ref], wanted: Sequence[GraphTensor], scope: str = ""
    ) -> list[Ref]:
        """Add the operations that some tensors of a graph need, and return their values."""
        self.parts.append(graph)
        known = self.graph(needed_for(graph, wanted, given), given, scope)
        return [known[tensor] for tensor in wanted]

    def results(self, refs: Sequence[Ref], name: str) -> list[Ref]:
        """Values that these nodes make, each once, as the results of a graph have to be."""
        made, results = {text for node in self.messages for text in node.output}, list[Ref]()
        for ref in refs:
            if ref.text not in made or ref in results:
                (ref,) = self.add("Identity", unique(f"{name}/Identity", self.writer.names), [ref], [ref.dtype], {})
            results.append(ref)
        return results


class Place(writing.Place):
    """The place of an operation among the nodes."""

    def result(self, type: str, *inputs: Given, **attrs: Any) -> list[Ref]:
        """Add the node that gives the operation's results, and return them.

        Args:
            type: ONNX's type.
            inputs: its inputs; a list for an input that is a list.
            attrs: its attributes.
        """
        dtypes = [tensor.dtype for tensor in self.operation.outputs]
        return self.nodes.add(type, unique(self.name, self.nodes.writer.names), inputs, dtypes, attrs)

    def several(self, type: str, *inputs: Given, dtypes: Sequence[Any], **attrs: Any) -> list[Ref]:
        """Add a node below the operation's name, and return its results."""
        return self.nodes.add(type, unique(f"{self.name}/{type}", self.nodes.writer.names), inputs, dtypes, attrs)

    def node(self, type: str, *inputs: Given, dtype: Any = None, **attrs: Any) -> Ref:
        """Add a node below the operation's name, and return its result, with the first value's dtype if not given."""
        first: Any = inputs[type == "Where"]
        first = first if isinstance(first, Ref) else first[0]
        return self.several(type, *inputs, dtypes=[first.dtype if dtype is None else dtype], **attrs)[0]

    def constant(self, value: Any, dtype: Any = "int64") -> Ref:
        """Add a constant below the operation's name, and return its value; equal ones become one."""
        return self.nodes.writer.constant(np.asarray(value, as_dtype(dtype).numpy), self.name)

    def cast(self, x: Ref, dtype: Any) -> Ref:
        """The value in another dtype."""
        return self.nodes.cast(x, dtype, self.name)

    def ints(self, value: Any) -> Ref:
        """Integers, such as a shape, as ONNX's int64: they may be static, or a tensor."""
        return self.cast(value, "int64") if isinstance(value, Ref) else self.constant(value)

    def shape(self, x: Ref) -> Ref:
        """The shape of a value, as int64; complex numbers have a last axis of their two parts."""
        return self.node("Shape", x, dtype="int64", end=-1 if x.dtype.is_complex else None)

    def graph(
        self,
        name: str,
        inputs: Sequence[tuple[str, Any]],
        fill: Callable[[Place, list[Ref]], Any],
        shapes: Sequence[Any] = (),
    ) -> Any:
        """A graph for an attribute, of a branch or a loop.

        Args:
            name: its name.
            inputs: the name and the spec of each of its inputs.
            fill: adds its nodes at a place in it, from the values of its inputs, and returns the values of its results.
            shapes: of its results, which a Scan must say before opset 16.
        """
        writer, inner = self.nodes.writer, Nodes(self.nodes.writer, True)
        message = ONNX.GraphProto(name=f"{self.name}/{name}")
        refs = [Ref(unique(f"{message.name}/{title}", writer.values), spec.dtype) for title, spec in inputs]
        for ref, (_, spec) in zip(refs, inputs, strict=True):
            message.input.append(value_info(ref.text, spec.dtype, spec.shape))
        place = Place(inner, self.operation, message.name, self.inputs)
        for ref, shape in zip_longest(inner.results(fill(place, refs), message.name), shapes):
            message.output.append(value_info(ref.text, ref.dtype, shape))
        message.node.extend(inner.messages)
        message.initializer.extend(tensor_proto(writer.initializers[key], name) for key, name in inner.own.items())
        message.initializer.extend(inner.held.values())
        writer.end_graph(message, inner)
        return message

    def computed(self, function: Callable[..., Any], *given: tuple[Ref, TensorSpec]) -> list[Ref]:
        try:
            return super().computed(function, *given)
        except NeedsOpset as error:
            raise self.lacking(error.what, error.opset) from None

    @property
    def opset(self) -> int:
        """The version of ONNX's operators."""
        return self.nodes.writer.opset

    def has(self, type: str) -> bool:
        """Whether the opset has a type."""
        return exists(type, self.opset)

    @property
    def made(self) -> Shapes:
        """The shapes of the operation's results."""
        return Shapes(self.operation.outputs)

    def lacking(self, what: str, first: int) -> Exception:
        """The error for an operation whose node the opset lacks."""
        text = f"opset {self.opset} lacks {what}, which ONNX has from opset {first} on; give opset={first}."
        error: Any = self.refused(NeedsOpset, text)
        error.opset, error.what = first, what
        return error


# -- rows -------------------------------------------------------------------------------------------------------------

SCALARS = ("CumSum", "CumProd")  # their axis is a number; others have a list
UNREADY = {
    "Silu": 28,
    "LogSumExp": 28,
}  # op → the first opset whose operator ONNX Runtime 1.32 computes not, or wrongly
LONG = ("GatherND", "ScatterND", "Tile")  # their positions are int64


def row_for(operation: Operation, opset: int) -> Row | None:
    """The row that says all static arguments of an operation; None if there is none."""
    return next((row for row in WRITTEN.get(operation.type, ()) if _fits(row, operation, opset)), None)


def _fits(row: Row, operation: Operation, opset: int) -> bool:
    if not (row.first <= opset <= row.last and exists(row.type, opset)) or opset >= UNREADY.get(row.ours, opset + 1):
        return False
    known = {one.param for one in row.inputs} | {one.ours for one in row.attributes if one.theirs}
    said = {one.ours: one.only for one in row.attributes if not one.theirs}
    others = (p for p in operation.op.params if p.name in operation.attrs and p.name not in known)
    return all(operation.attrs[p.name] == said.get(p.name, p.default) for p in others)


def by_row(place: Place, row: Row) -> list[Ref]:
    """Add the node that a row says, and constants for static arguments that are inputs there."""
    arguments = dict(
        zip((p.name for p in place.operation.op.params), place.operation.arguments(place.inputs), strict=True)
    )
    inputs = [_given(place, row, one, arguments[one.param]) for one in row.inputs]
    if place.operation.op.body is not None and not _casts(row.type, _flat(inputs), place.opset).are_exact:
        return place.by_body()
    attrs: dict[str, Any] = {}
    dtype = None
    for one in row.attributes:
        if one.result is not None:
            dtype = one.default
        elif one.only is not None and one.theirs:
            attrs[one.theirs] = one.only
        elif one.ours and one.theirs:
            argument = arguments[one.ours]
            attrs[one.theirs] = [argument] if one.theirs == "axes" and isinstance(argument, int) else argument
    if dtype is None:
        return place.result(row.type, *inputs, **attrs)
    (output,) = place.operation.outputs
    return place.result("Cast", place.node(row.type, *inputs, dtype=dtype, **attrs), to=output.dtype)


def _given(place: Place, row: Row, one: Input, value: Any) -> Given:
    if isinstance(value, tuple) and one.way == "*":
        return value
    if isinstance(value, Ref):
        is_long = one.way in ("?", "!") or (row.type in LONG and not value.dtype.is_floating and one.param != "x")
        return place.cast(value, "int64") if is_long and one.param != "updates" else value
    if value is None:
        return None
    return place.constant(value if row.type in SCALARS else np.atleast_1d(value))
