"""Weights of models by layer, as Keras 1 and 2 keep them in HDF5: by the order of layers, or by their names."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.files import replacing
from dovetail.formats.hdf5 import Array
from dovetail.formats.keras.weights import TOP, Layer, Stored, converted, count

OF_KERAS = "keras.", "keras_dovetail.", "dovetail."  # the modules of classes that no program wrote

# -- the order of weights in Keras 2 ----------------------------------------------------------------------------------


def trained(layer: Any) -> list[tuple[Any, list[Any]]]:
    """The layers inside a layer with the weights that each trains, in Keras 2's order; a frozen layer trains none."""
    if not layer.trainable:
        return []
    pairs = [(layer, layer._trainable_variables), *(pair for inner in layer._layers for pair in trained(inner))]
    return _as_said(layer, "trainable_weights", pairs)


def kept(layer: Any) -> list[tuple[Any, list[Any]]]:
    """The layers inside a layer with the weights that each does not train."""
    if layer.trainable:
        pairs = [(layer, layer._non_trainable_variables), *(pair for inner in layer._layers for pair in kept(inner))]
        return _as_said(layer, "non_trainable_weights", pairs)
    own = (layer, [*layer._trainable_variables, *layer._non_trainable_variables])
    return [own, *(pair for inner in layer._layers for pair in (*trained(inner), *kept(inner)))]


def _as_said(layer: Any, name: str, pairs: list[tuple[Any, list[Any]]]) -> list[tuple[Any, list[Any]]]:
    """The pairs, in the order of a property if a program's class defines it; Keras 2 wrote the weights that it gave."""
    cls = next(each for each in type(layer).__mro__ if name in vars(each))
    if cls.__module__.startswith(OF_KERAS):
        return pairs
    owners = {id(weight): owner for owner, weights in pairs for weight in weights}
    said = itertools.groupby(getattr(layer, name), lambda weight: owners.get(id(weight), layer))
    return [(owner, list(weights)) for owner, weights in said]


def ordered(layer: Any) -> list[tuple[Any, list[Any]]]:
    """The layers inside a layer with their weights, each weight once, in the order of Keras 2's files."""
    seen, weights, owners = set(), {id(weight) for weight in layer.weights}, []
    for owner, variables in (*trained(layer), *kept(layer)):
        new = [v for v in variables if id(v) in weights and not (id(v) in seen or seen.add(id(v)))]  # type: ignore[func-returns-value]
        if new:
            owners.append((owner, new))
    return owners


def weights_of(layer: Any) -> list[Any]:
    """The weights of a layer, in the order of Keras 2's files."""
    return [weight for _, weights in ordered(layer) for weight in weights]


# -- loading ----------------------------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """A weight, and the array that it gets."""

    weight: Any
    array: np.ndarray


class _Mismatch(Exception):
    """Weights of a layer that the file has otherwise."""


def load(model: Any, given: Stored, file: Path, by_name: bool = False, skip_mismatch: bool = False) -> None:
    """Give the layers of a model the weights of a file: all of them, or none.

    Args:
        model: a Keras model that is built.
        given: the weights of the file.
        file: its path, for errors.
        by_name: whether layers find their weights by their names; layers that the file lacks keep theirs.
        skip_mismatch: whether layers of other shapes keep their weights, with a warning.

    Raises:
        FormatError: the file has other layers or shapes.
    """
    pairs: list[_Pair] = []
    for layer, name in (_by_name if by_name else _by_order)(model, given, file):
        try:
            pairs += _pairs(layer, given.layers[name], given, file, name)
        except _Mismatch as problem:
            if not skip_mismatch:
                needed = "the layers of the model; skip_mismatch=True leaves others as they are"
                raise FormatError(file, f"the layer {name!r}", str(problem), needed) from None
            warnings.warn(f"load_weights: the layer {layer.name!r} keeps its weights: {problem}.", stacklevel=4)
    assign(model, pairs)


