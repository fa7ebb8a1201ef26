"""Simplification: algebraic identities, as two tables.

`IDENTITIES` are patterns with their replacements, both written as ops on wildcards; `_RULES` are functions for cases
that no pattern can express.  Each keeps dtype and shape, and also the effects of NaN, infinity and the signs of zeros:
`x * 0` and `x - x` stay, since they are NaN if `x` is infinite, and `x + 0.0`, since it is 0.0 if `x` is -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.dtypes import DType
from dovetail.core.values.shapes import broadcast, fits
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.patterns import Call, Match, build, match, scalar_constant, uniform_constant, wildcards
from dovetail.graph.pass_edits import rewire
from dovetail.graph.reach import walk
from dovetail.ops.control.plumbing import STRUCTURAL
from dovetail.passes.base import Local, Visit, needs

x, y = wildcards("x y")
s, t = wildcards("s t")  # shapes, static or not
a, b = wildcards("a b", lambda value: scalar_constant(value) is not None)

BROADCAST = frozenset(["BroadcastTo", "Const"])  # their results may hold one value many times
REWRITTEN = {*BROADCAST}  # the types of operations that are replaced or dropped; the rules add to it
PASSED_ON = ("Identity", "StopGradient")  # they compute nothing, whatever their pin


def _is_integer(found: Match) -> bool:
    return found[x].dtype.is_integer


def _adds_nothing(found: Match) -> bool:
    """Whether the constant is a zero that keeps the sign of a zero that it is added to."""
    return _is_zero(found, -1)


def _takes_nothing(found: Match) -> bool:
    return _is_zero(found, 1)


def _is_zero(found: Match, sign: int) -> bool:
    value, dtype = scalar_constant(found[a]), found[x].dtype
    return value == 0 and (dtype.is_integer or (dtype.is_floating and math.copysign(1, value) == sign))


def _stays_finite(found: Match) -> bool:
    """Whether two constant factors can become one without an overflow or underflow that was not there."""
    one, other = abs(scalar_constant(found[a])), abs(scalar_constant(found[b]))
    dtype = found[x].dtype
    return dtype.is_integer or (dtype.is_floating and all(1e-3 < value < 1e3 for value in (one, other)))


IDENTITIES: list[tuple[Any, Any]] = [
    (x * 1, x),
    (x / 1, x),
    (x * -1, -x),
    (x / -1, -x),
    (ops.negative(-x), x),
    (x + -y, x - y),
    (x - -y, x + y),
    (-x * -y, x * y),
    (-x / -y, x / y),
    (-(x * a), x * -a),
    (-x * a, x * -a),
    (ops.power(x, 1), x),
    (ops.power(x, 2), ops.square(x)),
    (ops.square(-x), ops.square(x)),
    (ops.square(ops.absolute(x)), ops.square(x)),
    (ops.absolute(-x), ops.absolute(x)),
    (ops.absolute(ops.absolute(x)), ops.absolute(x)),
    (ops.maximum(x, x), x),
    (ops.minimum(x, x), x),
    (ops.identity(x), x),
    (ops.stop_gradient(x), x),  # gradients are built by now
    (ops.reshape(ops.reshape(x, s), t), ops.reshape(x, t)),
    (ops.broadcast_to(ops.broadcast_to(x, s), t), ops.broadcast_to(x, t)),
]
CONDITIONAL: list[tuple[Any, Any, Callable[[Match], bool]]] = [
    (x + a, x, _adds_nothing),
    (x - a, x, _takes_nothing),
    (a - x, -x, _adds_nothing),
    (-(x - y), y - x, _is_integer),
    ((x * a) * b, x * (a * b), _stays_finite),
    ((x * a) / b, x * (a / b), _stays_finite),
    ((x / a) * b, x * (b / a), _stays_finite),
    ((x / a) / b, x / (a * b), _stays_finite),
    ((x + a) + b, x + (a + b), _is_integer),
    ((x - a) + b, x + (b - a), _is_integer),
    ((x + a) - b, x + (a - b), _is_integer),
    ((x - a) - b, x - (a + b), _is_integer),
]


@needs(REWRITTEN)
@Local
def simplify(graph: Graph) -> Visit:
    """Rewrite operations by the identities; `prune` removes operations that are not needed any more."""
    shapes = SameShape()

    def visit(op: Operation) -> int:
        rules, is_elementwise = _RULES.get(op.type, ()), op.op.is_elementwise
        if not (rules or is_elementwise):
            return 0
        makers = set()
        for tensor in op.inputs:
            maker = tensor.op
            makers.add(maker.type)
            if maker._pin != op._pin and maker.type not in STRUCTURAL and op.type not in PASSED_ON:
                return 0  # computations in two places do not become one
        changes = _drop_broadcasts(op, shapes) if is_elementwise and not BROADCAST.isdisjoint(makers) else 0
        makers = {tensor.op.type for tensor in op.inputs} if changes else makers
        for made_by, rule in rules:
            new = rule(op, shapes) if made_by <= makers else None
            if new is not None and new.dtype == op.outputs[0].dtype and fits(new.shape, op.outputs[0].shape):
                rewire(graph, op.outputs[0], new)
                return changes + 1
        return changes

    return visit


class SameShape:
    """A test whether two tensors have equal shapes, also with unknown dimensions.

    A tensor has the shape of its root: the tensor from which operations that keep shapes made it.
    """

    def __init__(self) -> None:
        self._roots: dict[GraphTensor, GraphTensor] = {}

    def __call__(self, one: GraphTensor, other: GraphTensor) -> bool:
        if one.shape == other.shape and one.shape is not None and None not in one.shape:
            return True
        return self.root(one) is self.root(other)

    def root(self, tensor: GraphTensor) -> GraphTensor:
        root = self._roots.get(tensor)
        if root is None:
            for op in walk([tensor.op], self._makers):
                sources = {self._roots.get(t, t) for t in _shaped_like(op)}
                for output in op.outputs:
                    self._roots[output] = next(iter(sources)) if len(sources) == 1 else output
            root = self._roots[tensor]
        return root

    def _makers(self, op: Operation) -> list[Operation]:
        return [t.op for t in _shaped_like(op) if t not in self._roots]


def _shaped_like(op: Operation) -> list[GraphTensor]:
    """The inputs whose common shape the result of an operation has, if they have one shape."""
    name = op.type
    if op.op.is_elementwise:
        return [t for t in op.inputs if t.shape != ()]
    if name in _SHAPED_BY:
        return [op.inputs[_SHAPED_BY[name]]]
    if name in _SHAPED_TO and (shape := _dynamic_shape(op)) is not None and shape.op.type == "Shape":
        return [shape.op.inputs[0]]
    return []


_SHAPED_BY = {"Cast": 0, "OnesLike": 0, "ZerosLike": 0, "FullLike": 0, "SumLike": 1}  # op → the input of its shape
_SHAPED_TO = ("BroadcastTo", "Reshape", "Fill")  # they have the parameter `shape`


def _dynamic_shape(op: Operation) -> GraphTensor | None:
    index = op.op.index_of("shape")
    return None if op.layout[index] is None else op.inputs[op.input_at(index)]


# -- broadcasts that elementwise operations make redundant ---------------------------------------------------------


def _drop_broadcasts(op: Operation, shapes: SameShape) -> int:
    """Replace inputs that were broadcast, or hold one value many times, by their form before the broadcast."""
    changes = 0
    for i, tensor in enumerate(op.inputs):
        narrow = _before_broadcast(tensor)
        if narrow is not None and _others_fill(op, i, narrow, shapes):
            op.set_input(i, op.graph.constant(narrow) if isinstance(narrow, np.ndarray) else narrow)
            changes += 1
    return changes


def _before_broadcast(tensor: GraphTensor) -> GraphTensor | np.ndarray | None:
    name = tensor.op.type
    if name == "BroadcastTo":
        return tensor.op.inputs[0]
    if name == "Const" and tensor.shape:
        return uniform_constant(tensor)
    return None


def _others_fill(op: Operation, index: int, narrow: Any, shapes: SameShape) -> bool:
    """Whether the result keeps its shape if input `index` is narrow."""
    others = [t for i, t in enumerate(op.inputs) if i != index]
    if any(t.shape != () and shapes(t, op.inputs[index]) for t in others):
        return True
    result = broadcast(narrow.shape, *[t.shape for t in others])
    return result is not None and None not in result and result == op.outputs[0].shape


# -- rules that no pattern can express --------------------------------------------------------------------------------

Rule = Callable[[Operation, SameShape], Any]  # → the replacement of the result, or None
_RULES: dict[str, list[tuple[frozenset[str], Rule]]] = {}


def _rule(*names: str, made_by: tuple[str, ...] = ()) -> Callable[[Rule], Rule]:
    """Decorator that adds a rule for operations of some types whose inputs come from all op types of `made_by`."""

    def add(rule: Rule) -> Rule:
        for name in names:
            _RULES.setdefault(name, []).append((frozenset(made_by), rule))
            REWRITTEN.add(name)
        return rule

    return add


def _add_identity(pattern: Call, template: Any, condition: Callable[[Match], bool] | None = None) -> None:
    parts = pattern.arguments
    made_by = {p.op.name for p in parts if isinstance(p, Call)} | {"Const" for p in parts if _is_scalar(p)}

    @_rule(pattern.op.name, made_by=tuple(made_by))
    def _(op: Operation, shapes: SameShape) -> Any:
        matched = match(pattern, op.outputs[0])
        if matched is None or (condition is not None and not condition(matched)):
            return None
        return build(template, matched)


def _is_scalar(part: Any) -> bool:
    return part is a or part is b or type(part) in (int, float)


@_rule("Cast")
def _(op: Operation, shapes: SameShape) -> Any:
    source, dtype = op.args
    if source.dtype == dtype:
        return source
    if source.op.type == "Cast" and _holds(source.dtype, source.op.inputs[0].dtype):
        return ops.cast(source.op.inputs[0], dtype)
    return None


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of one dtype is a value of the other."""
    if narrow.is_integer and not wide.is_integer:
        return narrow.itemsize <= _INTEGERS.get(wide, 0)
    return np.can_cast(narrow.numpy, wide.numpy, "safe")


