"""Saving and loading of models without importing TensorFlow; its values are saved if a program has them."""

from __future__ import annotations

import pytest

from tests.conftest import ENGINES
from tests.keras_dovetail.test_seeds import START, said

MODEL = """
import dovetail as dt, numpy as np
dt.set_engine({engine!r})
layers = [keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dropout(0.5, seed=1), keras.layers.Dense(2)]
model = keras.Sequential(layers)
model.compile("adam", "mse")
model.fit(np.ones((4, 4)), np.ones((4, 2)), verbose=0)
path = {path!r}
"""
IMPORTED = "print('tensorflow' in sys.modules)"


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "tensorflow"])
def test_a_model(engine, tmp_path):
    program = MODEL.format(engine=engine, path=str(tmp_path / "model.keras"))
    equal = (
        "keras.models.load_model(path).predict(np.ones((2, 4)), verbose=0) == model.predict(np.ones((2, 4)), verbose=0)"
    )
    assert said(START, program, "model.save(path)", f"assert ({equal}).all()", IMPORTED) is False


OTHERS = [
    "model.save_weights(path); model.load_weights(path)",
    "keras.models.model_from_json(model.to_json())",
    "keras.models.clone_model(model)",
    "import pickle; pickle.loads(pickle.dumps(model))",
    "keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(keras.losses.Huber()))",
]


def test_other_ways(tmp_path):
    program = MODEL.format(engine="numpy", path=str(tmp_path / "model.weights.h5"))
    each = [f"{way}\nassert 'tensorflow' not in sys.modules, {way!r}" for way in OTHERS]
    assert said(START, program, *each, IMPORTED) is False


def test_dovetail_under_the_name_of_tensorflow(tmp_path):
    """Check that old programs under TensorFlow's name save models all the same."""
    program = MODEL.format(engine="numpy", path=str(tmp_path / "model.keras"))
    named = "import dovetail.compat.tensorflow\nsys.modules['tensorflow'] = dovetail.compat.tensorflow"
    save = "model.save(path); found = keras.models.load_model(path)"
    equal = "print([a.tolist() for a in found.get_weights()] == [a.tolist() for a in model.get_weights()])"
    assert said(START, program, named, *OTHERS[1:], save, equal) is True


def test_values_of_tensorflow():
    values = "[tf.TensorShape([1, None]), tf.float32, tf.TensorSpec([2], tf.int32)]"
    shape, dtype, spec = said(
        START, "import tensorflow as tf", f"print([keras.saving.serialize_keras_object(v) for v in {values}])"
    )
    assert (shape, dtype) == ([1, None], "float32")
    assert (spec["class_name"], spec["config"]) == ("__typespec__", [[2], "int32", None])


def test_tensorflow_is_imported_to_load_a_value_of_it():
    config = {
        "module": "builtins",
        "class_name": "__typespec__",
        "spec_name": "Spec",
        "registered_name": "own>Spec",
        "config": [[2], "int32"],
    }
    own = "class Spec:\n    _deserialize = staticmethod(lambda config: config)"
    load = f"keras.saving.deserialize_keras_object({config}, custom_objects={{'own>Spec': Spec}})"
    assert said(START, own, f"print([str(v) for v in {load}])") == ["(2,)", "<dtype: 'int32'>"]


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("google"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
"""
OF_FILES = ("dovetail.formats.tensorflow.ops", "dovetail.formats.onnx", "dovetail.onnx", "dovetail.saved_model")


def test_training_needs_neither_the_libraries_of_files_nor_their_tables():
    """Check an installation without the extra `formats`, which an export asks for."""
    program = MODEL.format(engine="numpy", path="")
    loaded = f"print([name for name in {OF_FILES} if name in sys.modules])"
    assert said(BLOCKED, START, program, loaded) == []
    wanted = "try:\n    model.export('model')\nexcept ImportError as error:\n    print(repr(str(error)))"
    assert "pip install 'keras-dovetail[formats]'" in said(BLOCKED, START, program, wanted)
