"""Names of operations of a graph: given names, and generated ones."""

from __future__ import annotations

import pytest

import dovetail as dt
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.naming import check_name, name_new


@pytest.fixture
def graph():
    graph = dt.Graph()
    graph.placeholder(dt.spec(()), "x")
    return graph


def test_a_new_operation_takes_a_name_that_is_free(graph):
    y = dt.ops.tanh(graph.get_tensor("x"))
    name_new(graph, y.op, "y")
    assert (graph.get_operation("y"), y.name) == (y.op, "y:0")
    name_new(graph, y.op, "x")
    assert (graph.get_operation("y"), graph.get_operation("x").type) == (y.op, "Placeholder")
    with pytest.raises(KeyError, match="no operation 'Tanh'"):
        graph.get_operation("Tanh")


def test_an_edit_that_fails_takes_a_name_back(graph):
    y = dt.ops.tanh(graph.get_tensor("x"))
    with pytest.raises(ZeroDivisionError), all_or_nothing():
        name_new(graph, y.op, "y")
        1 / 0  # noqa: B018
    assert (y.op.name, graph.get_operation("Tanh")) == ("Tanh", y.op)


@pytest.mark.parametrize(
    ("name", "scope", "fits"),
    [
        ("a/b-c.d", "", True), (".a", "", True), ("2", "", True), ("_a", "", False), ("_a", "net/", True),
        ("a b", "net/", False), ("ä", "", False), ("", "", False), ("a:0", "", False),
    ],
)  # fmt: skip
def test_names_have_the_characters_of_tensorflow(name, scope, fits):
    if fits:
        check_name(name, scope)
    else:
        with pytest.raises(ValueError, match="cannot be a name"):
            check_name(name, scope)
