"""Checks of Keras 2's folders and checkpoints, and of TFSMLayer, in a process that cannot import TensorFlow."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest

import dovetail as dt
from dovetail.formats.wire.messages import KERAS, TENSORFLOW
from tests.formats.keras import FOLDERS
from tests.keras_backends import ENGINES, main

BARRED = "tensorflow", "tf_keras"
MODELS = Path(FOLDERS).parents[1] / "tensorflow" / "models"


def known(name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The inputs and the predictions of a model."""
    found = np.load(FOLDERS / f"{name}.npz")
    return [found[key] for key in found if key[0] == "x"], [found[key] for key in found if key[0] == "y"]


def one(values):
    return values if len(values) > 1 else values[0]


def listed(found) -> list[np.ndarray]:
    return found if isinstance(found, list) else [found]


def loaded(name: str, **more):
    """A model of a folder, which predicts as it did in Keras 2."""
    model = keras.models.load_model(FOLDERS / name, **more)
    x, y = known(name)
    for found, wanted in zip(listed(model.predict(one(x), verbose=0)), y, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    return model


COMPILED = "adam", "legacy_adam", "cnn", "masked"
BUILT = (*COMPILED, "mlp", "lstm", "gru", "bidirectional", "lambdas", "nested")


def check_models_predict_as_in_keras_2_and_train():
    for name in BUILT:
        model = loaded(name)
        assert model.compiled == (name in COMPILED) and not any("TFSM" in type(each).__name__ for each in model.layers)
        if model.compiled:
            continue
        model.compile("sgd", "mse")
        x, y = known(name)
        before = [w.copy() for w in model.get_weights()]
        model.fit(one(x), one([value + 1 for value in y]), verbose=0)
        assert not all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))


def check_compiled_models_go_on_as_in_keras_2():
    for name in COMPILED:
        model, stored = loaded(name), np.load(FOLDERS / f"{name}.npz")
        targets, wanted = ([stored[key] for key in stored if key[0] == letter] for letter in "tz")
        x, y = known(name)
        model.fit(one(x), one(targets), verbose=0)
        for found, after, before in zip(listed(model.predict(one(x), verbose=0)), wanted, y, strict=True):
            np.testing.assert_allclose(found, after, atol=1e-5, err_msg=name)
            assert np.abs(after - before).max() > 1e-4
    model, (x, (y,)) = loaded("adam"), known("adam")
    for labels in (y.argmax(-1), 1 - y.argmax(-1)):  # the metric begins again
        found = model.evaluate(x[0], np.eye(2, dtype="float32")[labels], verbose=0, return_dict=True)
        assert found["accuracy"] == np.mean(y.argmax(-1) == labels)
    assert loaded("adam", compile=False).compiled is False


def check_layers_keep_their_names_and_arguments():
    model = loaded("mlp")
    assert [layer.name for layer in model.layers] == ["dense", "dropout", "scores"]
    assert (model.layers[0].kernel_regularizer.l2, model.layers[1].rate) == (pytest.approx(0.01), 0.2)


