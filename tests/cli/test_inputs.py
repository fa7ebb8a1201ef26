"""Functions and example inputs that a command line names."""

from __future__ import annotations

import sys

import pytest

import dovetail as dt
from dovetail.cli.inputs import WrongInput, graph_of, imported, inputs_of

WRONG = {
    "x": "no example input",
    "=float32[2]": "no example input",
    "x=float32[2,a]": "dimensions are whole numbers",
    "x=float31[2]": "Did you mean 'float32'?",
    "x=float32": "neither a tensor",
    "x=__import__('os')": "neither a tensor",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_inputs(text):
    with pytest.raises(WrongInput, match=WRONG[text].replace("?", r"\?")):
        inputs_of([text])


def test_an_input_is_given_once():
    with pytest.raises(WrongInput, match="'x' is given twice"):
        inputs_of(["x=float32[2]", "x=float32[3]"])


def test_spaces_do_not_matter():
    assert inputs_of(["x = float32 [ 2, ? ]"]) == inputs_of(["x=float32[2,?]"])


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "a_program.py"
    path.write_text(
        "import dovetail as dt\n"
        "def plain(x, axis=0):\n    return dt.ops.sum(x, axis=axis)\n"
        "@dt.function(input_signature=[dt.spec((None, 3))])\ndef signed(x):\n    return dt.ops.tanh(x)\n"
        "@dt.function\ndef called(x):\n    return dt.ops.exp(x)\n"
        "called(dt.ops.ones(5))\n"
        "class Net:\n    @staticmethod\n    def call(x):\n        return -x\n"
        "number = 3\n"
    )
    return path


def test_functions_of_a_file(program):
    at = f"{program}:plain"
    graph = graph_of(imported(at), inputs_of(["axis=1", "x=float32[4,3]"]), at)
    assert [t.shape for t in graph.outputs] == [(4,)] and graph.name == "plain"
    assert graph_of(imported(f"{program}:signed"), {}, "").inputs[0].shape == (None, 3)
    assert graph_of(imported(f"{program}:called"), {}, "").inputs[0].shape == (5,)
    assert len(graph_of(imported(f"{program}:Net.call"), {"x": dt.spec((2,))}, "")) == 2


def test_errors_say_what_is_needed(program):
    with pytest.raises(WrongInput, match=r"needs example inputs for its parameters \(x, axis=0\), none given"):
        graph_of(imported(f"{program}:plain"), {}, "plain")
    with pytest.raises(WrongInput, match="y given"):
        graph_of(imported(f"{program}:plain"), {"y": dt.spec(())}, "plain")
    with pytest.raises(WrongInput, match="Did you mean 'plain'"):
        imported(f"{program}:plane")
    with pytest.raises(WrongInput, match="no function, but int"):
        graph_of(imported(f"{program}:number"), {}, "number")
    with pytest.raises(FileNotFoundError, match="no file"):
        imported("gone.py:f")
