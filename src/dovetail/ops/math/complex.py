"""Complex numbers: their parts, and tensors made of parts."""

from __future__ import annotations

from typing import Any

from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float, Number
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.samples import array, binary, sample
from dovetail.ops.shapes.identity import identity
from dovetail.ops.shapes.shape import sum_like

PARTS = {"complex64": "float32", "complex128": "float64"}
WHOLE = {part: whole for whole, part in PARTS.items()}
SAMPLES = [sample(array(2, 3, dtype="complex64")), sample(array(2, 3)), sample(array(0, dtype="complex64"))]


def real_spec(x: TensorSpec) -> TensorSpec:
    """The type rule of ops that make real numbers of complex ones."""
    return TensorSpec(x.shape, ALL[PARTS.get(x.dtype, x.dtype)])


real_spec.elementwise = True  # type: ignore[attr-defined]


def _complex_spec(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    if x.dtype not in WHOLE:
        raise TypeError(f"complex numbers are made of float32 or float64, not of {x.dtype}.")
    return elementwise(x, y, dtype=ALL[WHOLE[x.dtype]])


@primitive("Complex", infer=_complex_spec, samples=binary())
def complex(x: Float, y: Float) -> Tensor:
    """The complex numbers `x + iy`.

    Args:
        x, y: the real and imaginary parts, both float32 or both float64; they broadcast.

    Source: `tf.complex`.

    Example:
        >>> complex([1., 2.], 3.).numpy()
        array([1.+3.j, 2.+3.j], dtype=complex64)
    """


@complex.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return sum_like(real(g), x), sum_like(imag(g), y)


@primitive("Real", infer=real_spec, samples=SAMPLES)
def real(x: Number) -> Tensor:
    """The real part; a real number itself.

    Source: `numpy.real`.

    Example:
        >>> real(2 + 3j).numpy()
        array(2., dtype=float32)
    """


@real.gradient
def _(op: Any, g: Any) -> Any:
    return complex(g, 0) if op.inputs[0].dtype.is_complex else g


@primitive("Imag", infer=real_spec, samples=SAMPLES)
def imag(x: Number) -> Tensor:
    """The imaginary part; 0 for a real number.

    Source: `numpy.imag`.

    Example:
        >>> imag(2 + 3j).numpy()
        array(3., dtype=float32)
    """


@imag.gradient
def _(op: Any, g: Any) -> Any:
    return complex(0, g) if op.inputs[0].dtype.is_complex else None


@composite("Conj", infer=elementwise, samples=SAMPLES)
def conj(x: Number) -> Tensor:
    """The complex conjugate; a real number itself.

    Source: `numpy.conj`.

    Example:
        >>> conj(2 + 3j).numpy()
        array(2.-3.j, dtype=complex64)
    """
    return complex(real(x), -imag(x)) if x.dtype.is_complex else identity(x)


@conj.gradient
def _(op: Any, g: Any) -> Any:
    return adjoint(g)


def adjoint(x: Any) -> Any:
    """The factor of the gradient of a product with `x`: the conjugate if `x` is complex."""
    return conj(x) if x.dtype.is_complex else x
