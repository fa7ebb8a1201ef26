"""Reach: against a plain recursive definition on random graphs; its limits; walks over anything else."""

import itertools

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph.operation import GraphTensor
from dovetail.graph.reach import reach, waited_for, walk


def random_graph(rng, size=24):
    """Operations of one and of two results in random places, some of which wait for others."""
    graph = dt.Graph("random")
    tensors = [graph.placeholder(dt.spec((3, 3)), name) for name in "xyz"]
    for _ in range(size):
        first, second = (tensors[i] for i in rng.integers(len(tensors), size=2))
        with graph.insert_after(graph.operations[rng.integers(len(graph))]):
            tensors += ops.qr(first) if rng.random() < 0.3 else [first + second]
        waiting, other = (graph.operations[i] for i in rng.integers(len(graph), size=2))
        if not graph.depends_on(other, waiting):
            waiting.add_control_input(other)
    return graph, tensors


def defined(starts, forward, control, given, is_outside):
    """The result of `reach`, by the definition in its docstring."""
    found = set()

    def enter(op):
        if op in found or is_outside(op) or (op.type == "Placeholder" and op.outputs[0] in given):
            return
        found.add(op)
        for tensor in op.outputs if forward else op.inputs:
            leave(tensor)
        for other in (op.control_outputs if forward else op.control_inputs) if control else ():
            enter(other)

    def leave(tensor):
        if tensor not in given:
            for op in tensor.consumers() if forward else [tensor.op]:
                enter(op)

    for start in starts:
        leave(start) if isinstance(start, GraphTensor) else enter(start)
    return found


@pytest.mark.parametrize("forward, control", list(itertools.product([False, True], repeat=2)))
def test_it_is_what_its_definition_says(rng, forward, control):
    for _ in range(30):
        graph, tensors = random_graph(rng)
        some = [t for t in tensors if rng.random() < 0.15]
        given = {t for t in tensors if rng.random() < 0.15}
        walls = {op for op in graph.operations if rng.random() < 0.1}
        starts = [*some, *(op for op in graph.operations if rng.random() < 0.1)]
        found = reach(starts, forward=forward, control=control, given=given, outside=walls.__contains__)
        assert set(found) == defined(starts, forward, control, given, walls.__contains__)
        order = {op: i for i, op in enumerate(graph.operations)}
        assert [order[op] for op in found] == sorted({order[op] for op in found})
        assert set(reach(starts, forward=forward, control=control)) == defined(
            starts, forward, control, (), lambda op: False
        )


def test_what_is_given_at_the_start_is_not_needed():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    y = ops.tanh(x)
    assert reach([y, x], given=[y, x]) == []
    assert reach([x.op], given=(y, x)) == []
    assert reach([y.op], given={y, x}) == [y.op]  # the operation is asked for, not its result


def test_a_walk_through_many_paths_goes_each_once():
    graph = dt.Graph()
    y = graph.placeholder(dt.spec(()), "x")
    for _ in range(60):
        y = y + y
    assert reach([y, y.op.inputs[0]]) == graph.operations
    assert reach(graph.inputs, forward=True) == graph.operations[1:]


def test_a_walk_is_as_long_as_what_it_finds(monkeypatch):
    """Check that a walk near its start takes few steps in a large graph."""
    graph = dt.Graph()
    y = graph.placeholder(dt.spec(()), "x")
    for _ in range(2000):
        y = ops.tanh(y)
    near = graph.operations[-3].outputs[0]
    seen = []
    assert reach([y], given={near}, outside=lambda op: seen.append(op)) == graph.operations[-2:]
    assert len(seen) == 2


def test_a_walk_over_anything():
    """Check the post-order, also in a long chain, and that a walk ends in a circle."""
    assert walk([10_000], lambda n: range(n - 1, max(n - 3, -1), -1)) == list(range(10_001))
    assert sorted(walk("a", {"a": "bc", "b": "c", "c": "a"}.__getitem__)) == ["a", "b", "c"]


def test_what_an_assignment_waits_for_in_order():
    """Check the control inputs of an assignment, in order.

    An earlier assignment of any variable is replaced by its own control inputs. All other control inputs are kept.
    """
    v = dt.Variable(1.0, name="v")
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    first, second, third, fourth = (f(x) for f in (ops.tanh, ops.exp, ops.sin, ops.cos))
    with graph.as_default():
        with graph.control_dependencies([first.op, second.op, third.op]):
            v.assign(x)
        before = graph.state.last[v]
        with graph.control_dependencies([fourth.op, before, first.op]):
            v.assign(x * 2.0)
            y = x + 1.0
    assert waited_for(before) == [first.op, second.op, third.op]
    assert waited_for(graph.state.last[v]) == [fourth.op, first.op, second.op, third.op]
    assert waited_for(y.op) == [fourth.op, before, first.op]
