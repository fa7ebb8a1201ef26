"""A small problem for the tests: a network of two layers, and clients whose data differ in size and kind."""

from __future__ import annotations

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
