"""Attributes of single layers in Keras 1 and 2: the old names of arguments and of weights, and of dropout's shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import keras

from dovetail import backend as K
from dovetail.compat.keras2.patches import Own, Patch
from dovetail.formats.keras.config_rows import ARGUMENTS, JOINED, words
from dovetail.interop.privates import BaseConv

WEIGHTS = {
    **{f"{cls}.{old}": new for cls in ("Dense", *JOINED, "Conv1D") for old, new in (("W", "kernel"), ("b", "bias"))},
    "Embedding.W": "embeddings",
}
LAYOUTS = {"channels_first": "th", "channels_last": "tf"}
OTHERS = {"init", "inner_init", "bias"}  # words whose attributes are something else


def patches() -> Iterable[Patch]:
    """Yield the attributes that the classes lack, which programs may set, and the shape of dropout."""
    for name in ARGUMENTS:
        cls: Any = getattr(keras.layers, name, None)
        if isinstance(cls, type):
            yield from (Patch(cls, old, Own(get)) for old, get in _old_names(name) if not hasattr(cls, old))
    yield Patch(keras.layers.Dropout, "_get_noise_shape", _noise_shape)
    yield Patch(BaseConv, "output_dim", Own(attrgetter("filters")))


def _old_names(cls: str) -> Iterable[tuple[str, Callable[[Any], Any]]]:
    """Yield old names, and functions that give their values for a layer."""
    for old, new in words(cls).renamed.items():
        if old == "dim_ordering":
            yield old, lambda layer: LAYOUTS[layer.data_format]
        elif old not in OTHERS:
            yield old, attrgetter(new)
    for number, part in enumerate(JOINED.get(cls, ())):
        yield part, functools.partial(_size, number=number)
    yield from ((key.partition(".")[2], attrgetter(new)) for key, new in WEIGHTS.items() if key.startswith(f"{cls}."))


def _size(layer: Any, number: int) -> int:
    return int(layer.kernel_size[number])


def _noise_shape(self: Any, inputs: Any) -> Any:
    """The shape of a dropout's mask for inputs, None if it is theirs.

    Source: `keras.layers.Dropout._get_noise_shape` of Keras 2.2.
    """
    if self.noise_shape is None:
        return None
    shape = K.shape(inputs)
    return tuple(shape[axis] if size is None else size for axis, size in enumerate(self.noise_shape))
