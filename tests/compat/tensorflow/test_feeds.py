"""Structures as keys of feeds, against TensorFlow."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as compat

from tests.libraries import require

State = namedtuple("State", "c h")

# run(session, y = c + h, c, h, v, w, an identity of v): scalars c and h, a vector v and a variable w
RUNS = {
    "named tuple": lambda s, y, c, h, v, w, x: s.run(y, {State(c, h): State([1.0], [2.0])}),
    "tuple": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): (1.0, 2.0)}),
    "tuple of a list": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): [1.0, 2.0]}),
    "arrays": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): (np.float32([1, 2]), np.float32([3, 4]))}),
    "nested": lambda s, y, c, h, v, w, x: s.run([y, x], {(c, (h, v)): (1.0, (2.0, np.ones(2)))}),
    "nested otherwise": lambda s, y, c, h, v, w, x: s.run([y, x], {(c, (h, v)): ((1.0, 2.0), np.ones(2))}),
    "layers of states": lambda s, y, c, h, v, w, x: s.run(
        [y, x], {(State(c, h), State(v, w)): (State(1.0, 2.0), State(np.zeros(2), 3.0))}
    ),
    "names": lambda s, y, c, h, v, w, x: s.run(y, {("c:0", "h:0"): (1.0, 2.0)}),
    "a dict by sorted keys": lambda s, y, c, h, v, w, x: s.run(y - h * 2.0, {(c, h): {"b": 1.0, "a": 5.0}}),
    "a variable": lambda s, y, c, h, v, w, x: s.run(c * w, {State(c, w): State(3.0, 2.0)}),
    "beside others": lambda s, y, c, h, v, w, x: s.run([y, x], {(c, h): (1.0, 2.0), v: [5.0, 6.0]}),
    "nothing": lambda s, y, c, h, v, w, x: s.run(y, {(): (), (c, h): (1.0, 2.0)}),
    "eval": lambda s, y, c, h, v, w, x: y.eval({State(c, h): State(1.0, 2.0)}),
    "a callable": lambda s, y, c, h, v, w, x: s.make_callable(y, [(c, h)])((1.0, 2.0)),
    "too few": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): (1.0,)}),
    "too many": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): (1.0, 2.0, 3.0)}),
    "no structure": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): 1.0}),
    "an array for two": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): np.float32([1, 2])}),
    "lists for two": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): ([1.0, 2.0], [3.0, 4.0])}),
    "twice in one key": lambda s, y, c, h, v, w, x: s.run(y, {(c, c): (1.0, 2.0), h: 1.0}),
    "twice in two keys": lambda s, y, c, h, v, w, x: s.run(y, {(c, h): (1.0, 2.0), c: 5.0}),
    "twice, the tuple last": lambda s, y, c, h, v, w, x: s.run(y, {c: 5.0, (c, h): (1.0, 2.0)}),
    "no tensor": lambda s, y, c, h, v, w, x: s.run(y, {(c, 3): (1.0, 2.0)}),
}


def outcome(tf: Any, run: Any) -> Any:
    """The result of a run, or the type of its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        c, h = tf.placeholder(tf.float32, name="c"), tf.placeholder(tf.float32, name="h")
        v, w = tf.placeholder(tf.float32, [2], name="v"), tf.get_variable("w", initializer=1.0, use_resource=False)
        y, x = c + h, tf.identity(v)
        session.run(tf.global_variables_initializer())
        try:
            return run(session, y, c, h, v, w, x)
        except (TypeError, ValueError) as error:
            return type(error)


def listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("name", RUNS)
def test_structures_are_fed_as_in_tensorflow(name, engine):
    require("tensorflow", "the oracle")
    import tensorflow

    found, wanted = outcome(compat, RUNS[name]), outcome(tensorflow.compat.v1, RUNS[name])
    if isinstance(wanted, type):
        assert found is wanted
    else:
        for value, right in zip(listed(found), listed(wanted), strict=True):
            np.testing.assert_array_equal(value, right)


def test_what_does_not_fit_says_what_to_write():
    with compat.Graph().as_default(), compat.Session() as session:
        c, h = compat.placeholder("float32", name="c"), compat.placeholder("float32", name="h")
        with pytest.raises(ValueError, match=r"has 2 tensors, and its value 4 leaves.*write numpy\.array"):
            session.run(c + h, {(c, h): ([1.0, 2.0], [3.0, 4.0])})
        with pytest.raises(ValueError, match=r"c:0.* is fed twice"):
            session.run(c, {(c, h): (1.0, 2.0), c: 3.0})


