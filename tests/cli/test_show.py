"""`dovetail show`: its tables, JSON, and errors in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dovetail.cli.main import main
from dovetail.formats import safetensors


@pytest.fixture
def show(capsys):
    """A function that runs the command and returns the exit status and the text."""

    def run(*arguments):
        status = main(["show", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def test_tables(tmp_path, show):
    arrays = {"layer/kernel": np.zeros((300, 200), "float32"), "layer/bias": np.zeros(200, "float32")}
    safetensors.write(tmp_path / "x", arrays, {"format": "np"})
    assert show(tmp_path / "x") == (
        0,
        f"""\
{tmp_path / "x"}: safetensors
  format: np

tensors
name          dtype    shape      elements  bytes
------------  -------  ---------  --------  ------
layer/kernel  float32  [300,200]  60,000    240 kB
layer/bias    float32  [200]      200       800 B
2 tensors                         60,200    241 kB
""",
    )


def test_long_tables_are_cut(tmp_path, show):
    safetensors.write(tmp_path / "x", {f"t{number}": np.zeros(number) for number in range(40)}, {})
    _, text = show(tmp_path / "x")
    assert "t15 " in text and "t14 " not in text and "... 15 more (--all)" in text and "40 tensors" in text
    _, text = show(tmp_path / "x", "--all")
    assert "t1 " in text and "more" not in text


def test_json(tmp_path, show):
    safetensors.write(tmp_path / "x", {"a": np.zeros((2, 3))}, {})
    status, text = show(tmp_path / "x", "--json")
    found = json.loads(text)
    assert status == 0 and found["kind"] == "safetensors"
    assert found["tables"][0]["rows"] == [["a", "float64", [2, 3], 6, 48]]


def test_control_characters_are_written_out(tmp_path, show):
    safetensors.write(tmp_path / "x", {"a\x1b[2J": np.zeros(2)}, {"by": "\x07"})
    _, text = show(tmp_path / "x")
    assert "a\\x1b[2J" in text and "by: \\x07" in text and "\x1b" not in text


def test_errors_are_one_line(tmp_path, show):
    (tmp_path / "x").write_bytes(b"nothing that is known")
    status, text = show(tmp_path / "x")
    assert status == 1 and text.startswith(f"dovetail: '{tmp_path / 'x'}' cannot be read: the beginning: found")
    status, text = show(tmp_path / "gone")
    assert status == 1 and text.startswith("dovetail: ") and "gone" in text and text.count("\n") == 1


def test_flops_of_a_function(tmp_path, show):
    (tmp_path / "step.py").write_text("def step(x, y): return x @ y\n")
    place = f"{tmp_path / 'step.py'}:step"
    status, text = show("--flops", place, "x=float32[2,3]", "y=float32[3,4]")
    assert (status, text.splitlines()[-1].split()) == (0, ["48", "0", "total"])
    status, text = show("--flops", place, "x=float32[?,3]", "y=float32[3,4]")
    assert status == 1 and "shapes are known" in text
    safetensors.write(tmp_path / "x", {"a": np.zeros(2)}, {})
    status, text = show("--flops", tmp_path / "x")
    assert status == 1 and "file.py:function" in text


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["show", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "kinds of files:" in text and "dovetail show model.safetensors --all" in text
