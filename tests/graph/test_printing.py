"""A printed graph reads like the program."""

import inspect
import re
import textwrap

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def text_of(function, *specs):
    """The text of a graph, with lines of this file counted from the function's first."""
    start = inspect.getsourcelines(function)[1] - 1
    text = str(dt.function(function, input_signature=specs).graph(*specs))
    return re.sub(r"(:)(\d+)$", lambda m: f":{int(m[2]) - start}", text, flags=re.M)


def check(found, expected):
    """Compare two texts, up to the widths of the columns."""
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


def test_what_stands_where():
    """Check that small constants stand at their uses, defaults are left out, and several results are numbered."""
    table, empty = np.full(9, 2.5, "float32"), np.full(9, np.nan, "float32")

    def run(x, i):
        small = x + np.arange(8, dtype="float32")
        parts = [x, table, empty, np.ones(9, "float32") > 0, np.arange(9)]
        long = [ops.concatenate([x, ops.cast(part, "float32")], 0) for part in parts[1:]]
        q, r = ops.qr(ops.reshape(x, (2, 4)))
        sums = ops.sum(x, 0, True) + ops.sum(x, axis=-1)
        chosen = ops.where(x >= 0.5, -x, 1e-7)
        return small, *long, r, sums, chosen, ops.softmax(x), ops.cast(i, "float64"), ops.matmul(q, q, transpose_b=True)

    check(
        text_of(run, dt.spec((8,)), dt.spec((), "int32")),
        """
        graph run(arg0: float32[8], arg1: int32[])
          constants Const_1: float32[9], all 2.5, Const_2: float32[9], Const_3: float32[9], all 1, Const_4: float32[9] \
from 0 to 8
          AddV2 = arg0 + [0., 1., 2., 3., 4., 5., 6., 7.] float32[8] test_printing.py:2
          ConcatV2 = ConcatV2([arg0, Const_1]) float32[17] :4
          ConcatV2_1 = ConcatV2([arg0, Const_2]) float32[17]
          ConcatV2_2 = ConcatV2([arg0, Const_3]) float32[17]
          ConcatV2_3 = ConcatV2([arg0, Const_4]) float32[17]
          Reshape = Reshape(arg0, (2, 4)) float32[2,4] :5
          Qr:0, Qr:1 = Qr(Reshape) float32[2,2], float32[2,4]
          Sum = Sum(arg0, axis=0, keepdims=True) float32[1] :6
          Sum_1 = Sum(arg0, axis=-1) float32[]
          AddV2_1 = Sum + Sum_1 float32[1]
          GreaterEqual = arg0 >= 0.5 bool[8] :7
          Neg = -arg0 float32[8]
          SelectV2 = SelectV2(GreaterEqual, Neg, 1e-07) float32[8]
          Softmax = Softmax(arg0) float32[8] :8
          Cast = Cast(arg1, dtype='float64') float64[]
          MatMul = MatMul(Qr:0, Qr:0, transpose_b=True) float32[2,2]
          return AddV2, ConcatV2, ConcatV2_1, ConcatV2_2, ConcatV2_3, Qr:1, AddV2_1, SelectV2, Softmax, Cast, MatMul
        """,
    )


def lines_of(graph):
    """The text without file and line."""
    return [re.sub(r" +(test_printing.py)?:\d+$", "", line) for line in str(graph).split("\n")]


def test_columns_are_aligned_and_not_too_wide():
    graph = dt.Graph("wide")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    v = dt.Variable(np.zeros((2, 3), "float32"), name="v")
    with graph.as_default():
        short = ops.exp(x, name="short")
        ops.qr(x, name="a_name_of_more_than_twenty_four_letters")
        ops.concatenate([short] * 12, axis=1)
        v.assign(short)
    assert lines_of(graph) == [
        "graph wide(x: float32[2,3])",
        f"  {'short':24} = {'Exp(x)':64}  float32[2,3]",
        f"  a_name_of_more_than_twenty_four_letters:0, a_name_of_more_than_twenty_four_letters:1 = {'Qr(x)':64}  "
        "float32[2,2], float32[2,3]",
        f"  {'ConcatV2':24} = ConcatV2([{', '.join(['short'] * 12)}], axis=1)  float32[2,36]",
        f"  {'v':24}:= {'short':64}  float32[2,3]",
        "  return ",
    ]


def test_places_are_aligned_behind_specs():
    graph = dt.Graph("places")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    y = ops.exp(x)
    ops.qr(y)
    first, second = str(graph).split("\n")[1:3]
    assert re.fullmatch(r"  Exp        = Exp\(x\)   float32\[2,3\]      test_printing.py:\d+", first)
    assert re.fullmatch(r"  Qr:0, Qr:1 = Qr\(Exp\)  float32\[2,2\], float32\[2,3\]  +:\d+", second)
    assert len(first) == len(second) - (len("float32[2,2], float32[2,3]") - 16)


def test_lines_of_several_files():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    places = [("/one/a.py", 1), None, ("/one/a.py", 1), ("/one/a.py", 2), ("/two/a.py", 2), None, ("/two/a.py", 3)]
    for place in places:
        ops.exp(x).op.where = place
    found = [line.partition("float32[]")[2].strip() for line in str(graph).split("\n")[1:-1]]
    assert found == ["a.py:1", "", "", ":2", "a.py:2", "", ":3"]


def test_variables_callables_and_none():
    v, w = dt.Variable(1.0, name="v"), dt.Variable([1.0, 2.0], name="w")
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec((2, 3)), "x")
        v.assign(v.read() * 2.0)
        w.assign_add([1.0, 1.0])
        ops.cond(v.read() > 0, lambda: x, lambda: -x)
        ops.clip(x, 0.0, w[0])
        ops.transpose(x)
    text = str(graph)
    assert "\n  variables v: float32[], w: float32[2]\n" in text
    assert re.search(r"\n  v +:= Mul +float32\[\]\n", text)
    assert re.search(r"\n  AddV2 += w \+ \[1., 1.\]", text)
    assert "then_branch=then, else_branch=else)" in text
    assert "\n    then_branch: then(x: float32[2,3])\n      return x\n    else_branch: else(x: float32[2,3])\n" in text
    assert re.search(r"= Transpose\(x\) ", text)
    assert "constants" not in text


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">=", "==", "!="])
def test_operators(symbol):
    graph = dt.Graph()
    x, y = (graph.placeholder(dt.spec((2, 2)), name) for name in "xy")
    eval(f"x {symbol} y", {"x": x, "y": y})
    assert f" = x {symbol} y  " in str(graph)
