"""Estimators as SavedModels: Dovetail and TensorFlow open what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from tests.libraries import require

require("google", "messages need it")
export = tf.estimator.export
X = np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)
Y = (X @ np.array([[2.0], [-1.0]], "float32")).ravel()


def model(features, labels, mode):
    found = tf.layers.dense(features["x"], 1, kernel_initializer=tf.constant_initializer(0.5), name="out")[:, 0]
    outputs = {
        "serving_default": export.PredictOutput({"y": found, "sign": tf.sign(found)}),
        "number": export.RegressionOutput(found),
    }
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"y": found}, export_outputs=outputs)
    loss = tf.losses.mean_squared_error(labels, found)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, {"y": found}, loss, step)


def inputs(**options):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, batch_size=6, shuffle=False, **options)


def receive():
    x = tf.placeholder(tf.float32, [None, 2], name="given")
    return export.ServingInputReceiver({"x": x}, {"x": x})


@pytest.fixture
def trained(tmp_path):
    return tf.estimator.Estimator(model, str(tmp_path / "model")).train(inputs(num_epochs=None), steps=4)


def expected(estimator):
    return X @ estimator.get_variable_value("out/kernel")[:, 0] + estimator.get_variable_value("out/bias")


def test_an_exported_estimator(trained, tmp_path):
    folder = trained.export_savedmodel(str(tmp_path / "out"), receive).decode()
    assert Path(folder).parent == tmp_path / "out" and Path(folder).name.isdigit()
    predict = tf.contrib.predictor.from_saved_model(folder)
    np.testing.assert_allclose(predict({"x": X})["y"], expected(trained), rtol=1e-5)
    number = tf.contrib.predictor.from_saved_model(folder, "number")
    np.testing.assert_allclose(number({"inputs": X})["outputs"], expected(trained), rtol=1e-5)
    require("tensorflow", "it opens the model")
    import tensorflow

    found = tensorflow.saved_model.load(folder).signatures["serving_default"](x=tensorflow.constant(X))
    np.testing.assert_allclose(found["y"], expected(trained), rtol=1e-5)


def test_raw_inputs_and_the_only_output(trained, tmp_path):
    raw = export.build_raw_serving_input_receiver_fn({"x": np.zeros((3, 2), "float32")})
    other = trained.export_saved_model(str(tmp_path), raw, as_text=True).decode()
    assert (Path(other) / "saved_model.pbtxt").is_file()
    np.testing.assert_allclose(
        tf.contrib.predictor.from_saved_model(other)({"x": X})["sign"], np.sign(expected(trained))
    )


def test_exporters(tmp_path):
    config = tf.estimator.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=1)
    estimator = tf.estimator.Estimator(model, config=config)
    exporters = [
        tf.estimator.LatestExporter("latest", receive, exports_to_keep=2),
        tf.estimator.FinalExporter("final", receive),
        tf.estimator.BestExporter("best", receive, compare_fn=lambda best_eval_result, current_eval_result: False),
    ]
    spec = tf.estimator.EvalSpec(inputs(num_epochs=1), steps=None, throttle_secs=0, exporters=exporters)
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(inputs(num_epochs=None), 4), spec)
    counts = [len([*(tmp_path / "export" / name).iterdir()]) for name in ("latest", "final", "best")]
    assert counts == [2, 1, 1]


def test_refusals(trained, tmp_path):
    with pytest.raises(NotImplementedError, match="copy the files into the folder"):
        trained.export_saved_model(str(tmp_path), receive, assets_extra={"a": "b"})
