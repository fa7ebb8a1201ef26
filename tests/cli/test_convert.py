"""`dovetail convert`: each kind of file to the others, edits on the way, and the result in TensorFlow."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.cli import convert, forms, writers
from dovetail.cli.main import main
from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.kinds import KINDS
from dovetail.formats.wire.bundle import Bundle
from dovetail.formats.wire.messages import ONNX
from tests import foreign
from tests.libraries import require

MODELS = Path(__file__).parents[1] / "formats" / "tensorflow" / "models"
MLP = np.load(MODELS / "mlp.npz")


def run(*arguments) -> int:
    return main(["convert", *map(str, arguments)])


def result(path: Path, key: str = "output_0", **inputs: np.ndarray) -> np.ndarray:
    """The result of the main signature of a model, computed on numpy."""
    with dt.engine("numpy"):
        found = forms.signature_of(forms.read(path), None, [])(**inputs)
    return found[key].numpy()


CHAIN = ["model.safetensors", "exported", "frozen.pb", "model.onnx", "frozen.pbtxt", "again", "last.safetensors"]


def test_a_model_goes_through_all_kinds_of_files(tmp_path, capsys):
    source = MODELS / "mlp"
    for name in CHAIN:
        options = ["--signature", "serving_default"] if source == MODELS / "mlp" else []
        assert run(source, tmp_path / name, *options, "--freeze") == 0
        source = tmp_path / name
        np.testing.assert_allclose(result(source, keras_tensor=MLP["x0"]), MLP["y"], atol=1e-4)
    assert capsys.readouterr().out.splitlines() == [f"wrote {tmp_path / name}" for name in CHAIN]


def test_arrays_go_through_all_kinds_of_files(tmp_path):
    source = MODELS / "loop1.index"
    for name in ("a.npz", "a.safetensors", "a.ckpt", "b.index", "b.npz"):
        assert run(source, tmp_path / name) == 0
        source = tmp_path / name
    expected, found = Bundle(str(MODELS / "loop1")), np.load(tmp_path / "b.npz")
    assert {*found.files} == {*expected}
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_a_model_that_is_not_edited_keeps_all_that_it_has(tmp_path):
    assert run(MODELS / "loop", tmp_path / "again") == 0
    again, words = dt.saved_model.load(tmp_path / "again"), np.array(["a", "c"], object)
    assert again.signatures["look_up"](words=words)["numbers"].tolist() == [1, 0]
    assert again.graph_def == dt.saved_model.load(MODELS / "loop").graph_def
    assert run(MODELS / "rnn1.pb", tmp_path / "rnn1") == 0
    assert list(dt.saved_model.load(tmp_path / "rnn1").signatures) == ["serving_default"]


def test_variables_of_a_model(tmp_path):
    assert run(MODELS / "mlp", tmp_path / "w.npz", "--half") == 0
    found = np.load(tmp_path / "w.npz")
    assert sorted((found[name].shape, str(found[name].dtype)) for name in found.files) == [
        ((3,), "float16"), ((6, 8), "float16"), ((8,), "float16"), ((8, 3), "float16"),
    ]  # fmt: skip


EDITED = [
    (["--half"], {}, 2e-2, (None, 6)),
    (["--half", "bfloat16", "--freeze"], {}, 2e-1, (None, 6)),
    (["--batch", "3"], {}, 1e-4, (3, 6)),
    (["--rename-input", "keras_tensor=x", "--rename-output", "output_0=y"], {"x": "y"}, 1e-4, (None, 6)),
]


@pytest.mark.parametrize(("options", "keys", "error", "shape"), EDITED, ids=[" ".join(case[0]) for case in EDITED])
@pytest.mark.parametrize("name", ["exported", "own.safetensors"])
def test_edits(options, keys, error, shape, name, tmp_path):
    assert run(MODELS / "mlp", tmp_path / name, "--signature", "serving_default", *options) == 0
    model = forms.read(tmp_path / name)
    ((taken, given),) = keys.items() or [("keras_tensor", "output_0")]
    found = result(tmp_path / name, given, **{taken: MLP["x0"]})
    np.testing.assert_allclose(found, MLP["y"], rtol=error)
    (signature,) = model.signatures.values()
    assert signature.graph.inputs[0].shape == shape
    dtypes = {str(op.attrs["variable"].dtype) for op in signature.graph.find("ReadVariableOp")}
    assert dtypes == (set() if "--freeze" in options else {"float16"} if "--half" in options else {"float32"})


def test_a_fixed_batch_is_freed(tmp_path):
    assert run(MODELS / "mlp", tmp_path / "one", "--batch", "1") == 0
    assert run(tmp_path / "one", tmp_path / "any", "--batch", "none") == 0
    assert result(tmp_path / "any", keras_tensor=np.ones((5, 6), "float32")).shape == (5, 3)


def test_a_cut_behind_a_layer(tmp_path):
    assert run(MODELS / "frozen.pb", tmp_path / "cut.pb", "--outputs", "conv/Relu:0") == 0
    x = np.load(MODELS / "frozen.npz")["x.image"]
    assert result(tmp_path / "cut.pb", "conv/Relu:0", image=x).shape == (len(x), 3, 3, 3)
    assert not forms.signature_of(forms.read(tmp_path / "cut.pb"), None, []).graph.find("Softmax")


WRONG = [
    (["mlp", "x.npz"], "'x.npz' is there already; add --force"),
    (["loop1.meta", "x.pb"], "it has no signature, so add --outputs NAME"),
    (["mlp", "x.tflite"], "take the SavedModel it was made of"),
    (["mlp", "x.mp4"], "the name says no kind of file: end it in .pb, "),
    (["loop1.index", "x"], "'x' holds layers of Keras or a model, which cannot be made of arrays"),
    (["loop1.index", "y.npz", "--batch", "1"], "--batch is for models, and"),
    (["frozen.pb", "x.ckpt"], "no signature of the model reads a variable"),
    (["loop", "x", "--signature", "look_up"], "strings, tables or records for it; save the whole model"),
    (["mlp", "x", "--batch", "few"], "--batch is a whole number or none, not 'few'"),
    (["mlp", "x", "--signature", "train"], "no signature 'train'; there are serve, serving_default"),
    (["frozen.pb", "x", "--rename-input", "x=y"], "--rename-input: 'graph' has no key 'x' among its inputs, image"),
    (["frozen.pb", "x", "--rename-input", "x"], "write OLD=NEW"),
    (["frozen.pb", "x", "--outputs", "block/Relu:0"], "did you mean conv/Relu"),
    (["mlp", "y.npz", "--half", "bfloat16"], "NumPy's files have no bfloat16: write a .safetensors"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(line) for line, _ in WRONG])
def test_wrong_calls_are_errors_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_bytes(b"kept")
    assert run(MODELS / arguments[0], *arguments[1:]) == 1
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"] and (tmp_path / "x.npz").read_bytes() == b"kept"


def test_a_target_is_replaced_if_that_is_said(tmp_path):
    assert run(MODELS / "mlp", tmp_path / "w.npz") == run(MODELS / "mlp", tmp_path / "w.npz", "--force") == 0
    assert len(np.load(tmp_path / "w.npz").files) == 4


def test_the_tables_know_all_names():
    assert {*forms.READERS} <= {kind.name for kind in KINDS}
    assert {form for writer in writers.WRITERS.values() for form in writer} == {forms.Layers, forms.Model, forms.Arrays}
    assert all(f".{name}" in convert.DESCRIPTION for end in writers.WRITERS if end for name in [end[1:]])


def opened(path: Path, **inputs: np.ndarray) -> np.ndarray:
    """The only result of a file, by the library that reads such files."""
    if path.suffix in (".pb", ".pbtxt"):
        (key,) = forms.signature_of(forms.read(path), None, []).outputs
        found = foreign.graph_def(path, {f"{name}:0": x for name, x in inputs.items()}, fetches=[f"{key}:0"])
    else:
        read = {"": foreign.saved_model, ".onnx": foreign.onnx, ".keras": foreign.keras}[path.suffix]
        found = read(path, inputs)
    (value,) = found.values()
    return value


@pytest.mark.parametrize(("options", "keys", "error", "shape"), EDITED, ids=[" ".join(case[0]) for case in EDITED])
@pytest.mark.parametrize("name", ["exported", "frozen.pb", "frozen.pbtxt", "model.onnx"])
def test_other_libraries_run_what_was_edited(options, keys, error, shape, name, tmp_path):
    assert run(MODELS / "mlp", tmp_path / name, "--signature", "serving_default", *options) == 0
    x = MLP["x0"][: shape[0]]
    np.testing.assert_allclose(opened(tmp_path / name, **{next(iter(keys), "keras_tensor"): x}), MLP["y"], rtol=error)


KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import keras, numpy as np
model = keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(4, "relu"), keras.layers.Dense(2, name="y")])
model.save(sys.argv[1])
np.save(sys.argv[2], np.asarray(model(np.ones((2, 3)))))
"""
FROM_KERAS = """
import sys
from dovetail.cli.main import main
source, *targets = sys.argv[1:]
sys.exit(max(main(["convert", source, target]) for target in targets))
"""


