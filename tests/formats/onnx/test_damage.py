"""Damaged and hostile models of ONNX: each is refused with its place, or read in bounds of time and memory."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from onnx.parser import parse_model

import dovetail as dt
from dovetail.core.base.errors import FormatError
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
    with pytest.raises(FormatError, match=r"set_read_limits\(bytes="):
        dt.onnx.load(parse_model(graph))


def test_a_sequence_of_many_parts_is_a_node_that_is_not_computed():
    read = dt.onnx.load(model("s = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (s)", "", "float[1001] x"))
    assert "at most 1000 are unrolled" in read.opaque["s"]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("y = Softmax <axis = [0]> (x)", "its attribute 'axis' has the type INTS, not INT"),
        ("y = Transpose <perm = 1> (x)", "its attribute 'perm' has the type INT, not INTS"),
        ("q = SequenceConstruct (x) y = ConcatFromSequence (q)", "it has no attribute 'axis'"),
        ("y = Gemm (x)", "it has no b"),
        ("y = OptionalGetElement ()", "its input 0 is missing"),
        ("y = MaxPool (x)", "it has no kernel_shape"),
        ("y = MaxPool <kernel_shape = [2, 2]> (x)", "it takes an input of 4 axes"),
        ('y = ScatterElements <reduction = "most"> (x, i, x)', "'most' is none of 'none', 'add'"),
    ],
)
def test_a_node_that_lacks_something_says_what(node, reason):
    graph = f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[2, 3] x, int64[2, 3] i) => (float[k] y) {{ {node} }}"""
    assert reason in dt.onnx.load(parse_model(graph)).opaque["y"]


def test_strings_that_many_indices_take_are_a_node_that_is_not_computed():
    nodes, weights = "i = ConstantOfShape (n) y = Gather (c, i)", 'string[1] c = {"a"}, int64[1] n = {100000000}'
    assert "needs integer tensors" in dt.onnx.load(model(nodes, weights)).opaque["y"]


# -- files of some bytes that ask for large values, many operations, or much time --------------------------------------


def model(
    nodes: str, weights: str, inputs: str = "float[2] x", outputs: str = "float[k] y", functions: str = ""
) -> bytes:
    head = f'<ir_version: 8, opset_import: ["": 20, "own": 1, "ai.onnx.ml": 3]> g ({inputs}) => ({outputs}) <{weights}>'
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


def scans(depth: int) -> str:
    """Scans of one input in each other."""
    if depth == 0:
        return "o0 = Relu (w0)"
    body = f"b{depth} (float[2] w{depth - 1}) => (float[2] o{depth - 1}) {{ {scans(depth - 1)} }}"
    return f"o{depth} = Scan <num_scan_inputs = 1, body = {body}> (x)"


def functions(bodies: list[str], inputs: str) -> str:
    own = '<domain: "own", opset_import: ["": 20, "own": 1]>'
    return " ".join(f"{own} f{number} ({inputs}) => (y) {{ {body} }}" for number, body in enumerate(bodies))


def branched(leaf: str, count: int) -> list[str]:
    """Functions that each call the next one twice."""
    return [leaf, *(f"a = own.f{i} (x) b = own.f{i} (x) y = Concat <axis = 0> (a, b)" for i in range(count))]


def numbered(names: str, nodes: str, count: int = 40) -> str:
    """Nodes for each number, and one that joins what they give."""
    found = " ".join(nodes.format(i) for i in range(count))
    return f"{found} y = Concat <axis = 0> ({', '.join(names.format(i) for i in range(count))})"


def sizes(text: str, count: int = 40) -> str:
    return ", ".join(text.format(i, 1_000_000 + i) for i in range(count))


def learned(op: str, outputs: str = "y", **attributes: Any) -> bytes:
    """A model of one node of ONNX-ML."""
    texts = (f"{name} = {json.dumps(value)}" for name, value in attributes.items())
    return model(f"{outputs} = ai.onnx.ml.{op} <{', '.join(texts)}> (x)", "", "float[n, 3] x", "float[n, k] y")


