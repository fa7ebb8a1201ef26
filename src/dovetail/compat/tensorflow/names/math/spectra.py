"""TensorFlow's names for transforms of sounds: cosine transforms, Fourier transforms of several axes, and windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.math.signals import frame, hann_window
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.ops.shapes.shape import dims_of, shaped

_bessel = of_type("BesselI0e")


def _numbers(count: Any, dtype: Any) -> Any:
    return ops.cast(ops.arange(0, count), dtype)


# -- cosine transforms ------------------------------------------------------------------------------------------------


def _first(x: Any, _ortho: bool) -> Any:
    return ops.real(ops.rfft(ops.concatenate([x, ops.flip(x[..., 1:-1], -1)], -1)))


def _angles(n: Any, dtype: Any) -> Any:
    return _numbers(n, dtype) * (math.pi / 2) / ops.cast(n, dtype)


def _scales(n: Any, dtype: Any) -> Any:
    """The factors that make the rows of the second type orthonormal."""
    return ops.rsqrt(ops.cast(n, dtype) * ops.where(_numbers(n, dtype) > 0, 2, 4))


def _second(x: Any, ortho: bool) -> Any:
    n = dims_of(x)[-1]
    spectrum = ops.rfft(ops.concatenate([x, ops.zeros_like(x)], -1))[..., :n]
    angles = _angles(n, x.dtype)
    transformed = 2 * (ops.real(spectrum) * ops.cos(angles) + ops.imag(spectrum) * ops.sin(angles))
    return transformed * _scales(n, x.dtype) if ortho else transformed


def _third(x: Any, ortho: bool) -> Any:
    n = dims_of(x)[-1]
    angles = _angles(n, x.dtype)
    x = x * (2 * _scales(n, x.dtype) if ortho else ops.where(angles > 0, 2, 1))
    waves = ops.complex(x * ops.cos(angles), -x * ops.sin(angles))
    return ops.real(ops.fft(ops.concatenate([waves, ops.zeros_like(waves)], -1)))[..., :n]


def _fourth(x: Any, ortho: bool) -> Any:
    transformed = _second(ops.concatenate([x, ops.zeros_like(x)], -1), False)[..., 1::2]
    return transformed * ops.rsqrt(2 * ops.cast(dims_of(x)[-1], x.dtype)) if ortho else transformed


COSINE = {1: _first, 2: _second, 3: _third, 4: _fourth}
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _fitted(x: Any, axis: int, size: int) -> Any:
    """An axis cut to a length, or filled up with zeros."""
    rank, old = len(x.shape), x.shape[axis]
    axis %= rank
    if old is None or old > size:
        x = x[(*[slice(None)] * axis, slice(size))]
    missing = size - (dims_of(x)[axis] if old is None else min(old, size))
    return x if old is not None and old >= size else ops.pad(x, [(0, missing if i == axis else 0) for i in range(rank)])


def dct(input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The cosine transform of the last axis.

    Raises:
        ValueError: another type than 1 to 4, another norm than None and "ortho", type 1 with "ortho", another axis.
    """
    x = shaped(input)
    if type not in COSINE or norm not in (None, "ortho") or (type == 1 and norm):
        problem = f"type={type!r} and norm={norm!r}: types are 1 to 4; the norm is None, or 'ortho' for types 2 to 4."
        raise op_error(ValueError, "tf.signal.dct", problem)
    if axis not in (-1, len(x.shape) - 1):
        raise op_error(NotImplementedError, "tf.signal.dct", "it transforms the last axis: swap the axes.")
    return COSINE[type](x if n is None else _fitted(x, -1, int(n)), norm == "ortho")