def test_a_model_of_keras_becomes_the_others(tmp_path):
    require("keras", "it reads the file")
    source, known = tmp_path / "m.h5", tmp_path / "known.npy"
    subprocess.run([sys.executable, "-c", KERAS, source, known], check=True, capture_output=True)
    targets = [
        tmp_path / name for name in ("exported", "m.pb", "m.safetensors", "m.npz", "m.keras", "m.weights.h5", "m.onnx")
    ]
    line = [sys.executable, "-c", FROM_KERAS, source, *targets]
    done = subprocess.run([*map(str, line)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for target in targets[:3]:
        found = result(target, x=np.ones((2, 3), "float32"))
        np.testing.assert_allclose(found, np.load(known), atol=1e-6)
    assert sorted(array.shape for array in np.load(targets[3]).values()) == [(2,), (3, 4), (4,), (4, 2)]
    (found,) = forms.signature_of(forms.read(targets[-1]), None, [])(np.ones((2, 3), "float32")).values()
    np.testing.assert_allclose(found.numpy(), np.load(known), atol=1e-6)
    for target in (targets[0], targets[1], targets[4], targets[-1]):
        np.testing.assert_allclose(opened(target, x=np.ones((2, 3), "float32")), np.load(known), atol=1e-6)
    assert not list(tmp_path.glob(".*"))


# -- names with colons, and files of other libraries -------------------------------------------------------------------


def with_colons(path: Path) -> Path:
    """A model of ONNX whose names have colons, as exporters write them."""
    nodes = [("Relu", "x:0", "onnx::Pow_25"), ("Tanh", "onnx::Pow_25", "y:0")]
    graph = ONNX.GraphProto(node=[ONNX.NodeProto(op_type=kind, input=[x], output=[y]) for kind, x, y in nodes])
    for values, name in ((graph.input, "x:0"), (graph.output, "y:0")):
        kind = values.add(name=name).type.tensor_type
        kind.elem_type = 1
        kind.shape.dim.add(dim_value=3)
    message = ONNX.ModelProto(graph=graph, ir_version=8)
    message.opset_import.add(version=18)
    path.write_bytes(message.SerializeToString())
    return path


@pytest.mark.parametrize("name", ["x.onnx", "x.safetensors"])
@pytest.mark.parametrize("output", ["y:0", "onnx::Pow_25", "onnx::Pow_25:0"])
def test_names_with_colons_are_found(tmp_path, name, output):
    source, x = with_colons(tmp_path / "colons.onnx"), np.array([-1.0, 0.5, 2.0], "float32")
    assert run(source, tmp_path / name, "--outputs", output) == 0
    with dt.engine("numpy"):
        (found,) = forms.signature_of(forms.read(tmp_path / name), None, [])(x).values()
    expected = np.maximum(x, 0)
    np.testing.assert_allclose(found.numpy(), np.tanh(expected) if output == "y:0" else expected, rtol=1e-6)


@pytest.mark.parametrize(
    "error", [KeyError("x"), NotImplementedError("no op"), ValueError("a name"), TypeError("a kind")]
)
def test_what_a_writer_refuses_is_told_in_one_line(tmp_path, capsys, monkeypatch, error):
    def write(value, path):
        raise error

    monkeypatch.setitem(writers.WRITERS, ".pb", {forms.Model: write})
    assert run(MODELS / "mlp", tmp_path / "x.pb") == 1
    assert f"x.pb' cannot be written: {error}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        ("m/constants.pkl", "a program of TorchScript: `torch.onnx.export`"),
        ("m/archive_format", "a program of torch.export: `torch.onnx.export`"),
        ("m/data.pkl", "a pickle of PyTorch.*`safetensors.torch.save_file`"),
    ],
)
def test_files_of_pytorch_are_refused_with_advice(tmp_path, capsys, part, advice):
    path = tmp_path / "model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(part, b"")
    for read in (dt.load, dt.onnx.load, dt.saved_model.load):
        with pytest.raises(FormatError, match=advice):
            read(path)
    assert run(path, tmp_path / "x.onnx") == main(["show", str(path)]) == 1
    assert re.search(advice, capsys.readouterr().err)


