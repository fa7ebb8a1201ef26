"""Checks of files of Keras 1, 2 and 3, in a process where Keras runs on Dovetail; tf_keras made files and results."""

from __future__ import annotations

import json
import logging
import tempfile
import traceback
import zipfile
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
from keras import layers

import dovetail as dt
from dovetail.core.base.errors import FormatError
from dovetail.interop.keras_files import compiling
from tests.formats.keras.test_weights import MODELS, changed
from tests.formats.memory import little
from tests.keras_backends import ENGINES, main
from tests.keras_dovetail.mutations import mutations
from tests.parts import WHOLE

FOLDER = Path(tempfile.mkdtemp())
MIXED = 5e-3  # half precision rounds otherwise


class Scale(layers.Layer):
    def __init__(self, times, **kwargs):
        super().__init__(**kwargs)
        self.times = times

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.kernel * self.times

    def get_config(self):
        return {**super().get_config(), "times": self.times}


def cube(x):
    return x**3


def cube_loss(y, z):
    return keras.ops.mean(keras.ops.abs(y - z) ** 3, axis=-1)


OWN = {"Scale": Scale, "cube": cube, "lambda": cube, "double": lambda x: x * 2.0, "cube_loss": cube_loss}


def arrays(path, kind):
    found = np.load(path.with_suffix(".npz"))
    return [found[name] for name in found.files if name[0] == kind]


def inputs(model, path):
    x = arrays(path, "x")
    if isinstance(getattr(model, "_inputs_struct", None), dict):
        return dict(zip(model.input, x, strict=True))
    return x if len(x) > 1 else x[0]


def predicted(model, x):
    found = model(x, training=False)
    return [keras.ops.convert_to_numpy(each) for each in (found if isinstance(found, (list, tuple)) else [found])]


def near(found, wanted, tolerance=1e-5):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def is_as_it_was(path):
    """A model predicts as it did in tf_keras, and so after another step of training with the saved optimizer."""
    tolerance = MIXED if path.stem == "mixed" else 1e-5
    model = keras.models.load_model(path, OWN)
    x, t, z = inputs(model, path), arrays(path, "t"), arrays(path, "z")
    near(predicted(model, x), arrays(path, "y"), tolerance)
    if t:
        assert model.compiled
        before = int(model.optimizer.iterations)
        model.train_on_batch(x, t if len(t) > 1 else t[0])
        assert int(model.optimizer.iterations) == before + 1
    if z:
        near(predicted(model, x), z, 10 * tolerance)


def is_saved_again(path):
    """A loaded model is saved as Keras 3 saves models, and loads again."""
    model = keras.models.load_model(path, OWN, compile=False)
    model.save(FOLDER / f"{path.stem}.keras")
    again = keras.models.load_model(FOLDER / f"{path.stem}.keras", OWN)
    near(predicted(again, inputs(again, path)), arrays(path, "y"), MIXED if path.stem == "mixed" else 1e-5)


def each(paths, check):
    """Check each file, and name all that fail."""
    problems = []
    for path in paths:
        try:
            check(path)
        except Exception:
            problems.append(f"{path.name}: {traceback.format_exc()}")
    assert not problems, "\n".join(problems)


def check_models_are_as_they_were():
    files = [path for path in sorted(MODELS.glob("*")) if path.suffix in (".h5", ".keras")]
    whole = [path for path in files if ".weights" not in path.name]
    assert len(whole) >= 26
    each(whole, is_as_it_was)


def check_models_are_saved_again():
    each([MODELS / f"{stem}.h5" for stem in ("lstm", "functions", "slices", "nested", "keras1")], is_saved_again)


def check_each_engine():
    for engine in ENGINES:
        for stem in ("cnn", "states", "functions", "keras1"):
            with dt.engine(engine):
                model = keras.models.load_model(MODELS / f"{stem}.h5")
                near(predicted(model, inputs(model, MODELS / f"{stem}.h5")), arrays(MODELS / f"{stem}.h5", "y"), 1e-4)


