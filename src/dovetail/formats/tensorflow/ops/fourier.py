"""Fourier transforms: FFT, IFFT, RFFT, IRFFT, of one to three axes or of some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.ops.diagonals import larger
from dovetail.formats.tensorflow.ops.shapes import element
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("FFT FFT2D IFFT IFFT2D: x")

_RANKS = (("", 1), ("2D", 2), ("3D", 3))


@row(*(f"RFFT{name}: x length?; Tcomplex>0 +rank={rank}" for name, rank in _RANKS))
def _(x: Any, length: Any, rank: int) -> Any:
    *others, last = (element(length, i) for i in range(rank))
    for axis, size in enumerate(others, -rank):
        x = _of_length(x, axis, size)
    if not isinstance(last, int):
        x, last = _of_length(x, -1, last), None
    return _along(OPS["FFT"], OPS["RFFT"](x, last), range(-rank, -1))


@row(*(f"IRFFT{name}: x length?; Treal>0 +rank={rank}" for name, rank in _RANKS))
def _(x: Any, length: Any, rank: int) -> Any:
    *others, last = (element(length, i) for i in range(rank))
    for axis, size in enumerate(others, -rank):
        x = _of_length(x, axis, size)
    transform: Any = OPS["IRFFT"] if isinstance(last, int) else OPS["IRFFT"].body
    return transform(_along(OPS["IFFT"], x, range(-rank, -1)), last)


@row("FFT3D: x; +op=FFT", "IFFT3D: x; +op=IFFT")
def _(x: Any, op: str) -> Any:
    return _along(OPS[op], x, (-1, -2, -3))


@row("FFTND: x length! axes!; +inverse=False", "IFFTND: x length! axes!; +inverse=True")
def _(x: Any, length: Sequence[int], axes: Sequence[int], inverse: bool) -> Any:
    return _along(OPS["IFFT" if inverse else "FFT"], _of_lengths(x, length, axes), axes)


@row("RFFTND: x length! axes!; Tcomplex>0")
def _(x: Any, length: Sequence[int], axes: Sequence[int]) -> Any:
    x = _of_lengths(x, length[:-1], axes[:-1])
    spectrum = _along(lambda one: OPS["RFFT"](one, length[-1]), x, axes[-1:])
    return _along(OPS["FFT"], spectrum, axes[:-1])


@row("IRFFTND: x length! axes!; Treal>0")
def _(x: Any, length: Sequence[int], axes: Sequence[int]) -> Any:
    x = _along(OPS["IFFT"], _of_lengths(x, length[:-1], axes[:-1]), axes[:-1])
    return _along(lambda one: OPS["IRFFT"](one, length[-1]), x, axes[-1:])


def _of_lengths(x: Any, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    for axis, size in zip(axes, lengths, strict=True):
        x = _of_length(x, axis - rank_of(x) if axis >= 0 else axis, size)
    return x


def _along(transform: Callable[[Any], Any], x: Any, axes: Any) -> Any:
    for axis in axes:
        x = ops.swapaxes(transform(ops.swapaxes(x, axis, -1)), axis, -1)
    return x


def _of_length(x: Any, axis: int, size: Any) -> Any:
    """An axis cut to a length, or filled with zeros."""
    rank, old = rank_of(x), dims_of(x)[axis]
    spare = [0] * rank
    spare[axis] = larger(size - old, 0)
    x = OPS["PadV2"](x, [0] * rank, spare)
    return x[(..., slice(size), *[slice(None)] * (-1 - axis))]


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("RFFT")
def _rfft(place: Place, x: Ref, fft_length: Any) -> list[Ref]:
    return _write_transform(place, x, "RFFT", fft_length, lambda n: n)


@writes("IRFFT")
def _irfft(place: Place, x: Ref, fft_length: Any) -> list[Ref]:
    return _write_transform(place, x, "IRFFT", fft_length, lambda n: 2 * (n - 1))


def _write_transform(place: Place, x: Ref, type: str, length: Any, default: Callable[[Any], Any]) -> list[Ref]:
    spec, dtype = place.operation.inputs[0].spec, place.operation.outputs[0].dtype

    def known(x: Any) -> Any:
        return ops.reshape(ops.convert(default(dims_of(x)[-1]), dtype="int32"), (1,))

    sizes = place.constant([length], "fft_length") if length is not None else place.computed(known, (x, spec))[0]
    return place.result(type, x, sizes, **{"Tcomplex" if type == "RFFT" else "Treal": dtype})


def _is_short(operation: Operation) -> bool:
    """Whether the last axis of a Fourier transform must be filled up with zeros."""
    length, x = operation.attrs["fft_length"], operation.inputs[0]
    if length is None or x.shape is None or x.shape[-1] is None:
        return length is not None and x.op.type != "PadV2"  # as below
    return bool(x.shape[-1] < _needed(operation.type, length))


def _needed(type: str, length: int) -> int:
    return length if type == "RFFT" else length // 2 + 1


@body("RFFT IRFFT", _is_short)
def _transform(op: Any, x: Any, length: int) -> Any:
    *others, size = dims_of(x)
    none = [0] * len(others)
    missing = _needed(op.name, length) - size
    missing = missing if isinstance(missing, int) else ops.maximum(missing, 0)
    return op(OPS["PadV2"](x, [*none, 0], [*none, missing]), length)
