"""Weights by layer in files of Keras 1 and 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats import hdf5
from dovetail.formats.keras.weights import Layer, converted, is_stored, named, stored
from tests.libraries import Library

h5py = Library("h5py")
MODELS = Path(__file__).parent / "models"


def changed(path, new, before: bytes, after: bytes) -> None:
    """Copy a model with another configuration; its length may be another."""
    new.write_bytes(path.read_bytes())
    with h5py.File(new, "a") as file:
        text = file.attrs["model_config"]
        text = text.encode() if isinstance(text, str) else bytes(text)
        assert before in text
        file.attrs["model_config"] = text.replace(before, after)


def test_layers_in_order():
    found = stored(hdf5.read(MODELS / "cnn.hdf5"))
    assert [name for name, arrays in found.layers.items() if arrays] == [
        "conv2d",
        "batch_normalization",
        "conv2d_1",
        "dense",
    ]
    assert (found.version, found.backend) == (2, "tensorflow")
    assert found.layers["conv2d"][0].shape == (3, 3, 2, 4)


def test_names_in_parts_and_of_early_files(tmp_path):
    with h5py.File(tmp_path / "f", "w") as file:
        file.attrs["layer_names0"], file.attrs["layer_names1"] = [b"a"], [b"b"]
        for name in "ab":
            group = file.create_group(name)
            group.attrs["weight_names"] = [b"w/k:0"]
            group["w/k:0"] = np.ones(2)
    found = stored(hdf5.read(tmp_path / "f"))
    assert {name: [a.place for a in arrays] for name, arrays in found.layers.items()} == {
        "a": ["/a/w/k:0"],
        "b": ["/b/w/k:0"],
    }
    assert (found.version, found.backend) == (1, "")
    with h5py.File(tmp_path / "g", "w") as file:
        file.attrs["nb_layers"] = 1
        file.create_group("layer_0")["param_0"] = np.ones(3)
    root = hdf5.read(tmp_path / "g")
    assert is_stored(root) and [*named(root["layer_0"])] == ["param_0"] and len(stored(root).layers["layer_0"]) == 1
    with h5py.File(tmp_path / "g", "a") as file:
        file["layer_0"].attrs["weight_names"] = [b"param_1"]
    with pytest.raises(FormatError, match="no 'param_1' among param_0"):
        stored(hdf5.read(tmp_path / "g"))


KERNEL = np.arange(3 * 2 * 4 * 5.0).reshape(3, 2, 4, 5)  # rows, columns, channels, filters


def test_kernels():
    layer = Layer("Conv2D", [(3, 2, 4, 5)])
    first = Layer("Conv2D", [(3, 2, 4, 5)], channels_first=True)
    np.testing.assert_array_equal(converted(layer, [KERNEL], 2, "theano")[0], KERNEL[::-1, ::-1])
    np.testing.assert_array_equal(converted(first, [KERNEL.transpose(3, 2, 0, 1)], 1, "")[0], KERNEL)
    np.testing.assert_array_equal(converted(layer, [KERNEL], 1, "")[0], KERNEL)
    volume = np.arange(720.0).reshape(2, 3, 4, 5, 6)
    found = converted(Layer("Conv3D", [volume.shape], True), [volume.transpose(4, 3, 0, 1, 2)], 1, "")
    np.testing.assert_array_equal(found[0], volume)
    turned = Layer("Conv2DTranspose", [(3, 2, 5, 4)])
    np.testing.assert_array_equal(converted(turned, [KERNEL], 1, "")[0], KERNEL.transpose(0, 1, 3, 2))


def test_gates():
    """Keras 1 has the gates i, c, f, o one by one; Keras 3 has i, f, c, o in one array."""
    parts = {gate: [np.full((2, 1), n), np.full((1, 1), n + 10), np.full(1, n + 20)] for n, gate in enumerate("ifco")}
    arrays = [array for gate in "icfo" for array in parts[gate]]
    kernel, recurrent, bias = converted(Layer("LSTM", [(2, 4), (1, 4), (4,)]), arrays, 1, "")
    assert kernel[0].tolist() == [0, 1, 2, 3] and recurrent[0].tolist() == [10, 11, 12, 13]
    assert bias.tolist() == [20, 21, 22, 23]