# -- weights ----------------------------------------------------------------------------------------------------------


def fresh(stem):
    """A model of a file, with other weights."""
    model = keras.models.load_model(MODELS / f"{stem}.h5", OWN, compile=False)
    model.set_weights([np.ones_like(weight) for weight in model.get_weights()])
    return model


def check_weights_by_layer():
    for name in ("cnn.hdf5", "nested.hdf5", "mlp.weights.h5", "bidirectional.weights.h5", "mlp.keras", "lstm.h5"):
        stem = name.partition(".")[0]
        model = fresh(stem)
        model.load_weights(MODELS / name)
        near(predicted(model, inputs(model, MODELS / f"{stem}.h5")), arrays(MODELS / f"{stem}.h5", "y"))


def check_weights_by_name():
    wanted = keras.models.load_model(MODELS / "cnn.h5").get_layer("conv2d").get_weights()
    model = keras.Sequential([keras.Input((8, 8, 2)), layers.Conv2D(4, 3, name="conv2d"), layers.Flatten()])
    model.add(layers.Dense(7, name="dense"))
    before = model.get_weights()
    with pytest.raises(FormatError, match=r"the layer 'dense': found the shape \(.*skip_mismatch=True"):
        model.load_weights(MODELS / "cnn.hdf5", by_name=True)
    assert all(map(np.array_equal, before, model.get_weights()))
    with pytest.warns(UserWarning, match="'dense' keeps its weights"):
        model.load_weights(MODELS / "cnn.hdf5", by_name=True, skip_mismatch=True)
    assert all(map(np.array_equal, [*wanted, *before[2:]], model.get_weights()))
    with pytest.raises(FormatError, match=r"found 4 layers with weights: .*; needed: the 2 of the model: conv2d"):
        model.load_weights(MODELS / "cnn.hdf5")


def check_weights_are_written():
    for stem in ("nested", "bidirectional", "one_and_three"):
        model = keras.models.load_model(MODELS / f"{stem}.h5", compile=False)
        for name in ("w.h5", "w.hdf5", "w", "new/folder/w", "w.npz", "w.safetensors", "w.weights.h5", "w.ckpt"):
            model.save_weights(FOLDER / name)
            other = fresh(stem)
            other.load_weights(FOLDER / name)
            near(other.get_weights(), model.get_weights(), 0)


def check_a_normalization_takes_the_statistics_of_a_file():
    """The layer computes with values that it derives from its weights."""
    model = keras.Sequential([keras.Input((4,)), layers.Normalization(name="norm")], name="net")
    x = np.random.default_rng(0).normal(3.0, 2.0, (20, 4))
    model.layers[0].adapt(x)
    wanted = predicted(model, x)
    for ending in ("keras", "h5"):
        model.save(FOLDER / f"norm.{ending}")
        near(predicted(keras.models.load_model(FOLDER / f"norm.{ending}"), x), wanted)
    for ending in ("weights.h5", "h5", "npz", "safetensors", "ckpt"):
        other = keras.Sequential([keras.Input((4,)), layers.Normalization(name="norm")], name="net")
        model.save_weights(FOLDER / f"norm_weights.{ending}")
        other.load_weights(FOLDER / f"norm_weights.{ending}")
        near(predicted(other, x), wanted)


def check_weights_that_do_not_fit():
    model, other = fresh("mlp"), keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    for name in ("w.npz", "w.safetensors", "w.weights.h5", "w.h5", "w.ckpt"):
        model.save_weights(FOLDER / name)
        before = other.get_weights()
        with pytest.raises(ValueError):
            other.load_weights(FOLDER / name)
        assert all(map(np.array_equal, before, other.get_weights())), name
    with pytest.raises(ValueError, match="has no weights yet"):
        keras.Sequential([layers.Dense(2)]).load_weights(FOLDER / "w.h5")
    with pytest.raises(ValueError, match="has no weights by layer: by_name only supports"):
        model.load_weights(FOLDER / "w.npz", by_name=True)


