"""Collectives: ops over all processes of a program, or over a group of them.

The host exchanges the arrays, so no engine has a rule.  Each rank of the group must compute the same collectives in the
same order; a plan keeps the order of the program.  A gradient is that of the sum of all ranks' losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from dovetail.core.base.errors import CollectiveError, op_error, user_line
from dovetail.core.base.hooks import hooks
from dovetail.core.base.table import OPS
from dovetail.core.engine import Engine
from dovetail.core.engines.collectives import WORLD, divided
from dovetail.core.kinds import Each
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import any_rank
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.math.compare import equal, where
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import zeros_like
from dovetail.ops.shapes.identity import passed_on
from dovetail.ops.shapes.shape import cast

Reduction = Literal["sum", "mean", "max", "min"]


def _check(x: TensorSpec, reduction: str) -> None:
    if reduction == "mean" and not x.dtype.is_differentiable:
        raise TypeError(f"the mean of {x.dtype} is no {x.dtype}; cast to floats first.")
    if reduction in ("max", "min") and x.dtype.is_complex:
        raise TypeError(f"{x.dtype} has no {reduction}, since complex numbers have no order.")
    if reduction == "sum" and x.dtype == "bool":
        raise TypeError("bools have no sum; cast them to integers, or take the max (any) or the min (all).")


def _rows(x: TensorSpec, change: Any) -> TensorSpec:
    """The spec with another number of rows."""
    if x.shape is None:
        return x
    if not x.shape:
        raise ValueError("a scalar has no rows to gather or to scatter; reshape it to (1,).")
    return TensorSpec((None if x.shape[0] is None else change(x.shape[0]), *x.shape[1:]), x.dtype)


@any_rank
def _same(x: TensorSpec, ranks: Any) -> TensorSpec:
    WORLD.members(ranks)
    return x


@any_rank
def _reduced(x: TensorSpec, reduction: str, ranks: Any) -> TensorSpec:
    WORLD.members(ranks)
    _check(x, reduction)
    return x


@primitive(
    "AllReduce",
    cost="move",
    infer=_reduced,
    samples=[sample(array(2, 3)), sample(array(0, 2), "max", gradient=False), sample(ints(3))],
)
def all_reduce(x: Each, reduction: Reduction = "sum", ranks: Sequence[int] = ()) -> Tensor:
    """The elementwise sum, mean, maximum or minimum of the ranks' tensors, on each rank.

    Args:
        x: a tensor of the same shape and dtype on all ranks; for a mean, floats.
        reduction: "sum", "mean", "max" or "min".
        ranks: the group; () for all.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.all_reduce`, `jax.lax.psum`.

    Example:
        >>> all_reduce([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """


@all_reduce.gradient
def _(op: Any, g: Any) -> Any:
    reduction, ranks = op.attr("reduction"), op.attr("ranks")
    if reduction in ("sum", "mean"):
        return all_reduce(g, reduction, ranks)
    chosen = cast(equal(op.inputs[0], op.outputs[0]), g.dtype)
    return all_reduce(g, "sum", ranks) * chosen / all_reduce(chosen, "sum", ranks)


@primitive(
    "AllGather",
    cost="move",
    infer=any_rank(lambda x, ranks: _rows(x, lambda rows: rows * len(WORLD.members(ranks)))),
    samples=[sample(array(2, 3))],
)
def all_gather(x: Each, ranks: Sequence[int] = ()) -> Tensor:
    """The rows of all ranks, in the order of the ranks, on each rank.

    Args:
        x: a tensor of rank 1 or more, of the same shape and dtype on all ranks.
        ranks: the group; () for all.

    Returns:
        A tensor with as many times the rows as the group has ranks.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.all_gather_into_tensor`, `jax.lax.all_gather`.

    Example:
        >>> all_gather([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """


@all_gather.gradient
def _(op: Any, g: Any) -> Any:
    return reduce_scatter(g, "sum", op.attr("ranks"))


@any_rank
def _scattered(x: TensorSpec, reduction: str, ranks: Any) -> TensorSpec:
    _check(x, reduction)
    count = len(WORLD.members(ranks))
    return _rows(x, lambda rows: divided(rows, count))


@primitive("ReduceScatter", cost="move", infer=_scattered, samples=[sample(array(2, 3)), sample(array(2), "mean")])
def reduce_scatter(x: Each, reduction: Reduction = "sum", ranks: Sequence[int] = ()) -> Tensor:
    """The part that belongs to this rank of the ranks' reduced tensors.

    Args:
        x: a tensor whose rows can be divided evenly among the ranks, of the same shape and dtype on all.
        reduction: "sum", "mean", "max" or "min".
        ranks: the group; () for all.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.reduce_scatter_tensor`, `jax.lax.psum_scatter`.

    Example:
        >>> reduce_scatter([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """


@reduce_scatter.gradient
def _(op: Any, g: Any) -> Any:
    reduction, ranks = op.attr("reduction"), op.attr("ranks")
    if reduction in ("max", "min"):
        raise NotImplementedError("ReduceScatter has a gradient for sum and mean; for others, use all_reduce.")
    whole = all_gather(g, ranks)
    return whole if reduction == "sum" else whole / len(WORLD.members(ranks))


@any_rank
def _sent(x: TensorSpec, root: int, ranks: Any) -> TensorSpec:
    if root not in (members := WORLD.members(ranks)):
        raise ValueError(f"root must be one of the ranks {members}, not {root}.")
    return x


@primitive("Broadcast", cost="move", infer=_sent, samples=[sample(array(2, 3)), sample(ints())])
def broadcast_from(x: Each, root: int = 0, ranks: Sequence[int] = ()) -> Tensor:
    """The tensor of one rank, on each rank.

    Args:
        x: a tensor of the same shape and dtype on all ranks.
        root: the rank whose tensor is sent.
        ranks: the group; () for all.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.broadcast`.

    Example:
        >>> broadcast_from([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """


@broadcast_from.gradient
def _(op: Any, g: Any) -> Any:
    total = all_reduce(g, "sum", op.attr("ranks"))
    return where(WORLD.rank == op.attr("root"), total, zeros_like(total))  # each rank's second gradient needs the total


@any_rank
def _swapped(x: TensorSpec, ranks: Any) -> TensorSpec:
    count = len(WORLD.members(ranks))
    return _rows(x, lambda rows: divided(rows, count) * count)


@primitive("AllToAll", cost="move", infer=_swapped, samples=[sample(array(2, 3))])
def all_to_all(x: Each, ranks: Sequence[int] = ()) -> Tensor:
    """The n-th part of the rows of each rank, on the n-th rank.

    Args:
        x: a tensor whose rows can be divided evenly among the ranks, of the same shape and dtype on all.
        ranks: the group; () for all.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.all_to_all_single`, `jax.lax.all_to_all`.

    Example:
        >>> all_to_all([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """


@all_to_all.gradient
def _(op: Any, g: Any) -> Any:
    return all_to_all(g, op.attr("ranks"))


@primitive("CollectiveBarrier", cost="move", infer=_same, samples=[sample(array(2, 3)), sample(ints())])
def barrier(x: Each, ranks: Sequence[int] = ()) -> Tensor:
    """The tensor itself, once all ranks have come.

    Args:
        x: a tensor; each rank may have another one.
        ranks: the group; () for all.

    Raises:
        CollectiveError: a rank of the group did not come in time, or came with another collective.

    Source: `torch.distributed.barrier`.

    Example:
        >>> barrier(1).numpy()  # in one process
        array(1, dtype=int32)
    """


barrier.gradient(passed_on)


# -- values of engines' libraries -------------------------------------------------------------------------------------


def _meet_traced(engine: Engine, name: str, x: Any, static: Sequence[Any]) -> Any:
    """The result of a collective in a program that a library traces, by a call of Python in each run."""
    *options, ranks = static
    where, infer = user_line(), OPS[name].infer
    assert infer is not None, "a primitive has a type rule"

    def exchange(array: Any) -> np.ndarray:
        try:
            return WORLD.exchange(name, np.asarray(array), ranks, *options)
        except CollectiveError as error:
            raise op_error(CollectiveError, name, str(error), where=where) from error

    return engine.traced_call(exchange, x, infer(TensorSpec(engine.shape(x), engine.dtype(x)), *static))


hooks.meet_traced = _meet_traced
