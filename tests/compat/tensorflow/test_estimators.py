"""Estimators against the same training written with a session."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

X = np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)
Y = (X @ np.array([[2.0], [-1.0]], "float32")).ravel()
RATE = 0.3


def predicted(x):
    return tf.layers.dense(x, 1, kernel_initializer=tf.constant_initializer(0.5), name="out")[:, 0]


def model(features, labels, mode, params):
    found = predicted(features["x"])
    predictions = {"y": found, "sign": tf.sign(found)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.mean_squared_error(labels, found)
    step = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    measures = {"error": tf.metrics.mean_absolute_error(labels, found)}
    return tf.estimator.EstimatorSpec(mode, predictions, loss, step, measures)


def trained(steps):
    """The weights after some steps, by a session."""
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.losses.mean_squared_error(Y, predicted(tf.constant(X)))
        step = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        return session.run(tf.trainable_variables())


def whole(**options):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, 6, shuffle=False, **options)


@pytest.fixture
def estimator(tmp_path):
    return tf.estimator.Estimator(model, str(tmp_path), params={"rate": RATE})


def test_an_estimator_trains_and_goes_on_from_its_checkpoint(estimator, engine):
    for steps in (2, 5):
        estimator.train(whole(num_epochs=None), max_steps=steps)
        kernel, bias = trained(steps)
        np.testing.assert_allclose(estimator.get_variable_value("out/kernel"), kernel, atol=1e-6)
        np.testing.assert_allclose(estimator.get_variable_value("out/bias"), bias, atol=1e-6)
    assert {"global_step", "out/bias", "out/kernel"} == {*estimator.get_variable_names()}
    assert estimator.train(whole(num_epochs=None), max_steps=5) is estimator  # it has no step left
    assert estimator.latest_checkpoint().endswith("model.ckpt-5")


def test_measures_are_means_over_all_batches_and_predictions_come_singly(estimator, engine):
    estimator.train(whole(num_epochs=3))
    kernel, bias = trained(3)
    wanted = X @ kernel[:, 0] + bias

    def batches():
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(2)

    found = estimator.evaluate(batches)
    error = wanted - Y
    np.testing.assert_allclose([found["loss"], found["error"]], [np.mean(error**2), np.mean(abs(error))], rtol=1e-5)
    assert found["global_step"] == 3
    first = estimator.evaluate(batches, steps=1)
    np.testing.assert_allclose(first["error"], np.mean(abs(error[:2])), rtol=1e-5)
    examples = list(estimator.predict(batches))
    np.testing.assert_allclose([one["y"] for one in examples], wanted, rtol=1e-5)
    assert examples[0].keys() == {"y", "sign"}
    (whole_batch, *_) = estimator.predict(batches, "y", yield_single_examples=False)
    assert whole_batch["y"].shape == (2,)


def test_train_and_evaluate_calls_hooks(estimator):
    class Counter(tf.train.SessionRunHook):
        runs = 0

        def after_run(self, run_context, run_values):
            self.runs += 1

    trains, evaluates = Counter(), Counter()
    data = whole(num_epochs=None)
    found, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(data, max_steps=4, hooks=[trains]),
        tf.estimator.EvalSpec(data, steps=2, hooks=[evaluates]),
    )
    assert found["global_step"] == 4 and (trains.runs, evaluates.runs) == (4, 2)


@pytest.mark.parametrize(("throttle", "steps"), [(0, [2, 4, 5]), (3600, [2, 5])])
def test_train_and_evaluate_evaluates_checkpoints(tmp_path, throttle, steps):
    """Check which checkpoints are evaluated, and that each evaluation has the weights of its step."""
    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    estimator = tf.estimator.Estimator(model, str(tmp_path), config, {"rate": RATE})
    exported = []

    class Exporter:
        name = "own"

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            exported.append((checkpoint_path, eval_result, is_the_final_export))
            return export_path

    found, exports = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(whole(num_epochs=None), max_steps=5),
        tf.estimator.EvalSpec(whole(), steps=None, throttle_secs=throttle, exporters=Exporter()),
    )
    assert [int(path.rpartition("-")[2]) for path, _, _ in exported] == steps
    for step, (_, measures, is_last) in zip(steps, exported, strict=True):
        kernel, bias = trained(step)
        assert measures["global_step"] == step and is_last == (step == 5)
        np.testing.assert_allclose(measures["loss"], np.mean((X @ kernel[:, 0] + bias - Y) ** 2), rtol=1e-4)
    assert found is exported[-1][1] and exports == [[str(tmp_path / "export" / "own")]] * len(steps)
    again = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(whole(), max_steps=5), tf.estimator.EvalSpec(whole())
    )
    assert again == ({}, []) and len(exported) == len(steps)


def test_listeners_of_checkpoints_are_called(tmp_path):
    """Check listeners with the estimator's own hook, and with one of the program's."""
    steps = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            steps.append(global_step_value)

    for number, hooks in enumerate(
        [[], [tf.train.CheckpointSaverHook(str(tmp_path / "1"), save_steps=2, save_graph_def=False)]]
    ):
        estimator = tf.estimator.Estimator(model, str(tmp_path / str(number)), params={"rate": RATE})
        estimator.train(whole(num_epochs=None), hooks, steps=3, saving_listeners=[Listener()])
    assert steps == [0, 3, 0, 2, 3]


ERRORS = {3: 0.5, 6: 0.2, 9: 0.3, 12: 0.25, 15: 0.6}  # step → what an evaluation measured
STOPS = [  # the hook, its bound, the earliest step that counts → whether training ends
    ("stop_if_higher_hook", 0.55, 0, True),
    ("stop_if_higher_hook", 0.7, 0, False),
    ("stop_if_lower_hook", 0.2, 0, False),
    ("stop_if_lower_hook", 0.25, 0, True),
    ("stop_if_lower_hook", 0.25, 7, False),
    ("stop_if_no_decrease_hook", 9, 0, True),
    ("stop_if_no_decrease_hook", 10, 0, False),
    ("stop_if_no_increase_hook", 9, 0, True),
    ("stop_if_no_increase_hook", 6, 9, False),
]


@pytest.mark.parametrize(("name", "bound", "first", "ends"), STOPS)
def test_hooks_end_training_by_the_measures_of_evaluations(name, bound, first, ends, estimator):
    with tf.summary.FileWriter(estimator.eval_dir()) as writer:
        for step, error in ERRORS.items():
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="error", simple_value=error)]), step)
    make = getattr(tf.estimator.experimental, name)
    assert getattr(tf.contrib.estimator, name) is make
    hook = make(estimator, "error", bound, min_steps=first, run_every_secs=None, run_every_steps=1)
    estimator.train(whole(num_epochs=None), hooks=[hook], max_steps=4)
    assert tf.train.load_variable(estimator.model_dir, "global_step") == (1 if ends else 4)


def test_evaluations_are_written_as_summaries(estimator):
    estimator.train(whole(num_epochs=None), max_steps=2)
    found = estimator.evaluate(whole(), name="again")
    folder = estimator.eval_dir("again")
    assert folder.endswith("eval_again")
    (step,) = written = tf.contrib.estimator.read_eval_metrics(folder)
    assert step == 2 and written[2] == {key: found[key] for key in ("error", "loss")}


def test_what_it_cannot_do_it_says(estimator):
    with pytest.raises(TypeError, match=r"it needs a tf\.estimator\.Estimator"):
        tf.estimator.experimental.make_early_stopping_hook(model, lambda: True)
    with pytest.raises(ValueError, match="give one of run_every_secs and run_every_steps"):
        tf.estimator.experimental.make_early_stopping_hook(estimator, lambda: True, 60, 5)
    with pytest.raises(ValueError, match=r"there is no checkpoint in .*: train the model before"):
        estimator.evaluate(whole())
    with pytest.raises(ValueError, match="give either steps or max_steps"):
        estimator.train(whole(), steps=1, max_steps=1)


def test_a_tpu_estimator_without_tpus_trains_as_another_one(tmp_path, engine):
    seen = []

    def with_call(features, labels, mode, params):
        seen.append(params["batch_size"])
        spec = model(features, labels, mode, params)
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
        step = None if spec.loss is None else optimizer.minimize(spec.loss, tf.train.get_global_step())
        measures = lambda labels, found: {"error": tf.metrics.mean_absolute_error(labels, found)}  # noqa: E731
        called = lambda count: tf.py_func(lambda n: seen.append(int(n)), [count], [])  # noqa: E731
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode,
            predictions=spec.predictions,
            loss=spec.loss,
            train_op=step,
            eval_metrics=(measures, [labels, spec.predictions["y"]]) if mode == "eval" else None,
            host_call=(called, {"count": tf.constant(70)}) if mode == "train" else None,
        )

    config = tf.contrib.tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tf.contrib.tpu.TPUConfig(100))
    config = config.replace(save_summary_steps=50)
    assert (config.tpu_config.iterations_per_loop, config.save_summary_steps) == (100, 50)
    sizes = {"train_batch_size": 6, "eval_batch_size": 3}
    tpus = tf.estimator.tpu.TPUEstimator(
        use_tpu=False, model_fn=with_call, config=config, params={"rate": RATE}, **sizes
    )
    tpus.train(whole(num_epochs=None), max_steps=3)
    kernel, bias = trained(3)
    np.testing.assert_allclose(tpus.get_variable_value("out/kernel"), kernel, atol=1e-6)
    np.testing.assert_allclose(tpus.get_variable_value("out/bias"), bias, atol=1e-6)
    error = np.abs(Y - (X @ kernel + bias).ravel()).mean()
    assert abs(tpus.evaluate(whole(num_epochs=1))["error"] - error) < 1e-5
    assert seen == [6, 70, 70, 70, 3]
    assert tf.tpu.cross_replica_sum(2.0).numpy() == 2.0


@pytest.mark.parametrize(
    ("options", "error", "advice"),
    [
        ({}, NotImplementedError, "use_tpu=False"),
        ({"use_tpu": False, "params": {"batch_size": 3}}, ValueError, "leave it out of params"),
    ],
)
def test_a_tpu_estimator_says_what_it_cannot(options, error, advice):
    with pytest.raises(error, match=advice):
        tf.contrib.tpu.TPUEstimator(model_fn=model, **options)


def test_features_and_results_keep_their_order(estimator):
    """Check data sets, arrays, whose columns TensorFlow sorts, predictions, and measures, which it sorts, too."""
    orders = []

    def of_two(features, labels, mode, params):
        orders.append(list(features))
        return model(features, labels, mode, params)

    def batches():
        return tf.data.Dataset.from_tensor_slices(({"x": X, "a": Y}, Y)).batch(6)

    estimator.model_fn = of_two
    estimator.train(batches)
    arrays = tf.estimator.inputs.numpy_input_fn({"x": X, "a": Y}, Y, 6, num_epochs=1, shuffle=False)
    assert list(estimator.evaluate(arrays)) == ["error", "loss", "global_step"]
    assert list(next(estimator.predict(batches))) == ["y", "sign"]
    assert orders == [["x", "a"], ["a", "x"], ["x", "a"]]
