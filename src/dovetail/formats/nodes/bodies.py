"""Bodies of ops that several formats compute by others, since their operators know fewer dtypes, axes and positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import Windows
from dovetail.formats.nodes.writing import When
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.shapes.shape import dims_of, rank_of

OF_BOOLS = {
    "BitwiseAnd": "LogicalAnd",
    "BitwiseOr": "LogicalOr",
    "BitwiseXor": "NotEqual",
    "Invert": "LogicalNot",
    "Maximum": "LogicalOr",
    "Minimum": "LogicalAnd",
    "Max": "Any",
    "Min": "All",
}


CHANGES_OF_BOOLS = {"Add": "Max", "Mul": "Min"}


def scattered(change: str, x: Any, indices: Any, updates: Any) -> Any:
    """Elements at indices changed by updates; the sum of bools is whether one is True, the product whether all are."""
    change = CHANGES_OF_BOOLS.get(change, change) if x.dtype.is_bool else change
    return OPS[f"TensorScatter{change}"](x, indices, updates)


def of(*dtypes: str) -> When:
    """Whether the first input of an operation has one of some dtypes."""
    return lambda operation: operation.inputs[0].dtype.name in dtypes


def any_of(*dtypes: str) -> When:
    """Whether an input of an operation has one of some dtypes."""
    return lambda operation: any(tensor.dtype.name in dtypes for tensor in operation.inputs)


def by(other: str) -> Callable[..., Any]:
    """Another op of the same arguments."""
    return lambda op, *args: OPS[other](*args)


def by_body(op: Any, *args: Any) -> Any:
    """The body of an op."""
    return op.body(*args)


def widened(narrow: Sequence[str], wide: str, op: Any, *args: Any) -> Any:
    """An op that computes in a wider dtype."""
    seen: list[Any] = []

    def moved(arg: Any) -> Any:
        if isinstance(arg, tuple):
            return tuple(map(moved, arg))
        if type(arg) is GraphTensor and arg.dtype.name in narrow:
            seen.append(arg.dtype)
            return ops.cast(arg, wide)
        return arg

    def back(result: Any) -> Any:
        return ops.cast(result, seen[0]) if result.dtype == wide else result

    computed = op(*map(moved, args))
    return tuple(map(back, computed)) if isinstance(computed, tuple) else back(computed)


def add_common(body: Callable[..., Any]) -> None:
    """Add the bodies that formats share to the table of a decorator `(types, when)`."""
    for ours, theirs in OF_BOOLS.items():
        body(ours, of("bool"))(by(theirs))
    body("Abs", of("uint8", "uint16", "uint32", "uint64"))(by("Identity"))
    body("Real Conj", _is_real)(by("Identity"))
    body("Imag", _is_real)(by("ZerosLike"))
    body("Angle", _is_real)(lambda op, z: OPS["Atan2"](ops.zeros_like(z), z))
    body("Round", lambda operation: operation.inputs[0].dtype.is_integer and operation.attrs["decimals"] >= 0)(
        lambda op, x, decimals: x
    )
    body("NextAfter", of("float16", "bfloat16"))(by_body)
    body("ClipByValue", _has_no_scalars)(_clip)
    body("Tile", _has_other_rank)(_tile)
    body("Slice", _may_reach_beyond)(_slice)
    body("XlaDynamicUpdateSlice")(_slice_update)
    body("SlidingWindows")(_windows)


def _is_real(operation: Operation) -> bool:
    return not operation.inputs[0].dtype.is_complex


def add_wider(body: Callable[..., Any], text: str) -> None:
    """Add bodies that compute in a wider dtype.

    Args:
        body: the decorator of a format's table.
        text: lines `types: dtypes without a kernel > the dtype to compute in`.
    """
    for line in text.strip().splitlines():
        types, _, rest = line.partition(":")
        narrow, _, wide = rest.partition(">")
        body(types, any_of(*narrow.split()))(partial(widened, narrow.split(), wide.strip()))


def _has_no_scalars(operation: Operation) -> bool:
    return len(operation.inputs) < 3 or any(t.shape != () for t in operation.inputs[1:])


def _clip(op: Any, x: Any, low: Any, high: Any) -> Any:
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


def _has_other_rank(operation: Operation) -> bool:
    return len(operation.attrs.get("repeats", ())) not in (0, rank_of(operation.inputs[0]))


def _tile(op: Any, x: Any, repeats: Sequence[int]) -> Any:
    rank = rank_of(x)
    x = ops.reshape(x, [*[1] * (len(repeats) - rank), *dims_of(x)])
    return op(x, (*[1] * (rank - len(repeats)), *repeats))


def _may_reach_beyond(operation: Operation) -> bool:
    """Whether the start of a block may have to be moved."""
    maker, shape, size = operation.inputs[1].op, operation.inputs[0].shape, operation.attrs.get("size")
    if maker.type != "Const" or shape is None or size is None:
        return maker.type != "Maximum"  # as below
    ends = zip(maker.attrs["value"].tolist(), size, shape, strict=True)
    return any(start < 0 or whole is None or start + length > whole for start, length, whole in ends)


def _slice(op: Any, x: Any, start: Any, size: Any) -> Any:
    """A block inside the tensor: its start is moved if it reaches beyond."""
    last = ops.shape(x) - ops.convert(size, dtype="int32")
    return op(x, ops.maximum(ops.minimum(ops.cast(start, "int32"), last), 0), size)


def _slice_update(op: Any, x: Any, start: Any, updates: Any) -> Any:
    rank = rank_of(x)
    if rank == 0:
        return updates
    sizes = dims_of(updates)
    start = ops.maximum(ops.minimum(ops.cast(start, "int32"), ops.shape(x) - ops.shape(updates)), 0)
    grid = [
        ops.broadcast_to(ops.reshape(start[i] + OPS["Iota"](size), [1] * i + [-1] + [1] * (rank - i - 1)), sizes)
        for i, size in enumerate(sizes)
    ]
    return OPS["TensorScatterUpdate"](x, ops.stack(grid, -1), updates)


def pads_of(windows: Windows, sizes: Sequence[Any]) -> list[Any]:
    """`Windows.pads` for sizes of which some may be tensors."""
    if windows.padding != "same" or all(isinstance(size, int) for size in sizes):
        return windows.pads(sizes)
    totals = [
        ops.maximum((-(-size // stride) - 1) * stride + span - size, 0)
        for size, stride, span in zip(sizes, windows.strides, windows.spans, strict=True)
    ]
    return [(total // 2, total - total // 2) for total in totals]


def _windows(op: Any, x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    rank, windows = len(size), Windows(size, strides, dilations, padding)
    pads = pads_of(windows, dims_of(x)[1:-1])
    x = OPS["PadV2"](x, [0, *(low for low, _ in pads), 0], [0, *(high for _, high in pads), 0], fill)
    for axis in range(rank, 0, -1):
        count = (dims_of(x)[axis] - windows.spans[axis - 1]) // strides[axis - 1] + 1
        starts = ops.expand_dims(ops.arange(count) * strides[axis - 1], 1)
        x = OPS["GatherV2"](x, starts + ops.arange(size[axis - 1]) * dilations[axis - 1], axis)
    return ops.transpose(x, (0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2), 2 * rank + 1))
