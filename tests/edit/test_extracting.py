"""Parts: subgraphs taken out of a graph, and mappings of an import."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import refused, types
from tests.graph.random_graphs import interpret


@pytest.fixture
def x(graph):
    return graph.placeholder(dt.spec((3, 3)), "x")


def test_one_of_two_results_is_given(graph, x):
    q, r = ops.qr(x)
    part = graph.subgraph([q + r], [x, q])
    assert [op.type for op in part.operations] == ["Placeholder", "Placeholder", "Qr", "AddV2"]
    add = part.outputs[0].op
    assert (add.inputs[0], add.inputs[1].op.type) == (part.inputs[1], "Qr")
    part.validate()


def test_what_waits_for_an_input_that_is_given(graph, x):
    with graph.control_dependencies([x.op]):
        y = ops.tanh(ops.constant([1.0]) * graph.placeholder(dt.spec((1,)), "y"))
    part = graph.subgraph([y], [graph.inputs[1], x])
    assert y.op.control_inputs == (x.op,)
    assert part.outputs[0].op.control_inputs == (part.inputs[1].op,)
    part.validate()
    with pytest.raises(ValueError, match=r"the outputs need 'x': add what they need"):
        graph.subgraph([y], [graph.inputs[1]])


def test_an_output_that_is_given_needs_nothing(graph, x):
    y = ops.tanh(x)
    part = graph.subgraph([y, x], [y, x])
    assert part.outputs == part.inputs
    assert (part.name, len(part)) == ("test_part", 2)


def test_strangers_in_a_part(graph, x):
    other = dt.Graph("other").placeholder(dt.spec(()), "y")
    for outputs, inputs in (([other], [x]), ([x], [other])):
        with pytest.raises(ValueError, match="belongs to the graph 'other'"):
            graph.subgraph(outputs, inputs)


def test_an_import_by_names_of_any_tensors(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((3, 3)), "a")
    q, r = ops.qr(a)
    source.outputs = [q + r]
    (y,) = graph.import_graph(source, {"Qr:1": x, "a": x})
    assert y.op.inputs[1] is x
    assert y.op.inputs[0].op.inputs == [x]
    refused(graph, KeyError, lambda: graph.import_graph(source, {"Qr:2": x}), "has 2 outputs")
    stranger = source.outputs[0]
    refused(graph, ValueError, lambda: graph.import_graph(source, {"a": stranger}), "must map tensors of 'source'")
    graph.validate()


def test_an_import_returns_its_outputs_and_does_its_assignments(graph, x):
    v = dt.Variable([[0.0] * 3] * 3, name="v")
    source = dt.Graph("source")
    with source.as_default():
        a = source.placeholder(dt.spec((3, 3)), "a")
        v.assign(a * 2.0)
        source.outputs = [a, a + 1.0]
    with graph.as_default():
        before = v.read()
    first, second = graph.import_graph(source, {a: x}, "part")
    assert first is x
    assert second.name == "part/AddV2:0"
    assert graph.scope == ""
    with graph.as_default():
        after = v.read()
    assert after.op.inputs[0].op.name == "part/Mul"
    assert before.op.type == "ReadVariableOp"
    graph.validate()


def test_subgraph(graph, x):
    h = ops.tanh(x)
    y = ops.exp(h + 1)
    part = graph.subgraph([y], [h])
    part.validate()
    assert types(part) == ["Placeholder", "Const", "AddV2", "Exp"]
    value = np.ones((3, 3), "float32")
    np.testing.assert_allclose(interpret(part, [value])[0][0], np.exp(value + 1), rtol=1e-6)
    assert len(graph) == 5  # the graph is unchanged
    with pytest.raises(ValueError, match="'x'"):
        graph.subgraph([y])


def test_import_graph(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None, 3)), "a")
    b = source.placeholder(dt.spec((3,)), "b")
    source.outputs = [ops.tanh(a * b)]
    (y,) = graph.import_graph(source, {"a": x}, name="copy")
    assert y.shape == (3, 3)
    assert y.op.name == "copy/Tanh"
    assert [t.op.name for t in graph.inputs] == ["x", "copy/b"]
    graph.validate()
    (z,) = graph.import_graph(source, {source.outputs[0].op.inputs[0]: x})  # an import can map any tensor
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


# -- copies of a part, and constants for variables --------------------------------------------------------------------


def test_a_part_is_copied_onto_other_tensors(engine):
    graph, v = dt.Graph(), dt.Variable([1.0, 2.0, 3.0], name="v")
    with graph.as_default():
        x, y = (graph.placeholder(dt.spec(shape), name) for name, shape in (("x", (None, 3)), ("y", (4, 3))))
        shown = ops.tanh(x)
        with graph.control_dependencies([shown.op]):
            h = x * v
        rows = ops.scan(lambda s, row: (s + row, s * row), h[0], h)[1]
        z = ops.sum(rows, 1)
    part = dt.walk.backward([z], stop_at=[x])
    copies = graph.copy_part(part, {x: y}, name="copy")
    assert (copies[z].shape, copies[z].op.name, copies.operations[h.op].control_inputs) == (
        (4,), "copy/Sum", (copies.operations[shown.op],),
    )  # fmt: skip
    assert copies[rows].op.attr("body") is not rows.op.attr("body")
    assert len(graph.find("ReadVariableOp")) == 1
    graph.validate()
    value = np.arange(12, dtype="float32").reshape(4, 3)
    expected = dt.Session(graph).run(z, {x: value[:2]})
    np.testing.assert_array_equal(copies[z].eval({y: value, x: value[:2]})[:2], expected)
    again = graph.copy_part([z.op])
    assert again[z].op.inputs == z.op.inputs


def test_copies_that_are_refused():
    graph = dt.Graph()
    x, wide, ints = (graph.placeholder(dt.spec(*spec)) for spec in [((2, 3),), ((5, 7),), ((2, 3), "int32")])
    y = ops.matmul(ops.tanh(x), graph.constant(np.ones((3, 4), "float32")))
    part = [y.op, y.op.inputs[0].op]
    refused(graph, ValueError, lambda: graph.copy_part(part, {x: wide}), "MatMul")
    refused(graph, TypeError, lambda: graph.copy_part(part, {x: ints}), "cast it first")
    refused(graph, ValueError, lambda: graph.copy_part(part, {x: dt.Graph("o").placeholder(dt.spec((2, 3)))}), "'o'")
    refused(graph, ValueError, lambda: graph.copy_part([dt.Graph("o").placeholder(dt.spec(())).op]), "'o'")


def test_variables_are_frozen(engine):
    v, w = dt.Variable([1.0, 2.0], name="layer/v"), dt.Variable(3.0, name="w")

    def program(x):
        looped = ops.scan(lambda s, e: (s * w + e, None), 0.0, x)[0]
        return ops.tanh(v) * x + looped

    graph = dt.function(program).graph(dt.spec((2,)))
    expected = dt.function(graph)(np.array([0.5, 0.25], "float32")).numpy()
    assert graph.freeze([v]) == 1
    assert graph.get_operation("layer/v").type == "Const"
    assert graph.freeze() == 1
    assert graph.freeze() == 0
    assert graph.find("ReadVariableOp") == []
    graph.validate()
    v.assign([0.0, 0.0]), w.assign(0.0)
    np.testing.assert_allclose(dt.function(graph)(np.array([0.5, 0.25], "float32")).numpy(), expected, rtol=1e-6)


def test_variables_that_are_assigned_are_not_frozen():
    v, w = dt.Variable(1.0, name="v"), dt.Variable(2.0, name="w")
    graph = dt.Graph()
    with graph.as_default():
        y = v * w
        v.assign(y)
    refused(graph, ValueError, graph.freeze, "'v' cannot be a constant, since 'v/Assign' assigns it")
    assert graph.freeze([w]) == 1
    part = graph.subgraph([y])
    assert part.freeze() == 1
