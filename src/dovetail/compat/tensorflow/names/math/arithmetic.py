"""TensorFlow's names for mathematics: elementwise, reductions and products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names import old_words
from dovetail.compat.tensorflow.names.array.sorting import argsort
from dovetail.compat.tensorflow.names.graph.lookups import keeping_rows, of_same_rows
from dovetail.compat.tensorflow.names.strings.moved import by_op
from dovetail.compat.tensorflow.table import alike_values, constant_value, function, in_v1, row
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.formats.tensorflow.ops.sorting import counted, largest
from dovetail.ops.shapes.shape import shaped

# -- elementwise ------------------------------------------------------------------------------------------------------

_op: Any
for _names, _op in {
    "abs math.abs": ops.absolute,
    "square math.square": ops.square,
    "sqrt math.sqrt": ops.sqrt,
    "exp math.exp": ops.exp,
    "log math.log": ops.log,
    "sigmoid math.sigmoid nn.sigmoid": ops.sigmoid,
    "negative math.negative": ops.negative,
    "sign math.sign": ops.sign,
    "rsqrt math.rsqrt": ops.rsqrt,
    "reciprocal math.reciprocal": ops.reciprocal,
    "sin math.sin": ops.sin,
    "cos math.cos": ops.cos,
    "tan math.tan": ops.tan,
    "asin math.asin": ops.arcsin,
    "acos math.acos": ops.arccos,
    "atan math.atan": ops.arctan,
    "sinh math.sinh": ops.sinh,
    "cosh math.cosh": ops.cosh,
    "asinh math.asinh": ops.arcsinh,
    "acosh math.acosh": ops.arccosh,
    "atanh math.atanh": ops.arctanh,
    "floor math.floor": ops.floor,
    "ceil math.ceil": ops.ceil,
    "round math.round": ops.round,
    "rint math.rint": ops.rint,
    "erf math.erf": ops.erf,
    "erfc math.erfc": ops.erfc,
    "math.erfinv": ops.erfinv,
    "expm1 math.expm1": ops.expm1,
    "log1p math.log1p": ops.log1p,
    "lgamma math.lgamma": ops.lgamma,
    "digamma math.digamma": ops.digamma,
    "is_nan math.is_nan debugging.is_nan": ops.isnan,
    "is_inf math.is_inf debugging.is_inf": ops.isinf,
    "is_finite math.is_finite debugging.is_finite": ops.isfinite,
    "logical_not math.logical_not": ops.logical_not,
    "log_sigmoid math.log_sigmoid": ops.log_sigmoid,
}.items():
    row(_names, _op, "x")
tanh = row("tanh math.tanh nn.tanh", ops.tanh, "x")
row("real math.real", ops.real, "input:x")
row("imag math.imag", ops.imag, "input:x")
row("conj math.conj", ops.conj, "x:x")
row("math.softplus nn.softplus", ops.softplus, "features:x")

for _names, _op in {
    "add math.add": ops.add,
    "subtract math.subtract": ops.subtract,
    "multiply math.multiply": ops.multiply,
    "floordiv floor_div math.floordiv": ops.floor_divide,
    "mod floormod math.mod math.floormod": ops.mod,
    "pow math.pow": ops.power,
    "maximum math.maximum": ops.maximum,
    "minimum math.minimum": ops.minimum,
    "greater math.greater": ops.greater,
    "greater_equal math.greater_equal": ops.greater_equal,
    "less math.less": ops.less,
    "less_equal math.less_equal": ops.less_equal,
    "logical_and math.logical_and": ops.logical_and,
    "logical_or math.logical_or": ops.logical_or,
    "logical_xor math.logical_xor": ops.logical_xor,
    "squared_difference math.squared_difference": ops.squared_difference,
    "math.divide_no_nan div_no_nan": ops.divide_no_nan,
}.items():
    row(_names, _op, "x y", alike=True)
for _names, _op in {"equal math.equal": ops.equal, "not_equal math.not_equal": ops.not_equal}.items():
    row(_names, _op, "x y", alike=True, around=by_op("x y"))
row("atan2 math.atan2", ops.arctan2, "y x", alike=True)
row("complex dtypes.complex", ops.complex, "real:x imag:y", alike=True)
row("scalar_mul math.scalar_mul", ops.multiply, "scalar:x x:y", alike=True)
row("clip_by_value", ops.clip, "t:x clip_value_min:x_min clip_value_max:x_max", alike=True, around=keeping_rows)


@function("div", "v1")
def div(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, rounded down for integers.

    Source: `tf.compat.v1.div`.
    """
    x, y = (ops.convert(one) for one in alike_values([x, y]))
    return (ops.floor_divide if x.dtype.is_integer else ops.divide)(x, y, name=name)


