"""The order of reads and assignments: the operations that a run needs, and the value that each read gives."""

from __future__ import annotations

import itertools

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.transplant import copy_graph
from dovetail.graph.effects import needed_for, thread, waits_of_runs
from dovetail.sessions.cut import cut
from dovetail.trace.variables import assign_in_order, in_program_order, read_for_update


@pytest.fixture
def graph():
    graph = dt.SessionGraph()
    with graph.as_default():
        yield graph


def run(graph, *fetches):
    return dt.Session(graph).run(list(fetches))


def test_reads_come_as_early_as_their_edges_allow(graph, engine):
    v, w = dt.Variable(1.0), dt.Variable(10.0)
    first = v.assign(2.0)
    with graph.control_dependencies([first]):
        behind_first = v * 1.0
    second = v.assign(3.0)
    with graph.control_dependencies([behind_first, w.assign(20.0)]):
        behind_other = v * 1.0
    unordered = v * 1.0
    # `w` is assigned behind both assignments of `v`, in program order
    assert run(graph, first, behind_first, second, behind_other, unordered) == [2.0, 2.0, 3.0, 3.0, 1.0]
    assert (v.numpy(), w.numpy()) == (3.0, 20.0)


def test_updates_read_at_their_place(graph, engine):
    v = dt.Variable(1.0)
    steps = [v.assign_add(1.0), v.assign_changed(lambda x, y: x * y, 10.0), v.assign_sub(v)]
    assert run(graph, *steps) == [2.0, 20.0, 19.0]
    with in_program_order(graph):
        tripled = v * 3.0
    assert tripled.op.inputs[0].op.attrs["in_order"]
    assert run(graph, steps[0], tripled) == [20.0, 60.0]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_fetches_does_not_matter(graph, order):
    v = dt.Variable(1.0)
    steps = [v.assign_add(1.0), v.assign(v * 5.0), v.assign_sub(2.0)]
    assert run(graph, *[steps[i] for i in order]) == [[2.0, 5.0, 3.0][i] for i in order]
    assert v.numpy() == 3.0


def test_shared_and_other_reads(graph):
    v = dt.Variable(1.0)
    step = v.assign_add(1.0)
    assert (v * 2.0).op.inputs[0] is (v * 3.0).op.inputs[0]
    with graph.control_dependencies([step]):
        reads = [(v * 2.0).op.inputs[0] for _ in range(2)]
    assert reads[0] is not reads[1] and reads[0].op.control_inputs == (step.op,)
    graph.validate()


def test_a_part_that_is_cut_out_is_pure(graph):
    v, x = dt.Variable(1.0), graph.placeholder(dt.spec(()), "x")
    with graph.control_dependencies([v.assign_add(x), v.assign_add(x * 2.0)]):
        y = v * x
    part = cut(graph, [x], [y])
    assert [op.type for op in part.find(("ReadVariableOp", "AssignVariableOp"))] == [
        "ReadVariableOp",
        "AssignVariableOp",
    ]
    assert not any(op.control_inputs for op in part)
    part.validate()
    fed = cut(graph, [x, v], [y, v])
    assert not fed.find("ReadVariableOp") and len(fed.find("AssignVariableOp")) == 1


def test_what_waits_for_an_assignment_waits_for_what_that_waits_for(graph, capsys):
    v, x = dt.Variable(1.0), graph.placeholder(dt.spec(()), "x")
    with graph.control_dependencies([ops.print_tensor(x, "shown")]):
        step, read = v.assign(x), ops.identity(v)
    with graph.control_dependencies([step]):
        behind = x * 2.0
    for fetches in (step, behind, read, graph.group(step)):
        dt.Session(graph).run(fetches, {x: 1.0})
        assert capsys.readouterr().out == "shown 1\n"


def test_what_a_loop_assigns_is_a_part_of_it(graph):
    v, p = dt.Variable(0.0), graph.placeholder(dt.spec((), "bool"), "p")
    counted = ops.while_loop(
        lambda i: i < 3, lambda i: (v.assign_add(1.0), i + 1)[1], ops.constant(0) + ops.cast(p, int)
    )
    assert [op.attrs["variable"] for op in needed_for(graph, [counted]) if op.type == "AssignVariableOp"] == [v]
    assert not any(op.type == "AssignVariableOp" for op in needed_for(graph, [v * 2.0]))
    with graph.control_dependencies([counted]):
        after = v.assign(v * 10.0)
    assert dt.Session(graph).run([counted, after], {p: False}) == [3, 30.0]


def test_a_loop_that_assigns_reads_all_at_one_moment(graph, engine):
    """Check two loops, each of which reads the variable that the other one assigns.

    Whichever loop comes first, the second sees its assignment.
    """
    v, w = dt.Variable(1.0), dt.Variable(2.0)

    def summed(changed, seen):
        def body(i, total):
            changed.assign_add(1.0)
            return i + 1, total + seen

        return ops.while_loop(lambda i, _: i < 2, body, (ops.constant(0), graph.constant(ops.zeros(()).numpy())))[1]

    assert run(graph, summed(v, w), summed(w, v)) == [4.0, 6.0]
    assert (v.numpy(), w.numpy()) == (3.0, 4.0)


def test_variables_that_are_assigned_in_order(graph):
    v = dt.Variable(1.0)
    before = v * 1.0
    assign_in_order(graph, v, read_for_update(graph, v) + 1.0)
    after = v * 1.0
    assign_in_order(graph, v, read_for_update(graph, v) * 10.0)
    assert run(graph, before) == [1.0] and v.numpy() == 20.0
    assert run(graph, before, after) == [20.0, 21.0] and v.numpy() == 210.0


def test_the_gradient_of_what_was_assigned_goes_to_the_variable(graph):
    v, x = dt.Variable(2.0), graph.placeholder(dt.spec(()), "x")
    assigned = v.assign(x * x)
    with graph.control_dependencies([assigned]):
        y = v * v * x + assigned * 3.0
    gradient = dt.gradients(y + v * 100.0, [v, x])
    assert dt.Session(graph).run(gradient, {x: 3.0}) == [2 * 9.0 * 3.0 + 3.0 + 100.0, 81.0]


def test_threading_a_copy_leaves_the_graph_as_it_was(graph):
    v = dt.Variable(1.0)
    step = v.assign_add(1.0)
    text = str(graph)
    made = copy_graph(graph)
    values = thread(made)
    assert list(values) == [v] and str(graph) == text and step.op.graph is graph
    made.validate()


def test_an_assignment_of_a_session_waits_for_reads_that_bring_nothing_else_along(graph):
    v, w = dt.Variable(1.0, name="v"), dt.Variable(10.0, name="w")
    other = w.assign(20.0)
    v * 2.0  # comes first in each run
    with graph.control_dependencies([other]):
        v * 3.0  # would assign `w`
    step = v.assign_add(1.0)
    with graph.control_dependencies([step]):
        v * 4.0  # comes behind the step
    v.assign_sub(1.0)
    first = v.assign(5.0)  # may be the first value
    found = {op.name: [one.name for one in waits] for op, waits in waits_of_runs(graph.operations).items()}
    names = [op.name for op in graph if op.type == "AssignVariableOp" and op.attrs["variable"] is v]
    reads = [op.name for op in graph if op.type == "ReadVariableOp"]
    assert found == {names[0]: reads[:1], names[1]: [reads[0], reads[2]]} and first.op.name not in found
