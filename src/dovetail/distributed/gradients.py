"""Averages of gradients over all ranks: data parallel training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.core.collectives import WORLD
from dovetail.ops.collective import all_reduce
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import cast, convert, reshape


def average(gradients: Sequence[Any], weight: float | None = None) -> list[Any]:
    """The mean of the ranks' gradients, on each rank; one exchange for each dtype.

    Args:
        gradients: tensors of floats with known shapes, and None, in the same places on all ranks.
        weight: this rank's share in a weighted mean, such as the number of its rows; give it on all ranks or on none.

    Returns:
        A list of as many gradients, of the same shapes and dtypes.

    Raises:
        CollectiveError: a rank did not come in time, or has other gradients.

    Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".

    Example:
        >>> average([[1., 2.], None])[0].numpy()  # in one process
        array([1., 2.], dtype=float32)
    """
    found: list[Any] = [None if g is None else convert(g) for g in gradients]
    if len(WORLD.members(())) == 1:
        return found
    for dtype in dict.fromkeys(g.dtype for g in found if g is not None):
        places = [i for i, g in enumerate(found) if g is not None and g.dtype == dtype]
        shapes = [found[i].shape for i in places]
        flat = [reshape(found[i], (-1,)) for i in places]
        if weight is None:
            means = all_reduce(concatenate(flat), "mean")
        else:  # the weights travel along, as the last element
            sums = all_reduce(concatenate([*(g * weight for g in flat), cast([weight], dtype)]))
            means = sums[:-1] / sums[-1]
        start = 0
        for i, shape in zip(places, shapes, strict=True):
            size = math.prod(shape)
            found[i] = reshape(means[start : start + size], shape)
            start += size
    return found
