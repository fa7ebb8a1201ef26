"""Images: GridSample, AffineGrid, RoiAlign, NonMaxSuppression, ImageDecoder."""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.boxes import overlap_of, selected
from dovetail.formats.nodes.constants import constant_of, counted, known_size, of_rank, recorded, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.table import row, special
from dovetail.ops.image.kernels import cubic, triangle
from dovetail.ops.shapes.shape import dims_of, rank_of


def reflected(x: Any, low: float, high: float) -> Any:
    """Numbers that are mirrored at two borders until they are between them."""
    reach = high - low
    if reach <= 0:
        return ops.zeros_like(x)
    rest = OPS["FloorMod"](x - low, ops.cast(2 * reach, x.dtype))
    return low + ops.minimum(rest, 2 * reach - rest)


def elements_at(x: Any, places: Sequence[Any], padding: str, borders: Sequence[tuple[float, float]]) -> Any:
    """Elements (batch, channels, points) at positions, a tensor (batch, points) of whole numbers for each axis."""
    sizes = [known_size(x, axis) for axis in range(2, rank_of(x))]
    inside, flat = None, 0
    for at, size, border in zip(places, sizes, borders, strict=True):
        if padding == "reflection":
            at = reflected(at, *border)
        elif padding == "zeros":
            one = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, size))
            inside = one if inside is None else ops.logical_and(inside, one)
        flat = flat * size + ops.cast(ops.clip(at, 0, size - 1), "int32")
    batch, channels = dims_of(x)[:2]
    points = dims_of(flat)[1]
    index = ops.broadcast_to(ops.expand_dims(flat, 1), [batch, channels, points])
    elements = OPS["TakeAlongAxis"](ops.reshape(x, [batch, channels, -1]), index, 2)
    return elements if inside is None else ops.where(ops.expand_dims(inside, 1), elements, ops.zeros_like(elements))


def _shares(mode: str, part: Any) -> list[tuple[int, Any]]:
    """Neighbours of a position, by their distance from the one before it, with the share of each."""
    kernel, steps = (triangle, (0, 1)) if mode == "linear" else (cubic(0.75), (-1, 0, 1, 2))
    return [(step, kernel(ops, ops.absolute(part - step))) for step in steps]


def corners_at(x: Any, parts: Sequence[Any], mode: str, padding: str, borders: Any) -> Iterator[Any]:
    """The elements around positions, each times its share; their sum is what is there."""
    places = [ops.floor(at) for at in parts]
    shares = [_shares(mode, at - place) for at, place in zip(parts, places, strict=True)]
    for corner in itertools.product(*shares):
        share: Any = 1
        for _, one in corner:
            share = share * one
        moved = [place + step for place, (step, _) in zip(places, corner, strict=True)]
        yield elements_at(x, moved, padding, borders) * ops.expand_dims(share, 1)


