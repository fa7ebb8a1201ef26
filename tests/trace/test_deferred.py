"""Functions of tensors of unknown rank: recorded, or deferred until the rank is known, or refused with advice.

`tests/ops` tries every op, `tests/compat/tensorflow/cases/ranks.py` TensorFlow's functions.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.ops.samples import array

MATRIX, IMAGES, WEIGHTS = (
    np.float32([[1, 2, 4], [3, 5, 9]]),
    array(2, 4, 4, 3).draw(np.random.default_rng(0)),
    [1, 2, 3],
)
SQUARE = np.float32([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
FUNCTIONS = {  # name → a function of tensors, and values for them
    "rms_normalization": (ops.rms_normalization, MATRIX),
    "rms_normalization (scale)": (lambda x: ops.rms_normalization(x, np.float32(WEIGHTS)), MATRIX),
    "layer_normalization": (ops.layer_normalization, MATRIX),
    "trace": (ops.trace, SQUARE),
    "trace of many": (ops.trace, np.stack([SQUARE, 2 * SQUARE])),
    "norm": (lambda x: ops.norm(x, axis=-1), MATRIX),
    "split": (lambda x: ops.concatenate(ops.split(x, 3, axis=1)), MATRIX),
    "K.dot": (lambda x: K.dot(x, SQUARE), MATRIX),
    "K.batch_dot": (K.batch_dot, IMAGES[0], IMAGES[1, :, :3, :]),
    "K.batch_flatten": (K.batch_flatten, IMAGES),
    "K.batch_normalization": (lambda x: K.batch_normalization(x, *[np.float32(WEIGHTS)] * 4), MATRIX),
    "K.normalize_batch_in_training": (
        lambda x: K.normalize_batch_in_training(x, *[np.float32(WEIGHTS)] * 2, [0])[0], MATRIX
    ),
    "K.resize_images": (lambda x: K.resize_images(x, 2, 2, "channels_last"), IMAGES),
}  # fmt: skip


def of_unknown_rank(function, values):
    """The graph of a function on placeholders of unknown rank, the placeholders, and the result."""
    graph = dt.Graph()
    with graph.as_default():
        given = [graph.placeholder(dt.spec(None, value.dtype)) for value in values]
        return graph, given, function(*given)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_values_are_those_of_known_ranks(engine, name):
    function, *values = FUNCTIONS[name]
    graph, given, y = of_unknown_rank(function, values)
    found = dt.Session(graph).run(y, dict(zip(given, values, strict=True)))
    np.testing.assert_allclose(found, np.asarray(function(*map(ops.convert, values))), rtol=1e-5, atol=1e-6)


def test_one_graph_takes_values_of_several_ranks(engine):
    graph, (x,), y = of_unknown_rank(lambda x: ops.trace(K.dot(x, SQUARE)), [SQUARE])
    for value in (SQUARE, np.stack([SQUARE, SQUARE + 1]), np.ones((2, 2, 3, 3), "float32")):
        found = dt.Session(graph).run(y, {x: value})
        np.testing.assert_allclose(found, np.trace(value @ SQUARE), rtol=1e-5)


NEEDS_RANK = {
    "vectorized_map": lambda x: ops.vectorized_map(lambda row: row * 2, x),
    "vectorized_map (of sums)": lambda x: ops.vectorized_map(ops.sum, [x, x]),
    "associative_scan": lambda x: ops.associative_scan(ops.add, x),
    "K.rnn": lambda x: K.rnn(lambda step, states: (step, states), x, [])[1],
}


@pytest.mark.parametrize("name", NEEDS_RANK)
def test_functions_that_call_the_users_say_to_give_the_rank(engine, name):
    with pytest.raises(ValueError, match=rf"{name.split()[0]} at .*py:\d+: .*not known; give it with set_shape"):
        of_unknown_rank(NEEDS_RANK[name], [MATRIX])


def test_an_error_of_the_users_function_stays_as_it_is(engine):
    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match=r"^'mine'$"):
        of_unknown_rank(lambda x: ops.map_fn(fail, x), [MATRIX])


@pytest.mark.parametrize(
    ("function", "value", "problem"),
    [
        (
            lambda x: ops.concatenate(ops.split(x, 3, axis=1)),
            np.ones(3, "float32"),
            "axis 1 is out of range for rank 1",
        ),
        (lambda x: ops.conv(x, np.ones((1, 1, 3, 2), "float32")), MATRIX, "must have rank 4"),
        (ops.trace, np.ones(3, "float32"), "out of range for rank 1"),
        (lambda x: K.dot(x, SQUARE), np.ones((2, 2), "float32"), "dimensions"),
    ],
)
def test_a_value_of_a_wrong_rank_or_size_is_refused_when_it_runs(engine, function, value, problem):
    graph, (x,), y = of_unknown_rank(function, [value])
    with pytest.raises((ValueError, IndexError), match=problem):
        dt.Session(graph).run(y, {x: value})


@pytest.mark.parametrize("function", [lambda x: ops.matmul(x, [1.0, 2.0]), lambda x: ops.transpose(x, (0, 0))])
def test_what_no_rank_makes_right_is_refused_at_once(function):
    with pytest.raises(ValueError, match=r"rank 2 or more|name one axis twice"):
        of_unknown_rank(function, [MATRIX])


def test_a_number_of_results_that_depends_on_the_rank_is_refused():
    with pytest.raises(ValueError, match=r"unstack: .*num must be given"):
        of_unknown_rank(ops.unstack, [MATRIX])


def test_an_assigned_value_is_checked_when_it_runs(engine):
    v = dt.Variable(np.zeros((2, 3), "float32"))
    assign = dt.function(lambda x: v.assign(x), input_signature=[dt.spec(None)])
    assign(MATRIX)
    assert v.numpy().tolist() == MATRIX.tolist()
    for wrong in (SQUARE, MATRIX[0], np.float32(1)):
        with pytest.raises(ValueError, match=r"\(2, 3\)"):
            assign(wrong)
        assert v.numpy().tolist() == MATRIX.tolist()


def test_a_deferred_gradient_is_copied_and_written(engine, tmp_path):
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(None), "x")
        graph.outputs = dt.gradients(ops.max(x, axis=[-1]), x)
    assert "SymbolicGradient" in {op.type for op in graph.operations}
    dt.save(graph, tmp_path / "graph")
    for again in (graph, pickle.loads(pickle.dumps(graph)), dt.load(tmp_path / "graph")):
        result = dt.Session(again).run(again.outputs[0], {"x:0": MATRIX})
        assert result.tolist() == [[0, 0, 1], [0, 0, 1]]


CALLS = [lambda x: x[..., :2], lambda x: x[..., None, 0], lambda x: ops.split(x, 3, axis=-1)[1], ops.matrix_transpose]


@pytest.mark.parametrize("call", CALLS)
def test_a_deferred_call_is_copied_and_written(engine, call, tmp_path):
    graph, (x,), y = of_unknown_rank(call, [MATRIX])
    assert "DeferredCall" in {op.type for op in graph.operations}
    graph.outputs = [y]
    dt.save(graph, tmp_path / "graph")
    for again in (pickle.loads(pickle.dumps(graph)), dt.load(tmp_path / "graph")):
        result = dt.Session(again).run(again.outputs[0], {x.name: MATRIX})
        assert result.tolist() == dt.Session(graph).run(y, {x: MATRIX}).tolist()
