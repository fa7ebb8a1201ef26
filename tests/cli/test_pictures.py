"""`dovetail show --html`: pictures of functions and of files."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.cli.main import main
from tests.libraries import require

MODELS = Path(__file__).parents[1] / "formats" / "tensorflow" / "models"
PROGRAM = """
import dovetail as dt

def step(x, scale):
    return dt.ops.tanh(x) * scale
"""


@pytest.fixture
def show(capsys, tmp_path, monkeypatch):
    """A function that runs the command in an empty folder, and returns the exit status and the text."""
    monkeypatch.syspath_prepend(tmp_path)  # restored afterwards
    (tmp_path / "a_step.py").write_text(PROGRAM)

    def run(*arguments):
        with contextlib.chdir(tmp_path):
            status = main(["show", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def nodes_in(path):
    """The names of nodes in a file for Model Explorer."""
    nodes = json.loads(path.read_text())["graphs"][0]["nodes"]
    return [next(pair["value"] for pair in node["attrs"] if pair["key"] == "name") for node in nodes]


def test_a_function(show, tmp_path):
    inputs = "x=float32[2,3]", "scale=float32[]"
    assert show("--html", "a_step.py:step", *inputs) == (0, "wrote step.html\n")
    assert "Tanh" in (tmp_path / "step.html").read_text()
    status, text = show("a_step.py:step", *inputs)
    assert status == 0 and "graph step(arg0: float32[2,3]" in text and "a_step.py:5" in text
    assert show("--out", "g.svg", "a_step.py:step", *inputs) == (0, "wrote g.svg\n")


@pytest.mark.parametrize(("model", "count"), [("frozen.pb", 2), ("mlp", 8), ("loop1.meta", 1)])
def test_weights_of_files_of_tensorflow(show, tmp_path, model, count):
    """Constants have their values, and so have variables of a SavedModel, and of a graph beside its checkpoint.

    The SavedModel has four more handles, which nothing restores.
    """
    require("google.protobuf", "files of TensorFlow are messages")
    assert show("--out", "page.html", MODELS / model) == (0, "wrote page.html\n")
    found = re.findall(r'\["[^"]+","float32\[[\d,]+\]",(\{"first"|null)', (tmp_path / "page.html").read_text())
    assert found.count('{"first"') == count


def test_files(show, tmp_path):
    f = dt.function(lambda x: dt.ops.tanh(x) * 2.0, name="f")
    f(dt.ops.ones(3))
    dt.save(f, tmp_path / "one")
    dt.save({"a": f, "b": f.graph(dt.spec((2,)))}, tmp_path / "two.safetensors")
    assert show("--html", "one") == (0, "wrote one.html\n")
    status, text = show("one", "--beside", "two.safetensors")
    assert status == 1 and "--beside needs a picture: add --html" in text
    assert show("--html", "one", "--beside", "two.safetensors") == (0, "wrote one.html\n")
    assert "only here" in (tmp_path / "one.html").read_text()
    assert show("--out", "two.json", "two.safetensors") == (0, "wrote two.json\n")
    names = nodes_in(tmp_path / "two.json")
    assert "0_f/Tanh" in names and "1_f/Tanh" in names
    dt.save([1, 2], tmp_path / "none")
    status, text = show("--html", "none")
    assert (status, text) == (1, "dovetail: 'none' has no graph; `dovetail show none` prints its contents.\n")


def test_graphs_of_tensorflow(show, tmp_path):
    require("google.protobuf", "files of TensorFlow are messages")
    from dovetail.formats.wire.messages import TENSORFLOW

    proto = TENSORFLOW.GraphDef()
    proto.node.add(name="net/y", op="Relu", input=["net/x:1", "^loop"])  # before its input
    proto.node.add(name="net/x", op="Unpack", device="/device:GPU:0")
    loop = proto.node.add(name="loop", op="While", input=["net/x"])
    loop.attr["body"].func.name = "body_1"
    loop.attr["T"].list.type.append(1)
    body = proto.library.function.add()
    body.signature.name = "body_1"
    body.signature.input_arg.add(name="carry", type=1)
    body.node_def.add(name="again", op="While", input=["carry"]).attr["body"].func.name = "body_1"  # it calls itself
    body.ret["result"] = "again:output:0"
    (tmp_path / "net.pb").write_bytes(proto.SerializeToString())
    assert show("--out", "net.json", "net.pb") == (0, "wrote net.json\n")
    assert nodes_in(tmp_path / "net.json") == ["net/x", "loop", "net/y"]
    outer, inner = json.loads((tmp_path / "net.json").read_text())["graphs"]
    assert [edge["sourceNodeOutputId"] for edge in outer["nodes"][2]["incomingEdges"]] == ["1", "control"]
    assert [node["label"] for node in inner["nodes"]] == ["Placeholder", "While", "Output"]
    assert {"key": "device", "value": "/device:GPU:0"} in outer["nodes"][0]["attrs"]
    assert show("--html", "net.pb")[0] == 0 and show("--out", "net.dot", "net.pb")[0] == 0


@pytest.mark.parametrize("name", ["recurrent", "loop"])
def test_a_saved_model(show, tmp_path, name):
    require("google.protobuf", "files of TensorFlow are messages")
    assert show("--out", "net.json", MODELS / name) == (0, "wrote net.json\n")
    graphs = {each["id"]: each["nodes"] for each in json.loads((tmp_path / "net.json").read_text())["graphs"]}
    assert all(inner in graphs for nodes in graphs.values() for node in nodes for inner in node.get("subgraphIds", []))
    inside = {node["label"] for nodes in [*graphs.values()][1:] for node in nodes}
    assert len(graphs) > 2 and {"StatelessWhile", "While"} & inside and {"Placeholder", "Output"} <= inside


def test_errors_are_one_line(show):
    for arguments, problem in {
        ("--out", "g.png", "a_step.py:step"): "does not say a format",
        ("--html", "a_step.py:step"): "needs example inputs for its parameters",
        ("--html", "a_step.py:stop"): "Did you mean 'step'?",
        ("--html", "gone.py:step"): "no file 'gone.py'",
        ("--html", "gone"): "no file 'gone'",
        ("--html", "a_step.py", "x=float32[2]"): "takes no example inputs",
        ("a_step.py", "x=float32[2]"): "takes no example inputs",
    }.items():
        status, text = show(*arguments)
        assert status == 1 and text.startswith("dovetail: ") and problem in text and text.count("\n") == 1, text


def test_the_graph_of_a_signature(show, tmp_path):
    options = MODELS / "mlp", "--signature", "serving_default"
    assert show("--out", "s.json", *options) == (0, "wrote s.json\n")
    names = nodes_in(tmp_path / "s.json")
    status, text = show(*options)
    assert status == 0 and text.startswith("graph serving_default(") and any("MatMul" in name for name in names)
    assert show(MODELS / "mlp", "--signature", "train")[1].startswith("dovetail: there is no signature 'train'")
    assert "it has no signatures" in show(MODELS / "loop1.index", "--signature", "train")[1]
