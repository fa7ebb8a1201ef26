"""K's creation, shapes, joining, padding and products beyond parity: kinds of values, state, messages."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K


def test_variables_keep_what_they_are_given(engine):
    def positive(w):
        return K.maximum(w, 0.0)

    v = K.variable([1, 2], name="kernel", constraint=positive)
    assert v.name == "kernel" and v.constraint is positive and v.dtype == "float32"
    assert K.variable(1).constraint is None


def test_variables_have_memory_of_their_own(engine):
    array = np.ones(3, "float32")
    first = K.variable(array)
    second = K.variable(first)
    array[:] = 7
    second.assign([2, 2, 2])
    assert first.numpy().tolist() == [1, 1, 1]


def test_a_filled_shape_without_elements_or_known_numbers_is_no_variable(engine):
    assert isinstance(K.zeros((2, 3)), dt.Variable) and isinstance(K.ones(2), dt.Variable)
    assert isinstance(K.zeros((0, 3)), dt.Tensor)
    seen = []

    def function(x):
        seen.append(K.zeros((K.shape(x)[0], 2)))
        return seen[0]

    assert dt.function(function)(np.ones((3, 1))).shape == (3, 2)
    assert not isinstance(seen[0], dt.Variable)


def test_variables_made_while_jax_traces_have_values():
    jax = pytest.importorskip("jax")
    made = []

    def function(x):
        made.extend([K.variable([1.0, 2.0]), K.zeros((2,)), K.eye(2)])
        return K.dot(x, made[2]) * made[0] + made[1]

    with dt.engine("jax"):
        result = jax.jit(function)(np.ones((1, 2), "float32"))
    assert isinstance(result, jax.Array) and np.asarray(result).tolist() == [[1, 2]]
    assert [v.numpy().tolist() for v in made] == [[1, 2], [0, 0], [[1, 0], [0, 1]]]


def test_eager_values_have_numbers_while_jax_traces():
    jax = pytest.importorskip("jax")

    def function(x):
        return K.reshape(x, K.concatenate([K.shape(x)[:1], [3, 2]]))

    with dt.engine("jax"):
        assert jax.jit(function)(np.ones((2, 6), "float32")).shape == (2, 3, 2)


def test_gradients_pass_through_lists_of_tensors(engine):
    x = K.variable([1.0, 2.0])
    with dt.GradientTape() as tape:
        loss = K.sum([K.sum(x), K.sum(x * x)])
    assert tape.gradient(loss, x).numpy().tolist() == [3, 5]


def test_the_mode_of_batch_dot_stays_when_another_is_refused():
    with pytest.raises(ValueError, match="'batch' or 'matmul', not 'new'"):
        K.set_batch_dot_mode("new")
    assert K.batch_dot(K.ones((2, 3, 4, 5)), K.ones((2, 3, 5, 6))).shape == (2, 3, 4, 3, 6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: K.variable(None), ValueError, r"K\.variable .* not None"),
        (lambda: K.constant("a"), TypeError, r"K\.constant .* not 'a'"),
        (lambda: K.constant([1, 2], shape=(3,)), TypeError, "3 elements cannot be made of 2"),
        (lambda: K.zeros((None, 2)), ValueError, r"K\.zeros .* may be None"),
        (lambda: K.reshape(np.ones(6), (None, 3)), ValueError, r"K\.reshape .* may be None"),
        (lambda: K.reshape(np.ones((1, 3)), (-1, 2)), ValueError, "do not fill"),
        (lambda: K.sum(np.ones((2, 3)), axis=2), ValueError, r"K\.sum: Sum .* axis 2 is out of range for rank 2"),
        (lambda: K.gather(np.ones(3), [0.5]), TypeError, r"K\.gather: .* needs integer tensors"),
        (lambda: K.gather(np.ones(3), [3]), ValueError, "index 3 is out of bounds"),
        (lambda: K.one_hot([0.5], 3), TypeError, r"K\.one_hot: .* needs integer tensors"),
        (lambda: K.repeat(np.ones(3), 2), ValueError, "must have the rank 2, not 1; see repeat_elements"),
        (lambda: K.repeat_elements(np.ones(3), 2, 1), ValueError, "axis 1 is out of range"),
        (lambda: K.tile(np.ones((2, 3)), [2]), ValueError, "number of copies for each of the 2 axes"),
        (lambda: K.slice(np.ones((2, 3)), [0], [1]), ValueError, "each of 2 axes must have a start and a size"),
        (lambda: K.slice(np.ones(3), [2], [2]), ValueError, "2 elements from 2 on do not lie inside axis 0"),
        (lambda: K.temporal_padding(np.ones((1, 2, 3)), (1,)), ValueError, "must be a pair of numbers"),
        (lambda: K.spatial_2d_padding(np.ones((1, 2, 2, 1)), ((1, 1),)), ValueError, "must be 2 pairs of numbers"),
        (lambda: K.spatial_3d_padding(np.ones((1, 2, 2, 1))), ValueError, "must have the rank 5, not 4"),
        (lambda: K.pattern_broadcast(np.ones((2, 3)), (True, False)), ValueError, "axis 0 should broadcast"),
        (lambda: K.pattern_broadcast(np.ones(2), (True, False)), ValueError, "a bool for each of the 1 axes, not 2"),
        (lambda: K.dot(np.ones(3), np.ones(3)), ValueError, "must have the rank 2 or more, not 1 and 1"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((4, 3))), ValueError, "batches must be equally long.* 2 and 4"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((2, 3)), 0), ValueError, "axis 0 is the batch"),
        (lambda: K.batch_dot(np.ones((2, 3)), np.ones((2, 3)), 5), IndexError, "axis 5 is out of range"),
        (lambda: K.normalize_axis(3, 2), ValueError, "axis 3 is out of range"),
        (lambda: K.set_image_dim_ordering("np"), ValueError, "'tf' or 'th', not 'np'"),
        (lambda: K.deconv2d(1, 1, (1, 1, 1, 1), dim_ordering="np"), ValueError, "'tf', 'th' or 'default', not 'np'"),
    ],
)
def test_errors_say_what_is_needed(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert caught.type is kind


def test_counting_unknown_parameters_is_refused():
    x = K.placeholder((None, 3))
    try:
        assert K.int_shape(x) == (None, 3) and K.ndim(x) == 2 and K.dtype(x) == "float32"
        with pytest.raises(TypeError, match=r"K\.count_params .* not known; use K.size"):
            K.count_params(x)
    finally:
        K.clear_session()
