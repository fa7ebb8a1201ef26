"""Building and reading graphs: names, scopes, producers and consumers, program order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.edit.validate import problems
from dovetail.graph.order import Order


def placeholder(graph, name="x", shape=(2, 3), dtype="float32"):
    return graph.placeholder(dt.spec(shape, dtype), name)


def test_a_tensor_knows_what_makes_it_and_who_takes_it(graph):
    x = placeholder(graph)
    y = x + x
    z = ops.tanh(x)
    assert y.op.inputs == [x, x]
    assert x.consumers() == [y.op, z.op]
    assert x.uses() == [(y.op, 0), (y.op, 1), (z.op, 0)]
    assert y.consumers() == []
    assert (y.graph, y.name, y.ndim) == (graph, "AddV2:0", 2)


def test_names_are_unique_and_scoped(graph):
    x = placeholder(graph)
    with graph.name_scope("layer"):
        a = ops.tanh(x)
        with graph.name_scope("inner"):
            b, c = ops.tanh(x), ops.tanh(x, name="activation")
    d, e = ops.tanh(x), ops.tanh(x)
    names = [t.op.name for t in (a, b, c, d, e)]
    assert names == ["layer/Tanh", "layer/inner/Tanh", "layer/inner/activation", "Tanh", "Tanh_1"]
    assert ops.tanh(x, name="Tanh_1").op.name == "Tanh_1_1"


def test_lookup_by_name(graph):
    y = ops.tanh(placeholder(graph), name="dense/activation")
    assert graph.get_operation("dense/activation") is y.op
    assert graph.get_tensor("dense/activation:0") is graph.get_tensor("dense/activation") is y
    with pytest.raises(KeyError, match="did you mean dense/activation"):
        graph.get_operation("dense/activatoin")
    with pytest.raises(KeyError, match="has 1 outputs"):
        graph.get_tensor("dense/activation:1")


def test_as_default_records_ops_without_graph_tensors(graph):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        y = v + 1
    assert [op.type for op in graph.operations] == ["ReadVariableOp", "Const", "AddV2"]
    assert y.graph is graph


def test_attributes_and_arguments(graph):
    x = placeholder(graph)
    op = ops.matmul(x, x, transpose_b=True).op
    assert op.args == [x, x, False, True]
    assert op.attr("transpose_b") is True
    packed = ops.stack([x, x], axis=1).op
    assert packed.args == [(x, x), 1]


def test_depends_on(graph):
    x = placeholder(graph)
    y = ops.tanh(x)
    z, other = y + 1, ops.exp(x)
    assert graph.depends_on(z.op, x.op)
    assert not graph.depends_on(x.op, z.op)
    assert not graph.depends_on(other.op, y.op)


def test_subgraphs_are_found_inside_out(graph):
    x = placeholder(graph, shape=())

    def outer():
        return ops.cond(x > 1, lambda: x * 2, lambda: x)

    y = ops.cond(x > 0, outer, lambda: -x)
    found = graph.subgraphs()
    assert len(found) == 4
    assert y.op.attrs["then_branch"] is found[2]
    assert dt.Graph().subgraphs() == []


@pytest.mark.parametrize("use", [bool, iter, len, float, int, np.asarray, lambda x: x.numpy(), lambda x: [0][x]])
def test_a_graph_tensor_has_no_value(graph, use):
    with pytest.raises(TypeError, match="while the graph is built; use"):
        use(placeholder(graph, shape=(None,)))


def test_validate_finds_what_is_wrong(graph):
    x = placeholder(graph)
    y = ops.tanh(x)
    graph.validate()
    y.op.inputs[0] = y
    with pytest.raises(ValueError, match="not made before it") as error:
        graph.validate()
    assert "does not know it as a consumer" in str(error.value)
    assert "counts" in str(error.value)


def test_validate_checks_types(graph):
    x = placeholder(graph)
    ops.tanh(x).shape = (4, 4)
    assert "type rule says (2, 3)" in " ".join(problems(graph))


class Member:
    def __init__(self, name):
        self.name = name
        self._position, self._previous, self._next = 0, None, None


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("iarm"), st.integers(0, 10**6)), max_size=120))
def test_order_agrees_with_a_list(steps):
    order, members = Order(), []
    for number, (what, place) in enumerate(steps):
        at = place % len(members) if members else 0
        if what == "a" or not members:
            members.append(Member(number))
            order.insert(members[-1])
        elif what == "i":
            members.insert(at, Member(number))
            order.insert(members[at], members[at + 1])
        elif what == "r":
            order.remove(members.pop(at))
        elif members[at] is not members[0]:
            moved = members.pop(at)
            order.move(moved, members[0])
            members.insert(0, moved)
    assert list(order) == members
    positions = [m._position for m in members]
    assert positions == sorted(set(positions))


def test_order_has_room_for_many_insertions_at_one_place():
    order, end = Order(), Member("end")
    order.insert(Member("start"))
    order.insert(end)
    for i in range(2_000):
        order.insert(Member(i), end)
    positions = [m._position for m in order]
    assert positions == sorted(set(positions))
    assert len(positions) == 2_002


def test_graphs_have_few_public_members():
    """Keep the class small: an edit that programs need seldom is a function, and TensorFlow's names are compat's."""
    assert len([name for name in dir(dt.Graph) if not name.startswith("_")]) <= 60
