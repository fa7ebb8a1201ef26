"""Changes: the methods of Graph that turn existing operations into others, and edits of several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, overload

from dovetail.core.calls.gradients import registered_overrides
from dovetail.edit import overriding
from dovetail.edit.edit import insert_at
from dovetail.edit.operations import rename
from dovetail.edit.user_pass import GraphPass
from dovetail.graph.base import operations_in
from dovetail.graph.cursor import Cursor
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.recompute_groups import RecomputeGroup, mark

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


@contextmanager
def edit(graph: Graph) -> Iterator[Graph]:
    """Make all changes of the `with` block to the graph, or none if an error leaves the block.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
        >>> try:
        ...     with graph.edit():
        ...         z = dt.ops.exp(y)
        ...         y.op.replace_input(0, z)
        ... except ValueError as error:
        ...     print(len(graph), error)
        2 'Exp' depends on 'Tanh': to use it there would make a cycle.
    """
    with all_or_nothing():
        yield graph


def apply(graph: Graph, pass_: Callable[[Graph], Any]) -> bool:
    """Edit the graph by a pass, and return whether that changed it.

    Args:
        pass_: made by `graph_pass`, or a function of a graph, which is also applied to branches and bodies.

    Raises:
        ValueError: the graph is not valid afterwards.  Then, or if the pass raises an error, the graph stays as it
            was.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> graph.outputs = [dt.ops.relu(graph.placeholder(dt.spec(()), "x"))]
        >>> graph.apply(lambda graph: [op.change(op="Tanh") for op in graph.find("Relu")])
        True
        >>> graph.outputs[0].op.type
        'Tanh'
    """
    return (pass_ if isinstance(pass_, GraphPass) else GraphPass(pass_))(graph)


@overload
def insert_after(graph: Graph, place: Operation, function: None = None) -> AbstractContextManager[None]: ...
@overload
def insert_after(graph: Graph, place: GraphTensor, function: Callable[[GraphTensor], GraphTensor]) -> GraphTensor: ...
def insert_after(graph: Graph, place: Any, function: Any = None) -> Any:
    """Insert operations right behind an operation, or a function behind a tensor, in one step.

    Args:
        place: an operation: operations made inside the `with` block go right behind it, in order.  Or a tensor.
        function: takes the tensor, and makes the tensor that all its other users take instead.

    Returns:
        The result of the function.

    Raises:
        ValueError, TypeError: the result does not fit; then the graph stays as it was.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((3,)), "x")
        >>> graph.outputs = [dt.ops.exp(x)]
        >>> graph.insert_after(x, lambda x: x - dt.ops.mean(x))
        <graph tensor Sub:0 float32[3]>
        >>> graph.outputs[0].op.inputs
        [<graph tensor Sub:0 float32[3]>]
    """
    if function is None:
        graph._check_member(place)
        return insert_at(graph, Cursor(graph._order, behind=place))
    graph.check_tensor(place)
    with graph.edit():
        with insert_at(graph, Cursor(graph._order, behind=place.op)):
            new = function(place)
        graph.replace_all_uses(place, new)
    return new


def override_gradients(
    graph: Graph,
    overrides: Mapping[str, str | None],
    within: Operation | GraphTensor | Iterable[Operation | GraphTensor] | None = None,
) -> int:
    """Give existing operations their gradients by name; gradients that are computed from then on use them.

    Args:
        overrides: op type → name of a gradient that is registered with `RegisterGradient`, or the type of another
            op, whose gradient it then has; None for the op's own.  Like a map around new operations, it also
            applies to the operations of composites, branches and bodies of loops.
        within: operations, or tensors, which mean their operations, of the graph or of graphs inside it; if not
            given, all of them.

    Returns:
        The number of operations of these types, without the operations of composites.

    Raises:
        LookupError: a key is not the type of an op, or there is no gradient of a name.
        ValueError: an operation is in another graph, or was removed.  Then the graph stays as it was.

    Source: `tf.Graph.gradient_override_map`, for a graph that was built.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((3,)), "x")
        >>> y = dt.ops.round(x) * 2.0
        >>> graph.override_gradients({"Round": "Identity"})
        1
        >>> dt.gradients(y, x)[0].eval({x: [0.2, 0.7, 1.1]})
        array([2., 2., 2.], dtype=float32)
    """
    checked = registered_overrides(overrides, "override_gradients")
    graph.check_changeable()
    own = set(graph.everywhere())
    chosen = graph.operations if within is None else operations_in(within)
    for operation in chosen:
        (operation.graph if operation.graph in own else graph)._check_member(operation)
    with all_or_nothing():
        reached = overriding.override_gradients(chosen, checked)
    return sum(operation.type in overrides for operation in reached)


def recompute(
    graph: Graph, operations: Operation | GraphTensor | Iterable[Operation | GraphTensor], again: bool = True
) -> int:
    """Let gradients recompute operations when they need them, instead of keeping their results.

    This takes less memory, and the time of these operations once more.  The operations of one call are recomputed
    together, from their inputs, which are kept.  In a deep net, mark block after block, each by a call.  Gradients
    that are computed from then on do it; their numbers stay the same.

    Args:
        operations: of the graph, or tensors, which mean their operations.  Mark operations of branches and bodies
            of loops there, by `operation.body().recompute(...)`.  Inputs, constants, reads and assignments of
            variables, and operations that print are not recomputed.
        again: False keeps their results again.

    Returns:
        The number of operations that were marked.

    Raises:
        ValueError: an operation is in another graph, or was removed; then the graph stays as it was.

    Source: Chen et al., "Training deep nets with sublinear memory cost" (2016); `dovetail.recompute_grad` for
        functions.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec(()), "x")
        >>> h = dt.ops.exp(x)
        >>> y = dt.ops.tanh(h)
        >>> graph.recompute([h, y])
        2
        >>> dt.gradients(y, x)[0].eval({x: 0.0}).round(4), len(graph.find("Tanh"))
        (np.float32(0.42), 2)
    """
    graph.check_changeable()
    with all_or_nothing():
        return len(mark(graph._members(operations), RecomputeGroup() if again else None))


def rename_scope(graph: Graph, old: str, new: str) -> int:
    """Move the operations of a name scope to another one.

    Args:
        old: the scope, or the name of one operation; "" for all.
        new: the scope that replaces it; "" for none.

    Returns:
        The number of operations that have another name.

    Raises:
        ValueError: another operation has one of the names; then the graph stays as it was.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> with graph.name_scope("a"):
        ...     x = graph.placeholder(dt.spec(()), "x")
        >>> graph.rename_scope("a", "b/c"), x.name
        (1, 'b/c/x:0')
    """
    old, new = old.strip("/"), new.strip("/")
    inside = [op for op in graph._order if not old or op.name == old or op.name.startswith(f"{old}/")]
    names = {op: f"{new}/{op.name[len(old) :].lstrip('/')}".strip("/") for op in inside}
    others = [name for op, name in names.items() if graph._operations.get(name, op) not in names]
    if "" in names.values() or others or len(set(names.values())) < len(names):
        taken = others[0] if others else new
        raise ValueError(f"the scope {old!r} cannot become {new!r}: there is an operation {taken!r} already.")
    rename(graph, names)
    return len(names)
