"""Blocks of images: DepthToSpace, SpaceToDepth, SpaceToBatchND, BatchToSpaceND."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of, rank_of


@row("DepthToSpace: x; block_size:size data_format=NHWC")
def _(x: Any, size: int) -> Any:
    batch, height, width, channels = dims_of(x)
    parts = ops.reshape(x, [batch, height, width, size, size, channels // (size * size)])
    joined = [batch, height * size, width * size, channels // (size * size)]
    return ops.reshape(ops.transpose(parts, (0, 1, 3, 2, 4, 5)), joined)


@row("SpaceToDepth: x; block_size:size data_format=NHWC")
def _(x: Any, size: int) -> Any:
    batch, height, width, channels = dims_of(x)
    parts = ops.reshape(x, [batch, height // size, size, width // size, size, channels])
    joined = [batch, height // size, width // size, channels * size * size]
    return ops.reshape(ops.transpose(parts, (0, 1, 3, 2, 4, 5)), joined)


@row("SpaceToBatchND: x blocks! pads!")
def _(x: Any, blocks: Sequence[int], pads: Sequence[Sequence[int]]) -> Any:
    count, rank = len(blocks), rank_of(x)
    around = [0] * (rank - 1 - count)
    x = OPS["PadV2"](x, [0, *(pad[0] for pad in pads), *around], [0, *(pad[1] for pad in pads), *around])
    dims = dims_of(x)
    parts = [part for size, block in zip(dims[1 : count + 1], blocks, strict=True) for part in (size // block, block)]
    axes = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, rank + count)]
    x = ops.transpose(ops.reshape(x, [dims[0], *parts, *dims[count + 1 :]]), axes)
    return ops.reshape(x, [dims[0] * int(np.prod(blocks)), *parts[::2], *dims[count + 1 :]])


@row("BatchToSpaceND: x blocks! crops!")
def _(x: Any, blocks: Sequence[int], crops: Sequence[Sequence[int]]) -> Any:
    count, rank, dims = len(blocks), rank_of(x), dims_of(x)
    batch = dims[0] // int(np.prod(blocks))
    x = ops.reshape(x, [*blocks, batch, *dims[1:]])
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    x = ops.transpose(x, [count, *pairs, *range(2 * count + 1, rank + count)])
    sizes = [size * block for size, block in zip(dims[1 : count + 1], blocks, strict=True)]
    x = ops.reshape(x, [batch, *sizes, *dims[count + 1 :]])
    return x[(slice(None), *(slice(a, size - b) for (a, b), size in zip(crops, sizes, strict=True)))]
