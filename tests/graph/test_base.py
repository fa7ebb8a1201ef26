"""Contents of a graph: members, names, defaults, the state of variables, and when it counts as edited."""

import copy

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.elements import element_of
from dovetail.graph.nesting import holders_of, outermost_of


@pytest.fixture
def x(graph):
    return graph.placeholder(dt.spec((2,)), "x")


def count(graph, type_):
    return [op.type for op in graph.operations].count(type_)


# -- variables --------------------------------------------------------------------------------------------------------


def test_a_copy_knows_what_was_read(graph, x):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        graph.outputs = [v.read() + x]
    again = copy.copy(graph)
    with again.as_default():
        value = v.read()
    assert value.op is again.get_operation("v/Read")
    assert count(again, "ReadVariableOp") == 1


def test_a_copy_goes_on_after_the_assignments_of_the_first(graph, x):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        v.assign(v.read() * x)
    again = copy.copy(graph)
    for program in (graph, again):
        (first,) = (op for op in program.operations if op.type == "AssignVariableOp")
        with program.as_default():
            program.outputs = [v.read() + 1.0]
            v.assign(x if program is graph else again.inputs[0])
        assert count(program, "ReadVariableOp") == 1
        assert program.outputs[0].op.inputs[0].op.inputs[0] is first.inputs[0]
        last = program.operations[-1]
        assert (last.type, last.control_inputs) == ("AssignVariableOp", (first,))
        program.validate()


def test_a_value_that_was_assigned_and_read_is_not_given_a_new_history_again(graph, x):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        v.assign(x)
        first = v.read()
    assert first is not x
    again = copy.copy(graph)
    before = len(again)
    with again.as_default():
        second = v.read()
    assert (second.name, len(again)) == (first.name, before)


def test_what_was_removed_is_waited_for_by_no_assignment(graph, x):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        v.assign(x)
        graph.remove(graph.get_operation("v/Assign"))
        v.assign(x * 2.0)
    assert graph.operations[-1].control_inputs == ()
    graph.validate()


def test_without_its_last_assignment_a_variable_has_the_value_of_the_one_before(graph, x):
    v = dt.Variable([1.0, 2.0], name="v")
    with graph.as_default():
        start = v.read()
        v.assign(ops.tanh(x))
        v.assign(ops.exp(x))
        v.read()
        first, second = (op for op in graph.operations if op.type == "AssignVariableOp")
        graph.remove(second)
        assert v.read().op.inputs[0] is first.inputs[0]
        v.assign(ops.exp(x))
        assert graph.operations[-1].control_inputs == (first,)
        graph.prune([start, x])
        assert v.read() is start
        v.assign(x)
    assert graph.operations[-1].control_inputs == ()
    graph.validate()


def test_an_edit_that_fails_leaves_variables_known(graph, x):
    """Check that a refused rewrite takes back the reads and assignments that it added."""
    v = dt.Variable([1.0, 2.0], name="v")
    y = dt.wildcards("y")
    graph.outputs = [ops.exp(x)]

    def replace(found):
        return ops.cast(found[y] * v.read(), "int32")

    with pytest.raises(TypeError, match="cast it first"):
        graph.rewrite(ops.exp(y), replace)
    assert count(graph, "ReadVariableOp") == 0
    with graph.as_default():
        assert v.read().op in graph


# -- names ------------------------------------------------------------------------------------------------------------


def test_a_name_that_was_used_is_not_given_again(graph, x):
    first = ops.tanh(x)
    graph.remove(first.op)
    assert [ops.tanh(x).op.name, ops.tanh(x).op.name] == ["Tanh_1", "Tanh_2"]


def test_numbers_behind_names_go_around_names_that_are_taken(graph, x):
    names = [ops.tanh(x, name=name).op.name for name in ("a_1", "a", "a", "a", "a_1")]
    assert names == ["a_1", "a", "a_2", "a_3", "a_1_1"]


def test_scopes_end(graph, x):
    with graph.name_scope("/layer/") as scope:
        assert scope == graph.scope == "layer/"
    assert graph.scope == ""
    assert ops.tanh(x).op.name == "Tanh"


