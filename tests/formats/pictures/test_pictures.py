"""Pictures of graphs: their nodes, and the files that `show` writes."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import dovetail as dt
from dovetail.formats.pictures.page import numbers_of, page_data
from dovetail.formats.pictures.picture import OUTPUT, folded, picture_of
from dovetail.formats.pictures.show import FORMATS, notebook_html
from dovetail.formats.pictures.tree import Tree
from tests.formats.hostile import NAMES, hostile_data, hostile_graph


@pytest.fixture(scope="module")
def graph():
    """A graph with scopes, a variable, a constant, a loop, and an order that no tensor makes."""
    graph = dt.Graph("small")
    w = dt.Variable(np.ones((3, 2), "float32"), name="w")
    with graph.as_default():
        x = graph.placeholder(dt.spec((4, 3)), "x")
        with graph.name_scope("dense"):
            y = dt.ops.tanh(dt.ops.matmul(x, w) * 0.5)
        _, y = dt.ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, -y), (0, y))
        with graph.control_dependencies([graph.get_operation("dense/Tanh")]):
            z = dt.ops.exp(x)
        graph.outputs = [y, z]
    graph.get_operation("dense/Tanh").engine = "torch"
    return graph


def test_nodes(graph):
    data = {"dense/MatMul": {"time": 2.5}}
    picture = picture_of(graph, data, lambda op: {"length": len(op.name)})
    by_name = {node.name: node for node in picture.nodes}
    x, product, half = by_name["x"], by_name["dense/MatMul"], by_name["dense/Const"]
    assert (x.title, x.subtitle, x.outputs) == ("x", "float32[4,3]", ["float32[4,3]"])
    assert (half.title, half.type) == ("0.5", "Const")
    assert product.facts == {"bytes": 32, "length": 12, "time": 2.5}
    assert by_name["dense/Tanh"].facts["engine"] == "torch"
    assert product.attributes == [("transpose_a", "False"), ("transpose_b", "False")]
    assert [picture.nodes[number].title for number, _ in product.inputs] == ["x", "w"]
    assert re.fullmatch(r"(.*/)?test_pictures\.py:\d+", product.line.place) and "matmul(x, w)" in product.line.text
    assert [picture.nodes[number].name for number in by_name["Exp"].waits] == ["dense/Tanh"]
    assert [(key, inner.nodes[-1].type) for key, inner in by_name["While"].inner] == [
        ("condition", OUTPUT),
        ("body", OUTPUT),
    ]
    assert [node.name for node in picture.nodes if node.type == OUTPUT] == ["output_0", "output_1"]


def test_folded_weights():
    """A read of a variable has no node where an operation takes it; it has one as a result, or if others wait."""
    weight, given = (dt.Variable(np.ones((3, 2), "float32"), name=name) for name in ("layer/kernel", "given"))
    graph = dt.Graph("g")
    x = graph.placeholder(dt.spec((4, 3)), "x")
    with graph.as_default():
        large = np.arange(60, dtype="float32").reshape(3, 20)
        graph.outputs = [dt.ops.matmul(x, weight), dt.ops.matmul(-x, weight), dt.ops.matmul(x, large), given.read()]
    picture = folded(picture_of(graph))
    names = [node.title for node in picture.nodes]
    assert (
        names.count("given") == 1
        and "layer/kernel" not in names
        and "Const" not in {node.type for node in picture.nodes}
    )
    products = [node for node in picture.nodes if node.type == "MatMul"]
    taken = [[taken[:2] for taken in node.weights] for node in products]
    assert taken == [*2 * [[("layer/kernel", "float32[3,2]")]], [("Const", "float32[3,20]")]]
    assert [node.subtitle for node in products] == ["kernel [3,2]", "kernel [3,2]", "Const [3,20]"]
    assert products[0].weights[0].value().tolist() == np.ones((3, 2)).tolist()
    assert [picture.nodes[source].type for source, _ in products[1].inputs] == ["Neg"]
    assert products[2].weights[0].value().sum() == 1770.0
    weight.delete()
    assert numbers_of(products[0].weights[0].value()) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([True, False]), {"least": 0.0, "largest": 1.0, "first": "1, 0"}),
        (np.array([np.nan, np.inf], "float32"), {"odd": 2, "first": "nan, inf"}),
        (np.full(30, -2, "int8"), {"mean": -2.0, "first": ", ".join(24 * ["-2"]) + ", …"}),
        (np.array(["text"]), None),
        (np.array([1 + 2j]), None),
        (np.zeros((0, 3)), None),
    ],
)
def test_the_numbers_of_a_weight(value, expected):
    found = numbers_of(value)
    assert (found is None) if expected is None else (found | expected == found)


def test_gradients_are_in_scopes():
    weight = dt.Variable(np.ones((3, 2), "float32"), name="w")

    def step(x):
        with dt.GradientTape() as tape, dt.backend.name_scope("layer"):
            loss = dt.ops.sum(dt.ops.exp(dt.ops.matmul(x, weight)))
        with dt.backend.name_scope("update"):
            weight.assign_sub(tape.gradient(loss, weight))
        return loss

    def second(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            gradient = dt.gradients(dt.ops.exp(x) ** 2, x)
        return tape.gradient(gradient, x)

    names = {op.name for op in dt.function(step).graph(dt.spec((4, 3))).operations}
    assert {"layer/MatMul", "update/gradients/layer/MatMul", "update/Sub"} <= names
    heads = {op.name.rpartition("/")[0] for op in dt.function(second).graph(dt.spec((3,))).operations}
    assert heads == {"", "gradients", "gradients/gradients"}


def test_scopes_around_one_thing_are_no_items():
    graph = dt.Graph("g")
    x = graph.placeholder(dt.spec(()), "x")
    with graph.as_default(), graph.name_scope("a"), graph.name_scope("b"):
        y = dt.ops.tanh(x)
        with graph.name_scope("c"):
            graph.outputs = [dt.ops.exp(y)]
    tree = Tree(picture_of(graph))
    assert [item.label for item in tree.items] == ["g", "x", "a/b", "Tanh", "c/Exp", "output"]


def test_every_edge_is_one_piece_in_each_scope(graph):
    tree = Tree(picture_of(graph))
    for edge in tree.edges:
        pieces = list(tree.steps(edge))
        ends = {end for _, *both in pieces for end in both}
        assert {edge.source, edge.target} <= ends
        for scope, first, last in pieces:
            assert all(end == scope or tree.items[end].parent == scope for end in (first, last))


@pytest.mark.parametrize("suffix", FORMATS)
def test_files(graph, tmp_path, suffix):
    path = tmp_path / f"g{suffix}"
    graph.show(path, {"dense/MatMul": {"time": 2.5}})
    text = path.read_text()
    assert "MatMul" in text and "While" in text
    if suffix == ".svg":
        texts = [element.text for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
        assert {"dense", "body", "condition", "MatMul", "Neg", "w", "0.5"} <= {*texts}
    if suffix == ".dot":
        assert text.count("subgraph cluster") == 4 and text.count("{") == text.count("}")
    if suffix == ".json":
        graphs = {each["id"]: each["nodes"] for each in json.loads(text)["graphs"]}
        assert [*graphs] == ["small", "small/While/condition", "small/While/body"]
        for nodes in graphs.values():
            known = {node["id"] for node in nodes}
            assert all(edge["sourceNodeId"] in known for node in nodes for edge in node["incomingEdges"])
            assert all(inner in graphs for node in nodes for inner in node.get("subgraphIds", []))
        product = next(node for node in graphs["small"] if node["label"] == "MatMul")
        assert product["namespace"] == "dense" and {"key": "time", "value": "2.5"} in product["attrs"]
        assert product["outputsMetadata"] == [{"id": "0", "attrs": [{"key": "tensor_shape", "value": "float32[4,2]"}]}]


@pytest.mark.parametrize("suffix", FORMATS)
def test_hostile_names_stay_names(tmp_path, suffix):
    path = tmp_path / f"g{suffix}"
    hostile_graph().show(path, hostile_data())
    text = path.read_bytes().decode()
    if suffix == ".html":
        assert text.count("<script") == text.count("</script>") == 2
        held = re.search(r'id="graph">(.*?)</script>', text, re.DOTALL)[1]
        assert {*NAMES} <= {*json.loads(held)["strings"]} | {"a//b/ /"}
    if suffix == ".svg":
        titles = [each.text for each in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}title")]
        assert any("</script><script>" in title for title in titles)
    if suffix == ".dot":
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)  # all texts are closed
        assert "script" not in plain and plain.count("{") == plain.count("}") == 1
    if suffix == ".json":
        nodes = json.loads(text)["graphs"][0]["nodes"]
        assert {*NAMES} <= {pair["value"] for node in nodes for pair in node["attrs"] if pair["key"] == "name"}


def test_the_name_says_the_format(graph, tmp_path):
    for name in ("g.png", "g", ".html.gz"):
        with pytest.raises(ValueError, match=r"does not say a format: end its name in one of \.html \(a page\)"):
            graph.show(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


def test_large_graphs_are_no_drawings(tmp_path):
    graph = deep_graph(2100)
    with pytest.raises(ValueError, match=r"too many for a drawing \(at most 2000\); write a page, \.html"):
        graph.show(tmp_path / "g.svg")
    assert [*tmp_path.iterdir()] == []
    assert notebook_html(picture_of(graph)).startswith("<iframe srcdoc=")


def test_notebooks(graph):
    assert "<svg " in graph._repr_html_() and "<script" not in graph._repr_html_()


def deep_graph(count, scopes=True):
    """A graph of about so many operations: blocks of layers, with additions around them."""
    graph = dt.Graph("deep")
    with graph.as_default():
        h = graph.placeholder(dt.spec((32, 64)), "x")
        for block in range(count // 100):
            with graph.name_scope(f"block_{block}" if scopes else ""):
                before = h
                for layer in range(10):
                    with graph.name_scope(f"layer_{layer}" if scopes else ""):
                        for _ in range(3):
                            h = dt.ops.tanh(h) * 0.5 + h
                h = h + before if h is not before else h
        while len(graph) < count:
            h = dt.ops.tanh(h)
        graph.outputs = [h]
    return graph


@pytest.mark.parametrize("scopes", [True, False])
def test_ten_thousand_operations(tmp_path, scopes):
    """Check the size, and that ten times as many operations take no more than about ten times as long."""
    seconds = {}
    for count in (1000, 10_000):
        graph = deep_graph(count, scopes)
        data = {op.name: {"time": float(number), "calls": 3} for number, op in enumerate(graph.operations)}
        times = []
        for _ in range(3):
            start = time.process_time()
            graph.show(tmp_path / "g.html", data)
            times.append(time.process_time() - start)
        seconds[count] = min(times)
    assert len(graph) >= 10_000 and (tmp_path / "g.html").stat().st_size < 2e6
    assert seconds[10_000] < 30 * seconds[1000]
    assert page_data(Tree(picture_of(graph)))["operations"] == len(graph)
