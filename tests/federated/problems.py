"""A small problem for the tests: a network of two layers, and clients whose data differ in size and kind."""

from __future__ import annotations

import numpy as np

import dovetail as dt
from dovetail import ops

WEIGHTS = {"b": dt.spec((1,)), "v": dt.spec((6, 1)), "w": dt.spec((4, 6))}
DATA = {"x": dt.spec((None, 4)), "y": dt.spec((None, 1))}
ROWS = (8, 12, 5)


def loss(weights, data):
    return ops.mean(ops.square(ops.tanh(data["x"] @ weights["w"]) @ weights["v"] + weights["b"] - data["y"]))


def drawn(rng):
    """The first weights, and the data of each client."""
    weights = {name: rng.normal(size=spec.shape).astype("float32") for name, spec in WEIGHTS.items()}
    shapes = [((rows, 4), (rows, 1)) for rows in ROWS]
    data = [
        {name: (rng.normal(size=shape) + client).astype("float32") for name, shape in zip("xy", pair, strict=True)}
        for client, pair in enumerate(shapes)
    ]
    return weights, data


PICTURE_WEIGHTS = {"dense": dt.spec((36, 3)), "filter": dt.spec((3, 3, 1, 4))}
PICTURES = {"x": dt.spec((None, 6, 6, 1)), "y": dt.spec((None,), "int32")}


def picture_loss(weights, data):
    """The loss of a small convolutional network, whose pictures are of three kinds."""
    K = dt.backend
    found = K.pool2d(K.relu(K.conv2d(data["x"], weights["filter"], padding="same")), (2, 2), strides=(2, 2))
    logits = ops.reshape(found, (-1, 36)) @ weights["dense"]
    return ops.mean(K.sparse_categorical_crossentropy(data["y"], logits, from_logits=True))


def drawn_pictures(rng, clients=5):
    """The first weights, and pictures of two of the three kinds for each client."""
    weights = {name: rng.normal(size=spec.shape).astype("float32") / 5 for name, spec in PICTURE_WEIGHTS.items()}
    data = []
    for client in range(clients):
        y = rng.choice([client % 3, (client + 1) % 3], 8 + client).astype("int32")
        stripe = np.arange(6) // 2 == y[:, None]
        data.append({"x": rng.normal(stripe[..., None, None], 0.2, (len(y), 6, 6, 1)).astype("float32"), "y": y})
    return weights, data
