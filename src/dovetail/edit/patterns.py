"""Patterns: parts of programs to find and to replace, written as ops that are called on wildcards.

    x, w, b = wildcards("x w b")
    for found in graph.match(ops.tanh(x @ w + b)):
        print(found.tensor, found[w])
    graph.rewrite(-(-x), x)

Wildcards are a separate kind of value: an op that is called on one makes a `Call`, a tree to look for.  A number or an
array in a pattern means a constant of these elements.  An axis may be counted from either end.  Arguments of
commutative ops match in any order.  For an op with several results, each result is a separate pattern: `[1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args, get_type_hints

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.kinds import Kind
from dovetail.core.op import Op
from dovetail.core.tensor import Operators
from dovetail.core.values.value_kinds import ValueKind, register
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

COMMUTATIVE = frozenset((
    "AddV2", "Mul", "Maximum", "Minimum", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalXor", "BitwiseAnd",
    "BitwiseOr", "BitwiseXor",
))  # fmt: skip


class Wildcard(Operators):
    """A pattern of any tensor, or any static value; the same one at every place where it is used.

    Args:
        name: its name.
        accepts: says which tensors it matches; any, if not given.
    """

    __slots__ = ("accepts", "name")

    def __init__(self, name: str, accepts: Callable[[Any], bool] | None = None) -> None:
        self.name = name
        self.accepts = accepts

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> NoReturn:
        raise TypeError(f'one name gives a wildcard, not a list: write {self} = dovetail.wildcards("{self}").')

    def __repr__(self) -> str:
        return self.name


class Call(Operators):
    """A pattern of a result of an op on arguments that match; made by calling the op.

    Args:
        op: the op.
        arguments: patterns and static values, in parameter order.
        index: the number of the result.
    """

    __slots__ = ("arguments", "index", "op")

    def __init__(self, op: Op, arguments: list[Any], index: int = 0) -> None:
        self.op = op
        self.arguments = arguments
        self.index = index

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"{self} is the pattern of one tensor, which cannot be unpacked: write one pattern for each result."
        )

    def __repr__(self) -> str:
        result = f"[{self.index}]" if self.op.returns_tuple else ""
        return f"{self.op.name}({', '.join(map(repr, self.arguments))}){result}"


class Results(Sequence[Call]):
    """The patterns of all results of an op that has several, as a sequence.

    Args:
        op, arguments: as for `Call`.
        count: the number of results; None if it depends on the arguments, then the sequence cannot be unpacked.
    """

    def __init__(self, op: Op, arguments: list[Any], count: int | None) -> None:
        self._op, self._arguments, self._count = op, arguments, count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) or index < 0:
            return [*self][index]
        if self._count is not None and index >= self._count:
            raise IndexError(f"{self._op.name} has {self._count} results, so there is no result {index}.")
        return Call(self._op, self._arguments, index)

    def __len__(self) -> int:
        if self._count is None:
            raise TypeError(f"{self._op.name} has as many results as its arguments say: take one by its number.")
        return self._count

    def __iter__(self) -> Iterator[Call]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(self[0])[:-3]


Pattern: TypeAlias = Wildcard | Call


def wildcards(names: str, accepts: Callable[[Any], bool] | None = None) -> Any:
    """Make wildcards, from which calls of ops make patterns.

    Args:
        names: their names, with spaces between.
        accepts: says which tensors they match; any, if not given.

    Returns:
        A list of them; one alone if there is one name.

    Example:
        >>> from dovetail import ops
        >>> x, y = wildcards("x y")
        >>> ops.tanh(x @ y)
        Tanh(MatMul(x, y, False, False))
    """
    if not isinstance(names, str):
        raise op_error(TypeError, "wildcards", f"names is a text, as 'x y', not {describe(names)}.")
    made = [Wildcard(name, accepts) for name in names.split()]
    return made[0] if len(made) == 1 else made


class Match(dict[Wildcard, Any]):
    """A match of a pattern: wildcard → tensor or static value.

    Attributes:
        tensor: the tensor that the whole pattern matched.
        operations: the operations that the calls in the pattern matched.
    """

    tensor: GraphTensor
    operations: tuple[Operation, ...] = ()

    @property
    def op(self) -> Operation:
        return self.tensor.op


def match(pattern: Pattern, tensor: GraphTensor) -> Match | None:
    """Match a pattern with a tensor; None if it does not fit."""
    matched = _solve((pattern, tensor, None), Match())
    if matched is not None:
        matched.tensor = tensor
    return matched


def matches(graph: Graph, pattern: Pattern) -> Iterator[Match]:
    """Find all matches of a pattern, in program order; later ones see edits that are made while iterating.

    Example:
        >>> import dovetail as dt
        >>> graph, x = dt.Graph(), dt.wildcards("x")
        >>> y = -graph.placeholder(dt.spec(()), "y")
        >>> [found[x].name for found in graph.match(-x)]
        ['y:0']
    """
    for operation in graph.operations:
        for tensor in operation.outputs if operation in graph else ():
            matched = match(pattern, tensor)
            if matched is not None:
                yield matched


def build(template: Any, found: Match) -> Any:
    """Turn a pattern into operations, with the matched values instead of its wildcards."""
    if isinstance(template, Wildcard):
        return found[template]
    if isinstance(template, Call):
        result: Any = template.op(*[build(a, found) for a in template.arguments])
        return result[template.index] if template.op.returns_tuple else result
    return tuple(build(a, found) for a in template) if isinstance(template, tuple) else template


def rewrite(graph: Graph, pattern: Pattern, replacement: Any) -> int:
    """Replace all matches of a pattern.

    New operations copy the properties of the operation that they replace: line, name scope, device, engine and gradient
    overrides.  They wait for the operations that it waited for, and operations that waited for it wait for them.

    Args:
        graph: is edited; operations that nothing needs any more stay until they are pruned.
        pattern: the pattern to look for.
        replacement: a pattern of the same wildcards; or a function that takes the `Match` and returns the tensor to use
            instead, or None to leave it.

    Returns:
        The number of places that were replaced.

    Raises:
        ValueError, TypeError: the replacement has another dtype or a shape that does not fit; then this place, and all
            later ones, stay as they are.

    Example:
        >>> import dovetail as dt
        >>> graph, x = dt.Graph(), dt.wildcards("x")
        >>> graph.outputs = [-(-graph.placeholder(dt.spec(()), "y"))]
        >>> graph.rewrite(-(-x), x), graph.prune(), graph.outputs
        (1, 2, [<graph tensor y:0 float32[]>])
    """
    count = 0
    for matched in matches(graph, pattern):
        with all_or_nothing():
            count += _replace(graph, matched, replacement)
    return count


def _replace(graph: Graph, found: Match, replacement: Any) -> bool:
    old, operation = found.tensor, found.op
    waits = {other: None for op in found.operations for other in op.control_inputs if other not in found.operations}
    with graph.replacing(operation), graph.control_dependencies(waits):
        new: Any = replacement(found) if callable(replacement) else build(replacement, found)
        if new is None or new is old:
            return False
        graph.check_tensor(new)
        if not waits.keys() <= set(new.op.control_inputs):  # an existing operation does not wait as new ones do
            new = OPS["Identity"](new)
    graph.replace_all_uses(old, new)
    if not any(t.is_used or t in graph.outputs.numbers() for t in operation.outputs):
        for waiter in operation.control_outputs:
            if not graph.depends_on(new.op, waiter):
                waiter.remove_control_input(operation)
                waiter.add_control_input(new.op)
    return True


_Todo: TypeAlias = "tuple[Any, Any, _Todo] | None"  # a pattern, a value, and the pairs to compare after them


def _solve(todo: _Todo, found: Match) -> Match | None:
    """The values of the wildcards if all pairs of a pattern and a value fit; None if they do not.

    If the arguments of a commutative op fit in one order, but a later pair does not fit, the other order is tried.
    """
    while todo is not None:
        pattern, value, todo = todo
        if isinstance(pattern, Wildcard):
            if not _bind(pattern, value, found):
                return None
        elif isinstance(pattern, Call):
            if type(value) is not GraphTensor or pattern.op is not value.op.op or pattern.index != value.index:
                return None
            operation = value.op
            found.operations += (operation,)
            arguments = operation.args
            if pattern.op.name in COMMUTATIVE:
                first = _with(pattern.arguments, arguments, todo)
                solved = _solve(first, _copied(found))
                if solved is not None:
                    return solved
                arguments = arguments[::-1]
            elif pattern.op.name in AXES:
                arguments = _with_axes_as(pattern, operation, arguments)
            todo = _with(pattern.arguments, arguments, todo)
        elif isinstance(pattern, tuple) and isinstance(value, tuple):
            if len(pattern) != len(value):
                return None
            todo = _with(pattern, value, todo)
        elif not _equals(pattern, value):
            return None
    return found


def _with(patterns: Sequence[Any], values: Sequence[Any], todo: _Todo) -> _Todo:
    for pattern, value in zip(reversed(patterns), reversed(values), strict=True):
        todo = pattern, value, todo
    return todo


def _copied(found: Match) -> Match:
    copy = Match(found)
    copy.operations = found.operations
    return copy


def _bind(wildcard: Wildcard, value: Any, found: Match) -> bool:
    if wildcard in found:
        before = found[wildcard]
        return before is value or (GraphTensor not in (type(before), type(value)) and before == value)
    if wildcard.accepts is not None and not wildcard.accepts(value):
        return False
    found[wildcard] = value
    return True


def _equals(pattern: Any, value: Any) -> bool:
    """Whether a value of a graph is the number, the array or the static value of a pattern."""
    if type(value) is GraphTensor:
        return isinstance(pattern, (bool, int, float, np.ndarray)) and _is_constant(value, np.asarray(pattern))
    if isinstance(pattern, np.ndarray) or isinstance(value, np.ndarray):
        return isinstance(value, np.ndarray) and np.array_equal(pattern, value)
    return bool(pattern == value)


def _is_constant(tensor: GraphTensor, wanted: np.ndarray) -> bool:
    """Whether a tensor is a constant of these elements, up to the precision of its dtype."""
    if tensor.op.type != "Const" or tensor.shape != wanted.shape:
        return False
    value = tensor.op.attrs["value"]
    return np.array_equal(value, wanted.astype(value.dtype) if tensor.dtype.is_floating else wanted)


def _as_argument(op: Op, index: int, value: Any) -> Any:
    """An argument of a pattern in its normal form; arrays and lists for a tensor parameter become constants."""
    if index in op.ints_positions and isinstance(value, (int, list)):
        return tuple(value) if isinstance(value, list) else (value,)
    kind = op.params[index].kind
    if not isinstance(kind, Kind) or isinstance(value, (Wildcard, Call)) or value is None:
        return value
    if kind.many:
        return tuple(v if isinstance(v, (Wildcard, Call)) else _constant(v) for v in value)
    return _constant(value)


def _constant(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else np.asarray(value)


# -- axes -------------------------------------------------------------------------------------------------------------

# In these ops, `axis` counts the axes of the result, not of the first tensor.
_OF_RESULT = frozenset(("ExpandDims", "LinSpace", "OneHot", "Pack"))
_AXES = ("axis", "axes")
AXES = frozenset(op.name for op in OPS.values() if any(p.name in _AXES for p in op.params))


def _with_axes_as(pattern: Call, operation: Operation, arguments: list[Any]) -> list[Any]:
    """The arguments of an operation, with axes written as in the pattern if they are the same: -1 for the last."""
    tensor = operation.outputs[0] if operation.type in _OF_RESULT else operation.inputs[0]
    arguments = list(arguments)
    for index, param in enumerate(operation.op.params):
        wanted = pattern.arguments[index]
        if param.name not in _AXES or tensor.ndim is None or isinstance(wanted, Wildcard):
            continue
        if _counted(wanted, tensor.ndim) == _counted(arguments[index], tensor.ndim):
            arguments[index] = wanted
    return arguments


def _counted(axes: Any, rank: int) -> Any:
    """Axes counted from the first one; a single axis is the same as a tuple of one."""
    if isinstance(axes, tuple):
        counted = tuple(_counted(axis, rank) for axis in axes)
        return counted[0] if len(counted) == 1 else counted
    return axes % rank if type(axes) is int and -rank <= axes < rank else axes


def scalar_constant(tensor: GraphTensor) -> Any:
    """The value of a constant without dimensions, as a Python number; None for any other tensor."""
    if tensor.op.type == "Const" and tensor.shape == ():
        return tensor.op.attrs["value"].item()
    return None


def uniform_constant(tensor: GraphTensor) -> np.ndarray | None:
    """The value that all elements of a constant share, without dimensions; None if they differ."""
    if tensor.op.type != "Const":
        return None
    value = tensor.op.attrs["value"]
    first = value.reshape(-1)[:1]
    is_uniform = 0 < value.size <= 4096 and value.tobytes() == first.tobytes() * value.size  # -0.0 is not 0.0
    return first.reshape(()) if is_uniform else None


_COUNTED_BY = {"Unpack": "num", "SplitV": "sizes", "IdentityN": "xs", "XlaOptimizationBarrier": "xs"}


def _result_count(op: Op, arguments: list[Any]) -> int | None:
    """The number of results of an op; None if neither its annotation nor one of its arguments says it."""
    if op.name in _COUNTED_BY:
        value = arguments[op.index_of(_COUNTED_BY[op.name])]
        return len(value) if isinstance(value, tuple) else value if isinstance(value, int) else None
    kinds = get_args(get_type_hints(op.__wrapped__)["return"])  # type: ignore[attr-defined]  # by update_wrapper
    return None if Ellipsis in kinds else len(kinds)


class _Pattern(ValueKind):
    rank = 5
    is_symbolic = True

    def shape(self, value: Any) -> Any:
        return None

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        arguments = [_as_argument(op, index, value) for index, value in enumerate(values)]
        return Results(op, arguments, _result_count(op, arguments)) if op.returns_tuple else Call(op, arguments)


PATTERN = _Pattern()
register(Wildcard, PATTERN)
register(Call, PATTERN)
