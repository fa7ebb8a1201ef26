"""Ops and their gradient ops that no engine claims: the gradients of the op's body, which keeps its residuals."""

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.prune import prune
from dovetail.passes.residuals import keep_residuals
from tests.passes.checks import optimized, types

SHAPES = {  # of the sequences, the states and the weights
    "lstm": [(3, 5, 4), (3, 2), (3, 2), (4, 8), (2, 8), (8,)],
    "gru": [(3, 5, 4), (3, 2), (4, 6), (2, 6), (2, 6)],
}


def kept(*claimed):
    return [lambda graph: keep_residuals(graph, lambda op: claimed)]


def specs(name, batch=3, steps=5):
    x, *rest = SHAPES[name]
    states = [(batch, *shape[1:]) if shape[0] == x[0] else shape for shape in rest]
    return [dt.spec(shape, "float64") for shape in ((batch, steps, x[2]), *states)]


def trained(name, results=slice(None)):
    """A layer, and the gradients of the squares of some of its results by all arguments."""

    def function(*given):
        found = getattr(ops, name)(*given)
        return [*found, *dt.gradients(sum(ops.sum(y * y) for y in found[results]), list(given))]

    return function


def loops(graph):
    return types(graph).count("Scan")


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_an_op_and_its_gradient_become_two_loops(name, unknown):
    dims = [(), (None,), (None, None)][unknown]
    graph = optimized(trained(name), *specs(name, *dims), by=kept(), unknown=3)
    assert {name.upper(), f"{name.upper()}Grad"}.isdisjoint(types(graph))
    assert loops(graph) == 2


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("batch", [0, 1])
def test_few_examples(name, batch):
    assert loops(optimized(trained(name), *specs(name, batch, 1), by=kept())) == 2


@pytest.mark.parametrize("name", SHAPES)
def test_without_a_bias(name):
    assert loops(optimized(trained(name), *specs(name)[:-1], by=kept())) == 2


@pytest.mark.parametrize("name", SHAPES)
def test_no_gradient_arrives_at_outputs_that_the_loss_does_not_use(name):
    graph = optimized(trained(name, slice(1, None)), *specs(name), by=[*kept(), prune])
    assert [t for op in graph.of_types(["Scan"]) for t in op.args[1] if t.op.type == "ZerosLike"] == []


@pytest.mark.parametrize("name", SHAPES)
def test_two_gradients_share_one_op(name):
    def function(*given):
        y, *_ = getattr(ops, name)(*given)
        losses = ops.sum(y), ops.sum(y * y)
        return [g for loss in losses for g in dt.gradients(loss, list(given))]

    assert loops(optimized(function, *specs(name), by=kept())) == 3


@pytest.mark.parametrize("name", SHAPES)
def test_gradients_of_gradients(name):
    def function(*given):
        first = dt.gradients(ops.sum(ops.square(getattr(ops, name)(*given)[0])), list(given))
        return dt.gradients(sum(ops.sum(g * g) for g in first), list(given))

    graph = optimized(function, *specs(name), by=kept())
    assert name.upper() not in types(graph)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("claimed", ["", "Grad"])
def test_claimed_ops_stay(name, claimed):
    graph = optimized(trained(name), *specs(name), by=kept(name.upper() + claimed))
    assert {name.upper(), f"{name.upper()}Grad"} <= set(types(graph))


def test_gradients_at_other_results_stay():
    """Check an op whose results are not those that the gradient op is given."""
    x, h, *weights = SHAPES["gru"]

    def function(g, g_h, *given):
        y, _ = ops.gru(*given)
        return ops.gru_grad(g, g_h, y * 2, *given)

    arguments = [dt.spec(shape, "float64") for shape in ((3, 5, 2), h, x, h, *weights)]
    graph = optimized(function, *arguments, by=kept())
    assert types(graph).count("GRUGrad") == 1
