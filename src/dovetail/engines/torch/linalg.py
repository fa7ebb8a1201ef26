"""Rules of products of matrices, of decompositions, and of systems of equations."""

from __future__ import annotations

import functools
from typing import Any

import torch

from dovetail.core.rules import OUT, PROGRAM, WITH_OUT, Rule
from dovetail.engines import matrices
from dovetail.engines.torch.tables import WIDE_UNSIGNED, of_floats, rules

# -- products ---------------------------------------------------------------------------------------------------------


def _has_products(x: Any) -> bool:
    """Whether torch multiplies such matrices: not integers on CUDA, and not wide unsigned integers."""
    return x.is_floating_point() or x.is_complex() or not (x.is_cuda or x.dtype in WIDE_UNSIGNED)


_FEW = 16  # columns; for fewer, torch takes up to ten times as long for a matrix times many as for the transposes


_MATRICES: dict[tuple[str, bool, bool], Rule] = {
    ("MatMul", False, False): torch.mm,
    ("MatMul", False, True): lambda x, y: torch.mm(x, y.mT),
    ("MatMul", True, False): lambda x, y: torch.mm(x.mT, y),
    ("FusedMatMul", False, False): torch.addmm,
}


@rules.specialized("MatMul", "FusedMatMul")
def _(operation: Any) -> Rule | None:
    *_, x, y = operation.inputs
    if not of_floats(operation) or x.ndim != 2 or y.ndim != 2:
        return None
    return _MATRICES.get((operation.type, operation.attrs["transpose_a"], operation.attrs["transpose_b"]))


@rules("MatMul", layers=(PROGRAM, OUT), variant="floats", when=of_floats)
def _matmul(x: Any, y: Any, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    x, y = x.mT if transpose_a else x, y.mT if transpose_b else y
    if x.ndim == 2 < y.ndim and y.shape[-1] < _FEW and not y.is_cuda:
        product = torch.matmul(y.mT.contiguous(), x.mT).mT
        return product if out is None else out.copy_(product)
    return torch.matmul(x, y, out=out)


@rules("MatMul", layers=WITH_OUT)
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    if _has_products(x):
        return _matmul(x, y, transpose_a, transpose_b, out)
    wide = x.to("cpu", torch.int64), y.to("cpu", torch.int64)
    product = _matmul(*wide, transpose_a, transpose_b).to(x.device, x.dtype)
    return product if out is None else out.copy_(product)


@rules("FusedMatMul", layers=WITH_OUT)
def _(bias: Any, x: Any, y: Any, transpose_a: bool, transpose_b: bool, **out: Any) -> Any:
    return torch.addmm(bias, x.mT if transpose_a else x, y.mT if transpose_b else y, **out)


@rules.specialized("AddScaled")
def _(operation: Any) -> Rule:
    return functools.partial(torch.add, alpha=operation.attrs["scale"])


@rules("AddScaled", layers=WITH_OUT)
def _(x: Any, y: Any, scale: float, **out: Any) -> Any:
    return torch.add(x, y, alpha=scale, **out)


rules.fresh.add("Einsum")


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    x = inputs[0]
    if _has_products(x):
        result = torch.einsum(equation, *inputs)
        return result.clone() if len(inputs) == 1 else result  # for one tensor it may be a view
    return torch.einsum(equation, *(t.to("cpu", torch.int64) for t in inputs)).to(x.device, x.dtype)


# -- systems of equations and decompositions --------------------------------------------------------------------------


def _nan_where(failed: Any, result: Any) -> Any:
    return torch.where(failed[..., None, None], torch.nan, result)


@rules("MatrixSolve")
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    rank = max(matrix.ndim, rhs.ndim)  # torch takes right-hand sides of lower rank for vectors
    matrix, rhs = (t.reshape((1,) * (rank - t.ndim) + t.shape) for t in (matrix.mH if adjoint else matrix, rhs))
    result, info = torch.linalg.solve_ex(matrix, rhs)
    return _nan_where(info != 0, result)


@rules("MatrixTriangularSolve")
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    left = matrix.mH if adjoint else matrix
    result = torch.linalg.solve_triangular(left, rhs, upper=lower == adjoint)
    return _nan_where((matrix.diagonal(dim1=-2, dim2=-1) == 0).any(-1), result)


@rules("MatrixInverse")
def _(x: Any) -> Any:
    result, info = torch.linalg.inv_ex(x)
    return _nan_where(info != 0, result)


@rules("Cholesky")
def _(x: Any) -> Any:
    result, info = torch.linalg.cholesky_ex(x)
    return _nan_where(info != 0, result)


@rules("Lu")
def _(x: Any) -> Any:
    lu, pivots, _ = torch.linalg.lu_factor_ex(x)
    return lu, pivots - 1  # LAPACK counts from 1


rules["MatrixDeterminant"] = torch.linalg.det
rules["LogMatrixDeterminant"] = torch.linalg.slogdet
rules["Qr"] = torch.linalg.qr


def _finite(rule: Rule) -> Rule:
    """A rule whose results are all NaN for matrices with NaN or infinity, which torch refuses to decompose."""

    @functools.wraps(rule)
    def compute(x: Any, *static: Any) -> Any:
        bad = ~torch.isfinite(x).all(-1).all(-1)
        results = rule(torch.where(bad[..., None, None], torch.zeros_like(x), x), *static)
        return [torch.where(bad.reshape(bad.shape + (1,) * (y.ndim - bad.ndim)), torch.nan, y) for y in results]

    return compute


@rules("SelfAdjointEigV2")
@_finite
def _(x: Any, compute_v: bool) -> Any:
    if not compute_v:
        return [torch.linalg.eigvalsh(x)]
    return matrices.turned(torch, *torch.linalg.eigh(x))


@rules("Eig")
@_finite
def _(x: Any) -> Any:
    return matrices.turned(torch, *torch.linalg.eig(x))


@rules("Svd")
@_finite
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return [torch.linalg.svdvals(x)]
    return matrices.aligned(torch, *torch.linalg.svd(x, full_matrices))
