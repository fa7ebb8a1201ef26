"""Ranks as replicas of one program: they begin with one random state, and optimizers add up their gradients."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from dovetail.core.collectives import WORLD
from dovetail.distributed.gradients import average

_IS_REPLICA: ContextVar[bool] = ContextVar("is_replica", default=False)


@contextmanager
def as_replica(is_replica: bool = True) -> Iterator[None]:
    """A scope in which optimizers add up the gradients of all ranks; with False, one in which they do not.

    Source: `tf.distribute.Strategy.run`.

    Example:
        >>> with as_replica():
        ...     print(combined(None, [1., None]))
        [1.0, None]
    """
    before = _IS_REPLICA.set(is_replica)
    try:
        yield
    finally:
        _IS_REPLICA.reset(before)


def combined(optimizer: Any, gradients: Sequence[Any]) -> list[Any]:
    """Combine the ranks' gradients as an optimizer applies them.

    They are the ranks' sums inside of `as_replica`, their averages for an optimizer that `compat.horovod` has marked,
    else this rank's own.

    Args:
        optimizer: any; a mark is its attribute `averages_over_ranks`.
        gradients: tensors of floats with known shapes, and None, in the same places on all ranks.
    """
    is_mean = getattr(optimizer, "averages_over_ranks", False)
    if WORLD.size == 1 or not (is_mean or _IS_REPLICA.get()):
        return list(gradients)
    means = average(gradients)
    return means if is_mean else [None if g is None else g * WORLD.size for g in means]


def same_random_state() -> None:
    """Give all ranks the random states of rank 0: of NumPy, Python and torch."""
    if WORLD.size == 1:
        return
    import torch  # it carries

    state: Any = np.random.get_state()  # noqa: NPY002  # programs draw from it
    name, words, *numbers = state
    words = WORLD.exchange("Broadcast", np.array([*words, numbers[0], numbers[1]], "int64"), (), 0)
    np.random.set_state((name, words[:-2].astype("uint32"), int(words[-2]), int(words[-1]), *numbers[2:]))  # noqa: NPY002
    version, words, following = random.getstate()
    words = WORLD.exchange("Broadcast", np.array(words, "int64"), (), 0)
    random.setstate((version, tuple(words.tolist()), following))
    torch.set_rng_state(torch.from_numpy(WORLD.exchange("Broadcast", torch.get_rng_state().numpy(), (), 0)))
