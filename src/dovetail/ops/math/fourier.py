"""Discrete Fourier transforms, of complex numbers and of real ones.

`FFT` is the one primitive; the bodies of the others call it, and most libraries have a kernel for each.  All transform
the last axis, or the last two.  They take and give complex tensors, as in TensorFlow and NumPy.  These have gradients
on every engine, and `complex`, `real` and `imag` convert from and to pairs of real tensors.
"""

from __future__ import annotations

from typing import Annotated, Any

from dovetail.core.base.domains import above
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float, Inexact
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.math.compare import equal, where
from dovetail.ops.math.complex import PARTS, WHOLE, complex, conj, real
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.create import iota, zeros
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.rearrange import swapaxes
from dovetail.ops.shapes.shape import cast, dims_of
from dovetail.ops.shapes.subscript import getitem

Length = Annotated[int | None, above(0)]


def _waves(*shape: int) -> Any:
    return sample(array(*shape, dtype="complex64"))


def _require_axes(x: RankedSpec, axes: int) -> None:
    if len(x.shape) < axes:
        raise ValueError(f"it transforms the last {axes} axes, but the rank is {len(x.shape)}.")
    if 0 in x.shape[-axes:]:
        raise ValueError(f"there must be at least one number to transform, but the shape is {x.shape}.")


def _transform_spec(axes: int) -> Any:
    def spec(x: RankedSpec) -> TensorSpec:
        _require_axes(x, axes)
        if not x.dtype.is_complex:
            raise TypeError(f"it transforms complex numbers, not {x.dtype}: use complex(x, 0), or rfft.")
        return x

    return spec


@primitive("FFT", infer=_transform_spec(1), samples=[_waves(2, 5), _waves(8), _waves(0, 4)])
def fft(x: Inexact) -> Tensor:
    """Discrete Fourier transform of the last axis: for each k the sum of `x[j] * exp(-2πi jk / n)`.

    Args:
        x: complex numbers (…, n), n at least 1.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: the numbers are real.

    Source: `tf.signal.fft`, `numpy.fft.fft`.

    Example:
        >>> fft([1j, 0, -1j, 0]).numpy()
        array([0.+0.j, 0.+2.j, 0.+0.j, 0.+2.j], dtype=complex64)
    """


@fft.gradient
def _(op: Any, g: Any) -> Any:
    return conj(fft(conj(g)))


@composite("IFFT", infer=_transform_spec(1), samples=[_waves(2, 5), _waves(8), _waves(0, 4)])
def ifft(x: Inexact) -> Tensor:
    """Inverse of `fft`: for each j the mean of `x[k] * exp(2πi jk / n)`.

    Args:
        x: complex numbers (…, n), n at least 1.

    Source: `tf.signal.ifft`, `numpy.fft.ifft`.

    Example:
        >>> ifft([0, 2j, 0, 2j]).numpy()
        array([0.+1.j, 0.+0.j, 0.-1.j, 0.+0.j], dtype=complex64)
    """
    return conj(fft(conj(x))) / dims_of(x)[-1]


@ifft.gradient
def _(op: Any, g: Any) -> Any:
    return fft(g) / dims_of(g)[-1]


def _down(transform: Any, x: Any) -> Any:
    """The transform of the last axis but one."""
    return swapaxes(transform(swapaxes(x, -1, -2)), -1, -2)


@composite("FFT2D", infer=_transform_spec(2), samples=[_waves(2, 3, 4), _waves(4, 1)])
def fft2d(x: Inexact) -> Tensor:
    """`fft` of the last two axes.

    Args:
        x: complex numbers (…, m, n), m and n at least 1.

    Source: `tf.signal.fft2d`, `numpy.fft.fft2`.

    Example:
        >>> fft2d([[1j, 0], [0, 0]]).numpy()
        array([[0.+1.j, 0.+1.j],
               [0.+1.j, 0.+1.j]], dtype=complex64)
    """
    return _down(fft, fft(x))


