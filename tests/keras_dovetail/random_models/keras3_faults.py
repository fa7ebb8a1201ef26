"""Faults put into Keras on Dovetail, which the comparison of random models has to find.

    python -m … NAME…

Print the outcome of each named fault's program on the engine numpy.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras

from keras_dovetail.src import optimizer
from tests.keras_backends import tell
from tests.keras_dovetail.random_models.keras3_run import outcome
from tests.keras_dovetail.random_models.program import program


class Fault(NamedTuple):
    """A function that is replaced by a wrong one.

    Attributes:
        seed: the seed of a program that calls the function.
        place: a class or module.
        name: the name of the function there.
        wrong: makes the wrong function of the right one.
    """

    seed: int
    place: Any
    name: str
    wrong: Callable[[Any], Any]


def _other_momentum(build: Any) -> Any:
    def wrong(self: Any, shape: Any) -> None:
        build(self, shape)
        self.momentum *= 0.98

    return wrong


def _smaller_gradient(call: Any) -> Any:
    @functools.wraps(call)  # Keras asks for its parameters
    def wrong(self: Any, *args: Any, **options: Any) -> Any:
        found = call(self, *args, **options)
        return keras.tree.map_structure(lambda x: 0.98 * x + 0.02 * keras.ops.stop_gradient(x), found)

    return wrong


FAULTS = {
    "momentum of a batch normalization": Fault(21, keras.layers.BatchNormalization, "build", _other_momentum),
    "gradient of a dense layer": Fault(13, keras.layers.Dense, "call", _smaller_gradient),
    "gradient of a recurrent layer": Fault(19, keras.layers.GRU, "call", _smaller_gradient),
    "Adam's rate at first steps": Fault(104, optimizer, "_corrected", lambda right: lambda _, rate, dtype: rate),
    "saved weights": Fault(33, keras.Model, "load_weights", lambda right: lambda self, path: None),
    "weights of batches in means": Fault(
        4,
        keras.metrics.Mean,
        "update_state",
        lambda right: lambda self, values, sample_weight=None: right(self, values),
    ),
}


def main(*names: str) -> None:
    found = {}
    for name in names:
        seed, place, function, wrong = FAULTS[name]
        with mock.patch.object(place, function, wrong(getattr(place, function))):
            found[name] = {"seed": seed, "outcome": outcome(program(seed), "numpy")}
    tell(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
