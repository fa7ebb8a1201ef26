"""Ranks as replicas of one program: their random state, the gradients of their optimizers, the rows of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from dovetail.core.engines.collectives import WORLD
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import is_recorded
from dovetail.distributed.gradients import average, exchanged
from dovetail.ops.collective import all_gather, broadcast_from
from dovetail.ops.shapes.create import zeros
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import convert

_SCOPE: ContextVar[str | None] = ContextVar("scope", default=None)  # how gradients are combined in it


@contextmanager
def as_replica(how: str = "sum") -> Iterator[None]:
    """A scope in which optimizers combine the gradients of all ranks.

    Args:
        how: "sum" or "mean"; "done" if they were combined before.

    Source: `tf.distribute.Strategy.run`.

    Example:
        >>> with as_replica():
        ...     print(combined(None, [1., None]))
        [1.0, None]
    """
    before = _SCOPE.set(how)
    try:
        yield
    finally:
        _SCOPE.reset(before)


def average_over_ranks(optimizer: Any, wire: str | None = None) -> Any:
    """Let an optimizer average its gradients over all ranks: Keras' in `apply`, `tf.train`'s in `compute_gradients`.

    Args:
        optimizer: it is changed in place, and returned.
        wire: as of `average`.

    Source: Sergeev and Del Balso 2018, "Horovod: fast and easy distributed deep learning in TensorFlow".
    """
    optimizer.over_ranks = partial(averages, wire=wire)
    compute = getattr(optimizer, "compute_gradients", None)
    if compute is not None:

        def compute_gradients(*args: Any, **kwargs: Any) -> list[Any]:
            gradients, variables = zip(*compute(*args, **kwargs), strict=True)
            return list(zip(averages(gradients, wire), variables, strict=True))

        optimizer.compute_gradients = compute_gradients
    return optimizer


def averages(gradients: Any, wire: str | None = None) -> Any:
    """The averages of the ranks' gradients, in a structure of the same form, as `average` computes them."""
    leaves, structure = flatten(gradients)
    return unflatten(structure, average(leaves, wire=wire))


def combined(optimizer: Any, gradients: Sequence[Any]) -> list[Any]:
    """Combine the ranks' gradients as an optimizer applies them.

    They are the ranks' sums or averages inside of `as_replica`, their averages for an optimizer of
    `average_over_ranks` and for a wrapper around it, else this rank's own.

    Args:
        optimizer: any; None for one that averages elsewhere.
        gradients: tensors of floats with known shapes, and None, in the same places on all ranks.
    """
    how = _SCOPE.get()
    if WORLD.size == 1 or how == "done":
        return list(gradients)
    while optimizer is not None:
        if hasattr(optimizer, "over_ranks"):
            return list(optimizer.over_ranks(list(gradients)))
        optimizer = getattr(optimizer, "inner_optimizer", None)
    if how is None:
        return list(gradients)
    return [g if g is None or how == "mean" else g * WORLD.size for g in average(gradients)]


def all_rows(rows: Any, counts: Sequence[int] = ()) -> Any:
    """The rows of all ranks, which may have different numbers of them.

    Args:
        rows: a tensor of rank 1 or more.
        counts: the number of rows of each rank, of which a rank may have more; by default, the ranks tell each other,
            or have the same number if `rows` is recorded.

    Example:
        >>> all_rows([1., 2.]).numpy()  # in one process
        array([1., 2.], dtype=float32)
    """
    rows = convert(rows)
    if not counts:
        if is_recorded(rows):
            return all_gather(rows)
        counts = WORLD.exchange("AllGather", np.array([rows.shape[0]]), ()).tolist()
    most = max(counts)
    rows = rows[:most]
    if rows.shape[0] < most:
        rows = concatenate([rows, zeros((most - rows.shape[0], *rows.shape[1:]), rows.dtype)])
    gathered = all_gather(rows)
    if len({*counts}) == 1:
        return gathered
    return concatenate([gathered[rank * most : rank * most + count] for rank, count in enumerate(counts)])


def broadcast_variables(variables: Iterable[Any], root: int = 0) -> list[Any]:
    """Give all ranks the variables of one rank, by one exchange for each dtype.

    Args:
        variables: variables with known shapes, the same on all ranks.
        root: the rank whose values are sent.

    Returns:
        What each variable's `assign` returned; in a graph, the operations to run.
    """
    variables = list(variables)
    values = exchanged(variables, lambda flat: broadcast_from(concatenate(flat), root))
    return [variable.assign(value) for variable, value in zip(variables, values, strict=True)]
