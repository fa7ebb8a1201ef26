"""Spectra and windows of signals: DFT, STFT, HannWindow and others, MelWeightMatrix; complex numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import counted, known_size, of_rank, recorded, within
from dovetail.formats.onnx.sizes import scalar
from dovetail.formats.onnx.table import no_way, row, writes
from dovetail.formats.onnx.tensors import dtype_of
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

no_way(("Conj", "FFT", "IFFT", "FFT2D", "IFFT2D", "IRFFT"), "it has few operators for complex numbers")


# -- reading ----------------------------------------------------------------------------------------------------------


@row(
    "DFT 17-19: x length!; axis|1 inverse onesided",
    "DFT 20: x length! axis!; inverse onesided",
)
def transformed(x: Any, length: Any = None, axis: int = -2, inverse: int = 0, onesided: int = 0) -> Any:
    """A spectrum along an axis; the last axis has the real and the imaginary part, or the real one alone."""
    axis, length = scalar(axis) % rank_of(x), None if length is None else scalar(length)
    real = x[..., 0]
    signal = ops.complex(real, ops.zeros_like(real) if known_dims(x)[-1] == 1 else x[..., 1])
    signal = ops.moveaxis(signal, axis, -1)
    if inverse and onesided:
        real_signal = ops.irfft(signal, length)
        return ops.cast(ops.expand_dims(ops.moveaxis(real_signal, -1, axis), -1), x.dtype)
    if length is not None:
        spare = ops.maximum(length - dims_of(signal)[-1], 0)
        signal = ops.pad(signal[..., :length], [*[(0, 0)] * (rank_of(signal) - 1), (0, spare)])
    spectrum = ops.ifft(signal) if inverse else ops.fft(signal)
    spectrum = spectrum[..., : dims_of(spectrum)[-1] // 2 + 1] if onesided else spectrum
    spectrum = ops.moveaxis(spectrum, -1, axis)
    return ops.cast(ops.stack([ops.real(spectrum), ops.imag(spectrum)], -1), x.dtype)


@row("STFT: x step! window length!; onesided")
def _(x: Any, step: int, window: Any = None, length: Any = None, onesided: int = 1) -> Any:
    """Spectra of the frames of a signal (batch, samples, 1 or 2)."""
    step, length = scalar(step), None if length is None else scalar(length)
    x = ops.expand_dims(x, -1) if rank_of(x) == 2 else x
    size = length if window is None else known_size(window, 0)
    count = (of_rank(x, 3)[1] - size) // step + 1
    starts = ops.expand_dims(counted(count) * step, 1)
    frames = ops.take(x, starts + counted(size), 1)
    frames = frames if window is None else frames * ops.reshape(window, [-1, 1])
    return transformed(frames, length or size, 2, 0, onesided)


def _cosines(factors: list[float], size: Any, number: int = 1, periodic: int = 1) -> Any:
    """A sum of cosines over a window."""
    size = scalar(size)
    dtype = dtype_of(number) or "float32"
    wide = "float64" if dtype == "float64" else "float32"
    at = ops.cast(counted(size), wide) / ops.cast(size - (0 if periodic else 1), wide)
    window: Any = factors[0]
    for i, factor in enumerate(factors[1:], 1):
        window = window + ops.cos(at * (2 * np.pi * i)) * factor
    return ops.cast(window, dtype)


WINDOWS = {
    "HannWindow": [0.5, -0.5],
    "HammingWindow": [25 / 46, -21 / 46],
    "BlackmanWindow": [0.42, -0.5, 0.08],
}


for _type, _factors in WINDOWS.items():
    row(f"{_type}: size!; output_datatype:number periodic")(partial(_cosines, _factors))


@row("MelWeightMatrix: bins! length! rate! low! high!; output_datatype:number")
def _(bins: int, length: int, rate: int, low: float, high: float, number: int = 1) -> Any:
    """The share of each frequency in each band of the mel scale, a triangle."""
    bins, length, rate, low, high = map(scalar, (bins, length, rate, low, high))

    def mel(hertz: float) -> float:
        return float(2595 * np.log10(1 + hertz / 700))

    within(bins + 2, length // 2 + 1)
    steps = np.arange(bins + 2) * (mel(high) - mel(low)) / (bins + 2) + mel(low)
    edges = ((length + 1) * 700 * (10 ** (steps / 2595) - 1) // rate).astype(int)
    at = np.arange(length // 2 + 1)[:, None]
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(center == left, at == center, (at - left) / (center - left))
        falling = (right - at) / (right - center)
    shares = np.where((at >= left) & (at <= center), rising, np.where((at > center) & (at < right), falling, 0))
    return recorded(shares, dtype_of(number))


# -- writing: the parts of complex numbers are on a last axis of two elements -----------------------------------------

HAVE_PARTS = ("Complex", "Real", "Imag", "Abs", "RFFT", "Shape")


@writes("Complex")
def _complex(place: Place, x: Ref, y: Ref) -> list[Ref]:
    """Both parts, which have the same shape."""
    return place.result("Concat", [place.node("Unsqueeze", one, place.constant([-1])) for one in (x, y)], axis=-1)


@writes("Real Imag", lambda operation: operation.inputs[0].dtype.is_complex)
def _part(place: Place, x: Ref) -> list[Ref]:
    return place.result("Gather", x, place.constant(int(place.operation.type == "Imag")), axis=-1)


@writes("Abs", lambda operation: operation.inputs[0].dtype.is_complex)
def _length(place: Place, x: Ref) -> list[Ref]:
    axes = (x, place.constant([-1])) if place.opset >= 18 else (x,)
    return place.result("ReduceL2", *axes, axes=None if len(axes) > 1 else [-1], keepdims=0)


@writes("RFFT")
def _transform(place: Place, x: Ref, fft_length: int | None) -> list[Ref]:
    """The discrete transform; an axis of one element says that the numbers are real."""
    rank = len(place.shapes[0])
    parts = place.node("Unsqueeze", x, place.constant([-1]))
    length = None if fft_length is None else place.constant(fft_length)
    if place.opset < 20:
        return place.result("DFT", parts, length, axis=rank - 1, onesided=1)
    return place.result("DFT", parts, length, place.constant(rank - 1), onesided=1)
