"""TensorFlow's names for sounds: frames, windows and spectra, by the last axis; a row for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.ops.shapes.shape import dims_of, shaped


def _length(fft_length: Any) -> int | None:
    return None if fft_length is None else int(shaped(fft_length)[0])


def _rfft(input: Any, fft_length: Any = None) -> Any:
    return ops.rfft(input, _length(fft_length))


def _irfft(input: Any, fft_length: Any = None) -> Any:
    return ops.irfft(input, _length(fft_length))


def _cosine_window(share: float) -> Callable[..., Any]:
    def window(window_length: int, periodic: bool = True, dtype: Any = "float32") -> Any:
        length, dtype = int(window_length), as_dtype(dtype)
        if length == 1:
            return ops.ones([1], dtype)
        last = length - (not periodic or length % 2)
        angles = ops.cast(ops.arange(0, length), dtype) * (2 * math.pi / last)
        return share - (1 - share) * ops.cos(angles)

    return window


hann_window, hamming_window = _cosine_window(0.5), _cosine_window(0.54)


def frame(
    signal: Any, frame_length: int, frame_step: int, pad_end: bool = False, pad_value: Any = 0, axis: int = -1
) -> Any:
    """The frames of a signal along its last axis, (…, frames, frame_length).

    Args:
        pad_end: whether frames that reach beyond the end are filled up.

    Raises:
        NotImplementedError: the axis is not the last.
    """
    signal = shaped(signal)
    rank, length, step = len(signal.shape), int(frame_length), int(frame_step)
    if axis not in (-1, rank - 1):
        raise op_error(NotImplementedError, "tf.signal.frame", "it frames the last axis: swap the axes.")
    size = dims_of(signal)[-1]
    count = -(-size // step) if pad_end else (size - length) // step + 1
    if pad_end:
        signal = ops.pad(signal, [(0, 0)] * (rank - 1) + [(0, length)], constant_values=pad_value)
    starts = ops.expand_dims(ops.arange(0, count) * step, 1)
    return ops.gather(signal, starts + ops.arange(0, length), -1)


@function("signal.stft contrib.signal.stft", scope=True)
def stft(
    signals: Any,
    frame_length: int,
    frame_step: int,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The spectra of the frames of signals, (…, frames, fft_length / 2 + 1).

    Source: `tf.signal.stft`.
    """
    frames = frame(signals, frame_length, frame_step, pad_end)
    if window_fn is not None:
        frames = frames * window_fn(int(frame_length), dtype=frames.dtype)
    return ops.rfft(frames, 2 ** math.ceil(math.log2(int(frame_length))) if fft_length is None else int(fft_length))


ROWS: dict[str, tuple[Callable[..., Any], str]] = {  # names → function and words
    "signal.rfft spectral.rfft": (_rfft, "input_tensor:input fft_length"),
    "signal.irfft spectral.irfft": (_irfft, "input_tensor:input fft_length"),
    "signal.hann_window contrib.signal.hann_window": (hann_window, "window_length periodic dtype"),
    "signal.hamming_window contrib.signal.hamming_window": (hamming_window, "window_length periodic dtype"),
    "signal.frame contrib.signal.frame": (frame, "signal frame_length frame_step pad_end pad_value axis"),
}
for _names, (_function, _words) in ROWS.items():
    row(_names, _function, _words)