@function("divide math.divide truediv math.truediv")
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """The quotient: in float64 for integers of 32 and more bits, in float32 for shorter integers.

    Source: `tf.divide`.
    """
    x, y = (_floats_of(v) for v in alike_values([x, y]))
    return ops.divide(x, y, name=name)


def _floats_of(x: Any) -> Any:
    """A tensor of integers as the floats in which TensorFlow divides it."""
    if not is_tensor(x) or not as_dtype(dtype_of(x)).is_integer:
        return x
    return ops.cast(x, "float32" if as_dtype(dtype_of(x)).itemsize < 4 else "float64")


@function("add_n math.add_n")
def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """The sum of tensors of one shape.

    Source: `tf.add_n`.
    """
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if not inputs:
        raise op_error(ValueError, "tf.add_n", "it needs one tensor or more.")
    shapes = {shape for x in inputs if (shape := static_shape(shaped(x))) is not None}
    known = sorted(tuple(shape) for shape in shapes if None not in shape)
    if len(known) > 1:
        raise op_error(ValueError, "tf.add_n", f"the tensors must have one shape, not {known}.")
    total, *others = inputs
    for x in others[:-1]:
        total = ops.add(total, x)
    return ops.add(total, others[-1], name=name) if others else ops.identity(total, name=name)


