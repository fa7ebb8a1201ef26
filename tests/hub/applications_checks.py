"""Models of `keras.applications` for small pictures, with random weights: outputs, and the loss of two steps."""

from __future__ import annotations

import math
from functools import partial

import keras
import numpy as np
from keras import applications

from tests.keras_backends import main

CLASSES, BATCH = 3, 4
MODELS = {  # name → the side of a picture, and further arguments
    "MobileNetV2": (64, {"alpha": 0.35}),
    "MobileNetV3Small": (64, {}),
    "EfficientNetB0": (64, {}),
    "EfficientNetV2B0": (64, {}),
    "ResNet50": (64, {}),
    "ResNet50V2": (64, {}),
    "DenseNet121": (64, {}),
    "NASNetMobile": (64, {}),
    "InceptionV3": (96, {}),
    "Xception": (96, {}),
    "ConvNeXtTiny": (64, {}),
}


def drawn(weight, rng):
    """A first value: what layers begin with, but the same on each backend."""
    normal = rng.normal(size=weight.shape)
    if len(weight.shape) < 2:
        return np.abs(1 + 0.1 * normal) if "gamma" in weight.path or "variance" in weight.path else 0.1 * normal
    fan_in = math.prod(weight.shape[:2] if "depthwise" in weight.path else weight.shape[:-1])
    return normal * math.sqrt(2 / fan_in)


def made(name):
    side, options = MODELS[name]
    model = getattr(applications, name)(
        weights=None, input_shape=(side, side, 3), classes=CLASSES, classifier_activation=None, **options
    )
    rng = np.random.default_rng(0)
    for weight in model.weights:
        if "seed" not in weight.path:
            weight.assign(drawn(weight, rng))
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0  # else each backend drops others
    return model, 128 * np.abs(rng.normal(size=(BATCH, side, side, 3))).astype("float32")


def forward(name):
    model, pictures = made(name)
    return model.predict(pictures, verbose=0)


def steps(name):
    model, pictures = made(name)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1e-3), loss)
    return [model.train_on_batch(pictures, np.arange(BATCH) % CLASSES) for _ in range(2)]


main(
    {
        **{f"forward_{name}": partial(forward, name) for name in MODELS},
        **{f"steps_{name}": partial(steps, name) for name in MODELS},
    }
)