# -- files of Keras 3 -------------------------------------------------------------------------------------------------


def check_compiled_and_masked_models_of_keras_3():
    x = keras.Input((4,))
    y = layers.LSTM(2)(layers.Embedding(5, 3, mask_zero=True)(x))
    model = keras.Model(x, layers.Dense(1, "hard_sigmoid", dtype="float32")(y))
    model.compile("adam", "mse", metrics=["mae"])
    words, t = np.array([[1, 2, 0, 0], [3, 0, 0, 0]]), np.ones((2, 1))
    model.fit(words, t, verbose=0)
    model.save(FOLDER / "k3.h5")
    again = keras.models.load_model(FOLDER / "k3.h5")
    near(predicted(again, words), predicted(model, words), 0)
    near(again.evaluate(words, t, verbose=0), model.evaluate(words, t, verbose=0), 1e-6)
    for each in (model, again):
        each.fit(words, t, verbose=0, epochs=2)
    near(again.get_weights(), model.get_weights(), 1e-6)


def check_an_archive_of_keras_2_that_was_not_compiled():
    path = MODELS / "mlp.keras"
    with zipfile.ZipFile(path) as given, zipfile.ZipFile(FOLDER / "mlp.keras", "w") as made:
        for name in given.namelist():
            text = given.read(name)
            if name == "config.json":
                text = json.dumps({k: v for k, v in json.loads(text).items() if k != "compile_config"})
            made.writestr(name, text)
    model = keras.models.load_model(FOLDER / "mlp.keras")
    assert not model.compiled
    near(predicted(model, inputs(model, path)), arrays(path, "y"))


def check_statistics_of_an_archive():
    model = keras.Sequential([keras.Input((2,)), layers.Normalization(mean=1.0, variance=4.0), layers.Dense(1)])
    model.save(FOLDER / "n.keras")
    near(predicted(keras.models.load_model(FOLDER / "n.keras"), np.ones((1, 2))), predicted(model, np.ones((1, 2))), 0)


# -- refusals ---------------------------------------------------------------------------------------------------------


def check_unknown_classes_and_functions_are_named():
    path = MODELS / "own.h5"
    with pytest.raises(FormatError, match=r"Lambda 'double': .* bytecode.*custom_objects=\{'double': f, 'lambda': f\}"):
        keras.models.load_model(path)
    with pytest.raises(FormatError, match=r"the layer 'scale': found the class 'Scale'.*\{'Scale': Scale\}"):
        keras.models.load_model(path, {"double": cube, "lambda": cube, "cube": cube})


def check_a_loss_that_is_not_known_leaves_the_model_uncompiled():
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    logging.getLogger("dovetail.keras").addHandler(handler)
    model = keras.models.load_model(MODELS / "own.h5", {**OWN, "cube_loss": None})
    logging.getLogger("dovetail.keras").removeHandler(handler)
    assert not model.compiled and "is not compiled" in records[0] and "custom_objects" in records[0]


