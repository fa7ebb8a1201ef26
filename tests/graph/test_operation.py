"""Operations and their tensors: promised shapes, truth, arguments, control inputs, changes by passes."""

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
import dovetail.backend as K
from dovetail import ops

# -- shapes -----------------------------------------------------------------------------------------------------------


def test_a_shape_that_is_set_is_that_of_the_input(graph):
    x = graph.placeholder(dt.spec((None, None)), "x")
    x.set_shape((None, 3))
    x.set_shape((2, None))
    assert x.shape == x.op.attr("shape") == (2, 3)
    y = ops.tanh(graph.placeholder(dt.spec(None), "y"))
    assert (y.shape, y.ndim) == (None, None)
    y.set_shape(None)
    assert y.shape is None
    y.set_shape((4, None))
    assert (y.shape, y.ndim) == ((4, None), 2)
    assert "shape" not in y.op.attrs
    with pytest.raises(ValueError, match="3"):
        x.set_shape((2, 4))
    graph.validate()


def test_length_and_rows(graph, x):
    assert len(x) == 2
    assert [row.shape for row in x] == [(3,), (3,)]
    for shape in ((None, 3), (), None):
        y = graph.placeholder(dt.spec(shape))
        with pytest.raises(TypeError, match="no length" if shape == () else "needs a known first dimension"):
            len(y)
        with pytest.raises(TypeError, match="needs a known first dimension"):
            iter(y)
    assert list(graph.placeholder(dt.spec((0, 3)))) == []


# -- truth ------------------------------------------------------------------------------------------------------------


def test_tensors_of_the_default_graph_are_found_in_lists():
    x, y, z = (K.placeholder((2,)) for _ in "xyz")
    assert x in [y, x]
    assert z not in [y, x]
    assert [y, x].index(x) == 1
    assert bool(x != y) and not bool(x == y)
    with pytest.raises(TypeError, match="Python's `if`"):
        bool(x < y)


def test_elsewhere_equality_has_no_truth(graph, x):
    K.placeholder((2,))
    with pytest.raises(TypeError, match="Python's `if`"):
        bool(x == ops.tanh(x))
    with pytest.raises(TypeError, match="Python's `if`"):
        dt.function(lambda x: x if x == x * 2.0 else -x)(np.ones(2, "float32"))


# -- uses -------------------------------------------------------------------------------------------------------------


def test_uses(graph, x):
    y = x + x
    assert (x.is_used, y.is_used) == (True, False)
    graph.outputs = [y]
    assert not y.is_used
    z = ops.tanh(x)
    y.op.replace_input(0, z)
    assert x.uses() == [(z.op, 0), (y.op, 1)]
    y.op.replace_input(1, z)
    assert x.consumers() == [z.op]
    assert z.uses() == [(y.op, 0), (y.op, 1)]
    graph.validate()


def test_inputs_by_number(graph, x):
    y = ops.tanh(x)
    for index in (-1, 1):
        with pytest.raises(IndexError, match=f"has 1 inputs, so there is no input {index}"):
            y.op.replace_input(index, x)


# -- arguments --------------------------------------------------------------------------------------------------------


def test_arguments_are_in_the_order_of_parameters(graph, x):
    y = ops.tanh(x)
    joined = ops.concatenate([x, y, x], axis=1).op
    assert joined.args == [(x, y, x), 1]
    assert joined.arguments(["a", "b", "c"]) == [("a", "b", "c"), 1]
    chosen = ops.where(x > 0, x, y).op
    assert chosen.args == chosen.inputs
    assert [chosen.input_at(index) for index in range(3)] == [0, 1, 2]
    last = ops.scan(lambda s, e: (s + e * y[0, 0], None), x[0], x)[0].op
    init, xs, constants, *_ = last.args
    assert (len(init), xs, len(constants)) == (1, (x,), 1)
    assert [last.input_at(index) for index in range(4)] == [0, 1, 2, 3]
    assert joined.subgraphs() == []
    assert last.subgraphs() == [last.attr("body")]


