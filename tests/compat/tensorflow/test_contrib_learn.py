"""`tf.contrib.learn`: estimators that take arrays, monitors, and runs of a graph."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow
from tests.libraries import require

tf = tensorflow.compat.v1
learn = tf.contrib.learn
X = np.random.default_rng(0).normal(size=(120, 2)).astype("float32")
CLASSES = (X.sum(1) > 0).astype("int32")


def classify(features, targets, mode, params):
    logits = tf.contrib.layers.fully_connected(features, 2, activation_fn=None)
    loss = step = None
    if mode != learn.ModeKeys.INFER:
        loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
    if mode == learn.ModeKeys.TRAIN:
        step = tf.train.AdamOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, {"class": tf.argmax(logits, 1), "all": tf.nn.softmax(logits)}, loss, step)


def test_an_estimator_with_the_methods_of_scikit_learn(engine):
    config = learn.RunConfig(save_checkpoints_steps=20, tf_random_seed=1)
    model = learn.SKCompat(learn.Estimator(classify, config=config, params={"rate": 0.1}))
    assert model.fit(X, CLASSES, steps=80) is model
    measures = {"accuracy": learn.MetricSpec(tf.metrics.accuracy, "class"), ("same", "class"): tf.metrics.accuracy}
    score = model.score(X, CLASSES, metrics=measures)
    found = model.predict(X)
    accuracy = np.mean(found["class"] == CLASSES)
    assert accuracy > 0.9 and score["global_step"] == 80 and found["all"].shape == (120, 2)
    np.testing.assert_allclose([score["accuracy"], score["same"]], accuracy, rtol=1e-6)
    own = -np.log(found["all"][np.arange(120), CLASSES])
    np.testing.assert_allclose(score["loss"], own.mean(), rtol=1e-4)


def test_a_monitor_evaluates_checkpoints_and_stops_early():
    def still(features, labels, mode):
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss, step = tf.reduce_mean(features) * 0 + w, tf.assign_add(tf.train.get_global_step(), 1)
        return features, loss, step

    monitor = learn.monitors.ValidationMonitor(X, CLASSES, every_n_steps=10, early_stopping_rounds=20)
    model = learn.Estimator(still, config=learn.RunConfig(save_checkpoints_steps=10))
    model.fit(X, CLASSES, steps=100, monitors=[monitor])
    assert (monitor.best_step, monitor.best_value, monitor.early_stopped) == (10, 1.0, True)
    assert model.evaluate(X, CLASSES)["global_step"] == 30
    assert [*model.predict(X[:2])][1].tolist() == X[1].tolist()


def test_estimators_of_columns_take_arrays(engine):
    columns = learn.infer_real_valued_columns_from_input(X)
    config = learn.RunConfig(tf_random_seed=3)
    model = learn.DNNClassifier(hidden_units=[8], feature_columns=columns, n_classes=2, config=config)
    model.fit(X, CLASSES, steps=150, batch_size=40)
    assert model.evaluate(X, CLASSES)["accuracy"] > 0.9
    classes = [*model.predict(X)]
    assert np.mean(classes == CLASSES) > 0.9 and learn.SKCompat(model).predict(X)["probabilities"].shape == (120, 2)
    assert [int(p.argmax()) for p in model.predict_proba(X)] == [int(c) for c in classes]
    line = learn.LinearRegressor(columns, config=config)
    line.fit(X, X @ np.float32([1, 2]), steps=400)
    np.testing.assert_allclose(line.predict_scores(X, as_iterable=False), X @ np.float32([1, 2]), atol=0.1)


def test_runs_of_a_new_session():
    with tf.Graph().as_default():
        v, x = tf.Variable(2.0), tf.placeholder(tf.float32, [])
        after = tf.assign_add(v, x)
        assert learn.run_n({"b": after, "a": x * 2}, {x: 3.0}, n=2) == [{"b": 5.0, "a": 6.0}, {"b": 8.0, "a": 6.0}]


def test_an_estimator_without_inputs_says_so():
    with pytest.raises(ValueError, match="give x, or an input_fn"):
        learn.Estimator(classify).fit()
    with pytest.raises(NotImplementedError, match="give x and y, or an input_fn"):
        learn.Estimator(classify).evaluate(X, CLASSES, feed_fn=dict)


def line(features, labels, mode):
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    found = tf.matmul(features, w, name="found")
    loss = tf.reduce_mean(tf.square(found[:, 0] - tf.to_float(labels)), name="cost")
    return found, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())


class Noted(learn.monitors.EveryN):
    """A program's own monitor."""

    def __init__(self):
        super().__init__(every_n_steps=3, first_n_steps=1)
        self.costs, self.after = {}, []

    def every_n_step_begin(self, step):
        return ["cost:0"]

    def every_n_step_end(self, step, outputs):
        self.costs[step] = float(outputs["cost:0"])
        return False

    def every_n_post_step(self, step, session):
        self.after.append((step, int(session.run(tf.train.get_global_step()))))


