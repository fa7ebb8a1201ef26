"""TensorFlow's messages of graphs: one set of classes, of `formats.wire`, for definitions and files."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import lazy
from dovetail.compat.tensorflow.names.array.core import STRING
from dovetail.compat.tensorflow.table import function
from dovetail.core.dtypes import as_dtype, is_of_strings
from dovetail.formats.host.arrays import strings_of
from dovetail.formats.wire import tensors
from dovetail.formats.wire.messages import TENSORFLOW

for _name in ["GraphDef", "NodeDef", "AttrValue", "NameAttrList"]:
    lazy(_name, partial(getattr, TENSORFLOW, _name))
_PRIVATE = {  # module of TensorFlow's → the messages in it
    "function": "FunctionDef FunctionDefLibrary GradientDef",
    "op_def": "OpDef OpList",
    "tensor": "TensorProto",
    "tensor_shape": "TensorShapeProto",
    "variable": "VariableDef",
    "versions": "VersionDef",
    "resource_handle": "ResourceHandleProto",
}
for _module, _names in _PRIVATE.items():
    for _name in _names.split():
        lazy(f"core.framework.{_module}_pb2.{_name}", partial(getattr, TENSORFLOW, _name))
lazy("OpDef", lambda: TENSORFLOW.OpDef)
for _dtype, _number in {**tensors.NUMBERS, "resource": 20, "variant": 21}.items():
    _words = {"object": "string", "float32": "float", "float64": "double", "float16": "half"}
    for _more, _end in ((0, ""), (100, "_REF")):
        _name = f"DT_{_words.get(_dtype, _dtype).upper()}{_end}"
        lazy(f"core.framework.types_pb2.{_name}", partial(int, _number + _more))


@function("make_tensor_proto python.framework.tensor_util.make_tensor_proto")
def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> Any:
    """Numbers or strings as a message `TensorProto`.

    Args:
        values: the numbers or strings; Python's floats become float32, and its ints int32.
        dtype: their dtype.
        shape: to which they are reshaped; a single one is repeated.
        verify_shape, allow_broadcast: whether they must have the shape themselves, or be one value if they do not.

    Raises:
        TypeError: they do not have the shape.
        ValueError: there are other numbers than the shape holds.

    Source: `tf.make_tensor_proto`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> list(tf.make_tensor_proto(2.5).float_val), tf.make_tensor_proto([1, 2]).tensor_shape.dim[0].size
        ([2.5], 2)
    """
    array = _array(values, dtype)
    if shape is None:
        return tensors.tensor_proto(array)
    shape = tuple(int(size) for size in shape)
    if verify_shape and array.shape != shape:
        raise TypeError(f"the values have the shape {array.shape}, not {shape}.")
    if allow_broadcast and array.size not in (1, math.prod(shape)):
        raise TypeError(f"the values have the shape {array.shape}, which is not broadcast to {shape}.")
    if array.size == 1:
        proto = tensors.tensor_proto(array)
        proto.tensor_shape.CopyFrom(tensors.shape_proto(shape))
        return proto
    return tensors.tensor_proto(array.reshape(shape))


def _array(values: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind in "OSU" or (dtype is not None and is_of_strings(dtype)):
        return strings_of(array)
    if dtype is not None:
        return array.astype(as_dtype(dtype).numpy)
    is_python = not isinstance(values, (np.ndarray, np.generic))
    return (
        array.astype({"float64": "float32", "int64": "int32"}.get(array.dtype.name, array.dtype))
        if is_python
        else array
    )


@function("make_ndarray python.framework.tensor_util.MakeNdarray")
def make_ndarray(tensor: Any) -> np.ndarray:
    """The array in a message `TensorProto`.

    Raises:
        FormatError: the values do not fit the shape or the dtype.

    Source: `tf.make_ndarray`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> tf.make_ndarray(tf.make_tensor_proto([1, 2]))
        array([1, 2], dtype=int32)
    """
    return np.array(tensors.array_of(tensor))


@function("as_dtype dtypes.as_dtype")
def as_tensorflow_dtype(type_value: Any) -> Any:
    """A dtype, also of TensorFlow's number of one, as attributes of nodes have it.

    Raises:
        TypeError: it names no dtype.

    Source: `tf.as_dtype`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> tf.as_dtype(1), tf.as_dtype("int32")
        ('float32', 'int32')
    """
    if type(type_value) is int and type_value in tensors.DTYPES:
        dtype = tensors.DTYPES[type_value]
        return STRING if dtype.hasobject else as_dtype(dtype.name)
    return as_dtype(type_value)