def test_names_that_are_not_there(graph, x):
    ops.qr(graph.placeholder(dt.spec((2, 2)), "y"))
    assert graph.get_tensor("Qr:1").index == 1
    for name in ("Qr:2", "Qr:one", "Qr:-1"):
        with pytest.raises(KeyError, match="has 2 outputs"):
            graph.get_tensor(name)
    for number in range(5):
        ops.tanh(x, name=f"activation{number}")
    with pytest.raises(KeyError, match=r"did you mean activation\d or activation\d or activation\d\?"):
        graph.get_operation("activation")
    with pytest.raises(KeyError) as error:
        graph.get_operation("nothing like it")
    assert "did you mean" not in str(error.value)


# -- members ----------------------------------------------------------------------------------------------------------


def test_members(graph, x):
    other = dt.Graph("other")
    y = ops.tanh(x)
    assert y.op in graph
    assert y.op not in other
    assert list(graph) == [x.op, y.op]
    assert len(graph) == 2
    graph.remove(y.op)
    assert y.op not in graph
    assert len(graph) == 1


def test_strangers_are_refused(graph, x):
    other = dt.Graph("other")
    y = ops.tanh(x)
    for use in (
        lambda: other.control_dependencies([y.op]).__enter__(),
        lambda: other.insert_after(y.op).__enter__(),
        lambda: other.remove(y.op),
    ):
        with pytest.raises(ValueError, match="belongs to the graph 'test', not to 'other'"):
            use()
    with other.as_default(), pytest.raises(ValueError, match="belongs to the graph 'test', not to 'other'"):
        ops.exp(y)
    graph.remove(y.op)
    with pytest.raises(ValueError, match="was removed from the graph 'test'"):
        other.remove(y.op)
    with pytest.raises(ValueError, match="belongs to the graph 'test', not to 'other'"):
        other.check_tensor(y)


def test_strangers_of_a_graph_of_the_same_name_are_refused(graph, x):
    other = dt.Graph(graph.name)
    other.placeholder(dt.spec((2,)), "z")
    y = ops.tanh(x)
    begun = r"'test' that begins at test_base\.py"
    contrast = rf"belongs to the graph {begun}:(\d+), not to {begun}:(?!\1\b)\d+"
    for use in (
        lambda: other.check_tensor(y),
        lambda: ops.exp(y) + other.inputs[0],
        lambda: element_of(other, x),
    ):
        with pytest.raises(ValueError, match=rf"test_base.py:\d+, {contrast}"):
            use()
    for use in (lambda: other.group(y), lambda: other.remove(y.op), lambda: element_of(other, y.op)):
        with pytest.raises(ValueError, match=contrast):
            use()
    with other.as_default(), pytest.raises(ValueError, match=rf"{contrast}\. Build both in one graph"):
        ops.exp(y)
    one, another = (_of_one_line() for _ in range(2))
    with pytest.raises(ValueError, match=r"belongs to another graph that is also called 'test'\.$"):
        one.check_tensor(another.inputs[0])


def _of_one_line():
    graph = dt.Graph("test")
    graph.placeholder(dt.spec(()))
    return graph


def test_the_trace_of_a_function_is_over():
    graph = dt.function(lambda x: ops.tanh(x)).concrete(np.ones(2, "float32")).graph
    for build, what in (
        (lambda: ops.exp(graph.outputs[0]), r"Exp at .*<graph tensor Tanh:0 float32\[2\]>"),
        (lambda: graph.constant(np.ones(2)), r"Const at .*the operation"),
    ):
        with graph.as_default(), pytest.raises(ValueError, match=f"{what} belongs to the finished trace of "):
            build()
    for edit in (
        lambda: graph.override_gradients({"Tanh": "Identity"}),
        lambda: setattr(graph.find("Tanh")[0], "engine", "numpy"),
        lambda: setattr(graph, "outputs", graph.inputs),
    ):
        with pytest.raises(RuntimeError, match=r"is a finished trace, so it cannot be changed; change a copy, \.graph"):
            edit()


# -- scopes of new operations -----------------------------------------------------------------------------------------


