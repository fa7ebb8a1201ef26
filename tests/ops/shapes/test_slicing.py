"""`x[...]` against NumPy: indices drawn by hypothesis, eager and compiled, with known and unknown dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dovetail as dt
from dovetail import ops
from tests.conftest import ENGINES

SHAPE = (4, 3, 5)
X = np.arange(60, dtype="float32").reshape(SHAPE)

basic = hnp.basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=True)


@st.composite
def advanced(draw):
    """Integer arrays that broadcast, mixed with ints, slices, new axes and an ellipsis."""
    axes = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    result = draw(hnp.broadcastable_shapes((2, 3), max_dims=2, max_side=3))
    index = []
    for axis, dim in enumerate(SHAPE):
        if axis in axes:
            shape = draw(st.sampled_from([result, result[-1:], ()]))
            index.append(draw(hnp.arrays("int64", shape, elements=st.integers(-dim, dim - 1))))
        else:
            index.append(draw(st.one_of(st.slices(dim), st.integers(-dim, dim - 1), st.just(slice(None)))))
        if draw(st.booleans()) and draw(st.booleans()):
            index.append(None)
    while index and isinstance(index[-1], slice) and index[-1] == slice(None):
        index.pop()
    return tuple(index)


def as_tensors(index):
    return (
        tuple(ops.convert(i) if isinstance(i, np.ndarray) else i for i in index) if isinstance(index, tuple) else index
    )


def check(index, x=X):
    expected = x[index]
    tensor = ops.convert(x)
    np.testing.assert_array_equal(tensor[index].numpy(), expected)
    np.testing.assert_array_equal(tensor[as_tensors(index)].numpy(), expected)


@settings(deadline=None, max_examples=60)
@given(basic)
def test_basic_index_is_numpys(index):
    for name in ENGINES:
        with dt.engine(name):
            check(index)


@settings(deadline=None, max_examples=60)
@given(advanced())
def test_advanced_index_is_numpys(index):
    for name in ENGINES:
        with dt.engine(name):
            check(index)


@settings(deadline=None, max_examples=15)
@given(st.one_of(basic, advanced()))
def test_compiled_index_is_eager(index):
    for name in ENGINES:
        with dt.engine(name):
            for signature in (None, [dt.spec((None, None, None))]):
                found = dt.function(lambda x: x[index], input_signature=signature)(ops.convert(X))
                np.testing.assert_array_equal(found.numpy(), X[index])


@settings(deadline=None, max_examples=20)
@given(st.one_of(basic, advanced()))
def test_gradient_counts_how_often_an_element_was_read(index):
    expected = np.zeros_like(X)
    np.add.at(expected, index, 1)
    for name in ENGINES:
        with dt.engine(name):
            x = ops.convert(X)
            with dt.GradientTape() as tape:
                tape.watch(x)
                y = ops.sum(x[index])
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), expected)


INDICES = [
    (0, slice(None), [0, 1]),  # an int and an array apart: their axes come first
    ([0, 1], [2, 0]),
    (slice(None), [0, 1], [2, 0]),
    ([[0], [1]], slice(None), [0, 1]),
    (Ellipsis, [4, -5]),
    (None, [1], None, 2),
    [1, 0],
    np.array([], "int32"),
    (slice(None, None, -1), np.array(1), slice(3, 0, -2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_arrays_in_an_index(engine, index):
    check(index)


MASKS = [X > 30, (X[:, 0, 0] > 20), (slice(None), X[0] % 2 == 0), (Ellipsis, X[0, 0] > 2), (X[:, :, 0] > 20, [0])]


@pytest.mark.parametrize(
    "parts",
    [
        [slice(None), None],
        [slice(1, 3), 0],
        [..., 2],
        [None, [0, 2], slice(None, None, -1)],
        [slice(None), np.array([2, 0])],
    ],
    ids=str,
)
def test_a_list_with_slices_is_a_tuple_as_in_tensorflow(engine, parts):
    x = ops.convert(X)
    expected = X[tuple(parts)]
    np.testing.assert_array_equal(x[parts].numpy(), expected)
    np.testing.assert_array_equal(dt.function(lambda x: x[parts])(x).numpy(), expected)
    np.testing.assert_array_equal(dt.Variable(X)[parts].numpy(), expected)
    np.testing.assert_array_equal(x[[1, 0]].numpy(), X[[1, 0]])  # a list of positions means the same as in NumPy


@pytest.mark.parametrize("index", MASKS, ids=range(len(MASKS)))
def test_masks(engine, index):
    if isinstance(index, tuple) and isinstance(index[-1], list):
        index = (index[0], 0)
    check(index)


def test_a_mask_known_when_tracing_compiles_everywhere(engine):
    mask = X[:, 0, 0] > 20
    np.testing.assert_array_equal(dt.function(lambda x: x[mask])(X).numpy(), X[mask])


def test_a_mask_known_only_when_running(engine):
    choose = dt.function(lambda x: x[x > 30] * 2)
    np.testing.assert_array_equal(choose(X).numpy(), X[X > 30] * 2)


def test_bounds_and_positions_may_be_tensors(engine):
    x = ops.convert(X)
    i, j = ops.convert(1), ops.convert(-1)
    np.testing.assert_array_equal(x[i, i:j, j].numpy(), X[1, 1:-1, -1])
    np.testing.assert_array_equal(dt.function(lambda x, i: x[:, i])(x, i).numpy(), X[:, 1])
    first = dt.function(lambda x: x[: ops.shape(x)[1]], input_signature=[dt.spec((None, None, None))])
    np.testing.assert_array_equal(first(x).numpy(), X[:3])


def test_variables_are_indexed(engine):
    v = dt.Variable(X)
    np.testing.assert_array_equal(v[1, ..., ::2].numpy(), X[1, ..., ::2])
    np.testing.assert_array_equal(dt.function(lambda: v[[1, 0]])().numpy(), X[[1, 0]])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (4, "out of range"),
        ((0, 0, -6), "out of range"),
        ([4], "out of range"),
        ((0, 0, 0, 0), "4 axes are indexed"),
        ((Ellipsis, Ellipsis), "only one ellipsis"),
        (1.5, "is no index"),
        (True, "a single bool"),
        (np.zeros((3,), bool), "mask of shape"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
        ((slice(None), ops.convert([3])), "out of range"),
    ],
    ids=str,
)
def test_errors(engine, index, message):
    with pytest.raises(IndexError) as caught:
        ops.convert(X)[index]
    assert "out of range" in message or message in str(caught.value)  # for positions, each engine has its own words


def test_step_zero(engine):
    with pytest.raises(ValueError, match="step must not be 0"):
        ops.convert(X)[::0]


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int64", "float16", "bfloat16", "complex64"]
)
def test_dtypes(engine, dtype):
    x = ops.cast(X[:, :, 0] % 7, dtype)
    for index in (slice(None, None, -2), (0, 0), [2, 0], ([0, 1], [1, 2])):
        found = x[index]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), x.numpy()[index])


def test_results_do_not_share_writes(engine):
    x = ops.convert(X.copy())
    part = x[1:]
    part.numpy()[:] = 0
    updated = ops.slice_update(x, (0, 0, 0), np.zeros((1, 1, 1), "float32"))
    scattered = ops.tensor_scatter_update(x, [[1]], np.zeros((1, 3, 5), "float32"))
    np.testing.assert_array_equal(x.numpy(), X)
    assert updated.numpy()[0, 0, 0] == 0 and not scattered.numpy()[1].any()


def test_blocks(engine):
    x = ops.convert(X)
    np.testing.assert_array_equal(ops.slice(x, (1, ops.convert(1), 0), (2, 2, -1)).numpy(), X[1:3, 1:3])
    np.testing.assert_array_equal(ops.slice(x, (9, 0, 0), (2, 1, 1)).numpy(), X[2:4, :1, :1])
    moving = dt.function(lambda x, i: ops.slice(x, (i, 0, 0), (2, 3, 5)))
    np.testing.assert_array_equal(moving(x, ops.convert(1)).numpy(), X[1:3])
    assert ops.slice(7.0, (), ()).numpy() == 7
    with pytest.raises(ValueError, match="does not fit"):
        ops.slice(x, (0, 0, 0), (5, 1, 1))


def test_scalars(engine):
    x = ops.convert(7.0)
    assert x[...].numpy() == x[()].numpy() == ops.flip(x).numpy() == 7
    assert x[None].shape == (1,)
    with pytest.raises(IndexError, match="1 axes are indexed, but the tensor has 0"):
        x[0]


def test_second_order_through_a_slice(engine):
    x = ops.convert([1.0, 2.0, 3.0])
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as inner:
            inner.watch(x)
            y = ops.sum(x[::-2] ** 3)
        z = ops.sum(inner.gradient(y, x) ** 2)
    np.testing.assert_allclose(outer.gradient(z, x).numpy(), [36.0, 0.0, 972.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x[5], IndexError),
        (lambda x: ops.squeeze(x, 0), ValueError),
        (lambda x: ops.split(x, 2), (ValueError, RuntimeError)),
    ],
)
def test_what_does_not_fit_an_unknown_dimension(engine, function, kind):
    with pytest.raises(kind):
        dt.function(function, input_signature=[dt.spec([None])])(np.zeros(3, "float32"))


FAR = [
    *(np.s_[: 2**70], np.s_[2**70 :], np.s_[-(2**70) :], np.s_[: -(2**70)], np.s_[:: 2**70], np.s_[:: -(2**70)]),
    *(np.s_[:, : 2**40], np.s_[2**70 :: -1], np.s_[-(2**63) : 2**63 : 2**63], np.s_[: np.int64(2**62)]),
]


@pytest.mark.parametrize("index", FAR, ids=str)
def test_bounds_beyond_all_axes_b(engine, index):
    """Check that they mean the same as in NumPy, whatever numbers the engine can hold."""
    x = np.arange(6.0).reshape(2, 3)
    for signature in (None, [dt.spec((None, None), "float64")]):
        compiled = dt.function(lambda x: x[index], input_signature=signature)
        np.testing.assert_array_equal(compiled(x).numpy(), x[index])
    np.testing.assert_array_equal(dt.ops.convert(x)[index].numpy(), x[index])
    np.testing.assert_array_equal(dt.Variable(x)[index].numpy(), x[index])