def relu(path: Path, opset: int = 18, result: str = "y") -> None:
    """A file of ONNX with one node."""
    x, y = (ONNX.ValueInfoProto(name=name) for name in "xy")
    x.type.tensor_type.elem_type = y.type.tensor_type.elem_type = 1
    node = ONNX.NodeProto(op_type="Relu", input=["x"], output=[result])
    message = ONNX.ModelProto(ir_version=8, graph=ONNX.GraphProto(name="g", node=[node], input=[x], output=[y]))
    message.opset_import.add(version=opset)
    path.write_bytes(message.SerializeToString())


def cut_off(path: Path) -> None:
    relu(path)
    path.write_bytes(path.read_bytes()[:-3])


DAMAGED = {
    "new.onnx": (lambda path: relu(path, 99), "'new.onnx' cannot be read: its opset: found 99; needed: at most 28"),
    "named.onnx": (lambda path: relu(path, result="z"), "'named.onnx' cannot be read: .*'y'; needed: the name of a"),
    "cut.onnx": (cut_off, "'cut.onnx' cannot be read: the file: found no ModelProto; needed: the bytes of one, whole"),
    "empty.onnx": (Path.touch, "'empty.onnx' cannot be read: the model: found no graph"),
    "bad.pb": (lambda path: path.write_bytes(b"\n\xff\xff"), "'bad.pb' cannot be read: the file: found no GraphDef"),
    "bad.npz": (lambda path: path.write_bytes(b"PK\3\4x"), "'bad.npz' cannot be read: the archive: found BadZipFile"),
    "gone.onnx": (lambda path: None, "there is no file 'gone.onnx'[.]$"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_files_that_cannot_be_read_are_named_in_one_line(name, tmp_path, monkeypatch, capsys):
    make, message = DAMAGED[name]
    monkeypatch.chdir(tmp_path)
    make(Path(name))
    assert run(name, "other.npz" if name.endswith("npz") else "other") == 1
    said = capsys.readouterr().err.strip()
    assert re.search(message, said), said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("other.keras", "'other.keras' holds layers of Keras, which cannot be made of a model[.]"),
        ("gone/other.onnx", "'gone/other.onnx' cannot be written: there is no folder 'gone'; make it first[.]"),
    ],
)
def test_targets_that_cannot_be_written_are_named(target, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    relu(Path("x.onnx"))
    assert run("x.onnx", target) == 1
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("name", ["x.pb", "x.pbtxt", "x"])
@pytest.mark.parametrize("names", [("a/", "a", "b", "c"), ("a", "a/", "b/", "b"), ("c", "d", "a", "a/")])
def test_names_that_tensorflow_takes_for_one_return(tmp_path, name, names):
    graph = ONNX.GraphProto()
    for kind, x, y in zip(("Relu", "Neg"), names[:2], names[2:], strict=True):
        graph.node.append(ONNX.NodeProto(op_type=kind, input=[x], output=[y], name=x))
        for values, text in ((graph.input, x), (graph.output, y)):
            values.add(name=text).type.tensor_type.elem_type = 1
            values[-1].type.tensor_type.shape.dim.add(dim_value=2)
    message = ONNX.ModelProto(graph=graph, ir_version=8)
    message.opset_import.add(version=18)
    (tmp_path / "x.onnx").write_bytes(message.SerializeToString())
    assert run(tmp_path / "x.onnx", tmp_path / name) == run(tmp_path / name, tmp_path / "back.onnx") == 0
    given = dict(zip(names, np.float32([[-1, 2], [3, 4]]), strict=False))
    with dt.engine("numpy"):
        for path in (tmp_path / name, tmp_path / "back.onnx"):
            found = forms.signature_of(forms.read(path), None, [])(**given)
            assert [found[key].numpy().tolist() for key in names[2:]] == [[0, 2], [-3, -4]]
    if name == "x":
        found = foreign.saved_model(tmp_path / name, given)
        assert [found[key].tolist() for key in names[2:]] == [[0, 2], [-3, -4]]
