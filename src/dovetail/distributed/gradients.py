"""Averages of gradients over all ranks, and the other exchanges of many tensors at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.engines.collectives import HALVES, WORLD, check_wire
from dovetail.ops.collective import all_gather, all_reduce, all_to_all
from dovetail.ops.math.reduce import sum as sum_of
from dovetail.ops.shapes.create import zeros
from dovetail.ops.shapes.join import concatenate, split_sizes
from dovetail.ops.shapes.shape import cast, convert, reshape


def average(gradients: Sequence[Any], weight: float | None = None, wire: str | None = None) -> list[Any]:
    """The mean of the ranks' gradients, on each rank; one exchange for each dtype.

    A large exchange travels in 1, 2 or 4 parts: the first steps try which is fastest.  Weighted halves take a second
    exchange, of the weights.

    Args:
        gradients: tensors of floats with known shapes, and None, in the same places on all ranks.
        weight: this rank's share in a weighted mean, such as the number of its rows; give it on all ranks or on none.
        wire: "bfloat16" or "float16": wider numbers travel as these, which halves the bytes of float32.  Sums are in
            float32.  If not given, the choice of `init`.

    Returns:
        A list of as many gradients, of the same shapes and dtypes.

    Raises:
        CollectiveError: a rank did not come in time, or has other gradients.
        ValueError: `wire` is another name.

    Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"; for halves,
    `torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook`.

    Example:
        >>> average([[1., 2.], None])[0].numpy()  # in one process
        array([1., 2.], dtype=float32)
    """
    wire = WORLD.wire if wire is None else check_wire(wire)

    def mean(flat: Sequence[Any]) -> Any:
        dtype = flat[0].dtype
        if wire and dtype not in HALVES and any(g.shape[0] for g in flat):
            return _mean_of_halves(flat, weight, wire)
        if weight is None:
            return all_reduce(concatenate(flat), "mean")
        if dtype in HALVES:  # their sum may be infinite
            return all_reduce(cast(concatenate(flat) * _share(weight, "float32"), dtype))
        sums = all_reduce(concatenate([*(g * weight for g in flat), cast([weight], dtype)]))  # the weights travel along
        return sums[:-1] / sums[-1]

    return exchanged(gradients, mean)


def exchanged(tensors: Sequence[Any], exchange: Callable[[Sequence[Any]], Any]) -> list[Any]:
    """Exchange tensors among all ranks, those of a dtype at once.

    Args:
        tensors: tensors with known shapes, and None, in the same places on all ranks.
        exchange: flat tensors of one dtype → the result for all their elements, one after another.

    Returns:
        A list of as many tensors, of the same shapes; in one process, of the same values.

    Example:
        >>> exchanged([[1., 2.], None], lambda flat: all_gather(concatenate(flat)))[0].numpy()
        array([1., 2.], dtype=float32)
    """
    exchanged_tensors: list[Any] = [None if t is None else convert(t) for t in tensors]
    if len(WORLD.members(())) == 1:
        return exchanged_tensors
    for dtype in dict.fromkeys(t.dtype for t in exchanged_tensors if t is not None):
        places = [i for i, t in enumerate(exchanged_tensors) if t is not None and t.dtype == dtype]
        whole = exchange([reshape(exchanged_tensors[i], (-1,)) for i in places])
        for i, part in zip(
            places, split_sizes(whole, [math.prod(exchanged_tensors[i].shape) for i in places]), strict=True
        ):
            exchanged_tensors[i] = reshape(part, exchanged_tensors[i].shape)
    return exchanged_tensors


def _mean_of_halves(flat: Sequence[Any], weight: float | None, wire: str) -> Any:
    """The mean of flat arrays of one dtype: each rank adds up a part in float32, and only halves travel."""
    dtype, size = flat[0].dtype, sum(g.shape[0] for g in flat)
    each = -(-size // WORLD.size)
    rest = [zeros((each * WORLD.size - size,), dtype)]
    share = 1.0 / WORLD.size if weight is None else _share(weight, dtype)
    own = cast(concatenate([*(g * share for g in flat), *rest]), wire)
    parts = cast(all_to_all(reshape(own, (WORLD.size, each))), "float32")
    return cast(all_gather(cast(sum_of(parts, axis=0), wire))[:size], dtype)


def _share(weight: float, dtype: Any) -> Any:
    """This rank's part of the sum of all ranks' weights."""
    return weight / all_reduce(cast([weight], dtype))
