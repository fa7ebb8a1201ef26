"""Tensors in messages: exchanged with TensorFlow in both directions, by each field that may hold the values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.tensors import (
    DTYPES,
    NUMBERS,
    QUANTIZED,
    array_of,
    number_of,
    shape_of,
    shape_proto,
    tensor_proto,
)
from tests.libraries import Library, require

require("google", "the messages stand on protobuf")

tf = Library("tensorflow")


MADE = {name for name in NUMBERS if "int4" not in name}  # make_ndarray knows no others


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_dtypes_are_those_of_tensorflow(name):
    if name == "object":
        assert NUMBERS[name] == tf.string.as_datatype_enum
    else:
        assert NUMBERS[name] == tf.as_dtype(getattr(ml_dtypes, name, name)).as_datatype_enum
    assert number_of(DTYPES[NUMBERS[name]]) == NUMBERS[name]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "object"])
def test_arrays_are_read_by_tensorflow_and_back(name, shape):
    dtype = DTYPES[NUMBERS[name]]
    array = np.arange(int(np.prod(shape))).reshape(shape).astype("float32").astype(dtype)
    data = tensor_proto(array).SerializeToString()
    real = tf.make_ndarray(type(tf.make_tensor_proto(0)).FromString(data)) if name in MADE else array
    assert (real.dtype, real.shape, real.tobytes()) == (array.dtype, array.shape, array.tobytes())
    theirs = tf.make_tensor_proto(array).SerializeToString()
    again = array_of(parsed(TENSORFLOW.TensorProto, theirs, "x"))
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("number", [n for n in DTYPES if n not in QUANTIZED and n not in (29, 30)])
def test_values_are_read_from_their_field(number):
    """Check the fields of values, which TensorFlow writes for lists and compressed constants."""
    dtype = DTYPES[number]
    array = np.array([b"a", b"bc"], object) if dtype.kind == "O" else np.array([1, 0]).astype("float32").astype(dtype)
    with tf.Graph().as_default():
        proto = tf.make_tensor_proto(
            array.tolist() if dtype.kind in "iufcbO" else array, tf.as_dtype(number), shape=[2]
        )
    found = array_of(parsed(TENSORFLOW.TensorProto, proto.SerializeToString(), "x"))
    assert found.dtype == dtype and found.tolist() == array.tolist()


def test_one_value_fills_a_tensor_without_memory():
    proto = TENSORFLOW.TensorProto(dtype=1, tensor_shape=shape_proto([2**20, 2**19]), float_val=[2.5])
    found = array_of(proto)
    assert (found.shape, found[5, 7], found.strides) == ((2**20, 2**19), 2.5, (0, 0))
    proto = TENSORFLOW.TensorProto(dtype=3, tensor_shape=shape_proto([5]), int_val=[1, 2])
    assert array_of(proto).tolist() == [1, 2, 2, 2, 2]
    assert array_of(TENSORFLOW.TensorProto(dtype=9, tensor_shape=shape_proto([2]))).tolist() == [0, 0]


DAMAGED = {
    "a dtype": ({"dtype": 20}, "the dtype 20"),
    "no dtype": ({}, "the dtype 0"),
    "an unknown dimension": ({"dtype": 1, "tensor_shape": [None]}, r"the shape \(-1,\)"),
    "an unknown rank": ({"dtype": 1, "tensor_shape": None}, "an unknown rank"),
    "a huge shape": ({"dtype": 1, "tensor_shape": [2**40, 2**40]}, "the shape"),
    "many dimensions": ({"dtype": 1, "tensor_shape": [1] * 100}, "the shape"),
    "few bytes": ({"dtype": 1, "tensor_shape": [2], "tensor_content": b"abc"}, "found 3 bytes"),
    "bytes of strings": ({"dtype": 7, "tensor_shape": [3], "tensor_content": b"abc"}, "found 3 bytes"),
    "many values": ({"dtype": 3, "tensor_shape": [1], "int_val": [1, 2, 3]}, "found 3 values"),
    "two values for a huge tensor": ({"dtype": 3, "tensor_shape": [2**39], "int_val": [1, 2]}, "found 2 values"),
    "a value that is too large": ({"dtype": 4, "tensor_shape": [2], "int_val": [1, 300]}, "no uint8"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_tensor_is_refused(name):
    given, message = DAMAGED[name]
    shape = shape_proto(given.get("tensor_shape", []))
    with pytest.raises(FormatError, match=f"'x' cannot be read: a tensor: .*{message}"):
        array_of(TENSORFLOW.TensorProto(**(given | {"tensor_shape": shape})), "x")


def test_shapes_keep_what_is_not_known():
    for shape in (None, (), (2, None)):
        assert shape_of(shape_proto(shape)) == shape


def test_a_dtype_that_tensorflow_lacks():
    with pytest.raises(TypeError, match="no dtype 'datetime64"):
        tensor_proto(np.zeros(2, "M8[s]"))
