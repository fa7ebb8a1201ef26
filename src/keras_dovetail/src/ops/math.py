"""The backend's functions for `keras.src.backend.math`: segments, sequences, Fourier transforms, special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating, is_float, name_of, promoted
from keras_dovetail.src.ops.calls import Function, binary, functions, of_tensor, unary

globals().update(functions(unary, "erf erfc erfinv lgamma rsqrt"))
gammainc = binary(ops.igamma, with_float=True)
logsumexp = of_tensor(ops.logsumexp)


def logdet(x: Any) -> Any:
    return ops.slogdet(as_tensor(x))[1]


def top_k(x: Any, k: int, sorted: bool = True, is_stable: bool = True) -> Any:
    return tuple(ops.top_k(as_tensor(x), k))


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    return ops.in_top_k(as_tensor(targets), as_tensor(predictions), k)


def cdist(x: Any, y: Any) -> Any:
    x, y = promoted(x, y, with_float=True)
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise ValueError("`cdist` inputs must have rank >= 2")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("Last dimension of inputs to `cdist` must match")
    return ops.euclidean_norm(ops.expand_dims(x, -2) - ops.expand_dims(y, -3), -1)


# -- segments ---------------------------------------------------------------------------------------------------------


def _placed(data: Any, segment_ids: Any, num_segments: int | None) -> tuple[Any, Any, int]:
    """Rows, the segment of each, and the number of segments; rows of no segment go to an extra one at the end."""
    data, ids = as_tensor(data), ops.saturate_cast(as_tensor(segment_ids), "int32")
    count = int(ops.max(ids)) + 1 if num_segments is None else num_segments
    outside = ops.logical_or(ids < 0, ids >= count)
    return data, ops.where(outside, as_tensor(count, "int32"), ids), count


def _segments(scatter: Function, start: Function) -> Function:
    def call(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
        data, ids, count = _placed(data, segment_ids, num_segments)
        empty = ops.full((count + 1, *data.shape[1:]), start(data), data.dtype)
        return scatter(empty, ops.expand_dims(ids, -1), data)[:count]

    return call


def _least(x: Any) -> Any:
    return -math.inf if is_float(x) else int(np.iinfo(name_of(x)).min)


def _most(x: Any) -> Any:
    return math.inf if is_float(x) else int(np.iinfo(name_of(x)).max)


segment_max = _segments(ops.tensor_scatter_max, _least)
segment_min = _segments(ops.tensor_scatter_min, _most)
segment_sum = _segments(ops.tensor_scatter_add, lambda x: 0)
segment_prod = _segments(ops.tensor_scatter_mul, lambda x: 1)


# -- Fourier transforms -----------------------------------------------------------------------------------------------


def _parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a number that Keras passes as two tensors."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    real, imag = map(as_tensor, x)
    if tuple(real.shape) != tuple(imag.shape):
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary parts should "
            f"have the same shape. Received: x[0].shape = {tuple(real.shape)}, x[1].shape = {tuple(imag.shape)}"
        )
    if not (is_float(real) and is_float(imag)):
        raise ValueError(f"At least one tensor in input `x` is not of type float. Received: x={x}.")
    return real, imag


def _get_complex_tensor_from_tuple(x: Any) -> Any:
    """The complex tensor of two parts; Keras' `polar` and `view_as_complex` call it by this name."""
    return ops.complex(*_parts(x))


def _on_parts(transform: Function) -> Function:
    """Wrap a transform of complex numbers: it takes and returns their two parts."""

    def call(x: Any) -> Any:
        transformed = transform(ops.complex(*_parts(x)))
        return ops.real(transformed), ops.imag(transformed)

    return call


fft = _on_parts(ops.fft)
fft2 = _on_parts(ops.fft2d)
ifft2 = _on_parts(ops.ifft2d)


def rfft(x: Any, fft_length: int | None = None) -> Any:
    spectrum = ops.rfft(floating(x), fft_length)
    return ops.real(spectrum), ops.imag(spectrum)


def irfft(x: Any, fft_length: int | None = None) -> Any:
    return ops.irfft(ops.complex(*_parts(x)), fft_length)


def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Any:
    x = as_tensor(x)
    count = (x.shape[-1] - (sequence_length - sequence_stride)) // sequence_stride
    places = np.arange(count)[:, None] * sequence_stride + np.arange(sequence_length)
    return ops.take(x, places.astype("int32"), -1)


_WINDOWS = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}  # a - b cos


def _window(window: Any, sequence_length: int, fft_length: int, dtype: Any) -> Any:
    """The weights of a sequence, padded with zeros at both ends."""
    if window is None:
        return as_tensor(np.ones(fft_length), dtype)
    if isinstance(window, str):
        if window not in _WINDOWS:
            raise ValueError(
                f'If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. Received: window={window}'
            )
        a, b = _WINDOWS[window]
        window = a - b * np.cos(2 * np.pi * np.arange(sequence_length) / sequence_length)
    window = as_tensor(window, dtype)
    if tuple(window.shape) != (sequence_length,):
        raise ValueError(
            f"The shape of `window` must be equal to [sequence_length]. Received: window shape={tuple(window.shape)}"
        )
    before = (fft_length - sequence_length) // 2
    return ops.pad(window, [(before, fft_length - sequence_length - before)])


def stft(
    x: Any, sequence_length: int, sequence_stride: int, fft_length: int, window: Any = "hann", center: bool = True
) -> Any:
    x = as_tensor(x)
    if name_of(x) not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    weights = _window(window, sequence_length, fft_length, x.dtype)
    if center:
        half = fft_length // 2
        x = ops.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(half, half)], "reflect")
    return rfft(extract_sequences(x, fft_length, sequence_stride) * weights, fft_length)


def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    frames = irfft(x, fft_length)
    *batch, count, _ = frames.shape
    total = fft_length + sequence_stride * (count - 1)
    weights = _window(window, sequence_length, fft_length, frames.dtype)

    def added(sequences: Any) -> Any:
        """The sum of overlapping sequences, each one stride later than the one before."""
        patches = ops.reshape(sequences, (-1, count, fft_length, 1))
        sizes = (patches.shape[0], total, 1)
        return ops.overlap_add(patches, sizes, (fft_length,), (sequence_stride,), (1,), "valid")[..., 0]

    norm = added(ops.broadcast_to(ops.square(weights), (1, count, fft_length)))
    signal = added(frames * weights) / ops.where(norm > 1e-10, norm, ops.ones_like(norm))
    start = fft_length // 2 if center else 0
    end = start + length if length is not None else total - start
    return ops.reshape(signal, (*batch, total))[..., start:end]
