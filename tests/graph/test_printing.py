"""A printed graph reads like the program."""

import inspect
import re
import textwrap

import numpy as np

import dovetail as dt
from dovetail import ops


def text_of(function, *specs):
    """The text with the lines of this file counted from the function's first."""
    start = inspect.getsourcelines(function)[1] - 1
    text = str(dt.function(function, input_signature=specs).graph(*specs))
    return re.sub(r"(:)(\d+)$", lambda m: f":{int(m[2]) - start}", text, flags=re.M)


def check(found, expected):
    """Equal but for the widths of the columns."""
    squeeze = [re.sub(r" +", " ", line.strip()) for line in found.split("\n")]
    assert squeeze == [re.sub(r" +", " ", line.strip()) for line in textwrap.dedent(expected).strip().split("\n")]


def test_a_step():
    w = dt.Variable(np.zeros((3, 4), "float32"), name="w")

    def step(x):
        h = ops.tanh(x @ w + 0.5)
        w.assign(w * 0.99)
        return h, -h

    check(
        text_of(step, dt.spec((None, 3))),
        """
        graph step(arg0: float32[?,3])
          variables w: float32[3,4]
          MatMul  = arg0 @ w       float32[?,4]  test_printing.py:2
          AddV2   = MatMul + 0.5   float32[?,4]
          Tanh    = Tanh(AddV2)    float32[?,4]
          Mul     = w * 0.99       float32[3,4]                  :3
          w      := Mul            float32[3,4]
          Neg     = -Tanh          float32[?,4]                  :4
          return Tanh, Neg
        """,
    )


def test_constants_and_arguments():
    table = np.arange(12, dtype="float32").reshape(3, 4)

    def lookup(i):
        rows = ops.sum(table * i, axis=1, name="rows") + np.array([1, 2, 3], "float32")
        return ops.reshape(rows, (1, -1)), ops.stack([i, i])

    text = text_of(lookup, dt.spec(()))
    assert "constants Const: float32[3,4] from 0 to 11" in text
    assert "= Const * arg0" in text
    assert "= Sum(Mul, axis=1)" in text
    assert "= rows + [1., 2., 3.]" in text
    assert "Pack([arg0, arg0])" in text
    assert re.search(r"Reshape\(\w+, \(1, -1\)\)", text)


def test_a_scan_shows_its_body():
    def total(x):
        return ops.scan(lambda carry, row: (carry + row, carry * 2.0), ops.zeros((3,)), x)

    text = text_of(total, dt.spec((5, 3)))
    assert re.search(r"Scan:0, Scan:1 += Scan\(.*\) +float32\[3\], float32\[5,3\]", text)
    assert re.search(r"\n    body: body\(.*\)\n      AddV2 +=.*\n      Mul +=.*\n      return AddV2, Mul\n", text)


def test_an_empty_graph():
    assert str(dt.Graph("empty")) == "graph empty()\n  return "
    assert repr(dt.Graph("empty")) == "<graph empty: 0 inputs, 0 operations, 0 outputs>"


def test_a_line_is_named_once():
    text = text_of(lambda x: ops.tanh(x) + ops.exp(x), dt.spec(()))
    assert text.count("test_printing.py") == 1