def test_sparse_tensors_stand_in_structures(engine):
    with compat.Graph().as_default(), compat.Session() as session:
        x, c = compat.sparse_placeholder("float32", [None, 2]), compat.placeholder("float32")
        y = compat.sparse_tensor_to_dense(x) * c
        given = compat.SparseTensor([[0, 1]], np.float32([3.0]), [1, 2])
        assert session.run(y, {State(x, c): State(given, 2.0)}).tolist() == [[0.0, 6.0]]


@pytest.mark.parametrize("shape", [None, [2, 3], np.array([2, 3]), "a tensor"])
def test_sparse_placeholders_of_known_and_unknown_shape(shape):
    with compat.Graph().as_default(), compat.Session() as session:
        x = compat.sparse_placeholder("float32", compat.constant([2, 3]) if isinstance(shape, str) else shape)
        y = compat.sparse_tensor_dense_matmul(x, np.eye(3, dtype="float32"))
        given = compat.SparseTensorValue([[1, 2]], [3.0], [2, 3])
        assert session.run(y, {x: given}).tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 3.0]]


def test_a_sparse_tensor_of_unknown_rank_is_evaluated():
    with compat.Graph().as_default(), compat.Session():
        x = compat.placeholder("int32")
        places = compat.where(compat.not_equal(x, 0))
        sparse = compat.SparseTensor(places, compat.gather_nd(x, places), compat.shape(x, out_type="int64"))
        assert sparse.get_shape().ndims is None
        found = sparse.eval({x: [[0, 2], [3, 0], [0, 4]]})
        again = compat.SparseTensor(places, sparse.values, sparse.dense_shape * 2)
        dense = compat.sparse_tensor_to_dense(again).eval({x: [0, 5]})
    assert type(found) is compat.SparseTensorValue
    assert [part.tolist() for part in found] == [[[0, 1], [1, 0], [2, 1]], [2, 3, 4], [3, 2]]
    assert dense.tolist() == [0, 5, 0, 0]


def test_sparse_tensors_of_placeholders_without_shapes(engine):
    with compat.Graph().as_default(), compat.Session() as session:
        places, ids, weights, shape = (compat.placeholder(kind) for kind in ("int64", "int64", "float32", "int64"))
        x, w = compat.SparseTensor(places, ids, shape), compat.SparseTensor(places, weights, shape)
        found = compat.nn.embedding_lookup_sparse(compat.constant([[1.0], [2.0], [4.0]]), x, w, combiner="sum")
        feeds = {places: [[0, 0], [0, 1], [1, 0]], ids: [0, 2, 1], weights: [1.0, 0.5, 3.0], shape: [2, 2]}
        assert session.run(found, feeds).tolist() == [[3.0], [6.0]]


def distances(tf: Any) -> list[Any]:
    """What a program gets that compares fed words letter by letter, and fed numbers of unknown rank."""

    def letters(words: list[str]) -> Any:
        places = [[i, 0, j] for i, word in enumerate(words) for j in range(len(word))]
        return tf.SparseTensorValue(places, list("".join(words)), [len(words), 1, 1])

    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.sparse_placeholder(tf.string), tf.sparse_placeholder(tf.string, [None, 1, None], "y")
        parts = [tf.placeholder(tf.int64), tf.placeholder(tf.int64), tf.placeholder(tf.int64)]
        numbers = tf.SparseTensor([[0, 0], [0, 1]], tf.constant([1, 2], tf.int64), [1, 2])
        by_letters = tf.edit_distance(x, y), tf.edit_distance(y, tf.SparseTensor([[0, 0, 0]], ["a"], [2, 1, 1]))
        found = session.run(by_letters, {x: letters(["abc", "de"]), y: letters(["abd", "xdee"])})
        fed = dict(zip(parts, ([[0, 0]], [2], [1, 2]), strict=True))
        return [*found, session.run(tf.edit_distance(numbers, tf.SparseTensor(*parts), False), fed)]


def test_sparse_strings_and_sparse_numbers_of_unknown_rank_are_fed(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    for ours, theirs in zip(distances(compat), distances(tensorflow.compat.v1), strict=True):
        np.testing.assert_allclose(ours, theirs)
