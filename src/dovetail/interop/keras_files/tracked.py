"""Layers and optimizers of Keras among the objects of a checkpoint, by the names that TensorFlow gives their parts.

An optimizer makes what it keeps for each variable at its first step; a checkpoint's values for it wait until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from dovetail.core.base.scopes import DEFAULT_GRAPH, opened
from dovetail.formats.wire import objects
from dovetail.interop.keras_files.checkpoint import COUNTERS, SLOTS, places, set_product

Paths = Mapping[int, Sequence[objects.Path]]  # id of a Dovetail variable → the paths to it
AT_ONCE = {"graphs": (), DEFAULT_GRAPH: None, "tapes": ()}  # an optimizer may be built while a function is traced


class _Counter:
    """A variable that counts, and has 64 bits in files, as on TensorFlow."""

    def __init__(self, variable: Any) -> None:
        self.shape, self.assign = variable.shape, variable.assign
        self.numpy: Callable[[], np.ndarray] = lambda: variable.numpy().astype("int64")


def is_part(given: Any) -> bool:
    """Whether a value is a layer, a model, an optimizer or a variable of Keras on Dovetail."""
    kinds = keras.layers.Layer, keras.optimizers.Optimizer, keras.Variable
    return isinstance(given, kinds) and keras.config.backend() == "dovetail"


def variables(part: Any) -> Iterator[tuple[objects.Path, Any]]:
    """The variables in a part of Keras, with the names that lead to them; a model's optimizer is no part of it."""
    if isinstance(part, keras.Variable):
        yield (), part._value
    elif isinstance(part, keras.optimizers.Optimizer):
        counter = _Counter(part._iterations)
        own = {id(each): each._value for each in part._variables} | {id(part._iterations): counter}
        yield from ((place, own.get(id(variable), variable._value)) for place, _, variable in _kept(part))
        # Keras 3 on TensorFlow finds some by these; Keras 2, which counts others, takes the names that stand first
        yield from ((("_variables", str(number)), own[id(each)]) for number, each in enumerate(part._variables))
    else:
        weights = set(map(id, part.weights))
        placed = [(place, variable._value) for place, variable in places(part) if id(variable) in weights]
        yield from sorted(placed, key=lambda pair: sum(name.startswith("_") for name in pair[0]))


def _kept(optimizer: Any) -> Iterator[tuple[objects.Path, int, Any]]:
    """The variables of an optimizer: the names that lead to each, and the number of the variable it belongs to."""
    for name, value in vars(optimizer).items():
        if isinstance(value, keras.Variable):
            yield (name,), 0, value
        elif name in SLOTS and isinstance(value, (list, tuple)):
            yield from (((name, str(number)), number, each) for number, each in enumerate(value) if each is not None)


def restored(optimizer: Any, path: objects.Path, stored: objects.StoredObjects, paths: Paths) -> dict[str, Any]:
    """The variables of an optimizer by their keys in a checkpoint, which TensorFlow wrote with Keras 2 or 3.

    Args:
        optimizer: of Keras.
        path: the names that lead to it.
        stored: the objects in the checkpoint.
        paths: to the variables that are trained, by `id`.

    Raises:
        KeyError: the checkpoint has some, but not all.
    """
    by_key: dict[str, Any] = {}
    for place, number, variable in _kept(optimizer):
        names = COUNTERS.get(place[0], place[:1])
        keys: Iterator[str | None] = (stored.key((*path, name, *place[1:])) for name in names)
        key = next(filter(None, keys), None)
        if key is None and place[0] in SLOTS:
            trained = paths.get(id(optimizer._trainable_variables[number]._value), ())
            slots = (stored.slot(path, name, each) for name in SLOTS[place[0]] for each in trained)
            key = next(filter(None, slots), None)
        by_key[key or "/".join((*path, *place))] = variable
    missing = {name for name in by_key if not name.endswith(objects.ENDING)}
    counts = {name for name in missing if name.rpartition("/")[2] in (*COUNTERS, "_u_product")}
    if missing - counts and len(by_key) - len(missing) > len(COUNTERS):
        raise KeyError(f"the checkpoint has no variable {min(missing)!r} for the optimizer {optimizer.name!r}.")
    return {name: variable for name, variable in by_key.items() if name not in missing}


def give_when_built(optimizer: Any, give: Callable[[], None]) -> None:
    """Call `give` as soon as the optimizer has variables: now, or after it is built."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if inner.built:
        give()
        return
    build = type(inner).build

    def build_and_give(variables: Any) -> None:
        del inner.build
        build(inner, variables)
        with opened(AT_ONCE):
            give()

    inner.build = build_and_give


def finish(optimizer: Any, given: Mapping[str, Any]) -> None:
    """Compute what files of Keras 2 lack: the product of the steps of Nadam."""
    if not any("_u_product" in key for key in given):
        set_product(optimizer)
