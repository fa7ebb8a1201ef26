"""Gradients by op type on existing graphs: which operations get them, what keeps them, and errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.definition import snapshot
from dovetail.compat.tf_graph.importing import import_definition
from dovetail.passes.composites import inline_composites
from dovetail.passes.fuse import fuse
from tests.edit.random_edits import dump
from tests.edit.test_edit import refused

VALUES = np.float32([-1.0, 0.5, 2.0])


@dt.RegisterGradient("Sevenfold")
def _(op, g):
    return 7.0 * g


def tanh_of(build, shape=(3,)):
    """A graph of one input, with the output that `build` makes of it."""
    graph = dt.Graph("built")
    graph.outputs = [build(graph.placeholder(dt.spec(shape), "x"))]
    return graph


def slope(graph, value=VALUES):
    """The gradient of the output's sum, by a tape around a compiled call and by operations added to a copy."""
    x = ops.convert(value)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(dt.function(graph)(x))
    found = tape.gradient(y, x).numpy()
    whole = copy.copy(graph)
    whole.outputs = dt.gradients(whole.outputs[0], whole.inputs[0])
    np.testing.assert_allclose(dt.function(whole)(value).numpy(), found, rtol=1e-6)
    return found.tolist()


def by_cond(x):
    return ops.cond(ops.sum(x) > 0.0, lambda: ops.tanh(x), lambda: x)


def by_while(x):
    return ops.while_loop(lambda i, x: i < 1, lambda i, x: (i + 1, ops.tanh(x)), (0, x))[1]


def by_scan(x):
    return ops.scan(lambda s, _: (ops.tanh(s), None), x, length=1)[0]


def by_loop_in_branch(x):
    return ops.cond(ops.sum(x) > 0.0, lambda: by_while(x), lambda: x)


HELD = {"cond": by_cond, "while": by_while, "scan": by_scan, "loop in a branch": by_loop_in_branch, "plain": ops.tanh}


