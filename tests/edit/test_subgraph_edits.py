"""Edits of branches and bodies of loops after they were built: more captures, and more outputs."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import refused

VALUES = np.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture
def graph():
    """A graph of two inputs."""
    graph = dt.Graph("outside")
    graph.placeholder(dt.spec((3,)), "x"), graph.placeholder(dt.spec(()), "y")
    return graph


def scan(x):
    return ops.scan(lambda s, e: (s + e, None), 0.0, x)[0]


def loop(x):
    return ops.while_loop(lambda s: s < 100.0, lambda s: s * 2.0 + x[0], ops.sum(x))


def branch(x):
    return ops.cond(x[0] > 0.0, lambda: x[1] * 2.0, lambda: x[2])


def run(graph, tensor, x=VALUES, y=10.0):
    graph.validate()
    return tensor.eval({"x:0": x, "y:0": y}).tolist()


# kind → (the function that builds it, the edited graph, the result if its first output is multiplied by 10)
MORE = {
    "Scan": (scan, "body", ((1.0 * 10.0 + 2.0) * 10.0 + 3.0) * 10.0),
    "While": (loop, "body", (6.0 * 2.0 + 1.0) * 10.0),
    "If": (branch, "then_branch", 2.0 * 2.0 * 10.0),
}


@pytest.mark.parametrize("kind", MORE)
@pytest.mark.parametrize("what", ["tensor", "later tensor", "variable"])
def test_a_body_takes_more_from_around_it(engine, graph, kind, what):
    build, name, expected = MORE[kind]
    x, y = graph.inputs
    result = build(x)
    outer = {"tensor": lambda: y, "later tensor": lambda: y * 1.0, "variable": lambda: dt.Variable(10.0)}[what]()
    body = result.op.body(name)
    before = len(body.inputs)
    last = body.outputs[0]
    for _ in "12":
        with body.as_default():
            body.outputs = [last * outer]
        graph.validate()
    assert len(body.inputs) == before + 1  # captured once
    assert run(graph, result) == expected
    if kind == "If":
        assert run(graph, result, -VALUES) == -3.0


def test_edits_of_bodies_take_tensors_from_outside(engine, graph):
    x, y = graph.inputs
    result = scan(x)
    body = result.op.body()
    add = body.outputs[0].op
    add.replace_input(0, y)
    assert run(graph, result) == 13.0
    body.replace_all_uses(body.inputs[-1], body.inputs[0])
    assert run(graph, result) == 6.0
    body.replace_all_uses(body.inputs[1], y)
    assert run(graph, result) == 30.0
    refused(graph, ValueError, lambda: body.replace_all_uses(body.inputs[0], result), "cycle")
    refused(graph, ValueError, lambda: add.replace_input(0, x), "carries")
    ints = ops.cast(y, "int32")
    refused(graph, TypeError, lambda: add.replace_input(0, ints), "cast it first")


def test_gradients_reach_what_was_brought_in(engine, graph):
    x, y = graph.inputs
    result = scan(x)
    body = result.op.body()
    body.insert_after(body.inputs[1], lambda e: ops.tanh(e) * y)
    gradients = dt.gradients(result, [x, y])
    np.testing.assert_allclose(run(graph, gradients[1]), np.tanh(VALUES).sum(), rtol=1e-5)
    np.testing.assert_allclose(run(graph, gradients[0]), 10.0 * (1 - np.tanh(VALUES) ** 2), rtol=1e-4)


def test_bodies_of_bodies(engine, graph):
    x, y = graph.inputs
    result = ops.scan(lambda s, e: (ops.cond(e > 1.0, lambda: s + e, lambda: s), None), 0.0, x)[0]
    inner = result.op.body("body").find("If")[0].body("then_branch")
    inner.insert_after(inner.outputs[0], lambda t: t + y)
    assert run(graph, result) == 25.0
    copy = dt.Graph("copy")
    copies = copy.import_graph(graph.subgraph([result], graph.inputs), name="all")
    again = copies[0].op.body("body").find("If")[0].body("then_branch")
    again.insert_after(again.outputs[0], lambda t: t * copy.inputs[1])
    copy.validate()
    assert copies[0].eval({"all/x:0": VALUES, "all/y:0": 10.0}) == ((0 + 2 + 10) * 10 + 3 + 10) * 10


def test_bodies_of_copies_take_from_their_own_graph(graph):
    x, y = graph.inputs
    graph.outputs = [scan(x)]
    copy = dt.function(graph).graph(VALUES, np.float32(1.0))
    body = copy.outputs[0].op.body("body")
    refused(copy, ValueError, lambda: body.insert_after(body.inputs[1], lambda e: e * y), "'outside'")
    body.insert_after(body.inputs[1], lambda e: e * copy.inputs[1])
    copy.validate()
    assert float(dt.function(copy)(VALUES, np.float32(10.0))) == 60.0


def test_what_cannot_be_brought_in_is_refused(graph):
    x, y = graph.inputs
    result = loop(x)
    after = ops.exp(result)
    body = result.op.body("body")
    refused(graph, ValueError, lambda: body.insert_after(body.outputs[0], lambda t: t + after), "would make a cycle")
    refused(graph, TypeError, lambda: body.insert_after(body.outputs[0], lambda t: t + "a"), "str")
    refused(graph, ValueError, lambda: body.insert_after(body.outputs[0], lambda t: t + x), "carries")

    def assigns(t):
        dt.Variable(0.0, name="count").assign(t)
        return t * 2.0

    refused(graph, ValueError, lambda: body.insert_after(body.outputs[0], assigns), "'count' cannot be assigned in")
    dt.gradients(result, x)
    shared = graph.find("WhileGrad")[0].attr("body")
    assert shared is body
    with (
        body.as_default(),
        pytest.raises(ValueError, match=r"'While' and 'gradients/WhileGrad' share the graph 'body'"),
    ):
        body.outputs[0] + y
    own = result.op.body("body")
    assert (own is shared, graph.find("WhileGrad")[0].body("body") is shared) == (False, True)
    own.insert_after(own.outputs[0], lambda t: t + y)
    graph.validate()
    assert run(graph, result) == 125.0
    for name in (None, "then_branch"):
        with pytest.raises(ValueError, match=r"has no graph .* inside\. There are: condition, body\."):
            result.op.body(name)
    with pytest.raises(ValueError, match=r"There are: none\."):
        after.op.body()


# -- outputs ----------------------------------------------------------------------------------------------------------


def test_a_scan_stacks_more(engine, graph):
    x, _ = graph.inputs
    result = scan(x)
    body = result.op.body()
    with body.as_default():
        twice = body.outputs[0] * 2.0
    stacked = result.op.add_output(body=twice)
    assert (stacked.name, stacked.shape) == ("Scan:1", (3,))
    assert run(graph, stacked) == [2.0, 6.0, 12.0]
    assert run(graph, dt.gradients(ops.sum(stacked), x)[0]) == [6.0, 4.0, 2.0]


def test_a_branch_gives_more(engine, graph):
    x, y = graph.inputs
    result = branch(x)
    parts = {name: result.op.body(name) for name in ("then_branch", "else_branch")}
    for part in parts.values():
        with part.as_default():
            part.outputs[0] + y
    more = result.op.add_output(**{name: part.operations[-1].outputs[0] for name, part in parts.items()})
    assert [run(graph, t) for t in (result, more)] == [4.0, 14.0]
    assert [run(graph, t, -VALUES) for t in (result, more)] == [-3.0, 7.0]


def test_a_loop_carries_more(engine, graph):
    x, y = graph.inputs
    result = loop(x)
    count = result.op.add_output(init=graph.constant(np.array(0, "int32")), body=lambda n: n + 1)
    total = result.op.add_output(init=y, body=result.op.body("body").outputs[0])
    assert [run(graph, t) for t in (result, count, total)] == [111.0, 4, 111.0]
    assert [t.index for t in result.op.outputs] == [0, 1, 2]
    assert [run(graph, t, VALUES * 100.0) for t in (result, count, total)] == [600.0, 0, 10.0]
    graph.outputs = [result, count, total]
    found = dt.function(graph)(VALUES, np.float32(10.0))
    assert [float(t) for t in found] == [111.0, 4.0, 111.0]


def test_outputs_that_are_refused(graph):
    x, y = graph.inputs
    scanned, looped, chosen, plain = scan(x), loop(x), branch(x), ops.exp(x)
    body, then = scanned.op.body("body"), chosen.op.body("then_branch")
    with chosen.op.body("else_branch").as_default():
        ints = ops.cast(chosen.op.body("else_branch").outputs[0], "int32")
    add = [
        (lambda: plain.op.add_output(body=x), TypeError, "only branches and loops can get further outputs"),
        (lambda: scanned.op.add_output(), TypeError, "give body="),
        (lambda: scanned.op.add_output(init=y, body=body.outputs[0]), TypeError, "give body="),
        (lambda: chosen.op.add_output(then_branch=then.outputs[0]), TypeError, "give then_branch=..., else_branch="),
        (lambda: looped.op.add_output(body=lambda n: n), TypeError, "give body=..., init="),
        (lambda: scanned.op.add_output(body=x), ValueError, "is no tensor of Scan.body"),
        (lambda: looped.op.add_output(init=y, body=lambda n: ops.cast(n, "int32")), (TypeError, ValueError), "int32"),
        (lambda: looped.op.add_output(init=y, body=lambda n: ops.stack([n, n])), ValueError, "carries"),
        (lambda: looped.op.add_output(init=looped, body=lambda n: n), ValueError, "cycle"),
        (lambda: chosen.op.add_output(then_branch=then.outputs[0], else_branch=ints), TypeError, "of one dtype"),
    ]
    for edit, kind, message in add:
        refused(graph, kind, edit, message)


@pytest.mark.parametrize("kind", MORE)
def test_outputs_of_a_body_are_as_many_as_the_operation_needs(engine, graph, kind):
    build, name, _ = MORE[kind]
    result = build(graph.inputs[0])
    body = result.op.body(name)
    last, expected = body.outputs[0], run(graph, result)
    for change in (
        lambda: body.outputs.append(last),
        lambda: body.outputs.pop(),
        lambda: body.outputs.clear(),
        lambda: setattr(body, "outputs", [last, last]),
    ):
        refused(graph, ValueError, change, r"results, not 1; give the operation another one, operation\.add_output")
    with body.as_default():
        other = dt.ops.cast(last, "int32")
        twice = last * 2.0
    refused(graph, TypeError, lambda: body.outputs.__setitem__(0, other), "int32")
    refused(graph, ValueError, lambda: body.outputs.__setitem__(0, graph.inputs[0]), "belongs to the graph")
    assert run(graph, result) == expected
    body.outputs[0] = twice
    graph.validate()
    assert run(graph, result) != expected
