"""`dovetail show --explain`: functions of files, expressions, and errors in one line."""

from __future__ import annotations

import json
import re

import pytest

from dovetail.cli.main import main
from tests.distributed import ranks
from tests.libraries import require

require("torch", "it runs the convolution")

INPUTS = "x=float32[2,8,8,3]", "w=float32[3,3,3,4]"


@pytest.fixture
def show(capsys):
    """A function that runs the command and returns the exit status and the text."""

    def run(*arguments):
        status = main(["show", "--explain", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def test_an_expression_of_k(show):
    status, text = show("K.conv2d(x, w)", *INPUTS, "--engine", "torch")
    lines = text.splitlines()
    assert (status, lines[0]) == (0, "plan of 'expression' on torch: 1 segment")
    assert lines[2] == "Conv2D 'Conv2D': float32[2,6,6,4], at <command line>:1"
    assert [line.split()[0] for line in lines[3:]] == ["call", "op", "runs", "rule", "library", "routine"]
    assert "K.conv2d (dovetail/backend/convolution.py:" in lines[3]


def test_a_function_of_a_file(show, tmp_path):
    file = tmp_path / "program.py"
    file.write_text("from dovetail import backend as K\n\ndef step(x, *, scale):\n    return K.exp(x) * scale\n")
    status, text = show(f"{file}:step", "x=float32[3]", "scale=float32[3]", "--engine", "numpy", "--json")
    told = json.loads(text)
    assert status == 0 and [op["type"] for op in told["operations"]] == ["Exp", "Mul"]
    assert told["operations"][0]["where"] == "program.py:4"
    assert told["operations"][0]["lines"][-1]["kind"] == "routine"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("K.conv2d(x, w",), "dovetail: 'K.conv2d(x, w' is neither file.py:function nor an expression"),
        (("x) + (x", "x=float32[3]"), "dovetail: 'x) + (x' is neither"),
        (("nowhere.py:step",), "dovetail: there is no file 'nowhere.py'"),
        (("K.exp(x)", "x=float32[a]"), "dovetail: 'x=float32[a]': dimensions are whole numbers"),
        (("K.conv2d(x, x)", "x=float32[3]", "--engine", "numpy"), "dovetail: K.conv2d: conv at <command line>:1: "),
    ],
)
def test_errors(show, arguments, problem):
    status, text = show(*arguments)
    assert status == 1 and text.startswith(problem) and "Traceback" not in text


PROGRAM = """
import dovetail as dt
from dovetail import ops

dt.distributed.init()

def step(x):
    return ops.all_gather(x / ops.all_reduce(ops.sum(x)), ranks=(0, 1))
"""


def test_exchanges(show, tmp_path):
    status, text = show("ops.broadcast_from(x * 2)", "x=float64[3]", "--engine", "numpy")
    assert status == 0 and "exchange" not in text  # one process exchanges nothing
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    for text in ranks.run("dovetail", ("numpy", "torch"), "show", "--explain", f"{file}:step", "x=float32[3]"):
        operations = {part.split("'")[1]: part for part in text.split("\n") if "'" in part and ", at " in part}
        assert operations["AllReduce"] == "AllReduce 'AllReduce': float32[], at program.py:8"
        assert operations["AllGather"] == "AllGather 'AllGather': float32[6], at program.py:8"
        assert re.findall(r"exchange +(.*)", text) == ["4 B, ranks 0, 1", "12 B, ranks 0, 1"], text