def check_files_that_are_cut_off_or_behind_other_bytes_are_read_here():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(3)])
    for name in ("cut.keras", "cut.h5"):
        model.save(FOLDER / name)
        data = (FOLDER / name).read_bytes()
        for damaged in (data[: len(data) // 2], b"", b"x" + data[1:-30]):
            (FOLDER / name).write_bytes(damaged)
            for load in (keras.models.load_model, model.load_weights):
                with pytest.raises(FormatError, match=name):
                    load(FOLDER / name)
    model.save(FOLDER / "whole.h5")
    data = bytearray((FOLDER / "whole.h5").read_bytes())
    data[24:32] = (512).to_bytes(8, "little")  # where addresses count from
    (FOLDER / "behind.h5").write_bytes(b"the user's".ljust(512, b"\0") + data)
    again = keras.models.load_model(FOLDER / "behind.h5")
    near(predicted(again, np.ones((1, 2))), predicted(model, np.ones((1, 2))), 0)
    (FOLDER / "behind.h5").write_bytes(b"".ljust(512, b"\0") + data[:2000])
    with pytest.raises(FormatError, match=r"behind\.h5"):
        keras.models.load_model(FOLDER / "behind.h5")


def check_changed_archives_are_read_or_refused():
    count = 500 if WHOLE else 40
    assert mutations(count, 0, Path(tempfile.mkdtemp())).total() == count


def check_weights_alone_are_no_model():
    with pytest.raises(FormatError, match=r"model_config: found none; .*model.load_weights"):
        keras.models.load_model(MODELS / "cnn.hdf5")


def check_configurations_are_refused_by_one_error():
    for stem, old, new in (
        ("mlp", '"units": 5', '"units": -1'),
        ("mlp", '"units": 5', '"units": "x"'),
        ("mlp", '"tanh"', '"os.system"'),
        ("mlp", '"class_name": "Dense"', '"class_name": "Wrapper"'),
        ("shared", '"input_1", 0, 0', '"input_9", 0, 0'),
        ("functions", '"function": "nn.relu"', '"function": "__loader__.load"'),
        ("functions", '"function": "nn.relu"', '"function": "nn.no_such_name"'),
        ("functions", '"function": "nn.relu"', '"function": "py_function"'),
        ("functions", '"function": "nn.relu"', '"function": "io.gfile.remove"'),
        ("functions", '"function": "nn.relu"', '"function": "_import_module"'),
        ("functions", '"function": "nn.relu"', '"function": "__operators__.attrgetter"'),
        ("functions", '"function": "nn.relu"', '"function": "keras.backend.set_floatx"'),
    ):
        changed(MODELS / f"{stem}.h5", FOLDER / "changed.h5", old.encode(), new.encode())
        with pytest.raises(FormatError, match="model_config"):
            keras.models.load_model(FOLDER / "changed.h5")


def check_layers_of_any_size_are_refused_with_the_limit():
    keras.Sequential([keras.Input((3,)), layers.Dense(7, name="wide")]).save(FOLDER / "wide.keras")
    with zipfile.ZipFile(FOLDER / "wide.keras") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["config.json"] = parts["config.json"].replace(b'"units": 7', b'"units": 300000000')
    with zipfile.ZipFile(FOLDER / "wide.keras", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    changed(MODELS / "mlp.h5", FOLDER / "wide.h5", b'"units": 5', b'"units": 500000000')
    for name, variable in (("wide.keras", "wide/kernel"), ("wide.h5", ".*dense/kernel")):
        message = rf"{name}.*, the last for '{variable}'.*set_read_limits\(bytes="
        with little(), pytest.raises(FormatError, match=message):
            keras.models.load_model(FOLDER / name)


def check_lists_of_any_length_are_refused_with_the_limit():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[keras.metrics.AUC(num_thresholds=77)])
    model.save(FOLDER / "listed.keras")
    with zipfile.ZipFile(FOLDER / "listed.keras") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["config.json"] = parts["config.json"].replace(b'"num_thresholds": 77', b'"num_thresholds": 1000000000')
    with zipfile.ZipFile(FOLDER / "listed.keras", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    message = r"listed.keras.*, the last for 'num_thresholds'.*set_read_limits\(bytes="
    with little(), pytest.raises(FormatError, match=message):
        keras.models.load_model(FOLDER / "listed.keras")


def check_a_state_without_numbers_lets_the_optimizer_start_again():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.optimizer.build(model.trainable_variables)
    for nothing in (None, np.array(b"x")):
        compiling.load_numbered(model, [nothing] * len(model.optimizer.variables), FOLDER / "none.keras")
    assert int(model.optimizer.iterations) == 0


if __name__ == "__main__":
    main(globals())