@composite("IFFT2D", infer=_transform_spec(2), samples=[_waves(2, 3, 4), _waves(4, 1)])
def ifft2d(x: Inexact) -> Tensor:
    """Inverse of `fft2d`.

    Args:
        x: complex numbers (…, m, n), m and n at least 1.

    Source: `tf.signal.ifft2d`, `numpy.fft.ifft2`.

    Example:
        >>> ifft2d([[1j, 1j], [1j, 1j]]).numpy()
        array([[0.+1.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _down(ifft, ifft(x))


# -- real numbers -----------------------------------------------------------------------------------------------------


def _rfft_spec(x: RankedSpec, fft_length: int | None = None) -> TensorSpec:
    _require_axes(x, 1)
    if x.dtype not in WHOLE:
        raise TypeError(f"it transforms float32 or float64, not {x.dtype}; cast it.")
    size = x.shape[-1] if fft_length is None else fft_length
    return TensorSpec((*x.shape[:-1], None if size is None else size // 2 + 1), ALL[WHOLE[x.dtype]])


def _of_length(x: Any, length: Any) -> Any:
    """The last axis cut to a length, or filled up with zeros."""
    *batch, size = dims_of(x)
    known = isinstance(size, int) and isinstance(length, int)
    if not (known and length <= size):
        x = concatenate([x, zeros((*batch, length), x.dtype)], -1)
    return x if known and size == length else getitem(x, (..., slice(0, length)))


@composite(
    "RFFT",
    infer=_rfft_spec,
    samples=[sample(array(2, 6)), sample(array(5)), sample(array(2, 6), 4), sample(array(2, 3), fft_length=8)],
)
def rfft(x: Float, fft_length: Length = None) -> Tensor:
    """`fft` of real numbers, which the frequencies 0 … n/2 determine.

    Args:
        x: float32 or float64 (…, m), m at least 1.
        fft_length: n, to which the last axis is cut, or filled up with zeros; m if not given.

    Returns:
        A complex tensor (…, n // 2 + 1).

    Source: `tf.signal.rfft`, `numpy.fft.rfft`.

    Example:
        >>> rfft([1., 0., 2., 0.]).numpy()
        array([ 3.+0.j, -1.+0.j,  3.+0.j], dtype=complex64)
    """
    length = dims_of(x)[-1] if fft_length is None else fft_length
    whole = fft(complex(_of_length(x, length), 0))
    return getitem(whole, (..., slice(0, length // 2 + 1)))


def _irfft_spec(x: RankedSpec, fft_length: int | None = None) -> TensorSpec:
    _require_axes(x, 1)
    if not x.dtype.is_complex:
        raise TypeError(f"it transforms complex numbers, not {x.dtype}: use complex(x, 0).")
    dtype = ALL[PARTS[x.dtype]]
    known = x.shape[-1]
    if fft_length is None and known == 1:
        raise ValueError("one frequency does not determine the number of values; give fft_length.")
    size = fft_length if fft_length is not None else None if known is None else 2 * (known - 1)
    return TensorSpec((*x.shape[:-1], size), dtype)


@composite(
    "IRFFT",
    infer=_irfft_spec,
    samples=[
        _waves(2, 4),
        sample(array(2, 4, dtype="complex64"), 7),
        sample(array(3, dtype="complex64"), 8),
        sample(array(5, dtype="complex64"), fft_length=4),
    ],
)
def irfft(x: Inexact, fft_length: Length = None) -> Tensor:
    """Inverse of `rfft`: n real numbers from their frequencies 0 … n/2.

    Args:
        x: complex numbers (…, m).  The imaginary parts of the frequencies 0 and n/2 have no effect.
        fft_length: n; 2 (m - 1) if not given.  Frequencies are cut, or filled up with zeros, to n // 2 + 1.

    Returns:
        A tensor of floats (…, n).

    Source: `tf.signal.irfft`, `numpy.fft.irfft`.

    Example:
        >>> irfft([3 + 0j, -1, 3]).numpy()
        array([1., 0., 2., 0.], dtype=float32)
    """
    length = 2 * (dims_of(x)[-1] - 1) if fft_length is None else fft_length
    count = length // 2 + 1
    frequency = iota((count,), "int32")
    alone = (frequency * 2) % length  # 0 for the two frequencies that are their own negatives; the others count twice
    weights = where(equal(alone, 0), 1.0, 2.0)
    return real(ifft(_of_length(_of_length(x, count) * cast(weights, x.dtype), length)))


__all__ = ["fft", "fft2d", "ifft", "ifft2d", "irfft", "rfft"]
