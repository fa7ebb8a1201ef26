"""The graph of k-means against TensorFlow's own, the first centres, and the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from tests.libraries import require

RANDOM = np.random.RandomState(3)
POINTS = np.concatenate([RANDOM.rand(12, 3) + place for place in ([0, 0, 1], [5, 0, 0], [0, 6, 0])]).astype("float32")
FIRST = np.float32([[0.1, 0.2, 1], [4, 1, 0.5], [1, 1, 1], [0.5, 5, 0]])


def found(lib, kmeans, several=False, **settings):
    """The results before each of five steps."""
    with lib.Graph().as_default(), lib.Session() as session:
        x = lib.placeholder(lib.float32, [None, 3])
        given = [x[:7], x[7:]] if several else x
        *results, is_chosen, choose, step = kmeans(given, 4, FIRST, **settings).training_graph()
        session.run(lib.global_variables_initializer())
        session.run(choose, {x: POINTS})
        values = []
        for i in range(5):
            assert session.run(is_chosen)
            fed = {x: POINTS[i::2]}
            values.append([np.concatenate(session.run(list(parts), fed)) for parts in results])
            session.run(step, fed)
        return values


def same(ours, theirs):
    for mine, their in zip(ours, theirs, strict=True):
        for a, b in zip(mine, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
            assert a.dtype == b.dtype


@pytest.mark.parametrize("several", [False, True], ids=["one input", "two inputs"])
@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
def test_steps_of_all_points_are_those_of_tensorflow(metric, several, engine):
    require("tensorflow", "it is the oracle")
    import tensorflow
    from tensorflow.python.ops.clustering_ops import KMeans

    settings = {"several": several, "distance_metric": metric}
    ours = found(tf, tf.contrib.factorization.KMeans, **settings)
    same(ours, found(tensorflow.compat.v1, KMeans, **settings))


def unit(x):
    return x / np.sqrt(np.square(x).sum(1, keepdims=True))


def by_hand(cosine, turns):
    """Mini-batch k-means: a centre is the mean of the points that it got, and of itself if centres move at once."""
    centres = moved = unit(FIRST) if cosine else FIRST
    counts, left, values = np.full(4, float(turns == 1)), turns, []
    for i in range(5):
        points = unit(POINTS[i::2]) if cosine else POINTS[i::2]
        at = unit(centres) if cosine else centres
        every = 1 - points @ at.T if cosine else np.square(points[:, None] - at).sum(-1)
        nearest = every.argmin(1)
        values.append([every, nearest, every.min(1)])
        if turns > 1 and left <= 0:
            centres, counts, left = unit(moved) if cosine else moved, np.zeros(4), turns
        left, moved = left - 1, moved.copy()
        for row in {*nearest}:
            own = points[nearest == row]
            moved[row] = (moved[row] * counts[row] + own.sum(0)) / (counts[row] + len(own))
            counts[row] += len(own)
        centres = moved if turns == 1 else centres
    return values


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
def test_steps_of_batches(metric, turns, engine):  # TensorFlow may count the points before it has read the counts
    settings = {"use_mini_batch": True, "mini_batch_steps_per_iteration": turns, "distance_metric": metric}
    same(found(tf, tf.contrib.factorization.KMeans, **settings), by_hand(metric == "cosine", turns))


@pytest.mark.parametrize("how", ["random", "kmeans_plus_plus", "kmc2", lambda inputs, k: inputs[0][:k]])
def test_first_centres_are_points(how, engine):
    with tf.Graph().as_default(), tf.Session() as session:
        means = tf.contrib.factorization.KMeans(tf.constant(POINTS), 3, how, kmc2_chain_length=5)
        choose, _ = means.training_graph()[-2:]
        session.run(tf.global_variables_initializer())
        session.run(choose)
        (centres,) = [session.run(v) for v in tf.global_variables() if v.op.name == "clusters"]
        session.run(choose)  # no more
        assert all((row == POINTS).all(1).any() for row in centres)
        if how == "kmeans_plus_plus":
            assert len({int(np.square(POINTS - row).sum(1).argmin()) // 12 for row in centres}) == 3


def test_centres_of_several_batches():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        *_, is_chosen, choose, _ = tf.contrib.factorization.KMeans(x, 5).training_graph()
        session.run(tf.global_variables_initializer())
        for rows, done in ((POINTS[:2], False), (POINTS[2:4], False), (POINTS[4:9], True)):
            session.run(choose, {x: rows})
            assert session.run(is_chosen) == done


def test_refusals():
    with tf.Graph().as_default():
        make, x = tf.contrib.factorization.KMeans, tf.placeholder(tf.float32, [None, None])
        for given, problem in (({"distance_metric": "l1"}, "l1"), ({"initial_clusters": "first"}, "first")):
            with pytest.raises(ValueError, match=problem):
                make(x, 2, **given)
        with pytest.raises(ValueError, match="width"):
            make(x, 2).training_graph()


def test_the_estimator_finds_clusters(tmp_path, engine):
    def input_fn():
        return tf.train.limit_epochs(tf.convert_to_tensor(POINTS), num_epochs=9)

    means = tf.contrib.factorization.KMeansClustering(
        3, str(tmp_path), initial_clusters="kmeans_plus_plus", use_mini_batch=False, relative_tolerance=0.01
    )
    means.train(input_fn)
    centres, index = means.cluster_centers(), [*means.predict_cluster_index(input_fn)]
    assert len(index) == 9 * 36 and {len({*index[i : i + 12]}) for i in range(0, 36, 12)} == {1}
    expected = [POINTS[i : i + 12].mean(0) for i in range(0, 36, 12)]
    np.testing.assert_allclose([centres[index[i]] for i in range(0, 36, 12)], expected, rtol=1e-3, atol=1e-3)
    distances = np.array([*means.transform(input_fn)])
    np.testing.assert_allclose(means.score(input_fn), distances[:36].min(1).sum(), rtol=1e-4)
    assert {*next(means.predict(input_fn))} == {"all_distances", "cluster_index"}
