"""Operations that are marked to be recomputed: the same gradients, with less memory alive at once."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.vjp import split
from dovetail.compat.tf_graph.definition import snapshot
from dovetail.compat.tf_graph.importing import import_definition
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.graph import Graph
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.execute.segment import Segment
from tests.edit.random_edits import dump
from tests.edit.test_edit import refused
from tests.libraries import Library

jax = Library("jax")

BLOCKS, ROWS, WIDTH = 6, 8, 4


def net(recomputes, rows=ROWS):
    """A graph of the net, which sums its result; each block is marked if `recomputes`."""
    graph = Graph("net")
    x = graph.placeholder(dt.spec((rows, WIDTH)), "x")
    weights = graph.placeholder(dt.spec((WIDTH, WIDTH)), "weights")
    h = x
    blocks = []
    for number in range(BLOCKS):
        with graph.name_scope(f"block{number}"):
            a = h @ weights
            b = ops.sin(ops.tanh(a))
            h = ops.exp(-b * b)
        blocks.append(graph.find(name=f"^block{number}/"))
    with graph.name_scope("loss"):
        graph.outputs = [ops.sum(h)]
    if recomputes:
        assert [graph.recompute(block) for block in blocks] == [6] * BLOCKS
    return graph


def values(rows=ROWS):
    rng = np.random.default_rng(3)
    return [rng.uniform(-1, 1, shape).astype("float32") for shape in ((rows, WIDTH), (WIDTH, WIDTH))]


def with_gradients(graph):
    """A copy that returns the gradients, too."""
    whole = copy.copy(graph)
    whole.outputs = [*whole.outputs, *dt.gradients(whole.outputs[0], whole.inputs)]
    return whole


def by_tape(graph):
    run, (x, w) = dt.function(graph), map(ops.convert, values())
    with dt.GradientTape() as tape:
        tape.watch([x, w])
        y = run(x, w)
    return [y, *tape.gradient(y, [x, w])]


def by_a_compiled_tape(graph):
    run = dt.function(graph)

    @dt.function
    def step(x, w):
        with dt.GradientTape() as tape:
            tape.watch([x, w])
            y = run(x, w)
        return [y, *tape.gradient(y, [x, w])]

    return step(*map(ops.convert, values()))


def second(graph):
    """The gradient of the sum of the squared gradients."""
    run, (x, w) = dt.function(graph), map(ops.convert, values())
    with dt.GradientTape() as outer:
        outer.watch([x, w])
        with dt.GradientTape() as tape:
            tape.watch([x, w])
            y = run(x, w)
        size = sum(ops.sum(ops.square(g)) for g in tape.gradient(y, [x, w]))
    return outer.gradient(size, [x, w])


def second_in_a_graph(graph):
    whole = with_gradients(graph)
    with whole.as_default():
        size = sum(ops.sum(ops.square(g)) for g in whole.outputs[1:])
    whole.outputs = dt.gradients(size, whole.inputs)
    return dt.function(whole)(*values())


WAYS = {
    "tape": by_tape,
    "compiled tape": by_a_compiled_tape,
    "graph": lambda graph: dt.function(with_gradients(graph))(*values()),
    "session": lambda graph: dt.Session(whole := with_gradients(graph)).run(
        whole.outputs, dict(zip(whole.inputs, values(), strict=True))
    ),
    "second": second,
    "second in a graph": second_in_a_graph,
}


@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_the_same(engine, way):
    expected, found = (WAYS[way](net(recomputes)) for recomputes in (False, True))
    assert len(found) == len(expected) >= 2
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=2e-4, atol=1e-6)


# -- the memory that is alive at once ---------------------------------------------------------------------------------


def size(tensor):
    return int(np.prod(tensor.shape)) * tensor.dtype.numpy.itemsize


def peak(graph):
    """The largest number of bytes of results that are alive at once, in program order."""
    operations = [op for op in graph.operations if op.inputs]
    last = {t: i for i, op in enumerate(operations) for t in (*op.outputs, *op.inputs)}
    last |= dict.fromkeys(graph.outputs, len(operations))
    alive = most = 0
    for i, op in enumerate(operations):
        alive += sum(size(t) for t in op.outputs)
        most = max(most, alive)
        alive -= sum(size(t) for t in {*op.inputs, *op.outputs} if last[t] == i and t.op.inputs)
    return most


def test_less_is_alive_in_one_program(engine):
    """Check the graph that the engine gets.

    Unmarked, the results of all blocks are alive; marked, only the tensors between blocks.
    """
    plain, marked = (dt.function(with_gradients(net(r))).optimized_graph(*values()) for r in (False, True))
    assert peak(marked) < 0.6 * peak(plain)
    assert len(marked.find("MatMul")) == len(plain.find("MatMul")) + BLOCKS


def test_less_is_kept_between_two_programs(engine):
    """Check the arrays that a tape around a compiled function keeps until a gradient is asked for."""
    kept = []
    for recomputes in (False, True):
        forward, given = split(net(recomputes)).forward, list(map(ops.convert, values()))
        found = dt.function(forward)(*given)[1:]
        kept.append(sum(t.numpy().nbytes for t in found))
    assert kept[1] < 0.5 * kept[0]


def test_numpy_takes_less_memory():
    rows, used = 20_000, []
    with dt.engine("numpy"):
        for recomputes in (False, True):
            f, given = dt.function(with_gradients(net(recomputes, rows))), values(rows)
            f.plan(*given)
            tracemalloc.start()
            f(*given)
            used.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert used[1] < 0.6 * used[0]


def test_xla_takes_less_memory():
    """Check that XLA keeps recomputed values apart; if it saw that they equal the first ones, it would merge them."""
    used = []
    for recomputes in (False, True):
        jit = jax.jit
        found, place = with_gradients(net(recomputes, 1000)), Place(get_engine("jax"))
        segment = Segment(optimized_copy(found, place.engine), place)
        compiled = jit(segment.function).lower(*values(1000)).compile()
        used.append(compiled.memory_analysis().temp_size_in_bytes)
    assert used[1] < 0.8 * used[0]


# -- marks ------------------------------------------------------------------------------------------------------------


def spans(graph):
    return {op.recompute_group for op in graph} - {None}


def test_marks():
    graph = dt.Graph("test")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    y = ops.tanh(x)
    z = ops.exp(y)
    graph.outputs = [ops.sum(z)]
    assert graph.recompute([x, y, z.op]) == 2  # an input is not computed
    assert x.op.recompute_group is None
    assert y.op.recompute_group is z.op.recompute_group is not None
    assert graph.recompute(y, again=False) == 1
    assert (y.op.recompute_group, len(spans(graph))) == (None, 1)
    other = dt.Graph("other").placeholder(dt.spec(()), "other")
    refused(graph, ValueError, lambda: graph.recompute([y, other]), "belongs to the graph")
    before = dump(graph)
    with pytest.raises(ZeroDivisionError), graph.edit():
        graph.recompute([y, z])
        raise ZeroDivisionError
    assert dump(graph) == before
    graph.finalize()
    refused(graph, RuntimeError, lambda: graph.recompute([y]), "finalized")


def test_the_next_run_sees_it():
    graph = net(False)
    run = dt.function(graph)
    x, w = map(ops.convert, values())

    def kept():
        with dt.GradientTape() as tape:
            tape.watch([x, w])
            run(x, w)
        return len(next(iter(run.concrete(x, w)._functionals.values())).forward.graph.outputs)

    before = kept()
    graph.recompute(graph.find(("MatMul", "Tanh", "Sin", "Neg", "Mul", "Exp")))
    assert kept() < before


def _imported(graph):
    other = dt.Graph()
    inputs = {t.op.name: other.placeholder(t.spec, t.op.name) for t in graph.inputs}
    other.outputs = import_definition(other, snapshot(graph), inputs, [graph.outputs[0].name], "part")
    return other


KEEPERS = {
    "copy": copy.copy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "part": lambda graph: graph.subgraph(graph.outputs, graph.inputs),
    "definition": _imported,
    "a function's graph": lambda graph: dt.function(graph).graph(*[t.spec for t in graph.inputs]),
}


@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_comes_of_the_graph_keeps_the_marks(keeper):
    found = KEEPERS[keeper](net(True))
    assert len(spans(found)) == BLOCKS
    assert spans(found).isdisjoint(spans(net(True)))
    assert len(dt.function(with_gradients(found)).graph(*values()).find("XlaOptimizationBarrier")) == BLOCKS


def test_copies_in_one_graph_are_spans_of_their_own():
    graph = dt.Graph()
    x, w = (graph.placeholder(dt.spec(shape), "x") for shape in ((ROWS, WIDTH), (WIDTH, WIDTH)))
    for _ in range(2):
        graph.outputs += graph.import_graph(net(True), {"x": x, "weights": w})
    assert len(spans(graph)) == 2 * BLOCKS


@pytest.mark.parametrize("held", ["in the body", "as a whole"])
def test_loops_and_branches(engine, held):
    def program(x, w):
        def step(h):
            return ops.cond(ops.sum(h) > 0.0, lambda: ops.exp(-ops.tanh(h @ w)), lambda: ops.sin(ops.tanh(h)))

        h = ops.scan(lambda h, _: (step(h), None), x, length=3)[0]
        return ops.sum(ops.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, step(h)), (0, h))[1])

    def found(recomputes):
        graph = dt.function(program).graph(*map(ops.convert, values()))
        if recomputes and held == "as a whole":
            assert graph.recompute(graph.find(("Scan", "While"))) == 2
        elif recomputes:
            assert sum(part.recompute(part.operations) for part in graph.subgraphs()) > 10
        return [*by_tape(graph), *dt.function(with_gradients(graph))(*values())]

    for f, e in zip(found(True), found(False), strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-4, atol=1e-6)


def test_a_body_keeps_less_of_each_step():
    def graph(recomputes):
        body = lambda h, _: (ops.exp(-ops.sin(ops.tanh(ops.sin(h)))), None)  # noqa: E731
        found = dt.function(lambda x: ops.sum(ops.scan(body, x, length=5)[0])).graph(dt.spec((ROWS,)))
        if recomputes:
            inner = found.find("Scan")[0].body("body")
            inner.recompute(inner.operations)
        return with_gradients(found)

    plain, marked = (len(graph(r).find("Scan")[0].outputs) for r in (False, True))
    assert marked < plain


def test_gradients_by_name_hold_for_what_is_computed_again(engine):
    graph = net(True)
    graph.override_gradients({"Sin": "Identity"})
    plain = net(False)
    plain.override_gradients({"Sin": "Identity"})
    for f, e in zip(by_tape(graph), by_tape(plain), strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-4, atol=1e-6)
    assert not np.allclose(by_tape(graph)[1].numpy(), by_tape(net(True))[1].numpy())


def test_what_a_span_takes_in_the_middle_and_what_others_take_of_it(engine):
    """Check a group that is not one piece: the values between its parts are kept."""
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    a = ops.tanh(x)
    b = ops.exp(a)
    c = ops.sin(b) * a
    graph.outputs = [ops.sum(c * b)]
    given = np.float32([0.1, 0.2, 0.3])
    expected = dt.function(with_gradients(graph))(given)
    graph.recompute([a, c, c.op.inputs[0]])
    for f, e in zip(dt.function(with_gradients(graph))(given), expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-6)


def test_eager_tensors_and_variables_that_it_uses(engine):
    v, c = dt.Variable([1.0, 2.0], name="v"), ops.constant([3.0, 4.0])
    f = dt.function(lambda x: ops.sum(ops.exp(ops.tanh(x * v) * c)))
    graph = f.graph(dt.spec((2,)))
    run, x = dt.function(graph), ops.constant([0.1, 0.2])

    def slopes():
        with dt.GradientTape() as tape:
            tape.watch([x, c])
            y = run(x)
        return [g.numpy() for g in tape.gradient(y, [x, v, c])]

    expected = slopes()
    for _ in range(3):
        assert graph.recompute(graph.operations) == 5
    np.testing.assert_allclose(slopes(), expected, rtol=1e-5)