def idct(input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `dct`, up to a factor if `norm` is None."""
    return dct(input, INVERSE.get(type, type), n, axis, norm)


def mfccs(log_mel_spectrograms: Any) -> Any:
    """The cepstral coefficients of spectra on the mel scale."""
    x = shaped(log_mel_spectrograms)
    return _second(x, False) * ops.rsqrt(2 * ops.cast(dims_of(x)[-1], x.dtype))


# -- Fourier transforms of several axes -------------------------------------------------------------------------------


def _several(type: str, count: int | None = None) -> Callable[..., Any]:
    """A transform by a type of TensorFlow's graphs, of the last `count` axes or of those that a call names."""
    transform, is_inverse_real = of_type(type), type.startswith("IR")

    def run(input_tensor: Any, fft_length: Any = None, axes: Any = None, norm: str | None = None) -> Any:
        x = shaped(input_tensor)
        rank = len(x.shape)
        lengths = None if fft_length is None else [int(size) for size in ops.unstack(shaped(fft_length))]
        axes = range(-(count or (rank if lengths is None else len(lengths))), 0) if axes is None else axes
        axes = [int(axis) for axis in axes]
        if lengths is None:
            lengths = [x.shape[axis] for axis in axes]
            if None in lengths:
                raise op_error(
                    ValueError, f"tf.signal.{type.lower()}", "write fft_length: an axis has no known length."
                )
            lengths[-1] = 2 * (lengths[-1] - 1) if is_inverse_real else lengths[-1]
        if norm not in (None, "backward", "ortho", "forward"):
            raise op_error(ValueError, f"tf.signal.{type.lower()}", f"norm={norm!r}: 'backward', 'ortho' or 'forward'.")
        transformed = transform(x, lengths) if count else transform(x, lengths, axes)
        power = {None: 0, "backward": 0, "ortho": 0.5, "forward": 1}[norm] * (1 if type.startswith("I") else -1)
        return transformed * math.prod(lengths) ** power if power else transformed

    run.__name__ = type
    return run


def _moved(share: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that exchanges the two parts of each axis; the second one has `share` of its length."""

    def move(x: Any, axes: Any = None) -> Any:
        x = shaped(x)
        rank = len(x.shape)
        for axis in range(rank) if axes is None else [axes] if isinstance(axes, int) else axes:
            before = (slice(None),) * (int(axis) % rank)
            place = dims_of(x)[axis] - share(dims_of(x)[axis])
            x = ops.concatenate([x[(*before, slice(place, None))], x[(*before, slice(place))]], axis)
        return x

    return move


# -- sums of frames ---------------------------------------------------------------------------------------------------


def overlap_and_add(signal: Any, frame_step: int) -> Any:
    """The signals whose frames (…, frames, frame_length) begin each `frame_step` numbers: overlapping ones add up."""
    x, step = shaped(signal), int(frame_step)
    *others, count, length = dims_of(x)
    length = int(length)
    parts = -(-length // step)
    rank = len(x.shape)
    x = ops.pad(x, [(0, 0)] * (rank - 1) + [(0, parts * step - length)])
    total: Any = 0
    for k in range(parts):
        part = x[..., k * step : (k + 1) * step]
        total = total + ops.pad(part, [*[(0, 0)] * (rank - 2), (k, parts - 1 - k), (0, 0)])
    return ops.reshape(total, [*others, (count + parts - 1) * step])[..., : (count - 1) * step + length]


@function("signal.inverse_stft contrib.signal.inverse_stft", scope=True)
def inverse_stft(
    stfts: Any,
    frame_length: int,
    frame_step: int,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """The signals whose frames have these spectra.

    Source: `tf.signal.inverse_stft`.
    """
    length = int(frame_length)
    size = 2 ** math.ceil(math.log2(length)) if fft_length is None else int(fft_length)
    frames = _fitted(ops.irfft(stfts, size), -1, length)
    return overlap_and_add(frames if window_fn is None else frames * window_fn(length, dtype=frames.dtype), frame_step)


def inverse_stft_window_fn(frame_step: int, forward_window_fn: Callable[..., Any] = hann_window) -> Any:
    """A function of a frame's length that returns the window with which `inverse_stft` undoes `stft`."""

    def window(frame_length: int, dtype: Any) -> Any:
        length, step = int(frame_length), int(frame_step)
        forward = forward_window_fn(length, dtype=dtype)
        parts = -(-length // step)
        squares = ops.reshape(ops.pad(ops.square(forward), [(0, parts * step - length)]), [parts, step])
        return ops.divide_no_nan(forward, ops.tile(ops.sum(squares, 0), [parts])[:length])

    return window


# -- windows ----------------------------------------------------------------------------------------------------------


def kaiser_window(window_length: int, beta: Any = 12.0, dtype: Any = "float32") -> Any:
    """The window of Bessel functions whose sidelobes fall with `beta`."""
    length = int(window_length)
    beta = ops.cast(beta, "float64")
    places = 2 * _numbers(length, "float64") / max(length - 1, 1) - (length > 1)
    size = beta * ops.sqrt(ops.maximum(1 - ops.square(places), 0))
    return ops.cast(_bessel(size) / _bessel(beta) * ops.exp(size - ops.absolute(beta)), as_dtype(dtype))


def kaiser_bessel_derived_window(window_length: int, beta: Any = 12.0, dtype: Any = "float32") -> Any:
    """The square roots of the shares of Kaiser's window in its sum, up to the middle and back."""
    sums = ops.cumsum(kaiser_window(int(window_length) // 2 + 1, beta, "float64"))
    half = ops.sqrt(sums[:-1] / sums[-1])
    return ops.cast(ops.concatenate([half, ops.flip(half, 0)], 0), as_dtype(dtype))


def vorbis_window(window_length: int, dtype: Any = "float32") -> Any:
    """The window of Vorbis, sin(π/2 sin²)."""
    length = int(window_length)
    angles = (_numbers(length, "float64") + 0.5) * (math.pi / length)
    return ops.cast(ops.sin(ops.square(ops.sin(angles)) * (math.pi / 2)), as_dtype(dtype))


def _windowed(frames: Any, window_fn: Callable[..., Any] | None, length: int) -> Any:
    return frames * (2**-0.5 if window_fn is None else window_fn(length, dtype=frames.dtype))


@function("signal.mdct", scope=True)
def mdct(
    signals: Any,
    frame_length: int,
    window_fn: Callable[..., Any] | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The cosine transform of overlapping frames, (…, frames, frame_length / 2).

    Source: `tf.signal.mdct`.
    """
    length = int(frame_length)
    if length % 4:
        raise op_error(ValueError, "tf.signal.mdct", f"frame_length={length}: it must be divisible by 4.")
    frames = _windowed(frame(signals, length, length // 2, pad_end), window_fn, length)
    a, b, c, d = ops.split(frames, 4, -1)
    return dct(ops.concatenate([-ops.flip(c, -1) - d, a - ops.flip(b, -1)], -1), 4, norm=norm)


@function("signal.inverse_mdct", scope=True)
def inverse_mdct(
    mdcts: Any,
    window_fn: Callable[..., Any] | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The signals of which `mdct` gives these numbers.

    Source: `tf.signal.inverse_mdct`.
    """
    x = shaped(mdcts)
    half = int(dims_of(x)[-1])
    first, second = ops.split(dct(x, 4, norm=norm), 2, -1)
    frames = ops.concatenate([second, -ops.flip(second, -1), -ops.flip(first, -1), -first], -1)
    return overlap_and_add(_windowed(frames if norm else frames * (0.5 / half), window_fn, 2 * half), half)


# -- the mel scale ----------------------------------------------------------------------------------------------------


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = "float32",
) -> Any:
    """The shares of frequencies in triangles on the mel scale, (num_spectrogram_bins, num_mel_bins)."""

    def mel(frequency: Any) -> Any:
        return ops.log1p(ops.cast(frequency, "float64") / 700) * 1127

    count = int(num_mel_bins)
    frequencies = ops.linspace(0.0, ops.cast(sample_rate, "float64") / 2, int(num_spectrogram_bins))
    edges = ops.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), count + 2)
    low, middle, high = edges[:count], edges[1 : count + 1], edges[2:]
    places = ops.expand_dims(mel(frequencies), 1)
    shares = ops.minimum((places - low) / (middle - low), (high - places) / (high - middle))
    shares = ops.concatenate([ops.zeros([1, count], "float64"), ops.maximum(shares, 0)[1:]], 0)
    return ops.cast(shares, as_dtype(dtype))


_LENGTHS, _AXES = "input_tensor fft_length", "input_tensor fft_length axes norm"
ROWS: dict[str, tuple[Callable[..., Any], str]] = {  # names → function and words
    "signal.dct spectral.dct": (dct, "input type n axis norm"),
    "signal.idct spectral.idct": (idct, "input type n axis norm"),
    "signal.mfccs_from_log_mel_spectrograms contrib.signal.mfccs_from_log_mel_spectrograms": (
        mfccs,
        "log_mel_spectrograms",
    ),
    **{
        f"signal.{kind.lower()}{n}d spectral.{kind.lower()}{n}d": (_several(f"{kind}{n}D", n), _LENGTHS)
        for kind in ("RFFT", "IRFFT")
        for n in (2, 3)
    },
    **{
        f"signal.{kind.lower()}nd {kind.lower()}nd": (_several(f"{kind}ND"), _AXES)
        for kind in ("FFT", "IFFT", "RFFT", "IRFFT")
    },
    "signal.fftshift": (_moved(lambda size: size // 2), "x axes"),
    "signal.ifftshift": (_moved(lambda size: size - size // 2), "x axes"),
    "signal.overlap_and_add contrib.signal.overlap_and_add": (overlap_and_add, "signal frame_step"),
    "signal.inverse_stft_window_fn contrib.signal.inverse_stft_window_fn": (
        inverse_stft_window_fn,
        "frame_step forward_window_fn",
    ),
    "signal.kaiser_window": (kaiser_window, "window_length beta dtype"),
    "signal.kaiser_bessel_derived_window": (kaiser_bessel_derived_window, "window_length beta dtype"),
    "signal.vorbis_window": (vorbis_window, "window_length dtype"),
    "signal.linear_to_mel_weight_matrix contrib.signal.linear_to_mel_weight_matrix": (
        linear_to_mel_weight_matrix,
        "num_mel_bins num_spectrogram_bins sample_rate lower_edge_hertz upper_edge_hertz dtype",
    ),
}
for _names, (_function, _words) in ROWS.items():
    row(_names, _function, _words)