def test_control_dependencies_are_for_what_takes_something(graph, x):
    first, second = ops.tanh(x), ops.exp(x)
    with graph.control_dependencies([first.op]):
        with graph.control_dependencies([second.op]):
            both = x + 1.0
        one = ops.sin(x)
    none = ops.cos(x)
    assert both.op.control_inputs == (first.op, second.op)
    assert both.op.inputs[1].op.control_inputs == ()
    assert (one.op.control_inputs, none.op.control_inputs) == ((first.op,), ())
    assert graph.placeholder(dt.spec(())).op.control_inputs == ()
    graph.validate()


def test_what_is_waited_for_may_be_removed_meanwhile(graph, x):
    first, second = ops.tanh(x), ops.exp(x)
    with graph.control_dependencies([first.op, second.op]):
        graph.remove(first.op)
        last = ops.sin(x)
    assert last.op.control_inputs == (second.op,)
    graph.validate()


def test_gradient_overrides_of_graphs_are_nested():
    @dt.RegisterGradient("GraphsOwn")
    def _(op, g):
        return g * 7.0

    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.gradient_override_map({"Tanh": "GraphsOwn"}):
        with graph.gradient_override_map({"Exp": "GraphsOwn"}):
            inner = ops.tanh(x)
        outer = ops.tanh(x)
        scanned = ops.scan(lambda s, _: (ops.tanh(s), None), x, length=2)[0]
    after = ops.tanh(x)
    assert dict(inner.op.overrides) == {"Tanh": "GraphsOwn", "Exp": "GraphsOwn"}
    assert dict(outer.op.overrides) == {"Tanh": "GraphsOwn"}
    assert dict(after.op.overrides) == {}
    (tanh,) = (op for op in scanned.op.attr("body").operations if op.type == "Tanh")
    assert dict(tanh.overrides) == {"Tanh": "GraphsOwn"}


# -- versions ---------------------------------------------------------------------------------------------------------


EDITS = {
    "an input": lambda graph, y: y.op.replace_input(0, graph.inputs[1]),
    "outputs that are set": lambda graph, y: setattr(graph, "outputs", [y]),
    "an output": lambda graph, y: graph.outputs.append(y),
    "a control input": lambda graph, y: y.op.add_control_input(graph.inputs[1].op),
    "an attribute": lambda graph, y: graph.inputs[0].op.set_attr("shape", [2]),
    "a removal": lambda graph, y: graph.remove(y.op),
    "an effect": lambda graph, y: dt.Variable([1.0, 2.0]).assign(y),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_change_the_version(graph, x, edit):
    graph.placeholder(dt.spec((2,)), "other")
    y = ops.tanh(x)
    before = graph.version
    with graph.as_default():
        EDITS[edit](graph, y)
    assert graph.version > before


def test_what_changes_nothing_leaves_the_version(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    z.op.add_control_input(y.op)
    before = graph.version
    ops.sin(x)
    z.op.add_control_input(y.op)
    z.op.wait_for([y.op])
    z.op.remove_control_input(x.op)
    graph.replace_all_uses(y, y)
    z.op.replace_input(0, x)
    assert graph.version == before


def test_edits_of_a_body_are_edits_of_the_graph(graph, x):
    body = ops.scan(lambda s, e: (ops.tanh(s) + e, None), 0.0, x)[0].op.attr("body")
    before = graph.version
    body.outputs[0].op.replace_input(0, body.inputs[0])
    assert graph.version > before


# -- dependencies -----------------------------------------------------------------------------------------------------


def test_depends_on(graph, x):
    first = ops.tanh(x)
    second = ops.exp(x)
    with graph.control_dependencies([first.op]):
        third = ops.sin(second)
    assert graph.depends_on(third.op, first.op)
    assert graph.depends_on(third.op, third.op)
    assert not graph.depends_on(second.op, first.op)


def test_holders(graph, x):
    one, two = (ops.scan(lambda s, e: (s + e, None), 0.0, x)[0].op for _ in "12")
    body = one.attr("body")
    assert holders_of(body) == [one]
    assert holders_of(graph) == []
    two.set_attr("body", body)
    assert outermost_of(body) is outermost_of(graph) is graph
    graph.remove(one)
    assert holders_of(body) == [two]
    graph.remove(two)
    assert holders_of(body) == []
