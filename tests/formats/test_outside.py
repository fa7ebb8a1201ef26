"""Advice for files of other kinds than a reader's."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.errors import FormatError
from dovetail.formats.outside import READERS as KNOWN
from dovetail.formats.wire.messages import ONNX

MODELS = Path(__file__).parent
READERS = {"dt.load": dt.load, "dt.onnx.load": dt.onnx.load, "dt.saved_model.load": dt.saved_model.load}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Kind → a file of it."""
    folder = tmp_path_factory.mktemp("kinds")
    dt.save({"w": np.ones(2)}, folder / "own.safetensors")
    np.savez(folder / "arrays.npz", w=np.ones(2))
    node = ONNX.NodeProto(op_type="Relu", input=["x"], output=["y"])
    model = ONNX.ModelProto(ir_version=8, graph=ONNX.GraphProto(node=[node]))
    model.opset_import.add(version=18)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    shutil.copy(MODELS / "keras" / "models" / "nested.h5", folder / "weights")
    shutil.copy(MODELS / "tensorflow" / "models" / "frozen.pb", folder / "frozen.pb")
    return {
        "safetensors": folder / "own.safetensors",
        "npz": folder / "arrays.npz",
        "ONNX": folder / "model.onnx",
        "HDF5": folder / "weights",
        "a graph of TensorFlow": folder / "frozen.pb",
    }


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["safetensors", "npz", "ONNX", "HDF5", "a graph of TensorFlow"])
def test_a_reader_names_the_one_for_a_file_of_another_kind(files, kind, name):
    (other,) = (each.name for each in KNOWN if each.kind == kind)
    if other == name:
        return
    with pytest.raises(FormatError) as caught:
        READERS[name](files[kind])
    assert f"a file of another kind ({kind}), which {other} reads; needed: a file for {name}." in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_no_kind_keeps_the_readers_own_error(tmp_path, name):
    (tmp_path / "file").write_bytes(b"\xff\xfe\xfd" * 40)
    with pytest.raises(FormatError) as caught:
        READERS[name](tmp_path / "file")
    assert "which" not in str(caught.value)


def test_a_damaged_file_of_the_readers_own_kind_keeps_its_error(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"\xff\xfe\xfd" * 40)
    with pytest.raises(FormatError, match="ModelProto"):
        dt.onnx.load(tmp_path / "model.onnx")


def test_a_damaged_part_of_a_model_keeps_its_error(tmp_path):
    shutil.copytree(MODELS / "tensorflow" / "models" / "mlp", tmp_path / "model")
    (tmp_path / "model" / "variables" / "variables.index").write_bytes(b"\xff\xfe\xfd" * 40)
    with pytest.raises(FormatError, match=r"variables\.index' cannot be read") as caught:
        model = dt.saved_model.load(tmp_path / "model")
        model(np.zeros((1, 6), "float32"))
    assert "another kind" not in str(caught.value)
