"""Checks in graphs that TensorFlow wrote: each fires when TensorFlow's fires, with the same words."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as ours

from tests.libraries import Library, require

require("tensorflow", "it writes the graphs")

real = Library("tensorflow")
FEEDS = [(p, x) for p in (True, False) for x in ([1.0, 2.0], [-1.0, 2.0], [11.0, 12.0, 13.0])]


def behind(check, make):
    with real.control_dependencies([check]):
        return make()


def positive(x):
    return real.compat.v1.assert_positive(x, message="all must be positive")


def guarded(v1, p, x):
    return v1.cond(p, lambda: behind(positive(x), lambda: x * 2.0), lambda: x - 1.0)


def nested(v1, p, x):
    inner = lambda: v1.cond(v1.shape(x)[0] > 1, lambda: behind(positive(x), lambda: x * 1.0), lambda: -x)  # noqa: E731
    return v1.cond(p, inner, lambda: x - 1.0)


def both_branches(v1, p, x):
    small = lambda: behind(v1.debugging.assert_less(x, 10.0), lambda: v1.reduce_sum(x))  # noqa: E731
    pair = lambda: behind(v1.debugging.assert_equal(v1.shape(x)[0], 2), lambda: v1.reduce_max(x))  # noqa: E731
    return v1.cond(p, small, pair)


def outside(v1, p, x):
    return behind(positive(x), lambda: v1.where(p, x * 2.0, x - 1.0))


def outside_of_a_branch(v1, p, x):
    check = positive(x)
    return v1.cond(p, lambda: behind(check, lambda: v1.sqrt(x)), lambda: x - 1.0)


def group(v1, p, x):
    return behind(v1.cond(p, lambda: v1.group(positive(x)), v1.no_op), lambda: x + 1.0)


def case(v1, p, x):
    return v1.case([(p, lambda: x * 1.0), (v1.reduce_sum(x) > 30.0, lambda: x * 2.0)], exclusive=True)


def loop(v1, p, x):
    check = lambda i, s: behind(  # noqa: E731
        v1.assert_less(s, 20.0, message="in the loop"), lambda: (i + 1, s + v1.reduce_sum(x))
    )
    return v1.cond(p, lambda: v1.while_loop(lambda i, s: i < 3, check, [0, 0.0])[1], lambda: v1.reduce_sum(x))


def data(v1, p, x):
    matrix = v1.reshape(v1.range(8.0) / 7.0, [2, 2, 2])
    shown = ["a b", x, "c", matrix, p, x > 1.0, v1.cast(x, v1.int64), v1.cast(x, v1.float64) / 3, x[:0], v1.size(x)]
    return behind(v1.Assert(p, shown, summarize=5), lambda: v1.identity(x))


BUILDS = [guarded, nested, both_branches, outside, outside_of_a_branch, group, case, loop, data]


def outcomes(session):
    """The results of all feeds; for errors, the words of the check."""
    found = []
    for p, x in FEEDS:
        try:
            found.append(np.asarray(session.run("y:0", {"p:0": p, "x:0": x})).tolist())
        except (ValueError, real.errors.InvalidArgumentError) as error:
            found.append("assertion failed:" + str(error).partition("assertion failed:")[2].split("\n")[0])
    return found


@functools.cache
def written(build, with_functions):
    """The definition that TensorFlow writes, and its outcomes."""
    v1 = real.compat.v1
    (v1.enable_control_flow_v2 if with_functions else v1.disable_control_flow_v2)()
    try:
        with v1.Graph().as_default() as graph:
            p, x = v1.placeholder(v1.bool, [], "p"), v1.placeholder(v1.float32, [None], "x")
            v1.identity(build(v1, p, x), "y")
            with v1.Session() as session:
                return graph.as_graph_def().SerializeToString(), outcomes(session)
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.parametrize("with_functions", [False, True], ids=["switches", "functions"])
@pytest.mark.parametrize("build", BUILDS)
def test_a_check_fires_as_in_tensorflow(engine, build, with_functions):
    data, wanted = written(build, with_functions)
    with ours.Graph().as_default(), ours.Session() as session:
        ours.import_graph_def(ours.GraphDef.FromString(data), name="")
        assert outcomes(session) == wanted
        assert any(isinstance(outcome, str) for outcome in wanted)


def test_a_check_that_is_read_is_written_again(engine):
    data, wanted = written(guarded, True)
    with ours.Graph().as_default() as graph:
        ours.import_graph_def(ours.GraphDef.FromString(data), name="")
        again = graph.as_graph_def().SerializeToString()
    v1 = real.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        v1.import_graph_def(v1.GraphDef.FromString(again), name="")
        assert outcomes(session) == wanted
