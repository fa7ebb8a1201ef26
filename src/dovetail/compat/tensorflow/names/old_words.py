"""Words of TensorFlow 0.x: names that 1.0 replaced, and arguments that it put into another order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import lazy, named
from dovetail.compat.tensorflow.table import Wrapper
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.values.value_kinds import dtype_of

NAMES = {  # the old name → the name since 1.0
    "arg_max": "argmax",
    "arg_min": "argmin",
    "batch_cholesky": "cholesky",
    "batch_matmul": "matmul",
    "batch_matrix_band_part": "matrix_band_part",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_set_diag": "matrix_set_diag",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_solve_ls": "matrix_solve_ls",
    "batch_matrix_transpose": "matrix_transpose",
    "batch_matrix_triangular_solve": "matrix_triangular_solve",
    "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_self_adjoint_eigvals": "self_adjoint_eigvals",
    "batch_svd": "svd",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "contrib.deprecated.histogram_summary": "summary.histogram",
    "contrib.deprecated.image_summary": "summary.image",
    "contrib.deprecated.merge_all_summaries": "summary.merge_all",
    "contrib.deprecated.merge_summary": "summary.merge",
    "contrib.deprecated.scalar_summary": "summary.scalar",
    "histogram_summary": "summary.histogram",
    "image.per_image_whitening": "image.per_image_standardization",
    "image_summary": "summary.image",
    "initialize_local_variables": "local_variables_initializer",
    "inv": "reciprocal",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "nn.deconv2d": "nn.conv2d_transpose",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}
ARGUMENTS = {  # old name → new name
    "adj_x": "adjoint_a",
    "adj_y": "adjoint_b",
    "concat_dim": "axis",
    "num_split": "num_or_size_splits",
    "split_dim": "axis",
    "targets": "labels",
}
for _old, _new in NAMES.items():
    lazy(_old, functools.partial(named, _new), "v1")


def _also(order: tuple[str, ...], applies: Callable[[tuple[Any, ...]], bool]) -> Wrapper:
    """Let a function take arguments in this order where the condition holds for them, and by their old names."""

    def wrap(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def taken(*args: Any, **kwargs: Any) -> Any:
            kwargs = {ARGUMENTS.get(key, key): given for key, given in kwargs.items()}
            if args and applies(args):
                return call(**dict(zip(order, args, strict=False)), **kwargs)
            return call(*args, **kwargs)

        return taken

    return wrap


def axis_first(*order: str) -> Wrapper:
    """Let a function take its arguments in this order, which begins with an axis."""
    return _also(order, lambda args: len(args) > 1 and type(args[0]) is int and type(args[-1]) is not int)


def _inputs_third(args: tuple[Any, ...]) -> bool:
    """Whether the third argument has floats, and not labels."""
    return len(args) > 2 and native_to_dtype(dtype_of(ops.convert(args[2]))).is_floating


inputs_third = _also(("weights", "biases", "inputs", "labels", "num_sampled", "num_classes"), _inputs_third)
# TensorFlow 1 takes these arguments by name alone, so those in order are 0.x's.
logits_first = _also(("logits", "labels"), bool)
by_old_names = _also((), lambda args: False)


def bool_of_each_axis(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `tf.reverse`, which took a bool for each axis."""

    @functools.wraps(call)
    def reverse(tensor: Any, axis: Any = None, name: str | None = None, dims: Any = None) -> Any:
        axes = dims if axis is None else axis
        if isinstance(axes, (list, tuple)) and axes and all(type(one) is bool for one in axes):
            axes = [place for place, is_reversed in enumerate(axes) if is_reversed]
        return call(tensor, axes, name=name)

    return reverse