@function("accumulate_n math.accumulate_n")
def accumulate_n(inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Any:
    """The sum of tensors of one shape.

    Args:
        shape, tensor_dtype: the shape and dtype of the tensors, which are checked.

    Raises:
        TypeError: a tensor is of another dtype.
        ValueError: a tensor has another shape.

    Source: `tf.math.accumulate_n`.
    """
    for x in inputs:
        tensor = x if is_tensor(x) else ops.convert(x)
        if tensor_dtype is not None and as_dtype(dtype_of(tensor)) != as_dtype(tensor_dtype):
            problem = f"tensor_dtype is {as_dtype(tensor_dtype)}, but a tensor is of {dtype_of(tensor)}; cast it."
            raise op_error(TypeError, "tf.accumulate_n", problem)
        if not shape_of(shape).is_compatible_with(static_shape(tensor)):
            problem = f"shape is {shape_of(shape)}, but a tensor has the shape {static_shape(tensor)}."
            raise op_error(ValueError, "tf.accumulate_n", problem)
    return add_n(inputs, name=name)


# -- reductions -------------------------------------------------------------------------------------------------------

_REDUCTION = "input_tensor:x axis keepdims"
_OLD = "+reduction_indices:axis keep_dims:keepdims"
for _name, _op in {
    "sum": ops.sum,
    "prod": ops.prod,
    "max": ops.max,
    "min": ops.min,
    "any": ops.any,
    "all": ops.all,
    "logsumexp": ops.logsumexp,
    "euclidean_norm": ops.euclidean_norm,
}.items():
    row(f"reduce_{_name} math.reduce_{_name}", _op, _REDUCTION, v1=_OLD)
row("math.reduce_std", ops.std, _REDUCTION)
row("math.reduce_variance", ops.var, _REDUCTION)
row("cumsum math.cumsum", ops.cumsum, "x axis exclusive reverse")
row("cumprod math.cumprod", ops.cumprod, "x axis exclusive reverse")
row("math.cumulative_logsumexp", ops.cumulative_logsumexp, "x axis exclusive reverse")


def _mean(x: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """The mean; the mean of integers is an integer, rounded towards zero."""
    dtype = as_dtype(dtype_of(x)) if is_tensor(x) else as_dtype(ops.convert(x).dtype)
    if not dtype.is_integer:
        return ops.mean(x, axis, keepdims, name=name)
    return ops.cast(ops.mean(ops.cast(x, "float64"), axis, keepdims), dtype, name=name)


row("reduce_mean math.reduce_mean", _mean, _REDUCTION, v1=_OLD)


def _position(op: Any) -> Any:
    def position(x: Any, axis: Any = None, output_type: Any = "int64", name: str | None = None) -> Any:
        return ops.cast(op(x, 0 if axis is None else int(axis)), as_dtype(output_type), name=name)

    return position


for _name, _op in {"argmax": ops.argmax, "argmin": ops.argmin}.items():
    row(
        f"{_name} math.{_name}",
        _position(_op),
        "input:x axis output_type",
        v1="input:x axis name dimension:axis output_type",
    )


@function(
    "math.count_nonzero",
    v1="input_tensor:input axis keepdims dtype name reduction_indices:axis keep_dims:keepdims input",
)
def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool | None = None, dtype: Any = "int64", name: str | None = None
) -> Any:
    """The number of elements that are not zero.

    Source: `tf.math.count_nonzero`.
    """
    return ops.cast(ops.count_nonzero(input, axis, bool(keepdims)), as_dtype(dtype), name=name)


value("count_nonzero", in_v1(count_nonzero), "v1")


@function("math.bincount bincount", scope=True)
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """The count of each integer, of all or in each row; numbers of `maxlength` and more do not count.

    Args:
        axis: None and 0 for all numbers, -1 for those of each row.
        binary_output: whether each number that occurs counts once.

    Source: `tf.math.bincount`.
    """
    if axis not in (None, 0, -1):
        raise op_error(ValueError, "tf.math.bincount", f"axis must be None, 0 or -1, not {axis}.")
    arr = ops.convert(arr)
    if binary_output or (axis == -1 and len(arr.shape) > 1):
        size: Any = ops.max(ops.concatenate([ops.reshape(arr, (-1,)), ops.cast([-1], arr.dtype)], 0)) + 1
        size = size if minlength is None else ops.maximum(size, minlength)
        size = size if maxlength is None else ops.minimum(size, maxlength)
        given = ops.zeros((0,), as_dtype(dtype)) if weights is None else ops.convert(weights)
        return counted(arr if axis == -1 else ops.reshape(arr, (-1,)), size, given, binary_output)
    arr = ops.reshape(arr, (-1,))
    if maxlength is not None:
        keep = ops.less(arr, maxlength)
        if weights is not None:
            weights = ops.boolean_mask(ops.reshape(weights, (-1,)), keep)
        arr = ops.boolean_mask(arr, keep)
    counts = ops.bincount(arr, weights, minlength=0 if minlength is None else minlength)
    return counts if weights is not None else ops.cast(counts, as_dtype(dtype))


def _most(is_max: bool, name: str) -> None:
    @function(f"math.{name} nn.{name}", scope=True)
    def most(
        operand: Any,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
        name: str | None = None,
    ) -> Any:
        """The largest or the smallest elements along an axis, and their positions, exactly.

        Source: `tf.math.approx_max_k`, `tf.math.approx_min_k`.
        """
        return tuple(largest(ops.convert(operand), k, reduction_dimension, is_max_k=is_max))


_most(True, "approx_max_k")
_most(False, "approx_min_k")

# -- norms and clipping -----------------------------------------------------------------------------------------------


def _norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
    """The norm of vectors, or of matrices if there are two axes; without axes the norm of all elements."""
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    if ord in ("euclidean", "fro") or (ord == 2 and not isinstance(axis, tuple)):
        if ord == "fro" and axis is not None and not isinstance(axis, tuple):
            raise op_error(ValueError, "tf.norm", "'fro' is a norm of matrices: it needs two axes.")
        return ops.identity(ops.euclidean_norm(tensor, axis, bool(keepdims)), name=name)
    if axis is None:
        rank = len(static_shape(tensor))
        flat = ops.norm(ops.reshape(tensor, (-1,)), ord, 0)
        return ops.reshape(flat, (1,) * rank, name=name) if keepdims else ops.identity(flat, name=name)
    return ops.identity(ops.norm(tensor, ord, axis, bool(keepdims)), name=name)


norm = row("norm linalg.norm", _norm, "tensor ord axis keepdims", v1="+keep_dims:keepdims")


def _l2_normalize(x: Any, axis: Any = None, epsilon: Any = 1e-12, name: str | None = None) -> Any:
    """Divide by the Euclidean length along axes, or by the length of all elements if no axis is given."""
    return ops.l2_normalize(x, axis, epsilon, name=name)


l2_normalize = row(
    "math.l2_normalize nn.l2_normalize linalg.l2_normalize", _l2_normalize, "x axis epsilon", v1="+dim:axis"
)


@function("clip_by_norm", scope=True)
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """A tensor, scaled down if its norm is larger than `clip_norm`.

    Source: `tf.clip_by_norm`.
    """
    squares = ops.sum(ops.multiply(t, t), axes, True)
    positive = ops.greater(squares, 0)
    safe = ops.where(positive, squares, ops.ones_like(squares))
    norm = ops.where(positive, ops.sqrt(safe), squares)
    return of_same_rows(t, ops.divide(ops.multiply(t, clip_norm), ops.maximum(norm, clip_norm)))


@function("global_norm linalg.global_norm", scope=True)
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """The norm of all elements of several tensors; None among them does not count.

    Source: `tf.linalg.global_norm`.
    """
    if not isinstance(t_list, (list, tuple)):
        raise op_error(TypeError, "tf.global_norm", "it needs a list of tensors.")
    halves = [ops.divide(ops.sum(ops.square(t)), 2.0) for t in t_list if t is not None]
    return ops.sqrt(ops.multiply(2.0, add_n(halves))) if halves else None


@function("clip_by_global_norm", scope=True)
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Tensors, scaled down together if the norm of all their elements is larger than `clip_norm`; and that norm.

    If the norm is infinite, all elements become NaN.

    Source: `tf.clip_by_global_norm`.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    if norm is None:
        return list(t_list), norm
    scale = ops.multiply(clip_norm, ops.minimum(ops.divide(1.0, norm), ops.divide(1.0, clip_norm)))
    scale = ops.add(scale, ops.subtract(norm, norm))  # NaN where it is not finite
    return [None if t is None else of_same_rows(t, ops.multiply(t, scale)) for t in t_list], norm


class TopK(NamedTuple):
    """The result of `tf.math.top_k`."""

    values: Any
    indices: Any


# -- products ---------------------------------------------------------------------------------------------------------


@function("matmul linalg.matmul", around_v1=old_words.by_old_names)
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Any:
    """The product of matrices; leading axes hold many of them.

    Source: `tf.linalg.matmul`.
    """
    a, b = alike_values([a, b])
    ranks = [len(shape) for x in (a, b) if (shape := static_shape(shaped(x))) is not None]
    if min(ranks, default=2) < 2:
        raise op_error(ValueError, "tf.matmul", "it multiplies matrices; tf.linalg.matvec and tf.tensordot do less.")
    a, b = (ops.conj(x) if adjoint else x for x, adjoint in ((a, adjoint_a), (b, adjoint_b)))
    if output_type is not None:
        return ops.cast(ops.matmul(a, b, transpose_a or adjoint_a, transpose_b or adjoint_b), output_type, name=name)
    return ops.matmul(a, b, transpose_a or adjoint_a, transpose_b or adjoint_b, name=name)


@function("tensordot linalg.tensordot", scope=True, defers=True)
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Sums of products over pairs of axes.

    Source: `tf.tensordot`.
    """
    a, b = alike_values([a, b])
    return ops.tensordot(a, b, axes)


@function("einsum linalg.einsum", scope=True)
def einsum(equation: str, *inputs: Any, optimize: Any = None, name: str | None = None) -> Any:
    """Sums of products, by Einstein's convention.

    Source: `tf.einsum`.
    """
    return ops.einsum(equation, *alike_values(inputs))


@function("math.top_k nn.top_k")
def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = "int32", name: str | None = None) -> Any:
    """The largest elements of the last axis, and their indices.

    Source: `tf.math.top_k`.
    """
    count = constant_value(k)
    if count is None:  # it is known in a run alone
        indices = argsort(input, direction="DESCENDING")[..., : ops.cast(k, "int32")]
        values = ops.take_along_axis(input, indices, axis=-1)
    else:
        values, indices = ops.top_k(input, int(count), name=name)
    return TopK(values, ops.cast(indices, as_dtype(index_type)))
