"""Probing: vectors of statistics in nested branches and loops, and the flag for bad results."""

from __future__ import annotations

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.passes.probe import FIELDS, NO_STEP, add_finite, add_points

KINDS = frozenset(["statistics", "value"])


def probed(function, *given, label="point"):
    """The statistics and the values of the points of a function, by kind, and the graph."""
    graph = dt.function(function).graph(*(dt.spec(np.shape(x)) for x in given))

    def wanted(operation, around):
        is_point = operation.type == "Tap" and operation.attrs["label"] == label
        return (label, KINDS) if is_point else None

    points = add_points(graph, wanted)
    graph.validate()
    results = dt.function(graph)(*(np.asarray(x, "float32") for x in given))
    found = results[-len(points) :] if points else ()
    by_kind = {point.kind: value.numpy() for point, value in zip(points, found, strict=True)}
    return dict(zip(FIELDS, by_kind["statistics"].tolist(), strict=True)), by_kind.get("value"), graph


def test_fields(engine):
    x = [1.0, -2.0, 0.0, float("nan"), float("inf")]
    fields, value, _ = probed(lambda x: dt.tap(x, "point") * 2.0, x)
    assert fields == dict(zip(FIELDS, [5, 1, 1, -1, 5, 1, 1, -2, 1, 0], strict=True))
    np.testing.assert_array_equal(value, np.float32(x))


def test_an_empty_tensor(engine):
    fields, _, _ = probed(lambda x: dt.tap(x, "point") * 2.0, np.zeros((0, 2)))
    assert (fields["size"], fields["steps"], fields["least"], fields["most"]) == (0, 1, np.inf, -np.inf)


def test_a_branch_in_a_loop_in_a_loop(engine):
    """Six inner steps, of which the branch is taken in four; the last of them has an infinity."""

    def inner(total, x):
        return total + ops.cond(x > 0, lambda: dt.tap(1.0 / (3.0 - x), "point"), lambda: x), None

    def outer(i, total):
        return i + 1, ops.scan(inner, total, ops.convert([-1.0, 1.0, 2.0]) + ops.cast(i, "float32"))[0]

    def program(x):
        return ops.while_loop(lambda i, total: i < 2, outer, (0, x))[1]

    fields, _, _ = probed(program, 0.0)
    assert (fields["steps"], fields["size"], fields["infinities"]) == (4, 4, 1)
    assert (fields["first_bad_step"], fields["least"], fields["most"]) == (3, 0.5, 1.0)


def test_the_first_bad_step_of_a_reverse_scan(engine):
    def program(x):
        return ops.scan(lambda c, row: (c + dt.tap(1.0 / row, "point"), None), 0.0, x, reverse=True)[0]

    fields, value, _ = probed(program, [1.0, 0.0, 2.0, 4.0])
    assert (fields["steps"], fields["first_bad_step"]) == (4, 2)  # the third step that runs
    np.testing.assert_array_equal(value, np.float32([1.0, np.inf, 0.5, 0.25]))


def test_a_loop_without_steps(engine):
    def program(x):
        return ops.while_loop(lambda x: x < 0, lambda x: dt.tap(x + 1.0, "point"), x)

    fields, value, _ = probed(program, 1.0)
    assert list(fields.values()) == NO_STEP.tolist() and value == 0


def test_the_flag_looks_at_results_alone(engine):
    graph = dt.function(lambda x: (ops.exp(x), ops.cast(x, "int32"), ops.log(x))).graph(dt.spec((2,)))
    assert add_finite(graph, 2) == 1
    assert add_finite(dt.function(lambda x: ops.cast(x, "int32")).graph(dt.spec((2,))), 1) == 0
    f = dt.function(graph)
    assert bool(f(np.float32([1.0, 0.0]))[-1])
    assert not bool(f(np.float32([1.0, 1000.0]))[-1])
