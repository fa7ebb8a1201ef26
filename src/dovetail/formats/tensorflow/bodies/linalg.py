"""Matrices, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.rows import row


@row("MatrixBandPart: x/T lower!/Tindex upper!/Tindex")
def _(x: Any, lower: int, upper: int) -> Any:
    return OPS["MatrixBandPart"](x, *(None if bound < 0 else bound for bound in (lower, upper)))


@row("Cross: x/T y/T")
def _(x: Any, y: Any) -> Any:
    shifted = [(ops.roll(x, -a, -1), ops.roll(y, -b, -1)) for a, b in ((1, 2), (2, 1))]
    return shifted[0][0] * shifted[0][1] - shifted[1][0] * shifted[1][1]


@row(
    "BatchMatMul BatchMatMulV2: x/T y/T; adj_x adj_y grad_x=False grad_y=False",
    "BatchMatMulV3: x/Ta y/Tb; adj_x adj_y Tout>0 grad_x=False grad_y=False",
)
def _(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    pairs = (x, adj_x), (y, adj_y)
    x, y = (OPS["Conj"](value) if adjoint and value.dtype.is_complex else value for value, adjoint in pairs)
    return OPS["MatMul"](x, y, adj_x, adj_y)


@row("Qr: x/T; full_matrices")
def _(x: Any, full_matrices: bool = False) -> Any:
    return OPS["Qr"](x, "complete" if full_matrices else "reduced")


@row("RFFT: x/Treal length!/-; Tcomplex>0|complex64")
def _(x: Any, length: Sequence[int]) -> Any:
    return OPS["RFFT"](x, *length)


@row("IRFFT: x/Tcomplex length!/-; Treal>0|float32")
def _(x: Any, length: Sequence[int]) -> Any:
    return OPS["IRFFT"](x, *length)
