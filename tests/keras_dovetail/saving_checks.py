"""Models that one backend of Keras saves and another loads: run with a folder and a command, "load" or "save".

It prints the problems of each pair: {"saved on → loaded on": traceback, or nothing}.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

BACKEND = os.environ["KERAS_BACKEND"]
ON_DOVETAIL = BACKEND == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.keras_backends import tell

RANDOM = np.random.default_rng(0)
X = {
    "image": RANDOM.normal(size=(8, 6, 6, 2)).astype("float32"),
    "words": RANDOM.integers(0, 9, (8, 3)).astype("int32"),
}


def made():
    """A model with layers of many kinds, and averages in them that are not trained."""
    inputs = {"image": keras.Input((6, 6, 2), name="image"), "words": keras.Input((3,), dtype="int32", name="words")}
    x = layers.BatchNormalization()(layers.Conv2D(3, 3, padding="same", activation="relu")(inputs["image"]))
    x = layers.Dropout(0.3)(layers.Flatten()(layers.MaxPooling2D()(x)))
    y = layers.GRU(3)(layers.Embedding(9, 4)(inputs["words"]))
    outputs = layers.Dense(3, "softmax")(layers.Concatenate()([x, layers.LayerNormalization()(y)]))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    return model


def predicted(model) -> np.ndarray:
    """The results of a model, without `predict`, which would compile it."""
    return keras.ops.convert_to_numpy(model(X, training=False))


def state(model) -> dict[str, np.ndarray]:
    """The results of a model, and the state of its optimizer."""
    numbers = [keras.ops.convert_to_numpy(v) for v in model.optimizer.variables]
    return {"predicted": predicted(model), **{f"optimizer {i}": n for i, n in enumerate(numbers)}}


def places() -> Iterator[str]:
    """The places that run models: the backend, or each of Dovetail's engines in turn."""
    for name in ("numpy", "torch", "jax", "tensorflow") if ON_DOVETAIL else (BACKEND,):
        with dt.engine(name) if ON_DOVETAIL else nullcontext():
            yield f"dovetail-{name}" if ON_DOVETAIL else name


def save(folder: Path) -> dict[str, str]:
    model = made()
    model.set_weights([RANDOM.uniform(0.5, 1.5, w.shape) for w in model.get_weights()])
    for place in places():
        gradients = [
            keras.ops.convert_to_tensor(RANDOM.normal(size=w.shape), "float32") for w in model.trainable_weights
        ]
        model.optimizer.apply(gradients, model.trainable_weights)
        model.save(folder / f"{place}.keras")
        model.save_weights(folder / f"{place}.weights.h5")
        np.savez(folder / place, **state(model))
    return {}


def load(folder: Path) -> dict[str, str]:
    """Load files of other backends; each of Dovetail's engines also loads the previous engine's file."""
    saved = sorted(path.stem for path in folder.glob("*.npz"))
    ours = [name for name in saved if name.startswith("dovetail")]
    found = {}
    for index, place in enumerate(places()):
        other = made()
        for name in [*set(saved).difference(ours), ours[index - 1]] if ON_DOVETAIL else ours:
            found[f"{name} → {place}"] = problem(folder, name, other)
    return found


def problem(folder: Path, name: str, other) -> str:
    """The difference of a saved model, or of its weights in another model, from the results; "" if there is none."""
    wanted = dict(np.load(folder / f"{name}.npz"))
    try:
        other.load_weights(folder / f"{name}.weights.h5")
        near(predicted(other), wanted["predicted"])
        model = keras.saving.load_model(folder / f"{name}.keras")
        found = state(model)
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            near(found[key], value)
    except Exception:
        return traceback.format_exc()
    return ""


def near(found, wanted) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    folder, *actions = sys.argv[1:]
    problems: dict[str, str] = {}
    for action in actions:
        problems |= {"save": save, "load": load}[action](Path(folder))
    tell(problems)
