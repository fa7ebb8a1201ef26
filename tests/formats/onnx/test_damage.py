"""Damaged and hostile models of ONNX: each is refused with its place, or read in bounds of time and memory."""

from __future__ import annotations

from itertools import pairwise

import pytest
from onnx.parser import parse_model

import dovetail as dt
from dovetail.core.errors import FormatError
from tests.formats.memory import little
from tests.formats.onnx.mutations import files, mutations

LARGE = 2**40


def test_changed_models_are_read_or_refused(tmp_path):
    found = mutations(500, 0, tmp_path)
    assert sum(found.values()) == 500
    for name in files(tmp_path):
        assert found[f"{name}: refused"] and found[f"{name}: read"], found


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Range (zero, large, one)",
        "y = HannWindow (large)",
        "y = MelWeightMatrix (one, large, large, low, low)",
        "y = EyeLike (x)",
        "z, y = MaxPool <kernel_shape = [3, 3], ceil_mode = 1> (images)",
        "y = AffineGrid (theta, sizes)",
        'y = Pad <mode = "reflect"> (x, pads)',
        "s = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (s)",
        'y = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, mode = "TF", '
        f"ngram_counts = [0], ngram_indexes = [{LARGE}], pool_int64s = [1]> (pads)",
    ],
    ids=lambda nodes: nodes.partition("(")[0].partition("= ")[2].partition(" ")[0],
)
def test_a_few_bytes_do_not_ask_for_large_arrays_while_they_are_read(nodes):
    graph = f"""<ir_version: 8, opset_import: ["": 20]>
        large (float[{LARGE}, 4] x, float[1, 1, {LARGE}, 8] images, float[1, 2, 3] theta) => (float[k] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 large = {{{LARGE}}}, float low = {{0}},
            int64[4] sizes = {{1, 1, {LARGE}, {LARGE}}}, int64[4] pads = {{{LARGE}, 0, 0, 0}}>
        {{ {nodes} }}"""
    reasons = " ".join(dt.onnx.load(parse_model(graph)).opaque.values())
    assert "while it is read" in reasons or "unrolled" in reasons, reasons


# -- files of some bytes that ask for large values, many operations, or much time --------------------------------------


def model(
    nodes: str, weights: str, inputs: str = "float[2] x", outputs: str = "float[k] y", functions: str = ""
) -> bytes:
    head = f'<ir_version: 8, opset_import: ["": 20, "own": 1]> g ({inputs}) => ({outputs}) <{weights}>'
    return parse_model(f"{head} {{ {nodes} }} {functions}").SerializeToString()


def chain(node: str, count: int, end: str) -> str:
    """Nodes that each take what the last one gives, from `c` on, and one that takes the end of them."""
    names = ["c", *(f"c{i}" for i in range(count))]
    nodes = [node.format(old=old, new=new) for old, new in pairwise(names)]
    return " ".join([*nodes, end.format(names[-1])])


def nested(depth: int, value: str, state: str, begin: str = "s0", step: str = "o0 = Relu ({})") -> str:
    """Loops of a thousand steps in each other."""
    if depth == 0:
        return step.format(value)
    inner = nested(depth - 1, f"s{depth}", state, begin, step)
    head = f"int64 i{depth}, bool g{depth}, {state} s{depth}) => (bool g{depth}, {state} o{depth - 1}"
    return f"o{depth} = Loop (n, , {value}) <body = b{depth} ({head}) {{ {inner} }}>"


def branches(depth: int) -> str:
    """Nodes for a branch, which calls the function below it in each of two branches."""
    if depth == 0:
        return "y = Tanh (x)"
    return " ".join(
        f"{name} = If (p) <then_branch = t{name} () => (a{name}) {{ a{name} = own.f{depth - 1} (x, p) }}, "
        f"else_branch = e{name} () => (b{name}) {{ b{name} = own.f{depth - 1} (x, p) }}>"
        for name in ("h", "y")
    )


def functions(bodies: list[str], inputs: str) -> str:
    own = '<domain: "own", opset_import: ["": 20, "own": 1]>'
    return " ".join(f"{own} f{number} ({inputs}) => (y) {{ {body} }}" for number, body in enumerate(bodies))


TWICE = ["y = Tanh (x)", *(f"h = own.f{i} (x) y = own.f{i} (h)" for i in range(30))]
SHAPE = "y = Reshape (x, {})"
TWO = "int64[2] c = {1, 2}"
STRINGS = "float[2] y, string[k] z"
CRAFTED = {
    "Concat": (model(chain("{new} = Concat <axis = 0> ({old}, {old})", 40, SHAPE), TWO), "bytes"),
    "folded Concat": (model(chain("{new} = Concat <axis = 0> ({old}, {old})", 40, "y = Tile (x, {})"), TWO), "bytes"),
    "Tile": (model(chain("{new} = Tile ({old}, n)", 40, SHAPE), f"{TWO}, int64[1] n = {{2}}"), "bytes"),
    "Expand": (model("s = Expand (c, n)" + SHAPE.format("s"), "int64 c = {1}, int64[1] n = {10000000000}"), "bytes"),
    "Pad": (model(chain("{new} = Pad ({old}, n)", 40, SHAPE), f"{TWO}, int64[2] n = {{100000000, 1}}"), "bytes"),
    "ConstantOfShape": (model("s = ConstantOfShape (c)" + SHAPE.format("s"), "int64[1] c = {10000000000}"), "bytes"),
    "StringConcat": (
        model(
            chain("{new} = StringConcat ({old}, {old})", 40, "y = Relu (x) z = Identity ({})"),
            'string[1] c = {"ab"}',
            outputs=STRINGS,
        ),
        "bytes",
    ),
    "functions": (model("y = own.f30 (x)", "", functions=functions(TWICE, "x")), "operations"),
    "branches": (
        model(
            "y = own.f20 (x, p)",
            "",
            "float[2] x, bool p",
            functions=functions([branches(i) for i in range(21)], "x, p"),
        ),
        "operations",
    ),
    "loops": (model(nested(14, "x", "float[2]") + " y = Identity (o14)", "int64 n = {1000}"), "operations"),
    "unrolled loops": (
        model(
            "q = SequenceConstruct (x) "
            + nested(4, "q", "seq(float[2])", step="o0 = Identity ({})")
            + " y = ConcatFromSequence <axis = 0> (o4)",
            "int64 n = {1000}",
        ),
        "operations",
    ),
    "RegexFullMatch": (
        model(
            'z = RegexFullMatch <pattern = "(a+)+b"> (c) y = Relu (x)',
            f'string[1] c = {{"{"a" * 60}"}}',
            outputs="float[2] y, bool[1] z",
        ),
        "seconds",
    ),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_files_that_ask_for_too_much_are_refused_with_the_limit(case):
    data, limit = CRAFTED[case]
    with little(), pytest.raises(FormatError, match=rf"the model.*set_read_limits\({limit}="):
        dt.onnx.load(data)


def test_limits_that_are_set_let_a_file_be_read():
    before = dt.config.read_limits()
    data = model("y = own.f9 (x)", "", functions=functions(TWICE[:10], "x"))
    try:
        assert sum(op.type == "Tanh" for op in dt.onnx.load(data).graph) == 2**9
        dt.config.set_read_limits(operations=1)
        with pytest.raises(FormatError, match="1,535 operations; needed: at most 401"):
            dt.onnx.load(data)
    finally:
        dt.config.set_read_limits(*before)
