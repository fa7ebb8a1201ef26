"""Editing graphs: producers and consumers go on agreeing, and what would break them is refused."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings

import dovetail as dt
from dovetail import ops
from tests.graph.random_edits import REFUSED, SEVERAL, apply, dump, edits
from tests.graph.random_graphs import ROWS, arguments, check_same, graphs, interpret


@pytest.fixture
def graph():
    return dt.Graph("test")


@pytest.fixture
def x(graph):
    return graph.placeholder(dt.spec((2, 3)), "x")


def types(graph):
    return [op.type for op in graph.operations]


def refused(graph, error, edit, match=None):
    before = dump(graph)
    with pytest.raises(error, match=match):
        edit()
    assert dump(graph) == before
    graph.validate()


# -- replacing --------------------------------------------------------------------------------------------------------


def test_replace_input(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    total = y + z
    total.op.replace_input(0, x)
    assert total.op.inputs == [x, z]
    assert y.consumers() == []
    assert total.op in x.consumers()
    graph.validate()


def test_replace_input_by_what_stands_later_moves_it_ahead(graph, x):
    y = ops.tanh(x)
    later = ops.exp(ops.square(x))
    y.op.replace_input(0, later)
    assert types(graph) == ["Placeholder", "Square", "Exp", "Tanh"]
    graph.validate()


def test_edits_that_cannot_be_are_refused(graph, x):
    y = ops.tanh(x)
    z = y * 2
    ints = graph.placeholder(dt.spec((2, 3), "int32"))
    wide = graph.placeholder(dt.spec((2, 4)))
    added = z + x
    other = dt.Graph("other").placeholder(dt.spec((2, 3)))
    refused(graph, ValueError, lambda: y.op.replace_input(0, z), "cycle")
    refused(graph, ValueError, lambda: y.op.replace_input(0, y), "cycle")
    refused(graph, TypeError, lambda: y.op.replace_input(0, ints), "cast it first")
    refused(graph, ValueError, lambda: y.op.replace_input(0, other), "other")
    refused(graph, ValueError, lambda: added.op.replace_input(0, wide), "broadcast")
    refused(graph, ValueError, lambda: y.op.replace_input(0, wide), "broadcast")  # fits here, but not further on
    refused(graph, TypeError, lambda: graph.replace_all_uses(x, ints))
    refused(graph, ValueError, lambda: graph.remove(y.op), "Tanh:0")
    refused(graph, ValueError, lambda: y.op.add_control_input(z.op), "cycle")


def test_shapes_follow_a_replacement(graph, x):
    y = ops.tanh(x)
    z = ops.transpose(y)
    y.op.replace_input(0, graph.placeholder(dt.spec((5, 7))))
    assert (y.shape, z.shape) == ((5, 7), (7, 5))
    graph.validate()


def test_replace_all_uses(graph, x):
    y = ops.tanh(x)
    graph.outputs = [y, y * y]
    new = ops.exp(x)
    graph.replace_all_uses(y, new)
    assert graph.outputs[0] is new
    assert graph.outputs[1].op.inputs == [new, new]
    assert y.consumers() == []
    graph.validate()


def test_replace_all_uses_by_what_takes_it(graph, x):
    """Putting an operation behind a tensor: the new one goes on taking it."""
    y = ops.tanh(x)
    graph.outputs = [ops.exp(y)]
    with graph.insert_after(y.op):
        clipped = ops.minimum(y, 0.5)
    graph.replace_all_uses(y, clipped)
    assert graph.outputs[0].op.inputs == [clipped]
    assert clipped.op.inputs[0] is y
    assert types(graph) == ["Placeholder", "Tanh", "Const", "Minimum", "Exp"]
    graph.validate()


def test_replacing_one_of_many_uses_does_not_look_at_all(graph, x):
    """What an edit costs depends on what it touches, not on the graph."""
    y = x
    for _ in range(20_000):
        y = ops.tanh(y)
    first = x.consumers()[0]
    looked_at = graph._check_acyclic(x.op, [first])
    assert looked_at == []


def test_normalising_a_tensor_where_it_stands_b(graph, x):
    """What the new tensor is computed from goes on taking the old one."""
    y = ops.tanh(x)
    graph.outputs = [ops.exp(y), y]
    normal = (y - ops.mean(y)) / ops.std(y)
    graph.replace_all_uses(y, normal)
    assert graph.outputs[0].op.inputs == [normal]
    assert graph.outputs[1] is normal
    assert types(graph) == ["Placeholder", "Tanh", "Mean", "Sub", "StandardDeviation", "RealDiv", "Exp"]
    graph.validate()


def test_what_the_new_tensor_waits_for_goes_on_taking_the_old_one(graph, x):
    y = ops.tanh(x)
    first = ops.exp(y)
    with graph.control_dependencies([first.op]):
        new = ops.sin(x)
    graph.replace_all_uses(y, new)
    assert first.op.inputs == [y]
    graph.validate()


def test_removed_tensors_are_named_b(graph, x):
    y = ops.tanh(x)
    z = ops.exp(x)
    graph.remove(y.op)
    gone = "Tanh:0.* was removed"
    refused(graph, ValueError, lambda: ops.exp(y), gone)
    refused(graph, ValueError, lambda: z.op.replace_input(0, y), gone)
    refused(graph, ValueError, lambda: graph.replace_all_uses(x, y), gone)
    refused(graph, ValueError, lambda: graph.replace_all_uses(y, x), gone)
    refused(graph, ValueError, lambda: graph.subgraph([y], [x]), gone)
    refused(graph, ValueError, lambda: graph.prune([y]), gone)
    refused(graph, ValueError, lambda: z.op.add_control_input(y.op), "Tanh.* was removed")
    refused(graph, ValueError, lambda: y.op.replace_input(0, x), "Tanh.* was removed")
    graph.outputs = [y]
    with pytest.raises(ValueError, match=gone):
        dt.function(graph)(np.ones((2, 3), "float32"))


def test_inputs_that_are_not_there(graph, x):
    y = ops.tanh(x)
    refused(graph, IndexError, lambda: y.op.replace_input(1, x), "no input 1")
    refused(graph, TypeError, lambda: graph.replace_all_uses(y, np.ones(3)), "no tensor of the graph")


def test_a_failing_edit_leaves_names_as_they_were(graph, x):
    """What is made for an edit is gone with it."""
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((2, 3)), "a")
    v = dt.Variable(np.zeros((2, 3), "float32"), name="v")
    with source.as_default():
        v.assign(ops.exp(a))
    source.outputs = [ops.tanh(a)]

    class NoAssignments(dt.Graph):
        def add(self, op, *args, **options):
            if op.name == "AssignVariableOp":
                raise ValueError("no assignments here")
            return super().add(op, *args, **options)

    target = NoAssignments("target")
    b = target.placeholder(dt.spec((2, 3)), "b")
    refused(target, ValueError, lambda: target.import_graph(source, {"a": b}), "no assignments")
    refused(target, ValueError, lambda: target.import_graph(source), "no assignments")
    assert ops.tanh(b).name == "Tanh:0"


# -- shapes that are tensors, bodies of loops --------------------------------------------------------------------------


def test_a_shape_that_is_a_tensor_is_inferred_again_a12(graph):
    x = graph.placeholder(dt.spec((None, 3)), "x")
    y = ops.reshape(x, ops.stack([ops.shape(x)[0], 3]))
    z = ops.transpose(y)
    graph.outputs = [ops.sum(z, 1)]
    assert (y.shape, z.shape) == ((None, 3), (3, None))
    y.op.replace_input(1, ops.stack([3, ops.shape(x)[0]]))
    assert (y.shape, z.shape, graph.outputs[0].shape) == ((3, None), (None, 3), (None,))
    graph.validate()
    value = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(dt.function(graph)(value).numpy(), value.reshape(3, 2).sum(0))


def test_edits_of_arithmetic_with_shapes_reach_the_shapes_a12(graph):
    """Neither shape nor dtype of what is replaced changes; what it says of other shapes does."""
    x = graph.placeholder(dt.spec((2, 6)), "x")
    w = graph.placeholder(dt.spec((3, 4)), "w")
    two = graph.constant(np.array(2, "int32"))
    y = ops.broadcast_to(x[0, 0], ops.stack([ops.shape(w)[0] * two, graph.placeholder(dt.spec((), "int32"))]))
    z = ops.sum(y, 1)
    assert (y.shape, z.shape) == ((6, None), (6,))
    graph.replace_all_uses(two, graph.constant(np.array(3, "int32")))
    assert (y.shape, z.shape) == ((9, None), (9,))
    graph.replace_all_uses(w, graph.placeholder(dt.spec((7, 2)), "v"))
    assert (y.shape, z.shape) == ((21, None), (21,))
    graph.replace_all_uses(w, graph.placeholder(dt.spec((None, 2)), "u"))
    graph.validate()


@pytest.fixture
def loop(graph, x):
    """A scan over three rows, which captures a tensor; its operation and the inputs of that."""
    xs = graph.placeholder(dt.spec((2, 2, 3)), "xs")
    scale = graph.placeholder(dt.spec((3,)), "scale")
    last, rows = ops.scan(lambda s, row: (ops.tanh(s + row * scale), s), x, xs)
    graph.outputs = [last, rows]
    return last.op


def test_bodies_are_inferred_again_a11(engine, graph, loop):
    rows = graph.placeholder(dt.spec((2, 3)), "rows")
    loop.replace_input(1, rows)
    body = loop.attr("body")
    assert [t.shape for t in body.inputs] == [(2, 3), (3,), (3,)]
    graph.validate()
    x, scale, given = graph.inputs[0], graph.inputs[2], np.ones((2, 3), "float32")
    graph.outputs = dt.gradients(ops.sum(loop.outputs[0]), [scale])
    part = graph.subgraph(graph.outputs, [x, rows, scale])
    found = dt.function(part)(given, given, given[0])

    def eager(c):
        s = dt.ops.constant(given)
        for _ in range(2):
            s = ops.tanh(s + c)
        return ops.sum(s)

    with dt.GradientTape() as tape:
        c = ops.constant(given[0])
        tape.watch(c)
        loss = eager(c)
    np.testing.assert_allclose(found.numpy(), tape.gradient(loss, c).numpy(), rtol=1e-5)


def test_loops_and_branches_refuse_what_their_bodies_cannot_take_a11(graph, x, loop):
    wide = graph.placeholder(dt.spec((2, 4)), "wide")
    refused(graph, ValueError, lambda: loop.replace_input(1, wide), "broadcast")
    refused(graph, ValueError, lambda: loop.replace_input(2, wide), "broadcast")
    refused(graph, ValueError, lambda: loop.replace_input(0, graph.inputs[2]), "carries")
    row = ops.exp(x)
    chosen = ops.cond(ops.sum(x) > 0, lambda: row * 2.0, lambda: ops.exp(row))
    total = ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s + row,), (x,))[0]
    vector = graph.inputs[2]
    refused(graph, ValueError, lambda: graph.replace_all_uses(x, wide), "broadcast")
    chosen.op.replace_input(1, vector)
    assert [chosen.op.attr(name).outputs[0].shape for name in ("then_branch", "else_branch")] == [(3,), (3,)]
    assert chosen.shape == (3,)
    total.op.replace_input(1, vector)
    assert total.op.attr("condition").inputs[1].shape == total.op.attr("body").inputs[1].shape == (3,)
    graph.validate()


def test_what_a_loop_carries_becomes_wider_a11(graph, loop):
    """A value of another number of rows, which the body does not keep."""
    loop.replace_input(0, graph.placeholder(dt.spec((1, 3)), "one"))
    loop.replace_input(1, graph.placeholder(dt.spec((2, 5, 3)), "xs"))
    body = loop.attr("body")
    assert [t.shape for t in body.inputs] == [(None, 3), (5, 3), (3,)]
    assert [t.shape for t in loop.outputs] == [(None, 3), (2, None, 3)]
    graph.validate()


def test_an_import_maps_the_input_of_a_loop_to_another_rank_a11(graph, x, loop):
    target = dt.Graph("target")
    rows, c = target.placeholder(dt.spec((2, 3)), "rows"), target.placeholder(dt.spec((2, 3)), "c")
    last, _ = target.import_graph(graph, {"xs": rows, "x": c})
    assert last.op.attr("body").inputs[1].shape == (3,)
    target.validate()
    wide = target.placeholder(dt.spec((2, 4)), "wide")
    refused(target, ValueError, lambda: target.import_graph(graph, {"xs": wide}), "broadcast")


def test_edits_inside_of_a_body_a11(engine, graph, x, loop):
    body = loop.attr("body")
    tanh = next(op for op in body.operations if op.type == "Tanh")
    with body.insert_after(tanh):
        half = tanh.outputs[0] * 0.5
    body.replace_all_uses(tanh.outputs[0], half)
    graph.validate()
    given = np.ones((2, 3), "float32")
    run = dt.function(graph)
    found = run(given, np.ones((2, 2, 3), "float32"), given[0])[0].numpy()
    np.testing.assert_allclose(found, np.tanh(np.tanh(2 * given) / 2 + 1) / 2, rtol=1e-5)
    body.outputs[0].op.replace_input(0, body.inputs[0])  # an edit of a body is one of the graph, too
    found = run(given, np.ones((2, 2, 3), "float32"), given[0])[0].numpy()
    np.testing.assert_allclose(found, given / 4, rtol=1e-5)


def test_edits_inside_of_a_body_that_the_loop_cannot_take_a11(graph, loop):
    body = loop.attr("body")
    state, row = body.inputs[:2]
    tanh = next(op for op in body.operations if op.type == "Tanh")
    with body.as_default():
        vector, ints = ops.sum(state, 0), ops.cast(state, "int32")
    refused(graph, ValueError, lambda: body.replace_all_uses(tanh.outputs[0], vector), "carries")
    refused(graph, ValueError, lambda: body.prune([ints, *body.outputs[1:]]), "int32")
    refused(graph, ValueError, lambda: body.prune(body.outputs[:1]), "1 results, not 2")
    refused(graph, ValueError, lambda: body.placeholder(dt.spec(()), "more"), "Scan.*gives it")
    tanh.replace_input(0, state)
    body.prune()
    assert not row.is_used
    refused(graph, ValueError, lambda: body.remove(row.op), "Scan.*gives it")


def test_a_loop_and_its_gradient_keep_their_own_bodies_a11(graph, x):
    """They share one until an edit of one of them says otherwise."""
    scale = graph.placeholder(dt.spec((3,)), "scale")
    y = ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s + scale,), (x,))[0]
    dt.gradients(y, x)
    gradient = next(op for op in graph.operations if op.type == "WhileGrad")
    assert gradient.attr("body") is y.op.attr("body")
    y.op.replace_input(1, graph.placeholder(dt.spec((1, 3)), "row"))
    assert gradient.attr("body").inputs[1].shape == (3,)
    assert y.op.attr("body").inputs[1].shape == (1, 3)
    graph.validate()


# -- inserting --------------------------------------------------------------------------------------------------------


def test_insert_before_and_after(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_before(z.op):
        ops.square(x)
        with graph.insert_after(x.op):
            ops.cos(x)
        ops.sin(x)
    ops.sqrt(x)
    assert types(graph) == ["Placeholder", "Cos", "Tanh", "Square", "Sin", "Exp", "Sqrt"]
    assert y.op.graph is graph
    graph.validate()


def test_an_inserted_operation_stands_where_its_inputs_allow(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_before(y.op):
        ops.square(z)
    assert types(graph) == ["Placeholder", "Tanh", "Exp", "Square"]


def test_removing_where_operations_are_inserted_b(graph, x):
    """What is inserted stands where the removed operation stood."""
    ops.sin(x)
    y, last = ops.tanh(x), ops.exp(x)
    with graph.insert_before(y.op), graph.insert_after(y.op):
        graph.remove(y.op)
        ops.square(x)
        ops.cos(x)
    with graph.insert_before(last.op):
        graph.remove(last.op)
        ops.floor(x)
    assert types(graph) == ["Placeholder", "Sin", "Square", "Cos", "Floor"]
    graph.validate()


def test_what_is_inserted_behind_stays_there_though_others_move(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_after(y.op):
        y.op.replace_input(0, z)
        ops.square(x)
        ops.cos(x)
    assert types(graph) == ["Placeholder", "Exp", "Tanh", "Square", "Cos"]
    graph.validate()


def test_insert_at_a_stranger(graph, x):
    with pytest.raises(ValueError, match="not in the graph"), dt.Graph().insert_before(x.op):
        pass


# -- control inputs ---------------------------------------------------------------------------------------------------


def test_control_inputs(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    y.op.add_control_input(z.op)
    y.op.add_control_input(z.op)
    assert types(graph) == ["Placeholder", "Exp", "Tanh"]
    assert y.op.control_inputs == (z.op,)
    assert z.op.control_outputs == (y.op,)
    graph.outputs = [y]
    assert graph.prune() == 0
    refused(graph, ValueError, lambda: graph.remove(z.op))
    y.op.remove_control_input(z.op)
    assert graph.prune() == 1
    graph.validate()


# -- removing ---------------------------------------------------------------------------------------------------------


def test_remove(graph, x):
    y = ops.tanh(x)
    graph.remove(y.op)
    assert types(graph) == ["Placeholder"]
    assert x.consumers() == []
    with pytest.raises(ValueError, match="was removed"):
        graph.remove(y.op)


def test_a_removed_read_is_read_again(graph):
    v = dt.Variable(1.0, name="v")
    with graph.as_default():
        graph.remove(v.read().op)
        assert v.read().op in graph


def test_prune(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    v = dt.Variable(np.zeros((2, 3), "float32"))
    with graph.as_default():
        v.assign(y)
    graph.outputs = [z]
    assert graph.prune() == 0
    graph.outputs = []
    assert graph.prune() == 1
    assert types(graph) == ["Placeholder", "Tanh", "AssignVariableOp"]
    graph.validate()
    assert graph.prune([y]) == 1  # new outputs: only what they need
    assert types(graph) == ["Placeholder", "Tanh"]
    graph.validate()


# -- subgraphs and imports ---------------------------------------------------------------------------------------------


def test_subgraph(graph, x):
    h = ops.tanh(x)
    y = ops.exp(h + 1)
    part = graph.subgraph([y], [h])
    part.validate()
    assert types(part) == ["Placeholder", "Const", "AddV2", "Exp"]
    value = np.ones((2, 3), "float32")
    np.testing.assert_allclose(interpret(part, [value])[0][0], np.exp(value + 1), rtol=1e-6)
    assert len(graph) == 5  # as it was
    with pytest.raises(ValueError, match="'x'"):
        graph.subgraph([y])


def test_import_graph(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None, 3)), "a")
    b = source.placeholder(dt.spec((3,)), "b")
    source.outputs = [ops.tanh(a * b)]
    (y,) = graph.import_graph(source, {"a": x}, name="copy")
    assert y.shape == (2, 3)
    assert y.op.name == "copy/Tanh"
    assert [t.op.name for t in graph.inputs] == ["x", "copy/b"]
    graph.validate()
    (z,) = graph.import_graph(source, {source.outputs[0].op.inputs[0]: x})  # any tensor can be mapped
    assert z.op.inputs == [x]
    assert [t.op.name for t in graph.inputs] == ["x", "copy/b", "a", "b"]
    graph.validate()


def test_imports_that_do_not_fit_are_refused(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None,)), "a")
    source.outputs = [a + np.ones(4, "float32")]
    ints = graph.placeholder(dt.spec((4,), "int32"))
    refused(graph, ValueError, lambda: graph.import_graph(source, {"a": graph.inputs[0]}), "broadcast")
    refused(graph, TypeError, lambda: graph.import_graph(source, {"a": ints}), "cast it first")
    refused(graph, KeyError, lambda: graph.import_graph(source, {"b": x}), "no operation 'b'")
    refused(graph, ValueError, lambda: graph.import_graph(source, {"a": a}), "input_map")


def test_imported_assignments_happen(graph):
    v = dt.Variable([0.0, 0.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        v.assign(source.placeholder(dt.spec((2,)), "a") + v)
    graph.import_graph(source, {"a": graph.constant(np.ones(2, "float32"))})
    assert types(graph)[-1] == "AssignVariableOp"
    graph.validate()


# -- at random --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(graphs(), edits)
def test_random_edits_are_done_or_refused(graph, edits):
    """Whatever is asked for, in the graph or in those inside of it, is done or refused; never half."""
    for edit in edits:
        before = dump(graph)
        try:
            apply(graph, edit)
        except REFUSED as error:
            assert str(error)
            if edit[0] not in SEVERAL:
                assert dump(graph) == before
        graph.validate()
    graph.prune()
    graph.validate()


@settings(deadline=None, max_examples=40)
@given(graphs(), edits)
def test_an_edited_graph_runs_as_it_says(graph, edits):
    """What is compiled of a graph after edits computes what its operations compute one after the other."""
    run = dt.function(graph)
    for edit in edits:
        with contextlib.suppress(*REFUSED):
            apply(graph, edit)
    values = [
        np.resize(value, [n or ROWS for n in t.shape]) for value, t in zip(arguments(), graph.inputs, strict=False)
    ]
    try:
        expected = interpret(graph, values)
    except REFUSED:
        return  # shapes that nobody knew do not fit
    with dt.engine("numpy"):
        found = run(*values)
    found = [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]
    check_same((found, {v: v.numpy() for v in expected[1]}), expected)


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_an_import_computes_the_same(graph):
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph, name="copy")
    target.validate()
    check_same(interpret(target, arguments()), interpret(graph, arguments()))
