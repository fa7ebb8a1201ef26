"""Editing graphs: producers and consumers stay consistent, and edits that would break them are refused."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.edit import _check_acyclic
from tests.edit.random_edits import dump


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64([1, 2, 3]), [1, 2, 3]),
        ([1.0, 2.0, 3.0], [1, 2, 3]),
        (2, [2, 2, 2]),
        (True, [1, 1, 1]),
        (ops.constant([4.0]), [4, 4, 4]),
    ],
    ids=repr,
)
def test_an_array_or_a_number_becomes_a_constant(value, expected):
    graph = dt.function(lambda x: ops.zeros_like(x) + ops.tanh(x)).graph(dt.spec((3,)))
    added = graph.outputs[0].op
    added.replace_input(1, value)
    graph.validate()
    assert added.inputs[1].dtype == "float32" and added.inputs[1].op._position < added._position
    np.testing.assert_array_equal(dt.function(graph)(np.zeros(3, "float32")).numpy(), expected)
    graph.replace_all_uses(graph.inputs[0], value if np.shape(value) == (3,) else np.ones(3))
    assert not graph.inputs[0].is_used
    np.testing.assert_array_equal(graph.constant(value).op.attrs["value"], np.asarray(value))


@pytest.mark.parametrize("value", ["a", None, np.ones(3, "complex64"), np.ones(7)], ids=str)
def test_what_no_constant_of_the_dtype_can_be_made_of_is_refused(graph, x, value):
    y = ops.tanh(x) + x
    refused(graph, (TypeError, ValueError), lambda: y.op.replace_input(1, value))


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
    refused(graph, ValueError, lambda: y.op.replace_input(0, wide), "broadcast")  # this op fits, a later one does not
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
    """Check that an operation put behind a tensor still takes that tensor."""
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
    """Check that the cost of an edit depends on the operations it touches, not on the graph."""
    y = x
    for _ in range(20_000):
        y = ops.tanh(y)
    first = x.consumers()[0]
    looked_at = _check_acyclic(x.op, [first])
    assert looked_at == []


def test_normalising_a_tensor_where_it_stands_b(graph, x):
    """Check that the inputs of the new tensor still use the old one."""
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
    refused(graph, TypeError, lambda: graph.replace_all_uses(np.ones(3), y), "no tensor of the graph")


def test_a_failing_edit_leaves_names_as_they_were(graph, x):
    """Check that a failing edit removes all that it made."""
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


def test_inputs_that_nothing_uses_are_dropped_by_a_word():
    graph = dt.function(lambda x, y, z: (ops.exp(x), z, y + 1.0)[1:]).graph(*[dt.spec((2,))] * 3)
    assert graph.prune() == 1 and len(graph.inputs) == 3
    assert graph.prune(inputs=True) == 1 and [t.op.name for t in graph.inputs] == ["arg1", "arg2"]
    graph.validate()
    loop = dt.function(lambda x: ops.while_loop(lambda v: False, lambda v: ops.zeros(2), (x,))[0]).graph(dt.spec((2,)))
    (body,) = [part for part in loop.subgraphs() if part.name == "body"]
    refused(body, ValueError, lambda: body.prune(inputs=True), "provides the inputs")


def test_a_signature_follows_its_graph():
    signature = dt.saved_model.load("tests/formats/tensorflow/models/simple").signatures["serving_default"]
    graph, key = signature.graph, signature.inputs[0]
    graph.replace_all_uses(graph.inputs[0], np.ones([size or 1 for size in graph.inputs[0].shape]))
    graph.prune(inputs=True)
    assert key not in signature.inputs and {*signature.input_specs} == {*signature.inputs}
    assert {*signature(**{name: np.ones(spec.shape) for name, spec in signature.input_specs.items()})}


def test_a_count_goes_with_the_last_random_number():
    first, second = dt.Generator(1), dt.Generator(2)

    def program(x):
        x = x + ops.random.uniform(first, (3,)) + ops.random.normal(first, (3,))
        return x * ops.random.uniform(second, (3,))

    graph = dt.function(program).graph(dt.spec((3,)))
    product = graph.outputs[0].op
    product.replace_input(1, 2.0)
    graph.prune()
    assert [op.attrs["variable"] for op in graph.find("AssignVariableOp")] == [first.count] * 2
    graph.replace_all_uses(product.inputs[0], graph.inputs[0])
    graph.prune()
    assert [op.type for op in graph] == ["Placeholder", "Const", "Mul"]
    unused = dt.function(lambda x: (ops.random.uniform(first, (3,)), x)[1])
    unused(np.zeros(3, "float32"))
    assert int(first.count.read()) == 1  # a call draws what the program draws, used or not


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
    assert graph.prune([y]) == 1  # with new outputs, only their operations stay
    assert types(graph) == ["Placeholder", "Tanh"]
    graph.validate()