def tree(count: int, step: int) -> bytes:
    """A tree whose nodes lead to the next one and to one behind it; without steps, of leaves, one with all numbers."""
    none, some, ones = [0] * count, [*range(count)], [1.0] * count
    kinds = ["BRANCH_LEQ" if step and i < count - 1 else "LEAF" for i in some]
    nodes = {"treeids": none, "nodeids": some, "featureids": none, "values": ones, "modes": kinds}
    nodes |= {"truenodeids": [min(i + step, count - 1) for i in some]}
    nodes |= {"falsenodeids": [min(i + 2 * step, count - 1) for i in some]}
    targets = {"treeids": none, "nodeids": none, "ids": none, "weights": ones}
    parts = {f"nodes_{key}": value for key, value in nodes.items()}
    return learned("TreeEnsembleRegressor", **parts, **{f"target_{key}": value for key, value in targets.items()})


TWICE = ["y = Tanh (x)", *(f"h = own.f{i} (x) y = own.f{i} (h)" for i in range(30))]
SHAPE = "y = Reshape (x, {})"
CELL = (
    "w = Constant <value_floats = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> () s = Constant <value_ints = [1, 4, 2]> ()"
    " m = Reshape (w, s) y = LSTM <hidden_size = 1> (x, m, m)"
)
STEPS = 300
WORDS = ['"a"'] * 9000
RESULTS = ", ".join(["float[k] y", *(f"float[k{i}] rc{i}" for i in range(STEPS))])
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
    "outer products": (
        model(
            chain('{new}a = Einsum <equation = "i,j->ij"> ({old}, {old}) {new} = Reshape ({new}a, flat)', 40, SHAPE),
            f"{TWO}, int64[1] flat = {{-1}}",
        ),
        "",
    ),
    "Gather": (
        model(
            f"i = Expand (z, n) s = Gather (c, i) {SHAPE.format('s')}",
            f"{TWO}, int64 z = {{0}}, int64[1] n = {{100000000}}",
        ),
        "bytes",
    ),
    "Unique": (
        model(f"i = Expand (z, n) s = Unique (i) {SHAPE.format('s')}", "int64 z = {2}, int64[1] n = {100000000}"),
        "bytes",
    ),
    "ranges": (
        model(
            numbered("r{}", "r{0} = Range (z, n{0}, o)"),
            f"int64 z = {{0}}, int64 o = {{1}}, {sizes('int64 n{} = {{{}}}')}",
        ),
        "bytes",
    ),
    "edges": (
        model(numbered("p{}", 'p{0} = Pad <mode = "edge"> (x, n{0})'), sizes("int64[2] n{} = {{{}, 1}}")),
        "bytes",
    ),
    "Resize": (
        model(
            'i = Reshape (x, s) r = Resize <mode = "cubic"> (i, , , n) y = Reshape (r, f)',
            "int64[4] s = {1, 1, 1, 2}, int64[4] n = {1, 1, 60000000, 60000000}, int64[1] f = {-1}",
        ),
        "bytes",
    ),
    "SplitToSequence": (
        model(
            "n = Expand (o, k) s = SplitToSequence (x, n) y = ConcatFromSequence <axis = 0> (s)",
            "int64[1] o = {1}, int64[1] k = {1000000}",
            "float[1000000] x",
        ),
        "operations",
    ),
    "SequenceMap": (
        model(
            "s = SplitToSequence (x) t = SequenceMap (s) <body = b (float[1] a) => (float[k] d) {"
            "u = SplitToSequence (x) d = ConcatFromSequence <axis = 0> (u) }> y = ConcatFromSequence <axis = 0> (t)",
            "",
            "float[1000] x",
        ),
        "operations",
    ),
    "scans": (model(scans(9), "", "float[1000, 2] x", "float[k] o9"), ""),
    "strings": (
        model(
            "a = Reshape (c, n) y = StringConcat (a, c)",
            f"string[9000] c = {{{', '.join(WORDS)}}}, int64[2] n = {{9000, 1}}",
            outputs="string[k] y",
        ),
        "bytes",
    ),
    "SVMClassifier": (
        learned(
            "SVMClassifier",
            "z, y",
            classlabels_ints=[*range(2000)],
            vectors_per_class=[1] * 2000,
            coefficients=[1.0],
            rho=[1.0],
        ),
        "bytes",
    ),
    "tree of one leaf": (tree(8000, 0), "bytes"),
    "tree of shared nodes": (tree(5000, 1), "bytes"),
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
    "many searches": (
        model(
            numbered("r{}", 'z{0} = RegexFullMatch <pattern = "(a*)*b{0}"> (c) r{0} = Cast <to = 1> (z{0})', 300),
            'string[1] c = {"aaaaaaaaaa"}',
        ),
        "seconds",
    ),
    "alternatives": (
        model(
            f'z = RegexFullMatch <pattern = "{"(|)" * 40}b"> (c) y = Relu (x)',
            'string[1] c = {"a"}',
            outputs="float[2] y, bool[1] z",
        ),
        "seconds",
    ),
    "RoiAlign": (
        model(
            "y = RoiAlign <output_height = 100000000, output_width = 100000000, sampling_ratio = 9> (x, r, b)",
            "int64[1] b = {0}, float[1, 4] r = {0, 0, 1, 1}",
            "float[1, 1, 2, 2] x",
        ),
        "bytes",
    ),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_files_that_ask_for_too_much_are_refused_with_the_limit(case):
    data, limit = CRAFTED[case]
    message = rf"set_read_limits\({limit}=" if limit else "more elements than 63 bits can number"
    with little(), pytest.raises(FormatError, match=f"the model.* '.*{message}"):
        dt.onnx.load(data)


