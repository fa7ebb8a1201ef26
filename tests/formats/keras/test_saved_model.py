"""Configurations in Keras 2's folders, as plain data, whole and damaged."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.core.values.spec import spec
from dovetail.formats.keras.saved_model import is_folder, read_folder
from dovetail.formats.wire.messages import KERAS
from tests.formats.keras import FOLDERS
from tests.libraries import require

require("google_crc32c", "the files need the extra")


def test_a_folder_has_the_configuration_of_its_model():
    saved = read_folder(FOLDERS / "adam")
    assert is_folder(FOLDERS / "adam") and not is_folder(FOLDERS)
    first = saved.config["config"]["layers"][0]
    assert (saved.config["class_name"], first["config"]["batch_input_shape"]) == ("Sequential", [None, 6])
    assert saved.training["optimizer_config"]["config"]["beta_1"] == 0.8
    assert saved.inputs == spec((None, 6))
    assert read_folder(FOLDERS / "mlp").training is None


def test_a_folder_that_keras_did_not_save_has_none():
    saved = read_folder(FOLDERS.parents[1] / "tensorflow" / "models" / "loop")
    assert (saved.config, saved.training, saved.inputs) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "found list; needed: an object of JSON"),
        ('{"config": {', "no JSON"),
        ('{"config": ' + '{"a":[' * 400 + "1" + "]}" * 400 + "}", "nested too deeply"),
        ('{"config": {"class_name": "__tuple__"}}', "a __tuple__: found none"),
        ('{"save_spec": {"class_name": "TypeSpec", "type_spec": "tf.TensorSpec", "serialized": [1]}}', "a TypeSpec"),
    ],
)
def test_damaged_configurations_are_refused(tmp_path, text, problem):
    folder = tmp_path / "model"
    shutil.copytree(FOLDERS / "mlp", folder)
    metadata = KERAS.SavedMetadata.FromString((folder / "keras_metadata.pb").read_bytes())
    metadata.nodes[0].metadata = text
    (folder / "keras_metadata.pb").write_bytes(metadata.SerializeToString())
    with pytest.raises(FormatError, match=problem):
        read_folder(folder)


def test_damaged_bytes_are_refused_or_read(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(FOLDERS / "legacy_adam", folder)
    file, random = folder / "keras_metadata.pb", np.random.RandomState(0)
    data, refused = file.read_bytes(), 0
    for number in range(100):
        changed = bytearray(data)
        for place in random.randint(0, len(data), 1 + number % 4):
            changed[place] = random.randint(256)
        file.write_bytes(bytes(changed))
        try:
            read_folder(folder)
        except FormatError:
            refused += 1
    assert 0 < refused < 100
