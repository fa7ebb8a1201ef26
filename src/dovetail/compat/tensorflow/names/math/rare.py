"""TensorFlow's names for mathematics that few programs need, made of Dovetail's ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import second
from dovetail.compat.tensorflow.names.array.shapes import shape
from dovetail.compat.tensorflow.names.debugging import check_numerics
from dovetail.compat.tensorflow.names.math import arithmetic
from dovetail.compat.tensorflow.names.math.by_type import FUNCTIONS, of_type
from dovetail.compat.tensorflow.names.math.linalg import triangular_solve
from dovetail.compat.tensorflow.table import function, in_v1, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.ops.shapes.shape import dims_of, shaped

ROWS: dict[str, tuple[str, Callable[..., Any]]] = {  # names → the words of the parameters, and the function
    "lbeta math.lbeta": ("x", lambda x: ops.sum(ops.lgamma(x), -1) - ops.lgamma(ops.sum(x, -1))),
    "math.erfcinv": ("x", lambda x: ops.erfinv(1 - shaped(x))),
    "math.reciprocal_no_nan": ("x", lambda x: ops.divide_no_nan(ops.ones_like(x), x)),
    "is_non_decreasing math.is_non_decreasing debugging.is_non_decreasing": (
        "x",
        lambda x: ops.all(ops.less_equal(*_neighbours(x))),
    ),
    "is_strictly_increasing math.is_strictly_increasing debugging.is_strictly_increasing": (
        "x",
        lambda x: ops.all(ops.less(*_neighbours(x))),
    ),
    "is_numeric_tensor debugging.is_numeric_tensor": ("tensor", lambda tensor: _is_numeric(tensor)),
    "sparse_matmul sparse.matmul": (
        "a b transpose_a=False transpose_b=False a_is_sparse b_is_sparse",
        lambda a, b, transpose_a, transpose_b: _product(a, b, transpose_a, transpose_b),
    ),
    "clip_by_average_norm": (
        "t clip_norm",
        lambda t, clip_norm: _clipped(shaped(t), clip_norm),
    ),
    "cholesky_solve linalg.cholesky_solve": ("chol rhs", lambda chol, rhs: _cholesky_solve(chol, rhs)),
    "contrib.distributions.percentile": (
        "x q axis interpolation keep_dims=False",
        lambda x, q, axis=None, interpolation=None, keep_dims=False: _percentile(x, q, axis, interpolation, keep_dims),
    ),
    "linalg.normalize": ("tensor ord axis", lambda tensor, ord="euclidean", axis=None: _normalized(tensor, ord, axis)),
}


def _neighbours(x: Any) -> tuple[Any, Any]:
    flat = ops.reshape(shaped(x), [-1])
    return flat[:-1], flat[1:]


def _is_numeric(tensor: Any) -> bool:
    return is_tensor(tensor) and as_dtype(dtype_of(tensor)).name != "bool"


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    a, b = (ops.cast(x, "float32") for x in (a, b))
    return ops.matmul(a, b, transpose_a, transpose_b)


def _clipped(t: Any, clip_norm: Any) -> Any:
    mean = ops.sqrt(ops.sum(ops.square(t))) / ops.cast(ops.prod(ops.shape(t)), t.dtype)
    return t * clip_norm * ops.minimum(1 / mean, 1 / ops.cast(clip_norm, t.dtype))


def _cholesky_solve(chol: Any, rhs: Any) -> Any:
    solve = in_v1(triangular_solve)
    return solve(chol, solve(chol, rhs), adjoint=True)


def _percentile(x: Any, q: Any, axis: Any, interpolation: str | None, keep_dims: bool) -> Any:
    """The element below which q percent of the elements lie, along axes."""
    x = shaped(x)
    if interpolation not in (None, "nearest", "lower", "higher"):
        problem = f"interpolation is nearest, lower or higher, not {interpolation!r}."
        raise op_error(ValueError, "tf.contrib.distributions.percentile", problem)
    rank = len(x.shape)
    axes = sorted(int(one) % rank for one in (range(rank) if axis is None else np.atleast_1d(axis)))
    others = [one for one in range(rank) if one not in axes]
    moved = ops.transpose(x, [*others, *axes])
    ordered = ops.sort(ops.reshape(moved, [*dims_of(moved)[: len(others)], -1]))
    last = ops.cast(dims_of(ordered)[-1], "float64") - 1
    above = last * (1 - ops.cast(q, "float64") / 100)  # the place, counted from the largest
    way = {"lower": ops.ceil, "higher": ops.floor}.get(interpolation or "nearest", ops.round)
    found = ops.take(ordered, ops.cast(last - way(above), "int32"), axis=-1)
    for one in axes if keep_dims else ():
        found = ops.expand_dims(found, one)
    return found


def _normalized(tensor: Any, ord: Any, axis: Any) -> tuple[Any, Any]:
    norm = arithmetic.norm(tensor, ord, axis, keepdims=True)
    return ops.divide(tensor, norm), norm


for _names, (_words, _function) in ROWS.items():
    row(_names, _function, _words)
for _short, _whole in {"softmax": "nn.softmax", "log_softmax": "nn.log_softmax", "softsign": "nn.softsign"}.items():
    second(f"math.{_short}", _whole, "v1 v2")


@function("math.polyval", scope=True)
def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Any:
    """A polynomial with these coefficients, the highest first, at `x`.

    Source: `tf.math.polyval`.
    """
    polynomial = ops.zeros_like(x) if not coeffs else ops.convert(coeffs[0])
    for coefficient in coeffs[1:]:
        polynomial = ops.add(coefficient, ops.multiply(polynomial, x))
    return polynomial


class _Difference(NamedTuple):
    out: Any
    idx: Any


_difference = of_type("ListDiff")


@function("setdiff1d", scope=True)
def setdiff1d(x: Any, y: Any, index_dtype: Any = "int32", name: str | None = None) -> Any:
    """The elements of one vector that another lacks, and their places.

    Source: `tf.compat.v1.setdiff1d`.
    """
    out, idx = _difference(x, y)
    return _Difference(out, ops.cast(idx, index_dtype))


@function("histogram_fixed_width_bins", scope=True)
def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: int = 100, dtype: Any = "int32", name: str | None = None
) -> Any:
    """The number of the bin of each value; values outside of the range are in the first or last bin.

    Source: `tf.histogram_fixed_width_bins`.
    """
    values = shaped(values)
    low, high = (ops.cast(bound, values.dtype) for bound in value_range)
    places = ops.floor((values - low) / (high - low) * nbins)
    return ops.cast(ops.clip(places, 0, nbins - 1), dtype)


@function("verify_tensor_all_finite debugging.assert_all_finite", v1="t:x msg:message name x message")
def verify_tensor_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """A tensor, of which a run checks that all numbers are finite.

    Source: `tf.debugging.assert_all_finite`.
    """
    return in_v1(check_numerics)(x, message, name=name)


@function("shape_n", scope=True)
def shape_n(input: Sequence[Any], out_type: Any = "int32", name: str | None = None) -> list[Any]:
    """The shape of each tensor.

    Source: `tf.shape_n`.
    """
    return [shape(x, out_type=out_type) for x in input]


# -- blocks of space in the batch -------------------------------------------------------------------------------------


def _of_images(title: str, nd: str, type: str) -> None:
    """Add the function of images, which has one size for both axes."""
    whole = FUNCTIONS[type]

    @function(title, v1=f"input {'paddings' if title.startswith('space') else 'crops'}:around block_size:size name")
    def blocks(input: Any, size: int, around: Any, name: str | None = None) -> Any:
        return whole(input, [size, size], around, name=name)

    blocks.__doc__ = f"`tf.{nd}` of images."


_of_images("space_to_batch", "space_to_batch_nd", "SpaceToBatchND")
_of_images("batch_to_space", "batch_to_space_nd", "BatchToSpaceND")


@function("no_regularizer", "v1")
def no_regularizer(_: Any) -> None:
    """No loss: the regulariser that stands for none.

    Source: `tf.compat.v1.no_regularizer`.
    """
