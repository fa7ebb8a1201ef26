"""Shapes as programs for TensorFlow read them: of eager tensors, graph tensors and variables."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.core.base.tensor_shape import UNKNOWN, TensorShape


@pytest.mark.parametrize("make", [dt.ops.convert, dt.Variable, K.variable], ids=["tensor", "variable", "K"])
def test_a_tensor_says_its_shape(make, engine):
    x = make(np.ones((2, 3), "float32"))
    assert x.shape == x.get_shape() == x._keras_shape == (2, 3)
    assert x.shape.as_list() == [2, 3] and x.get_shape()[1:].as_list() == [3]
    assert (x.get_shape().ndims, x.shape.rank, x.shape.num_elements()) == (2, 2, 6)
    x.set_shape((2, None))
    with pytest.raises(ValueError, match=r"set_shape at .*Shapes \(2, 3\) and \(None, 4\)"):
        x.set_shape((None, 4))


def test_a_shape_is_an_argument_as_a_tuple_is(engine):
    x = dt.ops.convert(np.arange(6.0, dtype="float32").reshape(2, 3))
    flat = dt.ops.reshape(x, (6,))
    for _ in range(4):  # from the third call on, repeated calls take another path
        np.testing.assert_array_equal(dt.ops.reshape(flat, x.shape).numpy(), x.numpy())
    back, dims = dt.function(lambda flat, x: (dt.ops.reshape(flat, x.shape), x.shape))(flat, x)
    np.testing.assert_array_equal(back.numpy(), x.numpy())
    assert [int(dim) for dim in dims] == [2, 3]


def test_a_promised_shape_is_that_of_what_follows():
    x = K.placeholder((None, 3))
    unknown = K.placeholder()
    assert x.get_shape().as_list() == [None, 3] and x._keras_shape == (None, 3)
    assert unknown.get_shape().ndims is None and unknown._keras_shape is None
    x.set_shape((4, None))
    unknown.set_shape([None, 2])
    y = K.concatenate([x, unknown])
    assert y.shape == (4, 5)
    with pytest.raises(ValueError, match=r"Shapes \(4, 3\) and \(5, 3\) are incompatible"):
        x.set_shape((5, 3))
    f = K.function([x, unknown], y)
    assert f([np.ones((4, 3)), np.ones((4, 2))]).shape == (4, 5)
    with pytest.raises(ValueError, match="does not fit"):
        f([np.ones((5, 3)), np.ones((5, 2))])
    K.clear_session()


def test_programs_note_shapes_of_their_own():
    x = K.placeholder((None, 3))
    x._keras_shape = (7, 3)
    assert x._keras_shape == (7, 3) and x.shape == (None, 3)
    K.clear_session()


def test_what_is_known_by_two_shapes():
    shape = TensorShape((None, 3))
    assert shape.merge_with((2, None)) == (2, 3)
    assert shape.merge_with(None) == shape and UNKNOWN.merge_with(shape) == shape
    assert shape.is_compatible_with([5, 3]) and not shape.is_compatible_with((5, 3, 1))
    assert not shape.is_fully_defined() and shape.num_elements() is None
    with pytest.raises(ValueError, match="are incompatible"):
        shape.assert_is_compatible_with((2, 4))
    with pytest.raises(TypeError):
        shape.merge_with(("a", 3))


@pytest.mark.parametrize("ask", [len, list, TensorShape.as_list, lambda shape: 2 in shape])
def test_an_unknown_rank_has_no_dimensions(ask):
    with pytest.raises(ValueError, match="the rank of the shape is not known"):
        ask(UNKNOWN)
    assert not UNKNOWN and TensorShape.merge_with(UNKNOWN, None) == UNKNOWN and UNKNOWN != ()
