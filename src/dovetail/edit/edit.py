"""Editing: the methods of Graph that change its operations, and the place of new ones.

Each function works on the operations that it touches, not on the whole graph.  Methods check first: they refuse an edit
that would make a cycle or a type error, and leave the graph as it was.  Passes keep that by construction, and use the
functions of `graph.pass_edits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import opened, scopes
from dovetail.core.dtypes import DType, native_to_dtype, promote
from dovetail.core.values.variable import Variable
from dovetail.edit.inference import holds_shape_values, infer_from
from dovetail.graph.base import array_of
from dovetail.graph.cursor import Cursor
from dovetail.graph.journal import all_or_nothing, note
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.order import position, stands_before
from dovetail.graph.pass_edits import discard
from dovetail.graph.reach import reach
from dovetail.trace.trace import capture

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

Replacing: TypeAlias = Callable[[Operation], None]

COUNTING = {"AssignVariableOp", "ReadVariableOp", "AddV2", "Const", "IdentityN"}  # types that count random numbers
_USES = attrgetter("_uses")  # of a tensor
_MAKER = attrgetter("op")


# the place of new operations


@contextmanager
def insert_before(graph: Graph, operation: Operation) -> Iterator[None]:
    """Insert operations that are made inside the `with` block before this one.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec(()), "x")
        >>> y = dt.ops.tanh(x)
        >>> with graph.insert_before(y.op):
        ...     y.op.replace_input(0, -x)
        >>> [op.type for op in graph.operations]
        ['Placeholder', 'Neg', 'Tanh']
    """
    graph._check_member(operation)
    with insert_at(graph, Cursor(graph._order, before=operation)):
        yield


@contextmanager
def insert_at(graph: Graph, cursor: Cursor, **changes: Any) -> Iterator[None]:
    """A scope in which operations are recorded here, at the place of a cursor; `changes` as for `within`."""
    here = graph._scopes.get()
    cursor.like = here.like
    graph._cursors.append(cursor)
    try:
        here = here._replace(cursor=cursor, **changes)
        with opened({"graphs": (*scopes().graphs, graph), graph._scopes: here}):
            yield
    finally:
        graph._cursors.remove(cursor)


@contextmanager
def replacing(graph: Graph, operation: Operation | None = None, scope: str | None = None) -> Iterator[Replacing]:
    """Insert operations that are made inside the `with` block in place of this one, with its properties.

    They go before it, have its user's line, name scope, device, engine and gradient overrides, and wait for the
    operations that it waits for.

    Args:
        operation: the operation to replace; None for a pass, which names it by a call of the `with` block's value.
        scope: another name scope.
    """
    cursor = Cursor(graph._order)

    def replace(operation: Operation) -> None:
        cursor.before = cursor.like = operation

    with insert_at(graph, cursor, name=scope):
        if operation is not None:
            replace(operation)
        yield replace


# replacing


def replace_all_uses(graph: Graph, old: GraphTensor, new: Any) -> None:
    """Make all operations and graph outputs that take `old` take `new`, except operations that `new` depends on.

    In a branch or a body of a loop, `new` may be a tensor of the graph around it.  An array or a number becomes a
    constant.

    Raises:
        ValueError: `new` is in another graph or was removed, or its shape does not fit.
        TypeError: the dtypes differ.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((3,)), "x")
        >>> graph.outputs = [dt.ops.exp(x)]
        >>> graph.replace_all_uses(x, x - dt.ops.mean(x))
        >>> [op.type for op in graph.operations]
        ['Placeholder', 'Mean', 'Sub', 'Exp']
    """
    with all_or_nothing():
        graph.check_tensor(old)
        new = _brought_in(graph, new, old.dtype)
        _check_replacement(graph, old, new)
        if old is not new:
            needed = set(reach([new], outside=stands_before(old.op)))
            graph.replace_uses(old, new, [use for use in old.uses() if use[0] not in needed])
            graph.outputs.replace(old, new)
            tell_holders(graph)


def replace_uses(graph: Graph, old: GraphTensor, new: Any, uses: Sequence[tuple[Operation, int]]) -> None:
    """Make these uses of `old`, given as (operation, input number), take `new` instead.

    Raises:
        ValueError: `new` is in another graph or was removed, depends on one of the users, or does not fit.
        TypeError: the dtypes differ.
    """
    users = list(dict.fromkeys(operation for operation, _ in uses))
    for operation in users:
        graph._check_member(operation)
    with all_or_nothing():
        new = _brought_in(graph, new, old.dtype)
        _check_replacement(graph, old, new)
        if old is new or not uses:
            return
        behind = _check_acyclic(new.op, users)
        for operation, index in uses:
            operation.set_input(index, new)
        _move(graph, behind, users)
        _infer(graph, users, old, new)


def _brought_in(graph: Graph, given: Any, dtype: DType) -> Any:
    """A tensor of this graph.

    If the graph is inside an operation, a tensor of the graph around it is captured.  An array or a number becomes a
    constant; its numbers take a dtype of the same kind, as those of NumPy's float64 do.
    """
    if not isinstance(given, (GraphTensor, Variable)):
        array = np.asarray(given) if isinstance(given, (np.ndarray, np.generic)) else array_of(given)
        own = native_to_dtype(array.dtype)
        is_alike = own.is_floating == dtype.is_floating and own.is_integer == dtype.is_integer
        return graph.constant(array.astype(dtype.numpy) if is_alike or promote([own, dtype]) == dtype else array)
    is_outside = graph._holders and isinstance(given, GraphTensor) and given.op.graph is not graph
    return capture(graph, given) if is_outside else given  # type: ignore[arg-type]  # it is no Variable


def _check_replacement(graph: Graph, old: GraphTensor, new: GraphTensor) -> None:
    graph.check_tensor(new)
    if new.dtype != old.dtype:
        raise TypeError(f"{new!r} cannot replace {old!r}: the dtypes differ; cast it first.")


def _infer(graph: Graph, users: Sequence[Operation], old: GraphTensor, new: GraphTensor) -> None:
    if new.shape == old.shape and not holds_shape_values(new):
        return
    try:
        infer_from(users, [new])
        tell_holders(graph)
    except (ValueError, TypeError, IndexError) as error:
        told: Any = type(error)(f"{new!r} cannot replace {old!r}: {error}")
        told.dovetail = True  # as `op_error` does
        raise told from None


def check_held_outputs(graph: Graph) -> None:
    for holder in holders_of(graph):
        for tensor in graph.outputs:
            graph.check_tensor(tensor)
        is_test = graph is holder.attrs.get("condition")
        wanted = ["bool"] if is_test else [t.dtype for t in holder.outputs]
        given = [t.dtype for t in graph.outputs]
        if given != wanted:
            is_count = len(given) != len(wanted)
            what = f"{len(given)} results, not {len(wanted)}" if is_count else f"{given}, not {wanted}"
            advice = "give the operation another one, operation.add_output()" if is_count else "cast them"
            problem = f"{graph.name!r}, which {holder.name!r} holds, would have {what}; {advice}."
            raise op_error(ValueError if is_count else TypeError, holder.type, problem, where=holder.where)
    tell_holders(graph)


def tell_holders(graph: Graph) -> None:
    """Update the output shapes of the operations that hold this graph."""
    for holder in holders_of(graph):
        infer_from([holder])
        tell_holders(holder.graph)


# order


def order_before(graph: Graph, operation: Operation, users: Sequence[Operation]) -> None:
    """Move an operation, with the operations it needs, before operations that are going to use it.

    Raises:
        ValueError: it depends on one of them, or is in another graph.
    """
    for op in (operation, *users):
        graph._check_member(op)
    _move(graph, _check_acyclic(operation, users), users)


def _check_acyclic(operation: Operation, users: Sequence[Operation]) -> list[Operation]:
    """The operations to move so that an operation precedes its users, in order; as a rule, none."""
    first = min(users, key=position, default=None)
    if first is None or operation._position < first._position:
        return []
    behind = reach([operation], outside=stands_before(first))
    for user in set(behind).intersection(users):
        raise ValueError(f"{operation.name!r} depends on {user.name!r}: to use it there would make a cycle.")
    return behind


def _move(graph: Graph, operations: Sequence[Operation], users: Sequence[Operation]) -> None:
    if operations:
        first = min(users, key=position)
        for operation in operations:
            following = operation._next
            graph._order.move(operation, first)
            note(partial(graph._order.move, operation, following))


# removing


def remove(graph: Graph, operation: Operation) -> None:
    """Remove an operation that nothing uses.

    Raises:
        ValueError: an output is in use, another operation waits for it, or it is an input of a body or branch.
    """
    graph._check_member(operation)
    if operation.type == "Placeholder":
        graph._check_own_inputs()
    users = [f"{op.name!r} takes {t.name}" for t in operation.outputs for op in t.consumers()]
    users += [f"the graph returns {t.name}" for t in operation.outputs if t in graph.outputs.numbers()]
    users += [f"{op.name!r} waits for it" for op in operation.control_outputs]
    if users:
        raise ValueError(f"{operation.name!r} cannot be removed: {', '.join(users)}.")
    discard(graph, [operation])


def prune(graph: Graph, outputs: Sequence[GraphTensor] | None = None, inputs: bool = False, counts: bool = True) -> int:
    """Remove the operations that neither the outputs nor an effect needs.

    Args:
        outputs: the graph's new outputs; then assignments that these do not need are removed, too.
        inputs: whether inputs that nothing uses are removed, too; else they stay.
        counts: whether a generator's count is no effect if the graph draws none of its numbers any more.

    Returns:
        The number of operations that were removed.

    Raises:
        ValueError, TypeError: an output is in another graph, or was removed; or the graph is inside an operation
            that needs other outputs or inputs.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x, y: x + 1.0).graph(dt.spec((2,)), dt.spec((3,)))
        >>> graph.prune(inputs=True), graph.inputs
        (1, [<graph tensor arg0:0 float32[2]>])
    """
    if inputs:
        graph._check_own_inputs()
    for tensor in graph.outputs if outputs is None else outputs:
        graph.check_tensor(tensor)
    if outputs is not None:
        with all_or_nothing():
            graph.outputs = list(outputs)
    removed = _prune(graph, outputs is None)
    if counts and (idle := _idle_counts(graph)):
        discard(graph, idle)
        removed += len(idle) + _prune(graph, outputs is None)
    unused = [t.op for t in graph.inputs if not t.is_used and t not in graph.outputs.numbers()] if inputs else []
    if unused:
        discard(graph, unused)
    return removed + len(unused)


def _prune(graph: Graph, effects: bool) -> int:
    """Remove operations that nothing needs, and assignments unless effects count; return their number."""
    kept = {*map(_MAKER, (*graph.outputs, *graph.inputs))}
    removed = 0
    for op in reversed(graph.operations):  # its consumers were visited before it
        if any(map(_USES, op.outputs)) or op in kept or op._control_outputs or (effects and op.is_kept):
            continue
        graph._detach(op)
        removed += 1
    return removed


def _idle_counts(graph: Graph) -> list[Operation]:
    """The assignments to counts of generators that count on, and of which nothing else in the graph takes a number."""
    assignments: dict[Any, list[Operation]] = {}
    for op in graph.of_types(["AssignVariableOp"]):
        if op.attrs["variable"].is_counter:
            assignments.setdefault(op.attrs["variable"], []).append(op)
    returned = graph.outputs.numbers()
    idle: list[Operation] = []
    for group in assignments.values():
        counting = set(reach([t for op in group for t in op.inputs])) | {*group}
        numbers = [t for op in counting if op.type != "Const" for t in op.outputs]
        is_idle = all(op.type in COUNTING and counting.issuperset(op.control_outputs) for op in counting)
        if is_idle and not any(t in returned or not counting.issuperset(t.consumers()) for t in numbers):
            idle += group
    return idle
