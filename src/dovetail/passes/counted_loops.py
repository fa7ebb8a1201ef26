"""Counted loops: a while loop that takes a slice, or sets one, in each of a known number of steps becomes a scan.

Loops of files do so with lists of tensors, and loops of programs with rows of tensors.  A scan copies no stack to set
one row of it, and computes no condition.  Values that it carries have one shape, so a loop whose values may have
another shape in each step stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.patterns import scalar_constant
from dovetail.edit.transplant import transplant
from dovetail.graph.graph_scopes import made_for_operation
from dovetail.graph.pass_edits import discard, supersede
from dovetail.graph.reach import reach
from dovetail.graph.shape_values import PASSING, known_value
from dovetail.ops.control.subgraphs import scan_op
from dovetail.passes.base import needs, sweep

# op of a condition → the numbers of the inputs that are the counter and the bound, and how far beyond the bound it goes
BELOW = {"Less": (0, 1, 0), "LessEqual": (0, 1, 1), "Greater": (1, 0, 0), "GreaterEqual": (1, 0, 1)}
BOTH = ("LogicalAnd", "BitwiseAnd")  # of bools
SAME = ("Cast", "Identity")  # of integers


class Counter(NamedTuple):
    """A carried integer.

    Attributes:
        first: its value in the first step.
        by: what each step adds to it.
    """

    first: int
    by: int


class Read(NamedTuple):
    """A slice that the body takes of a tensor that stays the same, at a counter.

    Attributes:
        source: the tensor of the body.
        axis: the axis of the slices.
        counter: the number of the counter.
    """

    source: Any
    axis: int
    counter: int


class Write(NamedTuple):
    """A carried stack of which each step sets one row, or that each step makes one row longer.

    Attributes:
        row: the row, with a first axis of one element.
        counter: the number of the counter at which the row is set; None if it comes behind the others.
        beside: the places of the row on the other axes.
    """

    row: GraphTensor
    counter: int | None
    beside: tuple[int, ...] = ()


@needs({"While"})
def scan_counted_loops(graph: Graph) -> int:
    """Replace while loops by scans; return their number."""

    def visit(op: Operation) -> int:
        loop = Loop(op)
        steps = loop.steps() if loop.slices and loop.is_regular and not loop.has_effects else None
        if steps is None or not loop.fits(steps):
            return 0
        supersede(graph, op, loop.scanned(steps))
        discard(graph, [op])
        return 1

    return sweep(graph, visit, graph.of_types(["While"]))


class Loop:
    """A while loop, and the parts that its carried values play.

    Args:
        op: the loop.

    Attributes:
        fixed: tensors of the body that are the same in each step → their tensors outside.
        counters: number of a carried value → the counter that it is.
        reads: tensor of the body → how it is read.
        writes: number of a carried value → how it is written.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.init, self.constants, self.condition, self.body, self.limit = op.args
        count = len(self.init)
        self.carry, self.results = self.body.inputs[:count], self.body.outputs
        self.kept = [i for i in range(count) if self._is_kept(i)]
        self.fixed = dict(zip(self.body.inputs[count:], self.constants, strict=True))
        self.fixed |= {self.carry[i]: self.init[i] for i in self.kept}
        self.counters = {i: counter for i in range(count) if (counter := self._counter(i)) is not None}
        self._numbers = {self.carry[i]: i for i, (first, by) in self.counters.items() if first >= 0 and by == 1}
        self.reads = {op.outputs[0]: read for op in self.body if (read := self._read(op)) is not None}
        self.writes = {i: write for i in range(count) if (write := self._write(i)) is not None}

    @property
    def slices(self) -> bool:
        """Whether it reads or writes slices."""
        return bool(self.reads or self.writes)

    @property
    def is_regular(self) -> bool:
        """Whether all that it carries beside stacks, and each row that it writes, has one known shape in all steps."""
        carried = [t for i, t in enumerate(self.carry) if i not in self.writes]
        return all(t.is_static for t in (*carried, *(write.row for write in self.writes.values())))

    @property
    def has_effects(self) -> bool:
        """Whether something happens in a step beside its results."""
        return any(op.is_kept or op.control_inputs for part in (self.body, self.condition) for op in part)

    def _is_kept(self, i: int) -> bool:
        """Whether a step gives a carried value back as it is."""
        before, after = self.carry[i], self.results[i]
        constants = [t.op.attrs["value"] for t in (self.init[i], after) if t.op.type == "Const"]
        return after is before or (len(constants) == 2 and bool(np.array_equal(*constants)))

    def _counter(self, i: int) -> Counter | None:
        op, first = self.results[i].op, scalar_constant(self.init[i])
        if op.type != "AddV2" or type(first) is not int:
            return None
        own = [t is self.carry[i] for t in op.inputs]
        by = scalar_constant(op.inputs[own.index(False)]) if sum(own) == 1 else None
        return Counter(first, by) if by is not None and by > 0 else None

    def _number(self, tensor: Any) -> int | None:
        """The number of the counter that a position is."""
        while type(tensor) is GraphTensor and tensor.op.type in SAME:
            tensor = tensor.op.inputs[0]
        return self._numbers.get(tensor) if type(tensor) is GraphTensor else None

    def _read(self, op: Operation) -> Read | None:
        if op.type == "GatherV2":
            axis, place = op.attrs["axis"], op.inputs[1]
        elif op.type == "StridedSlice":
            axis, place = _single_place(op)
        else:
            return None
        source, number = op.inputs[0], self._number(place)
        if number is None or source not in self.fixed or source.ndim is None:
            return None
        return Read(source, axis % source.ndim, number)

    def _write(self, i: int) -> Write | None:
        """How a step writes a carried value that nothing else in it takes."""
        before, after = self.carry[i], self.results[i]
        returned = sum(t is after or t is before for t in self.results)
        is_alone = len(before.uses()) == returned == 1 and not after.is_used
        if not is_alone or not after.op.inputs or after.op.inputs[0] is not before:
            return None
        if after.op.type == "ConcatV2" and len(after.op.inputs) == 2 and after.op.attrs["axis"] == 0:
            write = Write(after.op.inputs[1], None)
        elif after.op.type == "XlaDynamicUpdateSlice":
            first, *others = [*_elements(after.op.inputs[1])] or [None]
            if (number := self._number(first)) is None or not all(type(other) is int for other in others):
                return None
            write = Write(after.op.inputs[2], number, tuple(others))
        else:
            return None
        return write if write.row.shape is not None and write.row.shape[0] == 1 else None

    # the number of steps

    def steps(self) -> Any:
        """The number of steps: an int, a tensor that depends on shapes, or None if it is not known."""
        fixed = dict(zip(self.condition.inputs[len(self.init) :], self.constants, strict=True))
        fixed |= {self.condition.inputs[i]: self.init[i] for i in self.kept}
        bounds = [*self._bounds(self.condition.outputs[0], fixed)]
        if None in bounds or not bounds:
            return None
        counts = [_count(counter, bound) for counter, bound in bounds] + ([] if self.limit is None else [self.limit])
        numbers, tensors = ([c for c in counts if isinstance(c, int) is known] for known in (True, False))
        return reduce(ops.minimum, tensors + ([min(numbers)] if numbers else []))

    def _bounds(self, tensor: GraphTensor, fixed: Mapping[GraphTensor, GraphTensor]) -> Iterator[Any]:
        """Counters with their bounds, if a condition holds as long as each is below its own; None for another one."""
        op = tensor.op
        if op.type in BOTH:
            for part in op.inputs:
                yield from self._bounds(part, fixed)
        elif op.type == "Identity":
            yield from self._bounds(op.inputs[0], fixed)
        elif op.type in BELOW:
            counter, bound, beyond = BELOW[op.type]
            number = self._place(op.inputs[counter])
            limit = self._limit(op.inputs[bound], fixed)
            yield None if number not in self.counters or limit is None else (self.counters[number], limit + beyond)
        else:
            known = fixed.get(tensor, tensor).op
            if known.type != "Const" or not known.attrs["value"].all():
                yield None

    def _place(self, tensor: GraphTensor) -> int:
        """The number of the carried value that a tensor of the condition is."""
        while tensor.op.type in SAME:
            tensor = tensor.op.inputs[0]
        return next((i for i, own in enumerate(self.condition.inputs) if own is tensor), -1)

    def _limit(self, tensor: GraphTensor, fixed: Mapping[GraphTensor, GraphTensor]) -> Any:
        """A bound of a counter: an int, a tensor outside of the loop, or None if it depends on more than shapes."""
        while tensor.op.type in SAME:
            tensor = tensor.op.inputs[0]
        outside = fixed.get(tensor, tensor)
        value = known_value(outside)
        if value is not None:
            return int(value) if value.shape == () and outside.dtype.is_integer else None
        return outside if tensor in fixed and outside.shape == () and _is_of_shapes(outside) else None

    def fits(self, steps: Any) -> bool:
        """Whether all slices lie inside their tensors, as far as sizes are known."""
        places: list[Any] = [(*source.shape[axis : axis + 1], number) for source, axis, number in self.reads.values()]
        places += [((self.init[i].shape or (None,))[0], write.counter) for i, write in self.writes.items()]
        return not isinstance(steps, int) or all(
            number is None or size is None or self.counters[number].first + steps <= size for size, number in places
        )

    # the scan

    def scanned(self, steps: Any) -> list[Any]:
        """Add the scan, and return the last values of what the loop carries."""
        special = {*self.kept, *self.counters, *self.writes}
        carried = [i for i in range(len(self.init)) if i not in special]
        items = [(_item(write.row), write.row) for write in self.writes.values()]
        wanted = [*(self.results[i] for i in carried), *(item for item, _ in items)]
        given = {*self.reads, *self.fixed, *self.carry}
        operations = reach(wanted, given=given)
        taken = {*wanted, *(t for op in operations for t in op.inputs)}
        counters = [i for i in self.counters if self.carry[i] in taken]
        reads = [t for t in self.reads if t in taken]
        if not (isinstance(steps, int) and (reads or carried)):
            counters = counters or [next(iter(self.counters))]  # they give the number of steps
        fixed = [t for t in self.fixed if t in taken]
        inputs = [*(self.carry[i] for i in carried), *reads, *(self.carry[i] for i in counters), *fixed]
        body = type(self.body)(self.body.name)
        copies = transplant(operations, body, inputs=inputs)
        with body.as_default(), made_for_operation(body, self.op):
            rows: Any = [ops.squeeze(copies[t], 0) if t is row else copies[t] for t, row in items]
        body.outputs = [*copies.of(wanted[: len(carried)]), *rows]
        xs = [*(self._slices(self.reads[t], steps) for t in reads), *(self._values(i, steps) for i in counters)]
        length = steps if isinstance(steps, int) else None
        scanned = scan_op([self.init[i] for i in carried], xs, [self.fixed[t] for t in fixed], body, length, False)
        last = dict(zip([*carried, *self.writes], scanned, strict=True))
        return [self._last(i, steps, last.get(i)) for i in range(len(self.init))]

    def _slices(self, read: Read, steps: Any) -> Any:
        """The slices that the steps read, along the first axis."""
        source, first = self.fixed[read.source], self.counters[read.counter].first
        order = [read.axis, *(axis for axis in range(source.ndim or 0) if axis != read.axis)]
        stacked: Any = ops.transpose(source, order) if read.axis else source
        is_whole = isinstance(steps, int) and (first, steps) == (0, stacked.shape[0])
        return stacked if is_whole else stacked[first : first + steps]

    def _values(self, i: int, steps: Any) -> Any:
        """The values of a counter in the steps."""
        (first, by), dtype = self.counters[i], self.carry[i].dtype
        if isinstance(steps, int):
            return self.op.graph.constant(np.arange(steps, dtype=dtype.numpy) * by + first)
        return ops.arange(ops.cast(steps, dtype)) * by + first

    def _last(self, i: int, steps: Any, scanned: Any) -> Any:
        """The value that the loop carries at its end, from what the scan gives for it."""
        if i in self.kept:
            return self.init[i]
        if i in self.counters:
            first, by = self.counters[i]
            dtype = self.carry[i].dtype
            if isinstance(steps, int):
                return self.op.graph.constant(np.asarray(first + by * steps, dtype.numpy))
            return ops.cast(steps, dtype) * by + first
        if i not in self.writes:
            return scanned
        _, number, beside = self.writes[i]
        before = self.init[i]
        if number is None:
            return scanned if before.shape and before.shape[0] == 0 else ops.concatenate([before, scanned], 0)
        first = self.counters[number].first
        if before.is_static and before.shape == scanned.shape:
            return scanned
        return ops.slice_update(before, [first, *beside], scanned)