def test_a_loop_without_an_end_is_refused_with_the_limit():
    body = "b (int64 i, bool c, seq(float[2]) s) => (bool c, seq(float[2]) t) { t = Identity (s) }"
    nodes = f"q = SequenceConstruct (x) l = Loop (, go, q) <body = {body}> y = ConcatFromSequence <axis = 0> (l)"
    with little(8), pytest.raises(FormatError, match=r"'t': .*set_read_limits\(operations="):
        dt.onnx.load(model(nodes, "bool go = {1}"))


def test_nodes_that_share_what_is_known_are_read_in_linear_time():
    steps = chain("{new} = Mul ({old}, o) r{new} = Reshape (x, {new})", STEPS, "y = Relu (x)")
    with little(8):
        read = dt.onnx.load(model(steps, "int64[1] c = {2}, int64[1] o = {1}", outputs=RESULTS))
        other = dt.onnx.load(model(f"c = Shape (x) {steps}", "int64[1] o = {1}", "float[n] x", RESULTS))
    assert not read.opaque and not other.opaque
    assert other(np.ones(3, "float32"))[f"rc{STEPS - 1}"].shape == (3,)


@pytest.mark.parametrize("node", ["{new} = Reshape ({old}, s)", "{new} = Unheard ({old})"])
def test_nodes_that_are_not_computed_are_read_in_linear_time(node):
    with little(8):
        read = dt.onnx.load(model(chain(node, STEPS, "y = Relu ({})"), "int64[1] s = {3}", "float[2] c"))
    assert len(read.opaque) == STEPS


def test_the_operations_that_a_node_becomes_count():
    data = model("y = own.f8 (x)", "", "float[3, 1, 1] x", functions=functions(branched(CELL, 8), "x"))
    before = dt.config.read_limits()
    try:
        dt.config.set_read_limits(operations=1000)
        with pytest.raises(FormatError, match=r"the model.*set_read_limits\(operations="):
            dt.onnx.load(data)
    finally:
        dt.config.set_read_limits(*before)


def test_values_of_inputs_that_ask_for_too_much_are_refused_with_the_limit():
    read = dt.onnx.load(model("y = HannWindow (n)", "", "int64 n"))
    assert read(np.array(8)).shape == (8,)
    with little(), pytest.raises(FormatError, match=r"HannWindow 'y'.*set_read_limits\(bytes="):
        read(np.array(10**9))


def test_limits_that_are_set_let_a_file_be_read():
    before = dt.config.read_limits()
    data = model("y = own.f9 (x)", "", functions=functions(TWICE[:10], "x"))
    try:
        assert sum(op.type == "Tanh" for op in dt.onnx.load(data).graph) == 2**9
        dt.config.set_read_limits(operations=1)
        with pytest.raises(FormatError, match="1,535 operations; needed: at most 801"):
            dt.onnx.load(data)
    finally:
        dt.config.set_read_limits(*before)