def test_a_tensor_of_a_list_is_dropped(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    op = ops.stack([x, y, z]).op
    op.drop_input(0, 1)
    assert (op.inputs, op.layout) == ([x, z], (2, None))
    assert op.args == [(x, z), 0]
    assert not y.is_used
    before = graph.version
    op.drop_input(0, 0)
    assert op.inputs == [z]
    assert graph.version > before


def test_an_attribute_is_held_in_one_form(graph, x):
    y = ops.sum(x, 1, keepdims=True)
    y.op.set_attr("axis", [np.int64(0), True])
    y.op.set_attr("keepdims", 0)
    assert y.op.attr("axis") == (0, 1)
    assert type(y.op.attr("axis")[1]) is int
    assert y.op.attr("keepdims") is False
    z = ops.reshape(x, 6)
    z.op.set_attr("shape", np.array([3, 2]))
    assert z.op.attr("shape") == (3, 2)


@pytest.mark.parametrize(
    ("name", "value", "error", "said"),
    [
        ("axis", 0.5, TypeError, "axis must be an int or a list of ints or None, not 0.5. Given: axis=0.5"),
        ("keepdims", "no", TypeError, "keepdims must be True or False, not 'no'"),
        ("axis", "its own input", TypeError, r"axis must be .*, not the tensor float32\[2,3\]"),
        ("x", 1.0, TypeError, r"x must be None, not 1\.0"),
        ("axes", 1, LookupError, "no parameter 'axes'.*Did you mean 'axis'"),
    ],
)
def test_a_wrong_attribute_leaves_the_operation_as_it_was(graph, x, name, value, error, said):
    y, before = ops.sum(x, 1), graph.version
    with pytest.raises(error, match=rf"Sum at test_operation.py:\d+: .*{said}"):
        y.op.set_attr(name, x if value == "its own input" else value)
    assert y.op.attrs == {"axis": 1, "keepdims": False}
    assert graph.version == before


def test_a_tensor_becomes_a_static_value(graph):
    x = graph.placeholder(dt.spec((4, 3)), "x")
    shape = graph.placeholder(dt.spec((2,), "int32"), "shape")
    y = ops.reshape(x, shape)
    y.op.make_static(1, (3, 4))
    assert (y.op.inputs, y.op.args) == ([x], [x, (3, 4)])
    assert not shape.is_used
    assert graph.subgraph([y], [x]).outputs[0].op.attr("shape") == (3, 4)


# -- control inputs ---------------------------------------------------------------------------------------------------


def test_control_inputs_are_taken_back(graph, x):
    y, z, last = ops.tanh(x), ops.exp(x), ops.sin(x)
    last.op.add_control_input(y.op)
    last.op.add_control_input(z.op)
    last.op.remove_control_input(y.op)
    assert (last.op.control_inputs, y.op.control_outputs, z.op.control_outputs) == ((z.op,), (), (last.op,))
    last.op.remove_control_input(y.op)
    y.op.remove_control_input(z.op)
    assert last.op.control_inputs == (z.op,)
    assert x.op.control_inputs == x.op.control_outputs == ()


def test_a_failing_edit_gives_control_inputs_back_in_their_order(graph, x):
    a = dt.wildcards("a")
    first, second = ops.sin(x), ops.cos(x)
    with graph.control_dependencies([first.op, second.op]):
        old = ops.tanh(x)
    with graph.control_dependencies([old.op, first.op]):
        later = ops.exp(x)

    def replace(found):
        later.op.remove_control_input(old.op)
        later.op.add_control_input(second.op)
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        graph.rewrite(ops.tanh(a), replace)
    assert later.op.control_inputs == (old.op, first.op)
    assert (old.op.control_outputs, second.op.control_outputs) == ((later.op,), (old.op,))
    graph.validate()


# -- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_tensors_and_operations_come_with_a_copy_of_their_graph(graph, x, again):
    q, r = ops.qr(x)
    graph.outputs = [q, r]
    found, op = again((r, r.op))
    assert (found.name, found.shape, found.op, op.graph is graph) == (r.name, r.shape, op, False)
    assert op.graph.outputs[1] is found


def test_how_they_are_shown(graph, x):
    y = ops.tanh(x)
    assert repr(y) == "<graph tensor Tanh:0 float32[2,3]>"
    assert repr(y.op) == "<operation Tanh Tanh>"


def test_a_control_input_is_an_operation():
    x = dt.Graph().placeholder(dt.spec(()), "x")
    y = dt.ops.tanh(x)
    for wrong in (3, x):
        with pytest.raises(TypeError, match="is no operation"):
            y.op.add_control_input(wrong)
