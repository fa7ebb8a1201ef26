"""Two graphs in one picture: what differs between operations of one name."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.formats.pictures.beside import beside
from dovetail.formats.pictures.picture import picture_of
from tests.browser import CHROMIUM, Browser


def graph(weight, axis=0, more=False, name="g"):
    graph = dt.Graph(name)
    x = graph.placeholder(dt.spec((4, 3)), "x")
    with graph.as_default():
        y = dt.ops.sum(dt.ops.matmul(x, weight, name="product"), axis, name="total")
        graph.outputs = [dt.ops.exp(y, name="more") if more else y]
    return graph


def variable(fill=1.0, shape=(3, 2), dtype="float32"):
    return dt.Variable(np.full(shape, fill, dtype), name="w")


def differences(first, second):
    """The differences and the texts of the other graph, by name, of the first graph."""
    found = beside(picture_of(first), picture_of(second))
    side = f"{first.name}/"
    return {
        node.name.removeprefix(side): (
            node.facts["difference"],
            {key.removesuffix(", there"): text for key, text in node.attributes if key.endswith(", there")},
        )
        for node in found.nodes
        if node.name.startswith(side)
    }


@pytest.mark.parametrize(
    ("other", "name", "texts"),
    [
        ({"weight": variable(1.5)}, "product", {"w": "differs by at most 0.5"}),
        ({"weight": variable(np.nan)}, "product", {"w": "other values, some of them not finite"}),
        (
            {"weight": variable(shape=(3, 5))},
            "product",
            {"weight w": "float32[3,5]", "results": "float32[4,5]"},
        ),
        ({"axis": 1}, "total", {"axis": "1", "results": "float32[4]"}),
    ],
)
def test_what_changed(other, name, texts):
    found = differences(graph(variable()), graph(**{"weight": variable(), **other}, name="other"))
    assert found[name] == ("changed", texts)
    assert found["x"] == ("the same", {})


def test_equal_graphs_and_nodes_that_one_has():
    assert {said for said, _ in differences(graph(variable(np.nan)), graph(variable(np.nan), name="o")).values()} == {
        "the same"
    }
    found = differences(graph(variable(), more=True), graph(variable(), name="o"))
    assert found["more"] == ("only here", {}) and found["output"][0] == "changed"


def test_names_of_two_equal_names():
    names = {node.name.partition("/")[0] for node in beside(*map(picture_of, 2 * [graph(variable())])).nodes}
    assert names == {"g", "g, the other"}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed, in which pages are looked at")
def test_the_page(tmp_path):
    graph(variable()).show(tmp_path / "two.html", beside=graph(variable(2.0), more=True, name="other"))
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "two.html")
        assert browser.run("[page.key, graph.root.children.map((item) => item.label)]") == [
            "difference",
            ["g", "other"],
        ]
        browser.run("select(graph.items.find((item) => fullName(item) === 'g/product'))")
        text = browser.run("byId('panel').innerText")
        assert "differs by at most 1" in text and "other/product" in text and "w float32[3,2]" in text
        assert browser.problems == []
