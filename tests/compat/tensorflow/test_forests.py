"""Random forests: how they grow, what they predict, and the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

forests = tf.contrib.tensor_forest.python.tensor_forest
RANDOM = np.random.RandomState(5)
X = RANDOM.rand(600, 3).astype("float32")
CLASSES = ((X[:, 0] > 0.5) + 2 * (X[:, 1] > 0.6)).astype("int32")


def params(**given):
    settings = {"num_classes": 4, "num_features": 3, "num_trees": 5, "split_after_samples": 60, "base_random_seed": 2}
    return forests.ForestHParams(**settings | given).fill()


def test_a_forest_learns_classes(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
        forest = forests.RandomForestGraphs(params())
        step, loss = forest.training_graph(x, y), forest.training_loss(x, y)
        probabilities, leaves, variance = forest.inference_graph(x)
        resources = tf.python.ops.resources
        ready = tf.group(
            tf.global_variables_initializer(), resources.initialize_resources(resources.shared_resources())
        )
        session.run(ready)
        fed = {x: X, y: CLASSES}
        assert session.run(loss) == -1.0
        for _ in range(10):
            session.run(step, fed)
        found, at, spread = session.run([probabilities, leaves, variance], fed)
        assert found.shape == spread.shape == (600, 4) and at.shape == (600, 5)
        assert np.mean(found.argmax(1) == CLASSES) > 0.95
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
        assert session.run(loss) == -session.run(forest.average_size()) < -5
        importances = session.run(forest.feature_importances())
        assert importances.sum() == pytest.approx(1) and importances[2] == importances.min()


def test_predictions_are_those_of_a_tree_by_hand(engine):
    """A leaf whose examples are counted as the rule says: the first are candidates, the next ones are counted."""
    x, y = np.float32([[0.1], [0.9], [0.2], [0.8], [0.3], [0.7]]), np.int32([0, 1, 0, 1, 0, 1])
    given = {"num_classes": 2, "num_features": 1, "num_trees": 1, "num_splits_to_consider": 2, "split_after_samples": 4}
    with tf.Graph().as_default(), tf.Session() as session:
        forest = forests.RandomForestGraphs(params(**given))
        step = forest.training_graph(x, y)
        found = forest.inference_graph(np.float32([[0.05], [0.1], [0.5], [0.95]]))
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(found[0]), 0)  # no example has come
        session.run(step)
        # Of the tests x <= 0.1 and x <= 0.9, none tells the last four apart, so that the leaf stays.
        np.testing.assert_allclose(session.run(found[0]), 0.5)


def test_a_leaf_is_split_by_its_best_candidate(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.int64, [None])
        given = {"num_classes": 2, "num_features": 1, "num_trees": 1, "num_splits_to_consider": 2}
        forest = forests.RandomForestGraphs(params(**given, split_after_samples=4))
        step, (found, leaves, _) = forest.training_graph(x, y), forest.inference_graph(x)
        session.run(tf.global_variables_initializer())
        session.run(step, {x: [[0.5], [0.15], [0.1], [0.2], [0.8], [0.9]], y: [0, 0, 0, 0, 1, 1]})
        asked = {x: [[0.0], [0.5], [0.51], [1.0]]}
        assert session.run(leaves, asked).ravel().tolist() == [1, 1, 2, 2]
        np.testing.assert_allclose(session.run(found, asked), [[1, 0], [1, 0], [0, 1], [0, 1]])
        assert session.run(forest.average_size()) == 3
        session.run(tf.global_variables_initializer())
        assert session.run(forest.average_size()) == 1
        session.run(step, {x: [[0.5], [0.15]], y: [0, 0]})  # the leaf has begun again, too
        assert session.run(forest.average_size()) == 1


def test_a_tree_keeps_to_its_most_nodes():
    with tf.Graph().as_default(), tf.Session() as session:
        forest = forests.RandomForestGraphs(params(max_nodes=6, bagging_fraction=0.8, feature_bagging_fraction=0.7))
        step = forest.training_graph({"a": X[:, :1], "b": X[:, 1:]}, CLASSES, input_weights=np.ones(600, "float32"))
        session.run(tf.global_variables_initializer())
        for _ in range(8):
            session.run(step)
        assert session.run(forest.average_size()) == 5


def test_a_forest_learns_numbers(engine):
    numbers = np.stack([X[:, 0] > 0.5, X[:, 1]], 1).astype("float32")
    with tf.Graph().as_default(), tf.Session() as session:
        forest = forests.RandomForestGraphs(params(regression=True, num_classes=2))
        step, found = forest.training_graph(X, numbers), forest.inference_graph(X)[0]
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(step)
        assert np.abs(session.run(found) - numbers).mean() < 0.1


def test_checkpoints_have_the_trees(tmp_path):
    def predictions(session, forest):
        return session.run(forest.inference_graph(X)[0])

    with tf.Graph().as_default(), tf.Session() as session:
        forest = forests.RandomForestGraphs(params())
        step = forest.training_graph(X, CLASSES)
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = tf.train.Saver().save(session, str(tmp_path / "forest"))
        before = predictions(session, forest)
    with tf.Graph().as_default(), tf.Session() as session:
        forest = forests.RandomForestGraphs(params())
        step = forest.training_graph(X, CLASSES)
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(predictions(session, forest), before)
        session.run(step)


@pytest.mark.parametrize("regression", [False, True])
def test_the_estimator(tmp_path, regression, engine):
    random_forest, eval_metrics = (
        tf.contrib.tensor_forest.client.random_forest,
        tf.contrib.tensor_forest.client.eval_metrics,
    )
    given = {"regression": True, "num_classes": 1} if regression else {}
    model = random_forest.TensorForestEstimator(params(**given), model_dir=str(tmp_path))
    labels = X[:, 0] if regression else CLASSES
    model.fit(x=X, y=labels, steps=8)
    found = [*model.predict(x=X)]
    if regression:
        assert np.abs([float(each["scores"][0]) for each in found] - labels).mean() < 0.2
        assert model.evaluate(x=X, y=labels)["loss"] < 0.05
        return
    spec = tf.contrib.learn.metric_spec.MetricSpec(
        eval_metrics.get_metric("accuracy"), prediction_key=eval_metrics.get_prediction_key("accuracy")
    )
    measures = model.evaluate(x=X, y=labels, metrics={"own": spec})
    right = np.mean([each[eval_metrics.INFERENCE_PRED_NAME] for each in found] == labels)
    np.testing.assert_allclose([measures["accuracy"], measures["own"]], right, rtol=1e-5)
    assert right > 0.9 and found[0][eval_metrics.INFERENCE_PROB_NAME].shape == (4,)


def test_the_estimator_stops_when_the_trees_no_longer_grow(tmp_path):
    build = tf.contrib.tensor_forest.random_forest.TensorForestEstimator
    model = build(params(max_nodes=3), model_dir=str(tmp_path), early_stopping_rounds=5)
    model.fit(x=X, y=CLASSES, steps=100)
    assert model.get_variable_value("global_step") < 30


def test_refusals():
    with pytest.raises(ValueError, match="give num_features"):
        forests.ForestHParams(num_classes=2).fill()
    with pytest.raises(NotImplementedError, match="split_finish_name must be 'basic', not 'hoeffding'"):
        params(split_finish_name="hoeffding")
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="leave tree_configs out"):
        forests.RandomForestGraphs(params(), tree_configs=["a"])
    with pytest.raises(NotImplementedError, match="heads are not offered"):
        tf.contrib.tensor_forest.client.random_forest.TensorForestEstimator(params(), head=1)
    with pytest.raises(ValueError, match="the measure is accuracy, not 'auc'"):
        tf.contrib.tensor_forest.client.eval_metrics.get_metric("auc")
