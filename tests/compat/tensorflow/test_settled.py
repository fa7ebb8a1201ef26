"""Constants whose values were taken when an operation was made: fed, edited and replaced, as in TensorFlow."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as ours

from dovetail.compat.tf_graph.definition import snapshot
from tests.libraries import Library, require

require("tensorflow", "it runs the same programs")
require("google.protobuf", "definitions are messages")

theirs = Library("tensorflow")
M = np.arange(6, dtype="float32").reshape(2, 3)
# (module, placeholder of a matrix, constant) → the tensor "y"; the first value of the constant, and another one
SHAPES = {
    "reshape": (lambda v1, x, c: v1.reshape(x, c, name="y"), [3, 2], [6, 1]),
    "reshape64": (lambda v1, x, c: v1.reshape(x, v1.cast(c, "int64"), name="y"), [3, 2], [6, 1]),
    "tile": (lambda v1, x, c: v1.tile(x, c, name="y"), [1, 2], [2, 1]),
    "fill": (lambda v1, x, c: v1.fill(c, x[0, 1], name="y"), [2], [3]),
    "zeros": (lambda v1, x, c: v1.add(v1.zeros(c), x[1, 1], name="y"), [2], [3]),
    "slice": (lambda v1, x, c: v1.slice(x, [0, 0], c, name="y"), [1, 1], [2, 2]),
    "one_hot": (lambda v1, x, c: v1.one_hot([1, 0], c, name="y"), 2, 3),
    "broadcast": (lambda v1, x, c: v1.broadcast_to(x[:1], c, name="y"), [2, 3], [4, 3]),
    "range": (lambda v1, x, c: v1.add(v1.cast(v1.range(c), "float32"), x[0, 1], name="y"), 3, 5),
    "range from": (lambda v1, x, c: v1.range(c, 7, 2, name="y"), 3, 4),
    "rows": (lambda v1, x, c: v1.identity(x[:c], name="y"), 1, 2),
    "stacked": (lambda v1, x, c: v1.reshape(x, v1.stack([c, -1]), name="y"), 3, 1),
    "loop": (lambda v1, x, c: _looped(v1, x, c), 3, 5),
    "cond": (lambda v1, x, c: v1.identity(v1.cond(x[0, 1] > 0, lambda: c * 2, lambda: c), name="y"), 1, 5),
}
AXES = {
    "sum": (lambda v1, x, c: v1.reduce_sum(x, c, name="y"), 1, 0),
    "max": (lambda v1, x, c: v1.reduce_max(x, c, name="y"), [1], [0]),
    "argmax": (lambda v1, x, c: v1.argmax(x, c, name="y"), 1, 0),
    "concat": (lambda v1, x, c: v1.concat([x, x], c, name="y"), 1, 0),
    "expand_dims": (lambda v1, x, c: v1.expand_dims(x, c, name="y"), 1, 0),
    "transpose": (lambda v1, x, c: v1.transpose(x, c, name="y"), [1, 0], [0, 1]),
    "gather": (lambda v1, x, c: v1.gather(x, [0], axis=c, name="y"), 1, 0),
    "cumsum": (lambda v1, x, c: v1.cumsum(x, c, name="y"), 1, 0),
    "reverse": (lambda v1, x, c: v1.reverse(x, c, name="y"), [1], [0]),
    "top_k": (lambda v1, x, c: v1.identity(v1.nn.top_k(x, c)[0], name="y"), 1, 2),
    "band": (lambda v1, x, c: v1.matrix_band_part(x, c, 0, name="y"), 0, 1),
    "band above": (lambda v1, x, c: v1.matrix_band_part(x, v1.constant(-1), c, name="y"), 1, -1),
    "sum over a range": (lambda v1, x, c: v1.reduce_sum(x, v1.range(c), name="y"), 1, 2),
    "pad": (lambda v1, x, c: v1.pad(x, c, name="y"), [[1, 0], [0, 0]], [[0, 0], [0, 1]]),
}


def inside(build):
    """A case in the body of a loop, and in a branch of it."""

    def of(v1, x, c):
        def weighed(a):
            return v1.reduce_sum(v1.cumsum(v1.cast(v1.reshape(build(v1, x * a, c), [-1]), "float32")))

        step = lambda i, a: (i + 1, v1.cond(i < 1, lambda: weighed(a), lambda: a + weighed(a * 0.5)))  # noqa: E731
        return v1.identity(v1.while_loop(lambda i, a: i < 2, step, [0, 1.0])[1], name="y")

    return of


SHAPES |= {f"{name} in a loop": (inside(build), *values) for name, (build, *values) in SHAPES.items()}
AXES |= {f"{name} in a loop": (inside(build), *values) for name, (build, *values) in AXES.items()}
CASES = SHAPES | AXES


def _looped(v1, x, c):
    return v1.identity(v1.while_loop(lambda i, a: i < c, lambda i, a: (i + 1, a * 2), [0, x[0]])[1], name="y")


def build(v1, case):
    """The definition of a case."""
    with v1.Graph().as_default() as graph:
        x = v1.placeholder("float32", [None, 3], name="x")
        CASES[case][0](v1, x, v1.constant(CASES[case][1], name="c"))
    return graph.as_graph_def()


@functools.cache
def definition(is_ours, case):
    return build(ours if is_ours else theirs.compat.v1, case)


def with_value(v1, message, value):
    """The definition where the constant's node has another value."""
    node = next(one for one in message.node if one.name == "c")
    node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(np.asarray(value, "int32")))
    return message