@row("GridSample: x grid; align_corners:aligned mode padding_mode:padding")
def _(x: Any, grid: Any, aligned: int = 0, mode: str = "linear", padding: str = "zeros") -> Any:
    """Elements between those of an image; the last axis of the grid has the positions of the axes backwards."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    rank = rank_of(x) - 2
    sizes = [known_size(x, axis) for axis in range(2, rank_of(x))]
    dims = dims_of(grid)
    points = ops.reshape(grid, [dims[0], -1, rank])
    points = ops.where(ops.less(ops.absolute(points), 2.0**30), points, -1.0)  # ONNX Runtime does so, also for NaN
    borders = [(0.0, size - 1.0) if aligned else (-0.5, size - 0.5) for size in sizes]
    parts = []
    for i, size in enumerate(sizes):
        at = points[..., rank - 1 - i]
        at = (at + 1) / 2 * (size - 1) if aligned else ((at + 1) * size - 1) / 2
        at = ops.rint(at) if mode == "nearest" else at
        if padding == "border" and mode != "cubic":  # whose neighbours alone are moved
            at = ops.clip(at, 0, size - 1)
        elif padding == "reflection":
            at = reflected(at, *borders[i])
        parts.append(at)
    if mode == "nearest":
        elements = elements_at(x, parts, padding, borders)
    else:
        elements = sum(corners_at(x, parts, mode, padding, borders))
    return ops.cast(ops.reshape(elements, [*dims_of(x)[:2], *dims[1:-1]]), x.dtype)


@row("AffineGrid: theta size!; align_corners:aligned")
def _(theta: Any, size: Sequence[int], aligned: int = 0) -> Any:
    """The positions of an image of a size, in the image that an affine map takes it from."""
    within(*size[2:])
    axes = []
    for count in size[2:]:
        axes.append(np.linspace(-1, 1, count) if aligned else (np.arange(count) * 2 + 1) / count - 1)
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*reversed(grid), np.ones(size[2:])], -1).reshape(-1, len(axes) + 1)
    positions = ops.matmul(recorded(points, theta.dtype), ops.swapaxes(theta, 1, 2))
    return ops.reshape(positions, [size[0], *size[2:], len(axes)])


@row(
    "RoiAlign: x rois batch; coordinate_transformation_mode:positions mode output_height:height output_width:width"
    " sampling_ratio:ratio spatial_scale:scale"
)
def _(
    x: Any,
    rois: Any,
    batch: Any,
    positions: str = "half_pixel",
    mode: str = "avg",
    height: int = 1,
    width: int = 1,
    ratio: int = 0,
    scale: float = 1.0,
) -> Any:
    """Regions of images in one size: the mean, or the largest share, of some points of each cell.

    With a ratio of 0, a cell has a point for each pixel that it covers, also beyond the image.
    """
    of_rank(x, 4)
    sizes = [known_size(x, axis) for axis in (2, 3)]
    ends = rois * scale - (0.5 if positions == "half_pixel" else 0.0)
    (count, _), _ = of_rank(rois, 2), of_rank(batch, 1)
    parts, used, most = [], [], []
    for axis, cells in enumerate((height, width)):
        first, last = ends[:, 1 - axis, None, None], ends[:, 3 - axis, None, None]
        length = last - first if positions == "half_pixel" else ops.maximum(last - first, 1)
        points = ops.full_like(length, ratio) if ratio else ops.maximum(ops.ceil(length / cells), 1)
        most.append(ratio or _most_points(points))
        within(cells, most[-1])
        numbers = ops.cast(ops.arange(0, most[-1]), x.dtype)
        at = (numbers + 0.5) / points + recorded(np.arange(cells)[:, None], x.dtype)
        parts.append(ops.reshape(first + length / cells * at, [count, -1]))
        used.append(ops.less(ops.zeros_like(at) + numbers, points))
    rows, columns = (ops.reshape(one, [count, -1]) for one in used)
    counts = ops.logical_and(ops.expand_dims(rows, 2), ops.expand_dims(columns, 1))
    dims = [count, height * most[0], width * most[1]]
    grid = [ops.expand_dims(parts[0], 2), ops.expand_dims(parts[1], 1)]
    grid = [ops.reshape(ops.broadcast_to(at, dims), [count, -1]) for at in grid]
    inside: Any = True
    for at, size in zip(grid, sizes, strict=True):
        inside = ops.logical_and(inside, ops.logical_and(ops.greater_equal(at, -1), ops.less_equal(at, size)))
    grid = [ops.clip(at, 0, size - 1) for at, size in zip(grid, sizes, strict=True)]
    images = OPS["GatherV2"](x, ops.cast(batch, "int32"), 0)
    counts = ops.reshape(counts, [count, 1, -1])
    corners = [
        ops.where(counts, one * ops.cast(ops.expand_dims(inside, 1), x.dtype), ops.zeros_like(one))
        for one in corners_at(images, grid, "linear", "border", [(0, 0)] * 2)
    ]
    if mode == "max":
        low = ops.where(counts, ops.zeros_like(corners[0]), ops.full_like(corners[0], x.dtype.min))
        corners = [one + low for one in corners]
    in_cells: Any = sum(corners) if mode == "avg" else functools.reduce(ops.maximum, corners)
    in_cells = ops.reshape(in_cells, [count, dims_of(x)[1], height, most[0], width, most[1]])
    if mode == "max":
        return ops.max(in_cells, [3, 5])
    total = ops.sum(ops.cast(ops.reshape(counts, [count, 1, height, most[0], width, most[1]]), x.dtype), [3, 5])
    return ops.sum(in_cells, [3, 5]) / total


def _most_points(points: Any) -> Any:
    """The largest number of points along an axis of a cell."""
    if (known := constant_of(points)) is None:
        return ops.cast(ops.max(ops.concatenate([ops.reshape(points, [-1]), recorded([1], points.dtype)], 0)), "int32")
    within(most := int(known.max(initial=1)))
    return most


@row("NonMaxSuppression: boxes scores count! threshold! least!; center_point_box:center")
def _(boxes: Any, scores: Any, count: Any = 0, threshold: Any = 0.0, least: Any = -np.inf, center: int = 0) -> Any:
    """The batch, the class and the number of each box that is taken, by batch, class and score."""
    count, threshold, least = (np.ravel(one)[0].item() for one in (count, threshold, least))
    if center:
        middle, sides = boxes[..., :2], boxes[..., 2:]
        boxes = ops.concatenate([middle - sides / 2, middle + sides / 2], -1)
    batch, classes, size = of_rank(scores, 3)
    count = min(count, size) if isinstance(size, int) else count
    each = ops.reshape(ops.repeat(ops.expand_dims(boxes, 1), classes, 1), [-1, *dims_of(boxes)[1:]])
    numbers, _, valid = selected(
        ops.reshape(scores, [batch * classes, size]), overlap_of(each), count, threshold, least
    )
    taken = OPS["Where"](ops.less(counted(count), ops.expand_dims(valid, -1)))
    group, box = taken[:, 0], OPS["GatherNd"](numbers, taken)
    return ops.cast(ops.stack([group // classes, group % classes, box], -1), "int64")


@special("ImageDecoder")
def _decoded(node: Node) -> Any:
    """The pixels of a picture in a file's bytes, which the host decodes while the model is read."""
    data = np.asarray(node.constant(0), np.uint8).tobytes()
    mode = node.attrs.get("pixel_format", "RGB")
    try:
        from PIL import Image

        picture = Image.open(io.BytesIO(data))
        within(*picture.size)
        pixels = np.asarray(picture.convert("L" if mode == "Grayscale" else "RGB"))
    except ImportError:
        raise Unreadable("Pillow decodes pictures, and is not installed: pip install pillow") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unreadable(f"its picture cannot be decoded: {error}") from None
    return Weight("", np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1)[..., :: -1 if mode == "BGR" else 1]))
