"""Keras 1's names for functions that later versions renamed: each calls the new function, with the old parameters.

A `dim_ordering` is "tf" (channels last), "th" (channels first), or "default" for the value of `image_dim_ordering`.  A
`border_mode` is now called padding.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dovetail import backend as K
from dovetail.core.base.hooks import hooks
from dovetail.core.kinds import TensorLike
from dovetail.core.values.shapes import normalize_axis as normalized

__all__ = [
    "asymmetric_spatial_2d_padding",
    "asymmetric_temporal_padding",
    "atrous_conv2d",
    "deconv2d",
    "get_variable_shape",
    "image_dim_ordering",
    "lesser",
    "lesser_equal",
    "normalize_axis",
    "pack",
    "set_image_dim_ordering",
]

_OF_THEANO = "A step of Theano's CTC loss, for one sequence; use K.ctc_batch_cost."
_OF_CNTK = "CNTK's alone; programs for other backends do without it."
_OF_WEIGHTS = "It was for files of weights that are older than Keras 1; there is nothing to read them with."

_OF_TENSORFLOW = (
    "It is a module of TensorFlow that the module of Keras 2 had imported. On tensors use dovetail.ops, "
    "which has most of its functions under their names: dovetail.ops.{0} for K.{1}.{0}."
)

_LIBRARY = "It is {}, which the module of Keras 2 had imported, and K does without; use K's functions and dovetail.ops."

ABSENT = {  # names of old versions that K does not have → why
    "C": _LIBRARY.format("CNTK"),
    "T": _LIBRARY.format("Theano"),
    "array_ops": _OF_TENSORFLOW.format("where", "array_ops"),
    "classification_error": "CNTK's alone; use K.mean(K.not_equal(K.argmax(target), K.argmax(output))).",
    "control_flow_ops": _OF_TENSORFLOW.format("while_loop", "control_flow_ops")
    + " Instead of a loop that fills a TensorArray, K.map_fn gives the results of a function, stacked.",
    "ctc_cost": _OF_THEANO,
    "ctc_create_skip_idxs": _OF_THEANO,
    "ctc_interleave_blanks": _OF_THEANO,
    "ctc_path_probs": _OF_THEANO,
    "ctc_update_log_p": _OF_THEANO,
    "get_num_dynamic_axis": _OF_CNTK,
    "has_seq_axis": _OF_CNTK,
    "is_explicit_shape": "Theano's alone; use isinstance(shape, tuple).",
    "legacy_weight_ordering": _OF_WEIGHTS,
    "math_ops": _OF_TENSORFLOW.format("argmax", "math_ops"),
    "nn": _OF_TENSORFLOW.format("top_k", "nn"),
    "pad": "CNTK's alone; use K.spatial_2d_padding and the like.",
    "set_legacy_weight_ordering": _OF_WEIGHTS,
    "theano": _LIBRARY.format("Theano"),
}


def absent(name: str) -> ModuleType:
    """Return `tf`, TensorFlow's names on Dovetail; for any other name, raise an error that says what to write instead.

    Raises:
        AttributeError: K does not have the name.
    """
    if name == "tf":
        return hooks.tensorflow()
    why = f": {ABSENT[name]}" if name in ABSENT else ""
    raise AttributeError(f"module 'dovetail.backend' has no attribute {name!r}{why}", name=name, obj=K)


ORDERINGS = {"tf": "channels_last", "th": "channels_first"}


def _data_format(dim_ordering: str) -> str | None:
    if dim_ordering not in (*ORDERINGS, "default"):
        raise ValueError(f"dim_ordering must be 'tf', 'th' or 'default', not {dim_ordering!r}.")
    return ORDERINGS.get(dim_ordering)


# -- settings and shapes ----------------------------------------------------------------------------------------------


def image_dim_ordering() -> str:
    """The default layout of images: "tf" for "channels_last", "th" for "channels_first".

    Source: `keras.backend.image_dim_ordering` of Keras 1.

    Modern: `keras.config.image_data_format()`.

    Example:
        >>> image_dim_ordering()
        'tf'
    """
    return next(name for name, data_format in ORDERINGS.items() if data_format == K.image_data_format())


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the default layout of images.

    Args:
        dim_ordering: "tf" for "channels_last", "th" for "channels_first".

    Raises:
        ValueError: it is neither.

    Source: `keras.backend.set_image_dim_ordering` of Keras 1.

    Modern: `keras.config.set_image_data_format(data_format)`.

    Example:
        >>> set_image_dim_ordering("th")
        >>> K.image_data_format()
        'channels_first'
        >>> set_image_dim_ordering("tf")
    """
    if dim_ordering not in ORDERINGS:
        raise ValueError(f"dim_ordering must be 'tf' or 'th', not {dim_ordering!r}.")
    K.set_image_data_format(ORDERINGS[dim_ordering])