def edited(v1, message, value):
    """The value of "y" where the constant's node has another value."""
    return fed(v1, with_value(v1, message, value))


def fed(v1, message, feeds=(), **options):
    with v1.Graph().as_default() as graph:
        options = {key: make() for key, make in options.items()}
        v1.import_graph_def(message, name="", **options)
        with v1.Session(graph=graph) as session:
            return session.run("y:0", {"x:0": M, **dict(feeds)})


def copied(message, v1=ours):
    made = v1.GraphDef()
    made.ParseFromString(message.SerializeToString())
    return made


@functools.cache
def wanted(case):
    """TensorFlow's value for the other value of the constant."""
    return edited(theirs.compat.v1, copied(definition(False, case), theirs.compat.v1), CASES[case][2])


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("case", CASES)
def test_an_edited_constant_acts_on_operations_that_took_its_value(case, is_ours):
    assert np.array_equal(edited(ours, copied(definition(is_ours, case)), CASES[case][2]), wanted(case))


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("case", [*SHAPES, *(name for name in AXES if "loop" not in name)])
def test_a_constant_that_was_edited_can_be_edited_again(case, is_ours):
    with ours.Graph().as_default() as graph:
        ours.import_graph_def(with_value(ours, copied(definition(is_ours, case)), CASES[case][2]), name="")
    first = fed(ours, copied(definition(is_ours, case)))
    assert np.array_equal(edited(ours, graph.as_graph_def(), CASES[case][1]), first)


@pytest.mark.parametrize("case", CASES)
def test_tensorflow_runs_the_edited_definition(case):
    message = copied(definition(True, case), theirs.compat.v1)
    assert np.array_equal(edited(theirs.compat.v1, message, CASES[case][2]), wanted(case))
    assert "c" in {text for node in definition(True, case).node for text in node.input}


@pytest.mark.parametrize("how", ["built", "ours", "theirs"])
@pytest.mark.parametrize("case", CASES)
def test_a_fed_constant_acts_or_the_operation_that_took_it_is_named(case, how):
    def run():
        if how != "built":
            return fed(ours, copied(definition(how == "ours", case)), {"c:0": CASES[case][2]})
        with ours.Graph().as_default(), ours.Session() as session:
            x = ours.placeholder("float32", [None, 3], name="x")
            c = ours.constant(CASES[case][1], name="c")
            CASES[case][0](ours, x, c)
            return session.run("y:0", {x: M, c: CASES[case][2]})

    check(run, case, must_act=case in SHAPES and how != "theirs")


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("case", CASES)
def test_another_tensor_for_a_constant_acts_or_the_operation_that_took_it_is_named(case, is_ours):
    other = lambda: {"c:0": ours.constant(CASES[case][2], name="other")}  # noqa: E731
    check(
        lambda: fed(ours, copied(definition(is_ours, case)), input_map=other), case, must_act=case in SHAPES and is_ours
    )


def check(run, case, must_act):
    try:
        found = run()
    except ValueError as error:
        assert not must_act, error
        assert "cannot have another value" in str(error)
    else:
        assert np.array_equal(found, wanted(case))


