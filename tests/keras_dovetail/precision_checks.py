"""Training in other float types: each case trains a small model and gives its losses, on the backend that runs.

On Dovetail the process prints the losses of each engine, else of the backend: {engine or backend: {case: losses}}.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager

ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

from tests.keras_backends import main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(48, 16)).astype("float32"), RANDOM.integers(0, 3, 48)


def model():
    middle = [layers.Dense(16, "relu"), layers.LayerNormalization()]
    made = keras.Sequential([keras.Input((16,)), *middle, layers.Dense(3)])
    random = np.random.default_rng(1)
    for weight in made.weights:
        if len(weight.shape) > 1:
            weight.assign(random.normal(size=weight.shape, scale=0.3))
    return made


def trained(made, optimizer, epochs=3, x=X):
    made.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return made.fit(x, Y, batch_size=16, epochs=epochs, verbose=0, shuffle=False).history["loss"]


@contextmanager
def policy(name):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def case_mixed_float16():
    """Losses with automatic scaling; a scale that is too large halves, and its step is left out."""
    with policy("mixed_float16"):
        made = model()
        assert made.layers[0].compute_dtype == "float16" and made.layers[0].kernel.dtype == "float32"
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0**24)
        found = trained(made, optimizer)
        assert float(optimizer.dynamic_scale) < 2.0**24 and int(optimizer.inner_optimizer.iterations) < 9
        return [*found, float(np.log2(optimizer.dynamic_scale)), int(optimizer.inner_optimizer.iterations)]


def case_mixed_bfloat16():
    with policy("mixed_bfloat16"):
        made = model()
        assert str(made(X[:1]).dtype) == "bfloat16"
        return trained(made, keras.optimizers.Adam(0.01))


def case_float8():
    """Losses of a layer that multiplies in 8 bits, with scales that follow the values seen."""
    with policy("mixed_bfloat16"):
        made = model()
        for layer in made.layers:
            if isinstance(layer, layers.Dense):
                layer.quantize("float8")
        found = trained(made, keras.optimizers.SGD(0.1))
        scale = made.layers[0].inputs_scale
        assert float(made.layers[0].inputs_amax_history.numpy().max()) > 0
        return [*found, float(scale.numpy().max())]


def case_lora_on_int4():
    """Losses of an embedding in 4 bits that LoRA adapts, and predictions of the model in a file."""
    embedding, random = layers.Embedding(32, 16), np.random.default_rng(1)
    words = random.integers(0, 32, (48, 4))
    made = keras.Sequential([keras.Input((4,), dtype="int32"), embedding, layers.Flatten(), layers.Dense(3)])
    for weight in made.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    embedding.quantize("int4")
    embedding.enable_lora(2)
    embedding.lora_embeddings_a.assign(random.normal(size=(32, 2)))
    found = trained(made, keras.optimizers.SGD(0.5), x=words)
    assert len(made.trainable_weights) == 4
    with tempfile.TemporaryDirectory() as folder:
        made.save(f"{folder}/model.keras")
        loaded = keras.saving.load_model(f"{folder}/model.keras")
    assert loaded.layers[0].lora_enabled
    return [*found, *np.ravel(loaded.predict(words[:2], verbose=0))]


def _in_floatx(name):
    before = keras.config.floatx()
    keras.config.set_floatx(name)
    try:
        with policy(name):
            made = model()
            if ON_DOVETAIL or name == "float16":  # without a setting, JAX makes 32 bits of 64
                assert {w.dtype for w in made.weights} == {name} == {str(made(X[:1]).dtype)}
            return trained(made, keras.optimizers.SGD(0.1))
    finally:
        keras.config.set_floatx(before)


def case_floatx_float16():
    return _in_floatx("float16")


def case_floatx_float64():
    return _in_floatx("float64")


if __name__ == "__main__":
    main(globals())
