"""Whole programs on a GPU; `python -m tests.engines.gpu_programs NAME` runs one, on the engine of DOVETAIL_ENGINE."""

import importlib
import runpy
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[2] / "examples/seeds/000_1_device_placement.py"


def placed():
    """Run a session whose `/gpu:0` is a GPU, and the rest on the processor."""
    found = runpy.run_path(str(EXAMPLE))
    first, bias, second, last = found["weights"]
    hidden = np.maximum(found["dummy_input"] @ first + bias, 0)
    np.testing.assert_allclose(found["result"], hidden @ second + last, 1e-3, 1e-3)  # products may round to TF32
    assert found["output2"].device.endswith("GPU:0") and found["output3"].device.endswith("CPU:0")


def trained():
    """Train a convolutional net of Keras, whose weights are on the GPU."""
    importlib.import_module("keras_dovetail")  # this source may not be installed, so no .pth file imports it
    import keras

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(256, 12, 12, 1)).astype("float32"), rng.integers(0, 2, 256)
    x[y == 1, :6] += 1.0
    layers = keras.layers
    model = keras.Sequential([layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    history = model.fit(x, y, epochs=5, batch_size=32, verbose=0).history
    assert history["accuracy"][-1] > 0.9, history
    devices = {variable.value.device for variable in model.trainable_variables}
    assert all(device.startswith("gpu") for device in devices), devices


if __name__ == "__main__":
    globals()[sys.argv[1]]()
