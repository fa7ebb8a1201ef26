"""The passes for graphs of users: in bodies, too, undone as a whole, with the same results as before."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops, passes
from dovetail.edit.user_pass import GraphPass
from tests.edit.test_edit import refused

NAMES = [name for name, found in vars(passes).items() if isinstance(found, GraphPass)]
v = dt.Variable(1.0, name="v")


def program(x):
    """Give each pass something to do, at the top and in a body."""

    def step(carry, row):
        unused = ops.exp(row)
        same = ops.sin(row * 1.0) + ops.sin(row * 1.0) + ops.cast(ops.iota(3)[2], "float32")
        return carry + same, unused

    carry, _ = ops.scan(step, x[0], x)
    v.assign(ops.sum(x))
    v.assign(ops.sum(carry) * 1.0)
    return -(0.0 - carry) + ops.sin(x[1]) * ops.sin(x[1]), ops.cast(ops.iota(3) + 1, "float32")


def fresh():
    return dt.function(program).graph(dt.spec((2, 3)))


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_keeps_the_results(engine, name):
    graph, x = fresh(), np.arange(6, dtype="float32").reshape(2, 3)
    expected = [t.numpy() for t in dt.function(graph)(x)], float(v.numpy())
    assert graph.apply(getattr(passes, name))
    graph.validate()
    found = [t.numpy() for t in dt.function(graph)(x)], float(v.numpy())
    for one, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert found[1] == pytest.approx(expected[1])
    assert not graph.apply(getattr(passes, name))
    applied = dt.function(program, passes=[getattr(passes, name)])
    np.testing.assert_allclose(applied(x)[0].numpy(), expected[0][0], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_is_undone_as_a_whole(name):
    graph = fresh()

    def edit():
        with graph.edit():
            assert graph.apply(getattr(passes, name))
            raise ValueError("no")

    refused(graph, ValueError, edit, "no")
    graph.validate()


def test_all_passes_of_plans_that_need_no_engine_are_there():
    assert sorted(NAMES) == ["fold_constants", "merge_common", "prune", "remove_dead_assignments", "simplify"]
    graph = fresh()
    before = sum(map(len, (graph, *graph.subgraphs())))
    for name in NAMES:
        graph.apply(getattr(passes, name))
    graph.apply(passes.prune)
    assert sum(map(len, (graph, *graph.subgraphs()))) < before - 10