# dtype → bytes of the widest integers that it holds
_INTEGERS = {"float16": 1, "bfloat16": 1, "float32": 2, "complex64": 2, "float64": 4, "complex128": 4}


@_rule("Reshape")
def _(op: Operation, shapes: SameShape) -> Any:
    shape = op.inputs[0].shape
    same = shape is not None and shape == op.outputs[0].shape and shape.count(None) <= 1
    return op.inputs[0] if same else None


@_rule("StridedSlice")
def _(op: Operation, shapes: SameShape) -> Any:
    x, begin, _, strides, begin_mask, end_mask, gone = op.args
    if type(begin) is not tuple or type(strides) is not tuple or {*strides} != {1}:
        return None
    if not gone and begin_mask & end_mask == (1 << len(begin)) - 1:
        return x
    is_element = x.op.type == "Pack" and gone == 1 and all(t.shape == () for t in x.op.inputs)
    return x.op.inputs[begin[0]] if is_element else None


@_rule("XlaDynamicUpdateSlice")
def _(op: Operation, shapes: SameShape) -> Any:
    x, _, updates = op.inputs
    return updates if shapes(x, updates) else None


@_rule("SumLike")
def _(op: Operation, shapes: SameShape) -> Any:
    given, wanted = op.inputs[0].shape, op.outputs[0].shape
    if given is None or wanted is None or None in (*given, *wanted) or given == wanted:
        return None
    first = len(given) - len(wanted)
    narrow = [i for i, dim in enumerate(wanted, first) if dim != given[i]]
    total = ops.sum(op.inputs[0], (*range(first), *narrow))
    return ops.reshape(total, wanted) if narrow else total