def check_configurations_may_be_in_the_graph_of_objects():
    """Check folders as TensorFlow 2.3 and 2.4 have them, without `keras_metadata.pb`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "old"
        shutil.copytree(FOLDERS / "mlp", folder)
        metadata = folder / "keras_metadata.pb"
        nodes = KERAS.SavedMetadata.FromString(metadata.read_bytes()).nodes
        metadata.unlink()
        saved = TENSORFLOW.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
        objects = saved.meta_graphs[0].object_graph_def.nodes
        for node in nodes:
            user = objects[node.node_id].user_object
            user.identifier, user.metadata = node.identifier, node.metadata
        (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
        model = keras.models.load_model(folder)
    x, y = known("mlp")
    np.testing.assert_allclose(model.predict(x[0], verbose=0), y[0], atol=1e-5)
    assert [layer.name for layer in model.layers] == ["dense", "dropout", "scores"]


class Gate(keras.layers.Layer):
    """The layer of the folder `gated`."""

    def __init__(self, units, **more):
        super().__init__(**more)
        self.units, self.inner = units, keras.layers.Dense(units)

    def build(self, shape):
        self.inner.build(shape)
        self.slope = self.add_weight(name="the_slope", shape=(self.units,))

    def call(self, x):
        return keras.ops.sigmoid(self.inner(x)) * self.slope

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Net(keras.Model):
    """The model of the folder `subclassed`."""

    def __init__(self):
        super().__init__()
        self.blocks = [keras.layers.Dense(4, "relu"), keras.layers.BatchNormalization()]
        self.last = keras.layers.Dense(2)

    def call(self, x, training=None):
        for block in self.blocks:
            x = block(x, training=training) if isinstance(block, keras.layers.BatchNormalization) else block(x)
        return self.last(x)


def check_classes_of_the_program_are_built():
    assert type(loaded("gated", custom_objects={"Gate": Gate}).layers[1]) is Gate
    assert type(loaded("subclassed", custom_objects={"Net": Net})) is Net


def check_classes_that_are_missing_run_by_their_graph():
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("dovetail.keras").addHandler(handler)
    for name, cls in (("gated", "Gate"), ("subclassed", "Net")):
        model = loaded(name)
        assert f"custom_objects={{'{cls}': {cls}}}" in lines[-1] and "for inference" in lines[-1]
        model.compile("sgd", "mse")
        x, y = known(name)
        before = [w.copy() for w in model.get_weights()]
        assert len(before) == len(model.weights) > 3
        model.fit(x[0], y[0] + 1, verbose=0)
        assert not all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    logging.getLogger("dovetail.keras").removeHandler(handler)


def mlp():
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(2, "softmax")])


def check_checkpoints_give_weights():
    x, y = known("adam")
    for path in ("adam_weights/ckpt-1", "adam_weights", "adam", "adam/variables/variables"):
        model = mlp()
        model.load_weights(FOLDERS / path)
        np.testing.assert_allclose(model.predict(x[0], verbose=0), y[0], atol=1e-5)
    x, y = known("subclassed")
    model = Net()
    with pytest.raises(ValueError, match="has no weights yet: call it on data"):
        model.load_weights(FOLDERS / "subclassed_weights/ckpt-1")
    model(x[0])
    model.load_weights(str(FOLDERS / "subclassed_weights/ckpt-1"))
    np.testing.assert_allclose(model.predict(x[0], verbose=0), y[0], atol=1e-5)


def check_a_checkpoint_of_another_model_is_refused_as_a_whole():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4), *[keras.layers.Dense(2) for _ in range(2)]])
    before = model.get_weights()
    missing = (
        r"no layer_with_weights-2/kernel for the weight sequential.*kernel; .*It has .*layer_with_weights-1/kernel"
    )
    with pytest.raises(ValueError, match=missing):
        model.load_weights(FOLDERS / "adam_weights/ckpt-1")
    wide = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5)])
    with pytest.raises(
        ValueError, match=r"layer_with_weights-0/kernel of the shape \(6, 4\), and the weight .* \(6, 5\)"
    ):
        wide.load_weights(FOLDERS / "adam_weights/ckpt-1")
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    model.load_weights(FOLDERS / "adam_weights/ckpt-1", skip_mismatch=True)
    assert not np.array_equal(before[0], model.get_weights()[0])


def check_a_layer_runs_a_function_of_a_saved_model():
    found = np.load(MODELS / "mlp.npz")
    x = keras.Input((6,))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.TFSMLayer(MODELS / "mlp")(x)))
    layer = model.layers[1]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(layer(found["x0"])), found["y"], atol=1e-4)
    assert [tuple(v.shape) for v in layer.trainable_variables] == [(6, 8), (8,), (8, 3), (3,)]
    model.compile("sgd", "mse")
    before = [w.copy() for w in layer.get_weights()]
    model.fit(found["x0"], np.ones((len(found["x0"]), 2)), verbose=0)
    assert all(not np.array_equal(a, b) for a, b in zip(before, layer.get_weights(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m.keras")
        again = keras.models.load_model(f"{folder}/m.keras")
    wanted = model.predict(found["x0"], verbose=0)
    np.testing.assert_allclose(again.predict(found["x0"], verbose=0), wanted, rtol=1e-5)
    layer.trainable = False
    assert layer.trainable_variables == [] and len(layer.non_trainable_variables) == 4


def check_an_endpoint_may_be_a_signature_and_have_several_inputs():
    layer = keras.layers.TFSMLayer(FOLDERS / "lambdas", call_endpoint="serving_default")
    x, y = known("lambdas")
    for given in (x, dict(zip(["x", "y"], x, strict=True))):
        (found,) = layer(given).values()
        np.testing.assert_allclose(keras.ops.convert_to_numpy(found), y[0], atol=1e-5)
    with pytest.raises(ValueError, match=r"call_endpoint='serving_default'"):
        keras.layers.TFSMLayer(FOLDERS / "lambdas")


def check_engines_agree():
    for engine in {*ENGINES} - {"tensorflow"}:
        with dt.engine(engine):
            loaded("gated")


def check_nothing_imported_tensorflow():
    assert not {*BARRED} & {*sys.modules}


if __name__ == "__main__":
    main(globals())
