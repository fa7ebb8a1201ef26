"""Rules of ops that move elements: shapes, joining, slices, positions, sorting."""

from __future__ import annotations

import math
from functools import partial
from operator import itemgetter
from typing import Any

import torch

from dovetail.core.dtypes import DType
from dovetail.core.rules import WITH_OUT, Rule
from dovetail.core.values.shapes import shape_of_nothing
from dovetail.engines import slices
from dovetail.engines.torch.dimensions import Dimensions
from dovetail.engines.torch.tables import is_usual, new_device, or_numpy, rules

# -- shape ------------------------------------------------------------------------------------------------------------

rules["Reshape"] = lambda x, shape: torch.reshape(x, shape if x.numel() else shape_of_nothing(x.shape, shape))


@rules.specialized("Reshape")
def _(operation: Any) -> Rule | None:
    shape = operation.attrs.get("shape")
    return None if shape is None or 0 in operation.outputs[0].shape else partial(torch.reshape, shape=shape)


rules["Identity"] = lambda x: x
rules["StopGradient"] = torch.detach
rules["BroadcastTo"] = torch.broadcast_to


@rules("Shape")
def _(x: Any) -> Any:
    if torch.compiler.is_compiling():  # a tensor would have no number there
        return Dimensions(x.shape)
    return torch.tensor(x.shape, dtype=torch.int32)


@rules("Transpose")
def _(x: Any, axes: Any) -> Any:
    return x.permute(axes if axes is not None else tuple(range(x.ndim))[::-1])


@rules.specialized("Transpose")
def _(operation: Any) -> Rule | None:
    axes = operation.attrs.get("axes")
    return None if axes is None else partial(torch.permute, dims=axes)


@rules("ExpandDims")
def _(x: Any, axis: Any) -> Any:
    if isinstance(axis, int):
        return x.unsqueeze(axis)
    rank = x.ndim + len(axis)
    for i in sorted(a % rank for a in axis):
        x = x.unsqueeze(i)
    return x


@rules.specialized("ExpandDims")
def _(operation: Any) -> Rule | None:
    axis = operation.attrs.get("axis")
    return partial(torch.unsqueeze, dim=axis) if isinstance(axis, int) else None


@rules("Squeeze")
def _(x: Any, axis: Any) -> Any:
    if axis is None:
        return x.squeeze()
    if any(x.shape[a] != 1 for a in ([axis] if isinstance(axis, int) else axis)):  # torch would leave these axes
        raise ValueError(f"only axes of size 1 can be removed, but the shape is {tuple(x.shape)}")
    return x.squeeze(axis)


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return torch.arange(size[0], device=new_device()).to(getattr(torch, dtype))


@rules("OneHot")
def _(x: Any, num_classes: tuple[int], axis: int, dtype: DType) -> Any:
    x = x.to(torch.int64).unsqueeze(axis)  # so that any integers are allowed
    axis %= x.ndim
    classes = torch.arange(num_classes[0], device=x.device).view(-1, *(1,) * (x.ndim - axis - 1))
    return (x == classes).to(getattr(torch, dtype))


# -- joining and moving -----------------------------------------------------------------------------------------------

rules("ConcatV2", layers=WITH_OUT)(torch.cat)
rules("Pack", layers=WITH_OUT)(torch.stack)
rules["Tile"] = torch.tile
rules["Roll"] = lambda x, shift, axis: x.roll(shift, () if axis is None else axis)


@rules("Bitcast")
def _(x: Any, dtype: DType) -> Any:
    target = getattr(torch, dtype)
    if dtype.itemsize < x.itemsize:
        return x.contiguous().unsqueeze(-1).view(target)
    return x.contiguous().view(target).squeeze(-1) if dtype.itemsize > x.itemsize else x.view(target)


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    pairs = [width for pair in zip(reversed(low), reversed(high), strict=True) for width in pair]
    if isinstance(value, complex):  # which torch does not take
        parts = (x.real, value.real), (x.imag, value.imag)
        return torch.complex(*(torch.nn.functional.pad(part, pairs, value=number) for part, number in parts))
    return torch.nn.functional.pad(x, pairs, value=value)


@rules("SplitV")
def _(x: Any, sizes: Any, axis: int) -> Any:
    return x.split(sizes, axis)


# -- slices and positions ---------------------------------------------------------------------------------------------


@rules("Slice")
def _(x: Any, start: Any, size: Any) -> Any:
    return x[slices.block(start, size, x.shape)]


@rules("XlaDynamicUpdateSlice")
def _(x: Any, start: Any, updates: Any) -> Any:
    written = x.clone()
    written[slices.block(start, updates.shape, x.shape)] = updates
    return written


def _located(shape: Any, *where: Any) -> Any:
    if not torch.compiler.is_compiling():
        return slices.located(shape, *where)
    index, flipped = list(slices.entries(*where)), list[int]()  # sizes that are not known yet are in no cache
    for i, entry in enumerate(index):
        if isinstance(entry, slice) and entry.step < 0:
            axis = sum(isinstance(other, slice) for other in index[:i])
            if entry == slice(None, None, -1):
                index[i], flips = slice(None), 1
            else:
                (index[i],), axes = slices.forward((entry,), shape[i : i + 1])
                flips = len(axes)
            flipped += [axis] * flips
    return tuple(index), tuple(flipped)