def test_monitors_see_steps(caplog):
    monitors, noted, seen = learn.monitors, Noted(), []

    class Each(monitors.BaseMonitor):
        def begin(self, max_steps=None):
            seen.append("begin")

        def step_end(self, step, output):
            seen.append(step)

        def end(self, session=None):
            seen.append("end")

    captured, each = monitors.CaptureVariable("cost:0", every_n=2, first_n=1), Each()
    shown = monitors.PrintTensor({"the cost": "cost"}, every_n=4)
    model = learn.Estimator(line)
    with caplog.at_level("INFO"):
        given = [noted, each, captured, shown, monitors.LoggingTrainable(), monitors.StopAtStep(num_steps=8)]
        model.fit(X, CLASSES, steps=20, monitors=given)
    assert seen == ["begin", *range(1, 9), "end"] and each._estimator is model
    assert [*noted.costs] == [1, 4, 7] and noted.costs[1] > noted.costs[4] > noted.costs[7]
    assert [step for step, _ in noted.after] == [1, 4, 7, 8]
    assert [*captured.values] == [1, 3, 5, 7] and captured.values[1] == noted.costs[1]
    assert "Step 5: the cost = " in caplog.text and "w:0 = " in caplog.text


def test_a_monitor_of_a_loss():
    def nan(features, labels, mode):
        loss = tf.reduce_sum(features) * float("nan")
        return (
            features,
            tf.reduce_sum(features),
            tf.group(tf.identity(loss, "nan"), tf.assign_add(tf.train.get_global_step(), 1)),
        )

    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN in step 1"):
        learn.Estimator(nan).fit(X, steps=3, monitors=[learn.monitors.NanLoss("nan:0")])
    model = learn.Estimator(nan)
    model.fit(X, steps=9, monitors=[learn.monitors.NanLoss("nan:0", fail_on_nan_loss=False)])
    assert model.get_variable_value("global_step") == 1
    with pytest.raises(ValueError, match="either num_steps or last_step"):
        learn.monitors.StopAtStep()


def test_columns_of_contrib(engine):
    layers, words = tf.contrib.layers, np.array(["u", "v", "u", "w"])
    features = {"a": tf.constant(X[:4, :1]), "b": tf.constant(words[:, None]), "c": tf.constant([[0], [2], [1], [0]])}
    kinds, numbers = layers.sparse_column_with_keys("b", ["u", "v"]), layers.real_valued_column("a")
    columns = [
        numbers,
        layers.one_hot_column(kinds),
        layers.one_hot_column(layers.sparse_column_with_integerized_feature("c", 3)),
        layers.one_hot_column(layers.bucketized_column(numbers, [0.0])),
        layers.embedding_column(layers.sparse_column_with_hash_bucket("b", 5), 2, initializer=tf.ones_initializer()),
        layers.one_hot_column(layers.crossed_column([kinds, layers.sparse_column_with_hash_bucket("b", 5)], 4)),
    ]
    with tf.Session() as session:
        found = layers.input_from_feature_columns(features, columns)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        assert session.run(found).shape == (4, 1 + 2 + 3 + 2 + 2 + 4)
    with pytest.raises(NotImplementedError, match="the combiner is 'sum', not 'mean'"):
        layers.sparse_column_with_keys("b", ["u"], combiner="mean")