@_rule("BroadcastTo", "SumLike")
def _(op: Operation, shapes: SameShape) -> Any:
    wanted = op.outputs[0] if op.type == "BroadcastTo" else op.inputs[1]
    return op.inputs[0] if shapes(op.inputs[0], wanted) else None


@_rule("Shape")
def _(op: Operation, shapes: SameShape) -> Any:
    root = shapes.root(op.inputs[0])
    return None if root is op.inputs[0] else ops.shape(root)


@_rule("Transpose")
def _(op: Operation, shapes: SameShape) -> Any:
    order = _axes(op)
    if order is None:
        return None
    if order == tuple(range(len(order))):
        return op.inputs[0]
    inner = op.inputs[0].op
    before = _axes(inner) if inner.op.name == "Transpose" else None
    return None if before is None else ops.transpose(inner.inputs[0], tuple(before[i] for i in order))


def _axes(op: Operation) -> tuple[int, ...] | None:
    """The axes of a Transpose, counted from 0; None if the rank is unknown."""
    rank, axes = op.inputs[0].ndim, op.attrs["axes"]
    if axes is None:
        return None if rank is None else tuple(range(rank))[::-1]
    return tuple(axis % len(axes) for axis in axes)


@_rule("MatMul", made_by=("Transpose",))
def _(op: Operation, shapes: SameShape) -> Any:
    sides = [(t.op.inputs[0], True) if _swaps_last_axes(t.op) else (t, False) for t in op.inputs]
    if not any(swapped for _, swapped in sides):
        return None
    (left, left_swapped), (right, right_swapped) = sides
    return ops.matmul(left, right, op.attrs["transpose_a"] ^ left_swapped, op.attrs["transpose_b"] ^ right_swapped)


def _swaps_last_axes(op: Operation) -> bool:
    if op.type != "Transpose":
        return False
    order = _axes(op)
    return order is not None and order == (*range(len(order) - 2), len(order) - 1, len(order) - 2)


@_rule("SelectV2", made_by=("Const",))
def _(op: Operation, shapes: SameShape) -> Any:
    condition = uniform_constant(op.inputs[0])
    if condition is None:
        return None
    chosen = op.inputs[1] if condition else op.inputs[2]
    return chosen if shapes(chosen, op.outputs[0]) else None


for _identity in [*[(*pair, None) for pair in IDENTITIES], *CONDITIONAL]:
    _add_identity(*_identity)
