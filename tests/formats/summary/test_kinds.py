"""The kinds of files: the contents decide, not the name; a file of no kind is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats import safetensors
from dovetail.formats.summary.kinds import KINDS, kind_of, summarize
from tests.libraries import Library

safetensors_numpy, onnx, tf_keras = map(Library, ("safetensors.numpy", "onnx", "tf_keras"))
TESTS = Path(__file__).parents[2]
FILES = {  # kind → a file of it that another library wrote: one of the repository, or one in the folder `written`
    "npz": "formats/keras/folders/adam.npz",
    "HDF5": "formats/keras/models/attention.h5",
    "Keras 2 metadata": "formats/keras/folders/adam/keras_metadata.pb",
    "SavedModel": "formats/tensorflow/models/simple/saved_model.pb",
    "GraphDef": "formats/tensorflow/models/frozen.pb",
    "TensorFlow checkpoint": "objects.index",
    "state of checkpoints": "tf1/checkpoint",
    "MetaGraphDef": "tf1/model-2.meta",
    "TFRecord, event file": "examples.tfrecord",
}
WRITE = {  # kind → how another library writes a file of it
    "Dovetail's own file, safetensors": lambda path: safetensors_numpy.save_file({"a": np.zeros(2)}, path),
    "Keras model": lambda path: tf_keras.Sequential([tf_keras.Input((1,))]).save(str(path.with_suffix(".keras"))),
    "ONNX model": lambda path: onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])), path),
}


def test_the_contents_decide_not_the_name(tmp_path):
    safetensors.write(tmp_path / "x.npz", {"a": np.zeros(2)}, {})
    assert summarize(tmp_path / "x.npz").kind == "safetensors"
    np.savez(tmp_path / "y.npz", a=np.zeros(2))
    (tmp_path / "y.npz").rename(tmp_path / "x.safetensors")
    assert summarize(tmp_path / "x.safetensors").kind == "NumPy's arrays (npz)"


@pytest.mark.each("kind")
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_each_kind_is_known(kind, tmp_path, request):
    if kind in WRITE:
        WRITE[kind](tmp_path / "file")
        (path,) = tmp_path.iterdir()
    else:
        path = TESTS / FILES[kind]
        path = path if path.exists() else request.getfixturevalue("written") / FILES[kind]
    name = path.name if kind == "Keras 2 metadata" else "without a name"  # the contents tell all others
    assert kind_of(shutil.copy(path, tmp_path / name))[0] == kind


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x", b"\x00\x01\x02 something", "found the bytes b'.*needed: a file of one of these kinds: Dovetail's own"),
        ("x", b"", "nothing, the file is empty"),
        ("x.safetensors", b"\xff" * 20, "the first 8 bytes"),
        ("x.npz", b"PK", "the archive"),
    ],
)
def test_files_of_no_kind(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        summarize(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="no regular file"):
        summarize(tmp_path / "pipe")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        summarize(tmp_path / "gone")