def get_variable_shape(x: TensorLike) -> Any:
    """The shape of a variable; the same as `int_shape`.

    Args:
        x: a variable or tensor.

    Source: `keras.backend.get_variable_shape` of Keras 1.

    Modern: `x.shape`.

    Example:
        >>> get_variable_shape(K.ones((2, 3)))
        (2, 3)
    """
    return K.int_shape(x)


def normalize_axis(axis: Any, ndim: int) -> Any:
    """An axis, or several, counted from the first.

    Args:
        axis: an int, or a list or tuple of ints.
        ndim: how many axes there are.

    Returns:
        The axis, or the list or tuple of axes, with numbers of 0 or more.

    Raises:
        ValueError: there is no such axis.

    Source: `keras.backend.normalize_axis` of Keras 0.3.

    Modern: `axis % ndim`.

    Example:
        >>> normalize_axis(-1, 3), normalize_axis([0, -2], 3)
        (2, [0, 1])
    """
    return type(axis)(normalized(a, ndim) for a in axis) if isinstance(axis, (list, tuple)) else normalized(axis, ndim)


# -- comparing and joining --------------------------------------------------------------------------------------------


def lesser(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x < y`, elementwise; the same as `less`.

    Args:
        x, y: numbers whose shapes broadcast.

    Source: `keras.backend.lesser` of Keras 1.

    Modern: `keras.ops.less(x, y)`.

    Example:
        >>> lesser([1, 3], 2).numpy()
        array([ True, False])
    """
    return K.less(x, y)


def lesser_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x <= y`, elementwise; the same as `less_equal`.

    Args:
        x, y: numbers whose shapes broadcast.

    Source: `keras.backend.lesser_equal` of Keras 1.

    Modern: `keras.ops.less_equal(x, y)`.

    Example:
        >>> lesser_equal([1, 3], 1).numpy()
        array([ True, False])
    """
    return K.less_equal(x, y)


def pack(x: Any) -> Any:
    """Tensors of one shape joined along a new first axis; the same as `stack`.

    Args:
        x: a list of tensors of one shape.

    Source: `keras.backend.pack` of Keras 1.

    Modern: `keras.ops.stack(x)`.

    Example:
        >>> pack([[1, 2], [3, 4]]).shape
        (2, 2)
    """
    return K.stack(x)


# -- padding ----------------------------------------------------------------------------------------------------------


def asymmetric_temporal_padding(x: TensorLike, left_pad: int = 1, right_pad: int = 1) -> Any:
    """Zeros before and after each sequence; the same as `temporal_padding`.

    Args:
        x: a tensor of shape (batch, time, features).
        left_pad, right_pad: how many steps before and after.

    Source: `keras.backend.asymmetric_temporal_padding` of Keras 1.

    Modern: `keras.ops.pad(x, ((0, 0), (left_pad, right_pad), (0, 0)))`.

    Example:
        >>> asymmetric_temporal_padding(K.ones((1, 2, 3)), 1, 2).shape
        (1, 5, 3)
    """
    return K.temporal_padding(x, (left_pad, right_pad))


def asymmetric_spatial_2d_padding(
    x: TensorLike,
    top_pad: int = 1,
    bottom_pad: int = 1,
    left_pad: int = 1,
    right_pad: int = 1,
    dim_ordering: str = "default",
) -> Any:
    """Zeros around each image; the same as `spatial_2d_padding`.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "th".
        top_pad, bottom_pad, left_pad, right_pad: how many rows and columns on each side.
        dim_ordering: "tf", "th" or "default".

    Source: `keras.backend.asymmetric_spatial_2d_padding` of Keras 1.

    Modern: `keras.ops.pad`.

    Example:
        >>> asymmetric_spatial_2d_padding(K.ones((1, 2, 2, 3)), 0, 1, 2, 0).shape
        (1, 3, 4, 3)
    """
    data_format = _data_format(dim_ordering)
    return K.spatial_2d_padding(x, ((top_pad, bottom_pad), (left_pad, right_pad)), data_format)


# -- convolution ------------------------------------------------------------------------------------------------------


def atrous_conv2d(
    x: TensorLike,
    kernel: TensorLike,
    rate: int = 1,
    border_mode: str = "valid",
    dim_ordering: str = "default",
    image_shape: Any = None,
    filter_shape: Any = None,
) -> Any:
    """Convolution of images with a kernel that has holes; the same as `conv2d` with a dilation rate.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "th".
        kernel: (rows, columns, channels, filters), or (filters, channels, rows, columns) for "th".
        rate: the distance between neighbouring elements of the kernel.
        border_mode: "valid" or "same".
        dim_ordering: "tf", "th" or "default".
        image_shape, filter_shape: not needed.

    Source: `keras.backend.atrous_conv2d` of Keras 1.

    Modern: `keras.ops.conv(x, kernel, dilation_rate=rate)`.

    Example:
        >>> atrous_conv2d(K.ones((1, 5, 5, 1)), K.ones((3, 3, 1, 2)), rate=2).shape
        (1, 1, 1, 2)
    """
    data_format = _data_format(dim_ordering)
    return K.conv2d(x, _channels_last(kernel, data_format), (1, 1), border_mode, data_format, (rate, rate))


def deconv2d(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1),
    border_mode: str = "valid",
    dim_ordering: str = "default",
    image_shape: Any = None,
    filter_shape: Any = None,
) -> Any:
    """Transposed convolution of images; `conv2d_transpose` with the axes of the kernel in the order of `conv2d`.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "th".
        kernel: (rows, columns, channels, filters), or (filters, channels, rows, columns) for "th".
        output_shape: the shape of the result; the batch may be None.
        strides: by how many pixels the kernel moves.
        border_mode: "valid" or "same".
        dim_ordering: "tf", "th" or "default".
        image_shape, filter_shape: not needed.

    Source: `keras.backend.deconv2d` of Keras 1.

    Modern: `keras.ops.conv_transpose`, `tf.nn.conv2d_transpose`.

    Example:
        >>> deconv2d(K.ones((1, 2, 2, 3)), K.ones((3, 3, 3, 5)), (1, 4, 4, 5)).shape
        (1, 4, 4, 5)
    """
    data_format = _data_format(dim_ordering)
    kernel = K.permute_dimensions(_channels_last(kernel, data_format), (0, 1, 3, 2))
    return K.conv2d_transpose(x, kernel, output_shape, strides, border_mode, data_format)


def _channels_last(kernel: Any, data_format: str | None) -> Any:
    """A kernel in the layout of `conv2d`: (rows, columns, channels, filters)."""
    first = (data_format or K.image_data_format()) == "channels_first"
    return K.permute_dimensions(kernel, (2, 3, 1, 0)) if first else kernel