def test_a_copied_and_an_unpickled_graph_know_the_constant():
    with ours.Graph().as_default() as graph:
        c = ours.constant([3, 2], name="c")
        ours.reshape(ours.placeholder("float32", [None, 3], name="x"), c, name="y")
    for made in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        with ours.Session(graph=made) as session:
            assert session.run("y:0", {"x:0": M, "c:0": [1, 6]}).shape == (1, 6)


def test_a_constant_in_branches_is_before_its_users():
    with ours.Graph().as_default() as graph:
        x, c = ours.placeholder("float32", [None, 3], name="x"), ours.constant(1, name="c")
        SHAPES["cond"][0](ours, x, c)
    again = pickle.loads(pickle.dumps(snapshot(graph)))
    again.validate()
    with ours.Session(graph=again) as session:
        assert session.run("y:0", {"x:0": M, "c:0": 5}) == 10


def test_an_operation_with_a_known_count_keeps_its_name():
    with ours.Graph().as_default() as graph:
        ours.tile(ours.placeholder("float32", [None, None]), ours.constant([1, 2]), name="y")
    assert graph.get_operation_by_name("y").type == "Tile"


def test_an_attribute_that_is_set_is_no_longer_the_constants():
    with ours.Graph().as_default() as graph, ours.Session() as session:
        x, c = ours.placeholder("float32", [None, 3]), ours.constant([3, 2])
        y = ours.reshape(x, c)
        y.op.set_attr("shape", (2, 3))
        assert session.run(y, {x: M, c: [6, 1]}).shape == (2, 3)
        assert not graph.get_operation_by_name(y.op.name).taken


# -- placeholders with defaults ---------------------------------------------------------------------------------------


DEFAULTS = {  # (module, placeholder "p" with the default 1.5) → the tensor "y"
    "fetched": lambda v1, p: v1.identity(p, name="y"),
    "in a branch": lambda v1, p: v1.identity(v1.cond(p > 0, lambda: p * 2, lambda: p), name="y"),
    "as a branch": lambda v1, p: v1.identity(v1.cond(v1.constant(True), lambda: p, lambda: p), name="y"),
    "in a branch of a branch": lambda v1, p: v1.identity(
        v1.cond(p > 0, lambda: v1.cond(p > 2, lambda: p * 3, lambda: p), lambda: p), name="y"
    ),
    "made in a branch": lambda v1, p: v1.identity(
        v1.cond(p > 0, lambda: v1.placeholder_with_default(p * 2, []), lambda: p), name="y"
    ),
    "in a loop": lambda v1, p: v1.identity(
        v1.while_loop(lambda i, a: a < p, lambda i, a: (i + 1, a + p), [0, 0.0])[1], name="y"
    ),
    "in a map": lambda v1, p: v1.identity(v1.map_fn(lambda a: a * p, v1.constant([1.0, 2.0])), name="y"),
    "a default of a default": lambda v1, p: v1.identity(v1.placeholder_with_default(p, []), name="y"),
    "a gradient": lambda v1, p: v1.identity(v1.gradients(v1.cond(p > 0, lambda: p * p, lambda: p), p)[0], name="y"),
    "sizes": lambda v1, p: v1.tile([[1.0]], v1.stack([v1.cast(p, "int32"), 2]), name="y"),
}


@functools.cache
def defaults(is_ours, case):
    v1 = ours if is_ours else theirs.compat.v1
    with v1.Graph().as_default() as graph:
        DEFAULTS[case](v1, v1.placeholder_with_default(np.float32(1.5), [], name="p"))
    return graph.as_graph_def()


@pytest.mark.parametrize("case", DEFAULTS)
def test_a_placeholder_gives_its_default_or_what_is_fed(case):
    def run(v1, message, feeds, **options):
        with v1.Graph().as_default() as graph:
            v1.import_graph_def(message, name="", **{key: make() for key, make in options.items()})
            with v1.Session(graph=graph) as session:
                return session.run("y:0", feeds)

    for feeds in ({}, {"p:0": 3.0}):
        found = run(theirs.compat.v1, defaults(False, case), feeds)
        for is_ours in (True, False):
            np.testing.assert_allclose(run(ours, copied(defaults(is_ours, case)), feeds), found)
    other = lambda: {"p:0": ours.placeholder_with_default(np.float32(3), [], name="q")}  # noqa: E731
    np.testing.assert_allclose(run(ours, copied(defaults(False, case)), {}, input_map=other), found)