def _count(counter: Counter, bound: Any) -> Any:
    """The number of steps until a counter is no more below its bound."""
    if isinstance(bound, int):
        return max(0, -((counter.first - bound) // counter.by))
    return ops.maximum(-((counter.first - bound) // counter.by), 0)


def _item(row: GraphTensor) -> GraphTensor:
    """The tensor that became a row by a new first axis; the row itself if it was made in another way."""
    source = row.op.inputs[0] if row.op.type in ("ExpandDims", "Reshape") else row
    shape: Any = source.shape
    return source if shape is not None and shape.count(None) < 2 and (1, *shape) == row.shape else row


def _is_of_shapes(tensor: GraphTensor) -> bool:
    """Whether a number is known as soon as the shapes of the graph's inputs are."""
    operations = reach([tensor], outside=lambda op: op.type == "Shape")
    return all(op.type == "Const" or (op.inputs and op.type in PASSING) for op in operations)


def _elements(tensor: GraphTensor) -> list[Any]:
    """The elements of a vector of positions: ints, and scalar tensors; none if they are not known one by one."""
    op = tensor.op
    if op.type == "Const":
        return op.attrs["value"].reshape(-1).tolist()
    if op.type in SAME:
        return _elements(op.inputs[0])
    if op.type in ("Pack", "Reshape", "ExpandDims") and all(t.shape == () for t in op.inputs):
        return [t if (value := scalar_constant(t)) is None else value for t in op.inputs]
    if op.type == "ConcatV2" and all(parts := [_elements(t) for t in op.inputs]):
        return [element for part in parts for element in part]
    return []


def _single_place(op: Operation) -> tuple[int, Any]:
    """The axis and the place of a strided slice that takes one index of one axis, and all of the others."""
    _, begin, _, strides, begin_mask, end_mask, gone = op.args
    axis = gone.bit_length() - 1
    places = _elements(begin) if type(begin) is GraphTensor else [*begin]
    is_whole = (begin_mask & end_mask) | gone == (1 << len(places)) - 1
    return (axis, places[axis]) if gone and gone == 1 << axis and is_whole and {*strides} == {1} else (0, None)