@or_numpy("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    index, flipped = _located(x.shape, *where)
    part = x[index]
    return part.flip(flipped) if flipped else part


@rules.specialized("StridedSlice")
def _(operation: Any) -> Rule | None:
    x, *where = operation.args
    if not x.is_static or not is_usual(operation) or len(operation.inputs) > 1:  # a tensor says where
        return None
    index, flipped = slices.located(x.shape, *where)
    kept = [axis for axis, (entry, dim) in enumerate(zip(index, x.shape, strict=False)) if entry != slice(0, dim, 1)]
    if not flipped and len(kept) == 1 and isinstance(index[kept[0]], int):
        return partial(torch.select, dim=kept[0], index=index[kept[0]])
    return None if flipped else itemgetter(index[: kept[-1] + 1] if kept else ...)


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    index, flipped = _located(shape, *where)
    whole = g.new_zeros(shape)
    whole[index] = g.flip(flipped) if flipped else g
    return whole


@or_numpy("GatherV2")
def _(x: Any, indices: Any, axis: int) -> Any:
    axis = axis % x.ndim
    positions = _wrapped(indices, x.shape[axis]).reshape(-1)
    try:
        selected = x.index_select(axis, positions)
    except RuntimeError:
        slices.check_range(positions, x.shape[axis], axis)
        raise
    return selected.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@or_numpy("TakeAlongAxis")
def _(x: Any, indices: Any, axis: int) -> Any:
    positions = _wrapped(indices, x.shape[axis])
    if torch.compiler.is_compiling():  # there are no numbers to check, and `take_along_dim` would fix unknown sizes
        return torch.gather(_beside_axis(x, positions, axis), axis, _beside_axis(positions, x, axis))
    if not positions.is_cuda:  # CUDA checks by itself, and this check would wait for it
        slices.check_range(positions, x.shape[axis], axis)
    return torch.take_along_dim(x, positions, axis)


def _beside_axis(x: Any, other: Any, axis: int) -> Any:
    """A tensor, repeated along its axes of size 1 to the shape of another one, except for the given axis."""
    axis %= x.ndim
    return x.expand(
        [b if a == 1 and i != axis else a for i, (a, b) in enumerate(zip(x.shape, other.shape, strict=True))]
    )


def _wrapped(indices: Any, dim: int) -> Any:
    indices = indices.long()
    return torch.where(indices < 0, indices + dim, indices)


@or_numpy("GatherNd")
def _(x: Any, indices: Any) -> Any:
    return x[indices.long().unbind(-1)]


@or_numpy("TensorScatterUpdate")
def _(x: Any, indices: Any, updates: Any) -> Any:
    return x.index_put(indices.long().unbind(-1), updates)


def _scatter(write: Rule) -> Rule:
    def rule(x: Any, indices: Any, updates: Any) -> Any:
        depth = indices.shape[-1]
        is_checked = not torch.compiler.is_compiling()  # torch's compilers know no numbers
        rows = slices.rows(indices.long(), x.shape[:depth], is_checked).reshape(-1)
        flat = x.reshape(math.prod(x.shape[:depth]), -1) if x.numel() else x.flatten(0, depth - 1)
        return write(flat, rows, updates.reshape(rows.shape[0], *flat.shape[1:])).reshape(x.shape)

    return rule


def _beside(rows: Any, updates: Any) -> Any:
    """Rows in the shape of updates."""
    return rows.reshape(-1, *[1] * (updates.ndim - 1)).expand_as(updates)


def _scatter_by(reduce: str) -> Rule:
    return _scatter(lambda x, rows, updates: x.scatter_reduce(0, _beside(rows, updates), updates, reduce))


or_numpy("TensorScatterAdd")(_scatter(lambda x, rows, updates: x.index_add(0, rows, updates)))
or_numpy("TensorScatterMul")(_scatter_by("prod"))
or_numpy("TensorScatterMax")(_scatter_by("amax"))
or_numpy("TensorScatterMin")(_scatter_by("amin"))


# -- sorting and searching --------------------------------------------------------------------------------------------

or_numpy("Where")(lambda x: torch.argwhere(x).int())
rules["Sort"] = lambda x, axis: torch.sort(x, axis).values
rules["ArgSort"] = lambda x, axis: torch.argsort(x, dim=axis, stable=True).int()


@or_numpy("SearchSorted")
def _(sequence: Any, values: Any, side: str) -> Any:
    if sequence.dtype == torch.bool:
        sequence, values = sequence.byte(), values.byte()
    none = torch.isnan(sequence)
    ordered = sequence.masked_fill(none, math.inf) if sequence.is_floating_point() else sequence
    positions = torch.searchsorted(ordered.contiguous(), values.contiguous(), out_int32=True, side=side)
    if not sequence.is_floating_point():
        return positions
    numbers = (~none).sum(dtype=torch.int32)  # NaN is behind them, and would mislead torch's search
    last = numbers if side == "left" else torch.full_like(numbers, len(sequence))
    return torch.where(torch.isnan(values), last, torch.minimum(positions, numbers))


@rules("TopKV2")
def _(x: Any, k: int) -> Any:
    if x.is_floating_point() and k and not torch.compiler.is_compiling():
        values, indices = torch.topk(x, k)
        if not _has_ties(x, values):  # torch.topk takes any of them
            return values, indices.int()
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :k], indices[..., :k].int()


def _has_ties(x: Any, largest: Any) -> bool:
    """Whether the values alone do not settle the order of the largest elements."""
    repeated = (x == largest[..., -1:]).sum(-1) != 1  # nothing is equal to NaN
    return bool(repeated.any() or (largest[..., 1:] == largest[..., :-1]).any() or largest.isnan().any())
