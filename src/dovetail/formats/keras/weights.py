"""Weights by layer in files of HDF5 of Keras 1 and 2, in the order and the layout that Keras 3's layers have.

Source: `preprocess_weights_for_loading` of Keras 2.3.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dovetail.formats.hdf5 import Array, Group

Arrays = list[np.ndarray]
TOP = "top_level_model_weights"
MARKS = "layer_names", "layer_names0", "nb_layers"  # attributes of groups with weights by layer
CONVOLUTIONS = "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"
GATES = {"LSTM": 4, "GRU": 3}


class Stored(NamedTuple):
    """The weights of a model in a file.

    Attributes:
        layers: name → arrays, in order; they are not read yet.
        version: the first number of Keras' version.
        backend: the backend of Keras that wrote it.
    """

    layers: dict[str, list[Array]]
    version: int
    backend: str


def is_stored(root: Group) -> bool:
    """Whether a file has weights by layer, alone or with a model."""
    return "model_weights" in root or not root.attributes.keys().isdisjoint(
        ("layer_names", "layer_names0", "nb_layers")
    )


def stored(root: Group) -> Stored:
    """The weights of a file, alone or with a model.

    Raises:
        FormatError: they are damaged.

    Example:
        >>> from dovetail.formats import hdf5
        >>> found = stored(hdf5.read("tests/formats/keras/models/mlp.h5"))
        >>> {name: len(arrays) for name, arrays in found.layers.items()}
        {'dense': 2, 'dense_1': 2, 'dense_2': 1, 'top_level_model_weights': 0}
    """
    group = root.group("model_weights") if "model_weights" in root else root
    version = _text(group, "keras_version") or _text(root, "keras_version") or "1"
    backend = _text(group, "backend") or _text(root, "backend")
    names = _texts(group, "layer_names")
    if "nb_layers" in group.attributes:  # of Keras 0
        names = [name for name in (f"layer_{number}" for number in range(len([*group]))) if name in group]
    layers = {name: [*named(group.group(name)).values()] for name in names}
    if TOP in group:
        layers[TOP] = [*named(group.group(TOP)).values()]
    return Stored(layers, int(version[0]) if version[0].isdigit() else 2, backend)


def named(group: Group) -> dict[str, Array]:
    """The arrays of a layer or an optimizer by their names, in order; they are not read yet.

    Raises:
        FormatError: they are damaged.
    """
    names = _texts(group, "weight_names") or [name for name in group if name.startswith("param_")]
    arrays = {}
    for name in names:
        if not isinstance(array := group[name], Array):
            raise group.blocks.wrong(array.place, "a group", "an array")
        arrays[name] = array
    return arrays


def _text(group: Group, name: str) -> str:
    value = group.attributes.get(name)
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _texts(group: Group, name: str) -> list[str]:
    """An attribute that is a list of texts; a long one stands in parts: `name0`, `name1`, …."""
    parts = [group.attributes[name]] if name in group.attributes else []
    for number in itertools.count():
        if (parts and number == 0) or f"{name}{number}" not in group.attributes:
            break
        parts.append(group.attributes[f"{name}{number}"])
    texts = [text for part in parts if isinstance(part, list) for text in part]
    return [group.blocks.text(text, group.place) for text in texts]


# -- layouts ----------------------------------------------------------------------------------------------------------


class Layer(NamedTuple):
    """A layer of Keras 3 whose weights are in a file.

    Attributes:
        cls: the name of its class.
        shapes: the shapes of its weights.
        channels_first: whether its images have channels before rows.
    """

    cls: str
    shapes: Sequence[tuple[int, ...]]
    channels_first: bool = False


def count(layer: Layer, version: int) -> int:
    """The number of arrays that a file has for a layer; Keras 1 has an array for each gate."""
    many = {"LSTM": 12, "GRU": 9, "ConvLSTM2D": 12}
    return many[layer.cls] if version == 1 and layer.cls in many else len(layer.shapes)


def converted(layer: Layer, arrays: Arrays, version: int, backend: str) -> Arrays:
    """The weights of a layer, as Keras 3 has them.

    Args:
        layer: the layer.
        arrays: as the file has them.
        version: the first number of the version of Keras that wrote them.
        backend: its backend.
    """
    for convert in _conversions(layer, version, backend):
        arrays = convert(layer, arrays)
    return arrays


def _conversions(layer: Layer, version: int, backend: str) -> Iterator[Callable[[Layer, Arrays], Arrays]]:
    cls = layer.cls
    if version == 1:
        if cls in GATES or cls == "ConvLSTM2D":
            yield _joined_gates
        elif cls in CONVOLUTIONS:
            yield _of_keras1
    if backend == "theano" and cls in (*CONVOLUTIONS, "ConvLSTM2D"):
        yield _flipped
    if cls in (*CONVOLUTIONS, "ConvLSTM2D"):
        yield _turned
    if cls in GATES and version > 1:
        yield _of_cudnn


def _joined_gates(layer: Layer, arrays: Arrays) -> Arrays:
    """One array for the gates input, forget, cell and output; Keras 1 has one for each, with the cell before forget."""
    order = (0, 1, 2) if len(arrays) == 9 else (0, 2, 1, 3)  # numbers of Keras 1's triples
    parts = [np.concatenate([arrays[3 * gate + kind] for gate in order], axis=-1) for kind in range(3)]
    if layer.cls == "ConvLSTM2D" and layer.channels_first:
        turned = [np.concatenate([arrays[3 * g + k].transpose(2, 3, 1, 0) for g in order], axis=-1) for k in range(2)]
        parts[:2] = turned
    return parts[: len(layer.shapes)]


def _of_keras1(layer: Layer, arrays: Arrays) -> Arrays:
    """Kernels of convolutions in the order rows, columns, channels, filters."""
    kernel, *rest = arrays
    shape = tuple(layer.shapes[0])
    if layer.cls == "Conv1D":
        if kernel.shape[:2] != (shape[0], 1) or kernel.shape[3] != shape[2]:
            kernel = kernel.transpose(2, 3, 1, 0)
        kernel = kernel[:, 0]
    elif layer.cls == "Conv2DTranspose":
        kernel = kernel.transpose((2, 3, 0, 1) if layer.channels_first else (0, 1, 3, 2))
    elif layer.channels_first:
        kernel = kernel.transpose(*range(2, kernel.ndim), 1, 0)
    return [kernel, *rest]


def _flipped(layer: Layer, arrays: Arrays) -> Arrays:
    """Kernels of Theano, whose convolutions turn them around."""
    kernels = 2 if layer.cls == "ConvLSTM2D" else 1
    return [
        np.flip(array, tuple(range(array.ndim - 2))) if number < kernels else array
        for number, array in enumerate(arrays)
    ]


def _turned(layer: Layer, arrays: Arrays) -> Arrays:
    """Kernels of early files of Keras 2, with filters and channels before rows and columns."""
    pairs = zip(arrays, layer.shapes, strict=False)
    return [a.transpose(3, 2, 0, 1) if a.ndim == 4 and a.shape != tuple(shape) else a for a, shape in pairs]


def _of_cudnn(layer: Layer, arrays: Arrays) -> Arrays:
    """Weights of CuDNNLSTM and CuDNNGRU: kernels are transposed, and there are two biases."""
    gates = GATES[layer.cls]
    if len(arrays) != 3 or arrays[2].shape != (2 * gates * arrays[1].shape[0],):
        return arrays
    kernel, recurrent, bias = arrays
    kernel = np.hstack([part.T.reshape(part.shape, order="F") for part in np.hsplit(kernel, gates)])
    recurrent = np.hstack([part.T for part in np.hsplit(recurrent, gates)])
    both = bias.reshape(2, -1)
    return [kernel, recurrent, both if layer.cls == "GRU" else both.sum(0)]