def test_measures_of_canned_estimators():
    spec = learn.MetricSpec(tf.contrib.metrics.streaming_accuracy, prediction_key=learn.PredictionKey.CLASSES)
    columns = [tf.contrib.layers.real_valued_column("", dimension=2)]
    config = learn.RunConfig(tf_random_seed=3, save_checkpoints_steps=50)
    model = learn.DNNClassifier([8], columns, n_classes=2, config=config)
    monitor = learn.monitors.ValidationMonitor(X, CLASSES, every_n_steps=50, metrics={"own": spec})
    model.fit(X, CLASSES, steps=100, monitors=[monitor])
    found = model.evaluate(X, CLASSES, metrics={"own": spec})
    assert found["own"] == pytest.approx(found["accuracy"]) and monitor.best_value is not None
    far = learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error, prediction_key=learn.PredictionKey.SCORES)
    line = learn.DNNLinearCombinedRegressor(linear_feature_columns=columns)
    assert line.fit(X, X[:, 0], steps=20).evaluate(X, X[:, 0], metrics={"far": far})["far"] < 1


@pytest.mark.parametrize("core", [False, True])
def test_experiments(tmp_path, core):
    def experiment(config, hparams):
        def model(features, labels, mode):
            found, loss, step = line(features, labels, mode)
            return tf.estimator.EstimatorSpec(mode, {"y": found}, loss, step)

        made = tf.estimator.Estimator(model, config=config) if core else learn.Estimator(line, config=config)
        inputs = tf.estimator.inputs.numpy_input_fn(X, CLASSES, num_epochs=None, shuffle=False)
        metrics = None if core else {"mean": lambda found, labels: tf.reduce_mean(found)}
        return learn.Experiment(made, inputs, inputs, metrics, hparams.steps, 2)

    config = learn.RunConfig(model_dir=str(tmp_path))
    hparams = tf.contrib.training.HParams(steps=5)
    measures, exports = learn.learn_runner.run(experiment, run_config=config, hparams=hparams)
    assert measures["global_step"] == 5 and exports == [] and ("mean" in measures) is not core
    hparams.steps = 7
    learn.learn_runner.run(experiment, run_config=config, hparams=hparams, schedule="train")
    assert (
        learn.learn_runner.run(experiment, run_config=config, hparams=hparams, schedule="evaluate")["global_step"] == 7
    )
    with pytest.raises(ValueError, match="no method 'wait'"):
        learn.learn_runner.run(experiment, run_config=config, hparams=hparams, schedule="wait")
    with pytest.raises(ValueError, match="either output_dir or run_config"):
        learn.learn_runner.run(experiment)
    with pytest.raises(NotImplementedError, match="leave export_strategies out"):
        learn.Experiment(None, None, None, export_strategies=[1])


def test_features_of_files():
    require("tensorflow", "the oracle")
    import tensorflow as theirs

    def specs(lib):
        fc = lib.feature_column
        number, word = (
            fc.numeric_column("a", (2,), default_value=1.5),
            fc.categorical_column_with_vocabulary_list("b", ["u"]),
        )
        columns = [
            fc.bucketized_column(number, [0.0]),
            fc.indicator_column(word),
            fc.embedding_column(fc.categorical_column_with_identity("c", 3), 2),
            fc.crossed_column(["d", fc.categorical_column_with_identity("e", 4)], 5),
        ]
        made = fc.make_parse_example_spec(columns)
        return {
            key: (type(one).__name__, lib.as_dtype(one.dtype).name if one.dtype != lib.string else "string")
            + ((list(one.shape), np.ravel(one.default_value).tolist()) if hasattr(one, "shape") else ())
            for key, one in made.items()
        }

    assert specs(tf) == specs(theirs.compat.v1) and tf.contrib.layers.create_feature_spec_for_parsing([]) == {}
