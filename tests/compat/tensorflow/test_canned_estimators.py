"""Ready-made estimators against the same training written with a session, and NumPy."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest
from scipy import special

X = np.random.RandomState(0).uniform(-1, 1, (12, 2)).astype("float32")
BITS = (X.sum(1) > 0).astype("int64")
CLASSES = np.arange(12) % 3
NUMBERS = (X @ np.array([[2.0], [-1.0]], "float32")).ravel()
FC = tf.feature_column


def data(y, **options):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, y, 12, shuffle=False, **options)


def column():
    return FC.numeric_column("x", shape=[2])


def deep(kind, y, folder, **options):
    made = getattr(tf.estimator, f"DNN{kind}")
    return made([4, 3], [column()], model_dir=str(folder), **options).train(data(y, num_epochs=None), steps=3)


def network(size):
    """The network of `deep` for all examples, with its variables' names."""
    with tf.variable_scope("dnn"):
        net = tf.constant(X)
        for number, units in enumerate([4, 3]):
            net = tf.layers.dense(net, units, tf.nn.relu, name=f"hiddenlayer_{number}")
        return tf.layers.dense(net, size, name="logits")


def by_session(folder, size, loss):
    """The logits after three steps of Adagrad, from the estimator's first checkpoint on."""
    with tf.Graph().as_default(), tf.Session() as session:
        logits = network(size)
        step = tf.train.AdagradOptimizer(0.05).minimize(loss(logits))
        session.run(tf.global_variables_initializer())
        for variable in tf.trainable_variables():
            variable.load(tf.train.load_variable(f"{folder}/model.ckpt-0", variable.op.name), session)
        for _ in range(3):
            session.run(step)
        return session.run(logits)


def binary(logits):
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.to_float(BITS[:, None]), logits=logits))


def several(logits):
    return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(CLASSES), logits=logits))


def squared(logits):
    return tf.reduce_sum(tf.square(logits[:, 0] - NUMBERS))


DEEP = {  # the kind, the labels, the size of the logits, the loss, options
    "two classes": ("Classifier", BITS, 1, binary, {}),
    "three classes": ("Classifier", CLASSES, 3, several, {"n_classes": 3}),
    "numbers": ("Regressor", NUMBERS, 1, squared, {}),
}


@pytest.mark.parametrize("name", DEEP)
def test_networks_train_as_a_session_does(engine, tmp_path, name):
    kind, y, size, loss, options = DEEP[name]
    estimator = deep(kind, y, tmp_path, **options)
    wanted = by_session(tmp_path, size, loss)
    found = list(estimator.predict(data(None)))
    key = "predictions" if kind == "Regressor" else "logits"
    np.testing.assert_allclose([one[key] for one in found], wanted, rtol=1e-4, atol=1e-5)
    measures = estimator.evaluate(data(y))
    with tf.Graph().as_default(), tf.Session() as session:
        total = session.run(loss(tf.constant(wanted)))
    np.testing.assert_allclose([measures["loss"], measures["average_loss"] * 12], [total] * 2, rtol=1e-4)


def test_what_a_classifier_of_two_says(tmp_path):
    estimator = deep("Classifier", BITS, tmp_path, optimizer=tf.train.AdamOptimizer(0.1))
    found, measures = list(estimator.predict(data(None))), estimator.evaluate(data(BITS))
    logits = np.array([one["logits"][0] for one in found])
    ids = np.array([one["class_ids"][0] for one in found])
    np.testing.assert_array_equal(ids, logits > 0)
    assert [one["classes"].tolist() for one in found] == [[str(i).encode()] for i in ids]
    chances = special.expit(logits)
    wanted = np.stack([special.expit(-logits), chances], 1)  # 1 - chances loses digits
    np.testing.assert_allclose([one["probabilities"] for one in found], wanted, rtol=1e-4)
    np.testing.assert_allclose(measures["accuracy"], np.mean(ids == BITS), rtol=1e-5)
    np.testing.assert_allclose(measures["accuracy_baseline"], max(BITS.mean(), 1 - BITS.mean()), rtol=1e-5)
    np.testing.assert_allclose(measures["prediction/mean"], chances.mean(), rtol=1e-4)
    assert {"auc", "auc_precision_recall", "precision", "recall", "label/mean"} <= measures.keys()


def test_words_as_labels(tmp_path):
    words = np.array(["no", "yes"])[BITS]
    estimator = deep("Classifier", words, tmp_path, label_vocabulary=["no", "yes"])
    one = next(iter(estimator.predict(data(None))))
    assert one["classes"].tolist() == [[b"no", b"yes"][one["class_ids"][0]]]
    assert estimator.evaluate(data(words))["label/mean"] == pytest.approx(BITS.mean())


def test_linear_models(engine, tmp_path):
    """Check a linear model of numbers, and its weights' names, against FTRL by a session."""
    columns = [column(), FC.bucketized_column(FC.numeric_column("x", shape=[2]), [0.0])]
    estimator = tf.estimator.LinearRegressor(columns, str(tmp_path)).train(data(NUMBERS, num_epochs=None), steps=3)
    names = {"x/weights", "x_bucketized/weights", "bias_weights"}
    assert {f"linear/linear_model/{name}" for name in names} <= {*estimator.get_variable_names()}
    with tf.Graph().as_default(), tf.Session() as session:
        logits = FC.linear_model({"x": tf.constant(X)}, columns)
        step = tf.train.FtrlOptimizer(0.2).minimize(squared(logits))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        wanted = session.run(logits)
    found = [one["predictions"] for one in estimator.predict(data(None))]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_weights_of_examples(tmp_path):
    weights = np.arange(12, dtype="float32")
    features = tf.estimator.inputs.numpy_input_fn({"x": X, "w": weights}, BITS, 12, shuffle=False, num_epochs=1)
    estimator = tf.estimator.LinearClassifier([column()], str(tmp_path), weight_column="w")
    estimator.train(features)
    logits = np.array([one["logits"][0] for one in estimator.predict(data(None))])
    losses = np.logaddexp(0, logits) - BITS * logits
    measures = estimator.evaluate(features)
    np.testing.assert_allclose(measures["average_loss"], np.average(losses, weights=weights), rtol=1e-4)
    np.testing.assert_allclose(measures["loss"], np.sum(losses * weights), rtol=1e-4)


def test_a_combined_model_trains_both_parts(tmp_path):
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        str(tmp_path), linear_feature_columns=[column()], dnn_feature_columns=[column()], dnn_hidden_units=[4]
    )
    estimator.train(data(BITS, num_epochs=None), steps=2)
    first = {n: tf.train.load_variable(f"{tmp_path}/model.ckpt-0", n) for n in estimator.get_variable_names()}
    changed = {n for n, before in first.items() if not np.array_equal(before, estimator.get_variable_value(n))}
    assert {"linear/linear_model/x/weights", "dnn/logits/kernel", "dnn/hiddenlayer_0/kernel"} <= changed
    assert estimator.get_variable_value("global_step") == 2


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: tf.estimator.DNNClassifier([2], [column()], batch_norm=True), NotImplementedError, "batch_norm"),
        (lambda: tf.estimator.DNNLinearCombinedRegressor(), ValueError, "give linear_feature_columns or"),
    ],
)
def test_wrong_calls(call, error, problem):
    with pytest.raises(error, match=problem):
        call()