def assign(model: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Give weights their arrays, and let layers derive from them what they compute with, as `Normalization` does."""
    for weight, array in pairs:
        weight.assign(array)
    for layer in model._flatten_layers():
        if layer.weights and hasattr(layer, "finalize_state"):
            layer.finalize_state()


def _by_order(model: Any, given: Stored, file: Path) -> Iterator[tuple[Any, str]]:
    layers = [layer for layer in model.layers if layer.weights]
    names = [name for name, arrays in given.layers.items() if arrays and name != TOP]
    if len(layers) != len(names):
        actual = f"{len(names)} layers with weights: {', '.join(names)[:200]}"
        needed = (
            f"the {len(layers)} of the model: {', '.join(layer.name for layer in layers)[:200]}; or say by_name=True"
        )
        raise FormatError(file, "layer_names", actual, needed)
    return zip(layers, names, strict=True)


def _by_name(model: Any, given: Stored, file: Path) -> Iterator[tuple[Any, str]]:
    return ((layer, layer.name) for layer in model.layers if given.layers.get(layer.name))


def _pairs(layer: Any, arrays: list[Array], given: Stored, file: Path, name: str) -> Iterator[_Pair]:
    """The weights of a layer with their arrays.

    Raises:
        _Mismatch: the file has others.
    """
    groups = [(_described(owner, weights), weights) for owner, weights in ordered(layer)]
    counts = [count(described, given.version) for described, _ in groups]
    if sum(counts) < len(arrays):
        arrays = [array for array in arrays if not _is_count(array, layer)]
    if sum(counts) != len(arrays):
        raise _Mismatch(f"{len(arrays)} arrays for the {sum(counts)} of {layer.name!r}")
    values = iter(arrays)
    pairs = []
    for (described, weights), number in zip(groups, counts, strict=True):
        read = [np.asarray(array.read()) for array in itertools.islice(values, number)]
        for weight, array in zip(weights, converted(described, read, given.version, given.backend), strict=True):
            if tuple(weight.shape) != array.shape:
                raise _Mismatch(f"the shape {array.shape} for {weight.path} of {tuple(weight.shape)}")
            pairs.append(_Pair(weight, array))
    return iter(pairs)


def _described(layer: Any, weights: list[Any]) -> Layer:
    cls = type(layer).__name__.removesuffix("Cell")
    return Layer(cls, [tuple(w.shape) for w in weights], getattr(layer, "data_format", None) == "channels_first")


def _is_count(array: Array, layer: Any) -> bool:
    """Whether an array is the number of examples that a layer of statistics counted; some versions of it have none."""
    return isinstance(layer, keras.layers.Normalization) and array.place.endswith("count:0")


# -- saving -----------------------------------------------------------------------------------------------------------


def save(model: Any, file: Path) -> None:
    """Write the weights of a model by layer, as Keras 2 does.

    Raises:
        ImportError: h5py is not installed.
    """
    import h5py  # type: ignore[import-untyped]

    with replacing(file) as opened, h5py.File(opened, "w") as root:
        root.attrs["backend"], root.attrs["keras_version"] = b"tensorflow", keras.__version__.encode()
        _write_names(root, "layer_names", [layer.name for layer in model.layers])
        for layer in model.layers:
            group = root.create_group(layer.name)
            weights = weights_of(layer)
            names = [f"{weight.path}:0" for weight in weights]
            _write_names(group, "weight_names", names)
            for name, weight in zip(names, weights, strict=True):
                array = keras.ops.convert_to_numpy(weight)
                group.create_dataset(name, data=array.astype("float32") if array.dtype.kind == "V" else array)


def _write_names(group: Any, name: str, names: list[str]) -> None:
    """Write names as an attribute; one of more than 64 kB is written in parts."""
    array = np.asarray([each.encode() for each in names]) if names else np.zeros(0, "S1")
    parts = -(-array.nbytes // LONGEST)
    for number, part in enumerate(np.array_split(array, max(parts, 1))):
        group.attrs[name if parts <= 1 else f"{name}{number}"] = part


LONGEST = 60_000  # bytes of an attribute
