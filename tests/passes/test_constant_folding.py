"""Constant folding."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.edit.transplant import copy_graph
from dovetail.graph.folding import LARGEST
from dovetail.passes.base import run
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.prune import prune
from dovetail.passes.specialize import specialize
from tests.graph.random_graphs import check_same, interpret
from tests.passes.checks import keeps_random_graphs, optimized, traced, types

BY = [fold_constants, prune]
test_random_graphs = keeps_random_graphs(fold_constants)


def constant(value):
    """A constant that tracing does not compute at once."""
    from dovetail.trace.trace import current_graph

    return current_graph().constant(np.asarray(value, "float32"))


def test_operations_on_constants_are_computed():
    graph = optimized(lambda x: x * ops.tanh(constant(0.5) + 1) * ops.sum(constant([1, 2])), dt.spec((2,)), by=BY)
    assert types(graph) == ["Mul", "Mul"]


def test_operations_with_several_results():
    graph = optimized(lambda x: ops.split(constant([1, 2, 3, 4]), 2)[1] * x, dt.spec((2,)), by=BY)
    assert types(graph) == ["Mul"]


def test_known_shapes_are_constants_even_if_others_are_not():
    def function(x):
        rows, columns = ops.shape(x)[0], ops.shape(x)[1]
        return ops.reshape(x, (columns * 2, -1)), rows * 1, columns + 1

    graph = optimized(function, dt.spec((None, 4)), by=BY, unknown=6)
    assert graph.outputs[0].shape == (8, None)
    assert graph.outputs[2].op.type == "Const"
    assert graph.outputs[1].op.type != "Const"


def test_the_minimum_of_nothing_is_the_highest_integer():
    x = np.zeros((2, 0), "int32")
    assert dt.function(lambda x: ops.min(x, axis=1))(x).tolist() == [2**31 - 1] * 2


def test_shapes_become_static_inputs():
    graph = optimized(lambda x, y: ops.broadcast_to(x, ops.shape(y)), dt.spec(()), dt.spec((2, 3)), by=BY)
    assert types(graph) == ["BroadcastTo"]
    assert graph.outputs[0].op.attrs["shape"] == (2, 3)
    assert len(graph.outputs[0].op.inputs) == 1


def test_what_is_known_of_a_shape_makes_dimensions_known():
    """Check two dimensions: one becomes known, the other depends on a value."""

    def function(x, n):
        return ops.exp(ops.broadcast_to(1.0, ops.stack([ops.shape(x)[0], n])))

    graph = traced(function, dt.spec((None,)), dt.spec((), "int32"))
    assert graph.outputs[0].shape == (None, None)
    specialize(graph, [(3,), ()])
    graph.validate()
    assert graph.outputs[0].shape == (3, None)
    assert fold_constants(graph) == 0


def test_a_carry_whose_shape_changes_stays_open():
    def function(x):
        return ops.while_loop(lambda c: ops.sum(c) < 20.0, lambda c: (ops.concatenate([c, c], 0),), (x,))[0]

    graph = traced(function, dt.spec((None,)))
    copy = copy_graph(graph)
    specialize(copy, [(2,)])
    copy.validate()
    assert copy.outputs[0].shape == (None,)
    x = np.ones(2, "float32")
    check_same(interpret(copy, [x]), interpret(graph, [x]))


def test_shapes_flow_through_results_that_are_folded():
    graph = traced(lambda x, y: ops.matmul(ops.ones(ops.shape(x)), y), dt.spec((None, 3)), dt.spec((3, 4)))
    assert specialize(graph, [(2, 3), (3, 4)]) == 3  # the shape is a number, then static, the ones constant
    prune(graph)
    graph.validate()
    assert types(graph) == ["MatMul"]
    assert graph.outputs[0].shape == (2, 4)


def test_how_many_were_folded():
    graph = traced(lambda x: x * ops.tanh(constant(0.5) + 1) + ops.cast(ops.shape(x)[0], "float32"), dt.spec((2,)))
    before = len(types(graph))
    assert fold_constants(graph) == before - len(["Mul", "AddV2"])
    assert fold_constants(graph) == 0


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: ops.broadcast_to(constant(1.0), (LARGEST,)) + x, ["AddV2"]),
        (lambda x: ops.broadcast_to(constant(1.0), (LARGEST + 1,)) + x, ["BroadcastTo", "AddV2"]),
        (lambda x: ops.tanh(constant(np.arange(2.0 * LARGEST))) + x, ["AddV2"]),
        (lambda x: ops.split(constant(np.arange(2.0 * LARGEST)), 2)[1] + x, ["AddV2"]),
    ],
    ids=["small", "large", "no larger than its argument", "together no larger"],
)
def test_what_is_worth_its_memory(function, left):
    assert types(optimized(function, dt.spec(()), by=BY)) == left


def test_large_results_are_not_held():
    graph = optimized(lambda x: ops.broadcast_to(constant(1.0), (100, 100)) + x, dt.spec(()), by=BY)
    assert types(graph) == ["BroadcastTo", "AddV2"]
    held = [op.attrs["value"].size for op in graph.operations if op.type == "Const"]
    assert max(held) <= LARGEST


def test_checks_of_known_shapes_go():
    def function(x, y):
        OPS["Assert"](ops.all(ops.equal(ops.shape(x), ops.shape(y))), (ops.shape(x),), "they differ:")
        return x + y

    known, unknown = (traced(function, dt.spec(shape), dt.spec((2, 3))) for shape in ((2, 3), (None, 3)))
    assert [fold_constants(graph) > 0 for graph in (known, unknown)] == [True, True]
    assert ["Assert" in types(graph) for graph in (known, unknown)] == [False, True]


def test_effects_and_state_are_not_folded():
    v = dt.Variable(1.0)

    def function(x):
        v.assign(constant(2.0))
        return v * x

    assert "AssignVariableOp" in types(optimized(function, dt.spec(()), by=BY))


def test_errors_of_folded_operations_name_the_line():
    graph = dt.Graph()
    with graph.as_default():
        shape = graph.constant(np.array([2, 3], "int32"))
        x = graph.placeholder(dt.spec((None,)))
        graph.outputs = [ops.reshape(x, shape)]
    graph.inputs[0].shape = (5,)
    with pytest.raises(ValueError, match=r"Reshape at test_constant_folding.py:\d+"):
        from dovetail.passes.constant_folding import propagate

        propagate(graph, {graph.inputs[0]})


def test_constants_go_into_branches():
    graph = optimized(
        lambda x, flag: ops.cond(flag, lambda: ops.reshape(x, ops.shape(x) * 1), lambda: x),
        dt.spec((2, 3)),
        dt.spec((), "bool"),
        by=BY,
    )
    assert graph.outputs[0].shape == (2, 3)


def test_computed_constants_go_into_branches_and_loops():
    def function(x, flag):
        factor = ops.tanh(constant(0.5))
        chosen = ops.cond(flag, lambda: x * (factor + 1.0), lambda: x)
        return ops.scan(lambda c, row: (c + row * (factor + 2.0), None), 0.0, chosen)[0]

    graph = optimized(function, dt.spec((2,)), dt.spec((), "bool"), by=[lambda graph: run(graph, BY, 4)])
    assert [types(part) for part in graph.subgraphs()] == [["Mul"], [], ["Mul", "AddV2"]]
    assert fold_constants(graph) == 0


def test_shapes_go_into_branches_and_loops():
    def function(x, flag):
        chosen = ops.cond(flag, lambda: ops.reshape(x, ops.shape(x) * 1), lambda: x)
        return ops.scan(lambda c, _: (ops.reshape(c, ops.shape(c) * 1), None), chosen, length=2)[0]

    graph = copy_graph(traced(function, dt.spec((None, 3)), dt.spec((), "bool")))
    found = specialize(graph, [(2, 3), ()])
    assert found == 2 * len(["the shape", "the product", "the reshape"])
    assert graph.outputs[0].shape == (2, 3)
    assert fold_constants(graph) == 0


def test_a_loop_over_nothing_is_left_out(engine):
    """Its body would not fit: it puts a row into a tensor that has none."""

    def doubled(x):
        def body(i, found):
            return i + 1, ops.slice_update(found, [i, 0], ops.expand_dims(ops.gather(x, i) * 2.0, 0))

        return ops.while_loop(lambda i, found: i < ops.shape(x)[0], body, (0, ops.zeros_like(x)))[1]

    function = dt.function(doubled, input_signature=[dt.spec((None, 2))])
    for size in (0, 3):
        np.testing.assert_array_equal(function(np.ones((size, 2), "float32")), np.full((size, 2), 2.0))


@pytest.mark.parametrize("value", [True, False])
def test_the_branch_of_a_constant_is_inlined(value):
    def inner(x):
        return ops.cond(ops.sum(x) > 0, lambda: ops.exp(x), lambda: x)

    def program(p, x):
        y, z = ops.cond(p, lambda: (inner(x) * 2.0, x), lambda: (ops.tanh(x)[:2], x + 1.0))
        return y, ops.while_loop(
            lambda i, v: i < 2, lambda i, v: (i + 1, ops.cond(p, lambda: v * v, lambda: -v)), (0, z)
        )[1]

    x = np.array([1.0, 2.0, 3.0], "float32")
    graph = dt.function(program, engine="numpy").graph(dt.spec((), "bool"), dt.spec((3,)))
    expected = dt.function(copy_graph(graph), engine="numpy")(value, x)
    before = copy_graph(graph)
    graph.replace_all_uses(graph.inputs[0], value)
    with pytest.raises(ZeroDivisionError), graph.edit():
        graph.apply(dt.passes.fold_constants)
        raise ZeroDivisionError
    graph.validate()
    assert len(graph.find("If")) == 1
    graph.apply(dt.passes.fold_constants)
    graph.prune(inputs=True)
    graph.validate()
    assert [len(part.find("If")) for part in (graph, *graph.subgraphs())].count(1) == value and len(before.inputs) == 2
    for found, wanted in zip(dt.function(graph, engine="numpy")(x), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
    assert graph.outputs[0].shape == ((3,) if value else (2,))
