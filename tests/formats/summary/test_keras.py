"""Summaries of Keras' files, as tf_keras and Keras' own layout write them; weights are counted by Keras."""

from __future__ import annotations

import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.kinds import summarize
from tests.libraries import Library, require

require("h5py", "weights are in HDF5")
require("tf_keras", "it writes the files")

tf_keras, h5py = Library("tf_keras"), Library("h5py")


@pytest.fixture(scope="module")
def model():
    layers = tf_keras.layers
    inner = tf_keras.Sequential([layers.Input((8,)), layers.Dense(8, name="inside")], name="inner")
    outer = [layers.Input((4,)), layers.Dense(8, name="first"), inner, layers.Dense(3, name="last")]
    return tf_keras.Sequential(outer, name="digits")


@pytest.mark.parametrize(("name", "kind"), [("x.keras", "Keras model"), ("x.h5", "HDF5"), ("x.weights.h5", "HDF5")])
def test_models_and_weights(model, tmp_path, name, kind):
    write = model.save_weights if "weights" in name else model.save
    write(str(tmp_path / name))
    (tmp_path / name).rename(tmp_path / "file")
    found = summarize(tmp_path / "file")
    assert found.kind == kind
    tables = {table.title: table for table in found.tables}
    shapes = sorted(row[2] for row in tables["weights"].rows if row[1] == "float32")
    assert shapes == sorted(tuple(weight.shape) for weight in model.weights)
    assert tables["weights"].total[-1] == 4 * model.count_params() and tables["weights"].rows[0][2] == (8, 8)
    if "weights" not in name:
        assert found.facts == {
            "written by": f"Keras {import_module('tf_keras').__version__}",
            "model": "Sequential digits",
        }
        assert ("Dense", 3) in tables["layers"].rows


def test_folders_of_keras2():
    folder = Path(__file__).parents[1] / "keras" / "folders" / "nested"
    whole, alone = summarize(folder), summarize(folder / "keras_metadata.pb")
    assert (whole.kind, alone.kind) == ("SavedModel", "layers of a Keras 2 folder")
    assert whole.facts["model"] == alone.facts["model"] and alone.tables[0] in whole.tables
    assert alone.tables[0].title == "layers" and {name for name, _ in alone.tables[0].rows} >= {"Dense"}


def test_links_are_not_followed(tmp_path):
    with h5py.File(tmp_path / "x", "w") as file:
        file["a/w"] = np.zeros((2, 3), "float32")
        file["soft"] = h5py.SoftLink("/a")
        file["away"] = h5py.ExternalLink("/etc/hosts", "/")
        file["a/again"] = file["a"]  # a circle
    assert summarize(tmp_path / "x").tables[0].rows == [("a/w", "float32", (2, 3), 6, 24)]


@pytest.mark.parametrize("name", ["x.keras", "x.h5"])
def test_damaged_files(model, tmp_path, name):
    model.save(str(tmp_path / name))
    data = (tmp_path / name).read_bytes()
    refused = 0
    for end in range(0, len(data), len(data) // 40):
        (tmp_path / name).write_bytes(data[:end])
        try:
            summarize(tmp_path / name)
        except FormatError:
            refused += 1
    assert refused > 30


def test_a_config_that_is_none(tmp_path):
    for config, message in (("{", "config.json: found no JSON"), ("[1]", None)):
        with zipfile.ZipFile(tmp_path / "x", "w") as archive:
            archive.writestr("config.json", config)
            archive.writestr("metadata.json", "{}")
        if message is None:
            assert summarize(tmp_path / "x").tables == []
        else:
            with pytest.raises(FormatError, match=message):
                summarize(tmp_path / "x")