@pytest.mark.parametrize("build", HELD)
def test_operations_that_are_there_get_gradients_by_name(build, engine):
    graph = tanh_of(HELD[build])
    run = dt.function(graph)
    x = ops.convert(VALUES)
    for overrides, expected in (({"Tanh": "Sevenfold"}, [7.0] * 3), ({"Tanh": None}, 1 - np.tanh(VALUES) ** 2)):
        assert graph.override_gradients(overrides) == 1
        with dt.GradientTape() as tape:  # the next run of the compiled program
            tape.watch(x)
            y = run(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(slope(graph), expected, rtol=1e-5)
        np.testing.assert_allclose(run(x).numpy(), np.tanh(VALUES), rtol=1e-6)


def test_what_composites_consist_of():
    graph = tanh_of(ops.log_sigmoid)
    plain = slope(graph)
    assert graph.override_gradients({"Softplus": "Sevenfold"}) == 0  # only the one in the composite has that type
    assert slope(graph) == [7.0] * 3
    graph.override_gradients({"LogSigmoid": "Identity"})  # the whole goes before its parts
    assert slope(graph) == [1.0] * 3
    graph.override_gradients({"LogSigmoid": None, "Softplus": None})
    assert slope(graph) == plain


def test_within_some_operations():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    first, second = ops.tanh(x), by_scan(x)
    third = ops.tanh(x)
    graph.outputs = [first + second + third]
    assert graph.override_gradients({"Tanh": "Sevenfold"}, within=[first, second.op]) == 2
    (inner,) = second.op.attr("body").find("Tanh")
    assert [op.overrides.get("Tanh") for op in (first.op, inner, third.op)] == ["Sevenfold", "Sevenfold", None]
    np.testing.assert_allclose(slope(graph), 14 + 1 - np.tanh(VALUES) ** 2, rtol=1e-5)
    size = len(graph)
    assert graph.override_gradients({"Tanh": None}, within=second) == 1  # one tensor is no sequence of its elements
    assert len(graph) == size
    np.testing.assert_allclose(slope(graph), 7 + 2 * (1 - np.tanh(VALUES) ** 2), rtol=1e-5)
    assert second.op.body("body").override_gradients({"Tanh": "Sevenfold"}) == 1
    np.testing.assert_allclose(slope(graph), 14 + 1 - np.tanh(VALUES) ** 2, rtol=1e-5)


def test_a_body_that_two_operations_hold_is_overridden_for_the_one_that_is_meant():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    first = by_scan(x)
    second = first.op.op(*first.op.args)[0]
    assert first.op.attr("body") is second.op.attr("body")
    graph.override_gradients({"Tanh": "Sevenfold"}, within=[first])
    graph.outputs = [first]
    assert slope(graph) == [7.0] * 3
    graph.outputs = [second]
    np.testing.assert_allclose(slope(graph), 1 - np.tanh(VALUES) ** 2, rtol=1e-5)


def test_maps_add_up_and_the_later_wins():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    with graph.gradient_override_map({"Tanh": "Identity", "Exp": "Sevenfold"}):
        y = ops.tanh(x)
    graph.override_gradients({"Tanh": "Sevenfold"})
    assert dict(y.op.overrides) == {"Tanh": "Sevenfold", "Exp": "Sevenfold"}
    graph.override_gradients({})
    assert dict(y.op.overrides) == {"Tanh": "Sevenfold", "Exp": "Sevenfold"}


def test_the_gradient_of_another_op(engine):
    """Check straight-through gradients of ops without a derivative, as nets of few bits use them."""
    for op, x in ((ops.round, [0.2, 0.7, 1.4]), (ops.sign, [-2.0, 0.0, 3.0]), (ops.floor, [0.1, 1.2, 2.3])):
        graph = tanh_of(lambda x, op=op: op(x) * 2.0)
        assert graph.override_gradients({graph.outputs[0].op.inputs[0].op.type: "Identity"}) == 1
        assert slope(graph, np.float32(x)) == [2.0] * 3


# -- errors, and removal ----------------------------------------------------------------------------------------------


def test_what_is_refused_changes_nothing(graph, x):
    y = by_scan(x)
    graph.outputs = [y]
    other = dt.Graph("other").placeholder(dt.spec((2, 3)), "other")
    removed = ops.exp(x)
    graph.remove(removed.op)
    override = graph.override_gradients
    refused(graph, LookupError, lambda: override({"Tanhh": "Sevenfold"}), "of the type 'Tanhh'; did you mean Tanh")
    refused(graph, LookupError, lambda: override({"Tanh": "Sevenfolt"}), "'Sevenfolt'; did you mean Sevenfold")
    refused(graph, LookupError, lambda: override({"Tanh": "Zzz"}), r"register it with RegisterGradient\(name\)")
    refused(graph, LookupError, lambda: override({"Tanh": "Selu"}), "'Selu' has no gradient function")
    refused(graph, ValueError, lambda: override({"Tanh": "Sevenfold"}, [y, other]), "not to 'test'")
    refused(graph, ValueError, lambda: override({"Tanh": "Sevenfold"}, [y, removed]), "was removed")
    graph.finalize()
    refused(graph, RuntimeError, lambda: override({"Tanh": "Sevenfold"}), "finalized")


def test_an_edit_that_fails_takes_it_back(graph, x):
    y = by_scan(ops.tanh(x))
    graph.outputs = [y]
    graph.override_gradients({"Tanh": "Identity"}, within=[y])
    before = dump(graph)
    with pytest.raises(ZeroDivisionError), graph.edit():
        graph.override_gradients({"Tanh": "Sevenfold"})
        graph.override_gradients({"Tanh": None})
        raise ZeroDivisionError
    assert dump(graph) == before


# -- copies that keep it ----------------------------------------------------------------------------------------------


def _imported(graph):
    other = dt.Graph()
    x = other.placeholder(dt.spec((3,)), "y")
    other.outputs = import_definition(other, snapshot(graph), {"x": x}, [graph.outputs[0].name], "part")
    return other


def _edited(graph):
    a, b = dt.wildcards("a b")
    graph.apply(lambda part: part.rewrite(a * b, b * a))
    graph.rename_scope("", "whole")
    graph.insert_after(graph.inputs[0], lambda x: x * 1.0)
    return graph


def _inlined(graph):
    inline_composites(graph, lambda operation: ("Softplus",))
    assert not graph.find("LogSigmoid")
    return graph


def _fused(graph):
    fuse(graph, lambda operation: ("FusedMatMul", "AddScaled"))
    graph.prune()
    return graph


def _frozen(graph):
    graph.freeze()
    return graph


KEEPERS = {
    "copy": copy.copy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "part": lambda graph: graph.subgraph(graph.outputs, graph.inputs),
    "definition": _imported,
    "freezing": _frozen,
    "edits": _edited,
    "inlining": _inlined,
    "fusing": _fused,
    "a function's graph": lambda graph: dt.function(graph).graph(dt.spec((3,))),
}


@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_comes_of_the_graph_keeps_its_gradients(keeper):
    """Check a tanh, one in a composite's body and one in a loop's."""
    scale = dt.Variable(2.0, name="scale")
    graph = dt.Graph("kept")
    with graph.as_default():
        x = graph.placeholder(dt.spec((3,)), "x")
        graph.outputs = [ops.tanh(x) * scale + ops.log_sigmoid(x) + by_scan(x)]
    graph.override_gradients({"Tanh": "Sevenfold", "Softplus": "Sevenfold"})
    found = KEEPERS[keeper](graph)
    if keeper == "freezing":
        scale.assign(100.0)
    np.testing.assert_allclose(slope(found), [7.0 * (2 + 1 + 1)] * 3, rtol=1e-6)


# -- imports under a map ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", HELD)
@pytest.mark.parametrize("way", ["of the graph", "of the thread"])
def test_importing_under_a_map(build, way, engine):
    source, graph = tanh_of(HELD[build]), dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    scope = dt.gradient_override_map if way == "of the thread" else graph.gradient_override_map
    with scope({"Tanh": "Sevenfold"}):
        outputs = graph.import_graph(source, {"x": x})
        again = import_definition(graph, snapshot(source), {"x": x}, [source.outputs[0].name], "again")
    after = graph.import_graph(source, {"x": x}, name="after")
    for graph.outputs, expected in ((outputs, [7.0] * 3), (again, [7.0] * 3), (after, 1 - np.tanh(VALUES) ** 2)):
        np.testing.assert_allclose(slope(graph), expected, rtol=1e-5)


def test_many_operations_at_once():
    """Check that all operations share one map, so that time is linear and memory small."""
    graph = dt.Graph()
    y = graph.placeholder(dt.spec(()), "x")
    for _ in range(2000):
        y = ops.tanh(y)
    assert graph.override_gradients({"Tanh": "Sevenfold"}) == 2000
    assert len({id(op.overrides) for op in graph}) == 1
