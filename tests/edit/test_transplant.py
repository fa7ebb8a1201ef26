"""Transplanting operations: the treatment of variables, eager Tensors, and operations that are not copied."""

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.transplant import Variables, copy_graph, copy_into, transplant
from dovetail.graph.journal import all_or_nothing
from tests.edit.test_copies import program

# -- variables and eager Tensors, by mode ------------------------------------------------------------------------------


@dt.RegisterGradient("Around")
def _(op, g):
    return g * 7.0


class Stateful:
    """A graph that reads and assigns variables, closes over a Tensor, and holds a loop."""

    def __init__(self):
        self.v, self.w = (dt.Variable([1.0, 2.0], name=name) for name in "vw")
        self.c = ops.constant([5.0, 6.0])
        self.graph = graph = dt.Graph("source")
        with graph.as_default():
            x = graph.placeholder(dt.spec((2,)), "x")
            self.w.assign(ops.exp(x))
            y = ops.tanh(self.v.read() * self.w.read() + self.c)
            self.v.assign(y)
            graph.outputs = [ops.scan(lambda s, e: (ops.tanh(s * e), None), 1.0, y)[0]]


# mode → the variables in `read`, in `assigned`, and newly assigned in the target's state. Then the ops that replace the
# first values of v and w, and v's assigned value. Then overrides of copies beyond their own, and the number of the
# target's constants for the eager Tensor, which it used before.
MODES = {
    Variables.KEEP: ("", "", "", "ReadVariableOp", "ReadVariableOp", "AssignVariableOp", {}, 2),
    Variables.INPUTS: ("vw", "wv", "", "Placeholder", "Placeholder", "Tanh", {}, 2),
    Variables.READ: ("vw", "wv", "wv", "IdentityN", "ReadVariableOp", "Tanh", {"Tanh": "Around"}, 1),
}


@pytest.mark.parametrize("mode", MODES)
def test_what_becomes_of_variables(mode):
    """Check a target that assigned v before: an `IdentityN` gives its value there."""
    read, assigned, state, first_v, first_w, last_v, overrides, constants = MODES[mode]
    made = Stateful()
    source, target = made.graph, dt.Graph("target")
    x = target.placeholder(dt.spec((2,)), "x")
    with target.as_default():
        x + made.c
        made.v.assign(ops.exp(x))
    mapped = {source.inputs[0]: x}
    with target.gradient_override_map({"Tanh": "Around"}):
        copies = transplant(source.operations, target, mapped, variables=mode)
    assert mapped == {source.inputs[0]: x}  # the argument is not changed
    reads = {op.attr("variable"): op.outputs[0] for op in source.operations if op.type == "ReadVariableOp"}
    writes = {op.attr("variable"): op.outputs[0] for op in source.operations if op.type == "AssignVariableOp"}
    assert "".join(v.name for v in copies.read) == read
    assert "".join(v.name for v in copies.assigned) == assigned
    assert {v.name for v in target.state.assigned} == {"v", *state}
    assert copies[reads[made.v]].op.type == first_v
    assert copies[reads[made.w]].op.type == first_w
    assert copies[writes[made.v]].op.type == last_v
    assert all(copies[writes[v]] is value for v, value in copies.assigned.items())
    tanh = source.get_operation("Tanh")
    loop = copies[source.outputs[0]].op
    inner = [op for op in loop.attr("body").operations if op.type == "Tanh"]
    assert [dict(op.overrides) for op in (copies.operations[tanh], *inner)] == [overrides, overrides]
    assert loop.attr("body") is not source.outputs[0].op.attr("body")
    closed = [op for op in target.operations if op.type == "Const" and op.outputs[0].shape == (2,)]
    assert len(closed) == constants
    assert target.closures == {made.c: closed[0].outputs[0]}
    target.validate()


@pytest.mark.parametrize("mode", MODES)
def test_what_is_copied_has_all_that_its_original_has(mode):
    """Check attributes of copies in each mode, in the target's scope."""
    source, target = program(), dt.Graph("target")
    x = target.placeholder(dt.spec((2,)), "x")
    tape = dt.GradientTape()
    with target.name_scope("scope"), tape:
        tape.watch(x)
        copies = transplant(source.operations, target, {source.inputs[0]: x}, variables=mode)
    old = source.get_operation("layer/Softplus")
    new = copies.operations[old]
    assert new.name == "scope/layer/Softplus"
    for attribute in ("op", "layout", "where", "device", "engine", "gradient_function", "overrides", "attrs"):
        assert getattr(new, attribute) == getattr(old, attribute)
    assert new.inputs == copies.of(old.inputs)
    assert new.control_inputs == tuple(copies.operations[op] for op in old.control_inputs)
    assert [t.spec for t in new.outputs] == [t.spec for t in old.outputs]
    assert list(copies.operations.values()) == target.operations[1:]
    assert tape.follows(copies[source.outputs[0]])
    assert all(copy.origin is original for original, copy in copies.operations.items())
    target.validate()


@pytest.mark.parametrize("way", ["pruned", "undone"])
def test_a_constant_that_was_taken_out_is_made_again(way):
    c = ops.constant([1.0, 2.0])
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    if way == "pruned":
        x + c
        assert graph.prune() == 2
    else:
        with pytest.raises(KeyError), all_or_nothing():
            x + c
            raise KeyError
    graph.outputs = [x * c]
    assert dt.function(graph)(ops.constant([2.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    graph.validate()


# -- control inputs, and replacements of operations that are not copied ------------------------------------------------


def test_assignments_are_imported_as_they_are():
    """Check that nothing is added to order assignments, which have an order already."""
    v = dt.Variable([1.0, 2.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        x = source.placeholder(dt.spec((2,)), "x")
        v.assign(ops.tanh(x))
        v.assign(ops.exp(x))
    target = dt.Graph("target")
    target.import_graph(source)
    assert [op.type for op in target.operations] == [op.type for op in source.operations]
    first, second = (op for op in target.operations if op.type == "AssignVariableOp")
    assert second.control_inputs == (first,)
    target.validate()


def test_what_is_put_in_the_place_of_an_operation_has_its_line_and_origin():
    """Check this also inside loops; without `replacing`, operations there keep their originals' line and origin."""
    body, graph = Stateful().graph, dt.Graph("graph")
    x = graph.placeholder(dt.spec((2,)), "x")
    y = ops.tanh(x)
    with graph.replacing(y.op):
        replaced = transplant(body.operations, graph, {body.inputs[0]: x})
    plain = transplant(body.operations, dt.Graph(), inputs=body.inputs)
    scan = body.outputs[0].op
    originals = scan.attr("body").operations
    for copies, origins in ((replaced, [y.op] * len(originals)), (plain, originals)):
        inner = copies.operations[scan].attr("body").operations
        assert [op.origin for op in inner] == origins
        assert [op.where for op in inner] == [op.where for op in origins]
    assert {(op.origin, op.where) for op in replaced.operations.values()} == {(y.op, y.op.where)}


def test_what_is_waited_for_and_does_not_come_along_is_left_out():
    source, target = dt.Graph("source"), dt.Graph("target")
    x = source.placeholder(dt.spec((2,)), "x")
    shown = ops.print_tensor(x)
    with source.control_dependencies([shown.op]):
        y = ops.tanh(x)
    copies = transplant([y.op], target, inputs=[x])
    assert (copies[y].op.control_inputs, len(target)) == ((), 2)
    target.validate()


@pytest.mark.parametrize("mode", MODES)
def test_what_an_assignment_alone_waits_for(mode):
    """Check an assignment that is not copied.

    An `Identity` with the assignment's control inputs passes its value on, and has the assignment as its origin.
    """
    v = dt.Variable([1.0, 2.0], name="v")
    source, target = dt.Graph("source"), dt.Graph("target")
    x = source.placeholder(dt.spec((2,)), "x")
    shown, y = ops.print_tensor(x), ops.tanh(x)
    with source.as_default(), source.control_dependencies([shown.op]):
        v.assign(y)
    assignment = source.state.last[v]
    copies = transplant(source.operations, target, inputs=source.inputs, variables=mode)
    stands = copies[assignment.outputs[0]].op
    assert stands.type == ("AssignVariableOp" if mode is Variables.KEEP else "Identity")
    assert stands.control_inputs == (copies.operations[shown.op],)
    assert (stands.inputs, stands.origin, stands.where) == ([copies[y]], assignment, assignment.where)
    target.validate()


def test_what_waits_for_an_assignment_or_a_read_waits_for_what_stands_for_it():
    v = dt.Variable([1.0, 2.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        x = source.placeholder(dt.spec((2,)), "x")
        read = v.read()
        v.assign(ops.tanh(x))
        assigned = source.operations[-1]
        with source.control_dependencies([assigned, read.op]):
            source.outputs = [ops.exp(x)]
    target = dt.Graph("target")
    (y,) = target.import_graph(source)
    assert [op.type for op in y.op.control_inputs] == ["Tanh", "ReadVariableOp"]
    target.validate()


def test_a_part_holds_what_is_waited_for_in_it():
    """Check that a part also has the operation of a given input, if it is more than a placeholder."""
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    first = ops.tanh(x)
    with graph.control_dependencies([first.op, x.op]):
        y = ops.exp(x)
    part = graph.subgraph([y], [x, first])
    (new,) = part.outputs
    assert [op.type for op in new.op.control_inputs] == ["Tanh", "Placeholder"]
    assert new.op.control_inputs[1] is part.inputs[0].op
    part.validate()


def test_outputs_of_another_graph_are_named():
    graph, other = dt.Graph("graph"), dt.Graph("other")
    list.append(graph.outputs, other.placeholder(dt.spec((2,)), "y"))  # past the check
    with pytest.raises(ValueError, match=r"y:0.* is not known in the graph 'other', so it has no value"):
        copy_graph(graph)


def test_a_copy_stands_for_the_same_eager_tensors_and_has_subgraphs_of_its_own():
    c = ops.constant([1.0, 2.0])
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    graph.outputs = [ops.scan(lambda s, e: (s + e * c[0], None), 0.0, x + c)[0]]
    again = copy_graph(graph)
    assert str(again) == str(graph)
    assert [t.op.name for t in again.closures.values()] == [t.op.name for t in graph.closures.values()]
    assert all(t.graph is again for t in again.closures.values())
    old, new = (g.outputs[0].op.attr("body") for g in (graph, again))
    assert old is not new
    again.validate()
    with again.as_default():
        before = len(again)
        again.inputs[0] + c
    assert len(again) == before + 1  # the constant exists already


def test_the_eager_tensors_of_what_is_not_copied_are_left_out():
    c, d = ops.constant([1.0, 2.0]), ops.constant([3.0, 4.0])
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    y = x + c
    z = y * d
    part = graph.subgraph([z], [y])
    assert list(part.closures) == [d]


def test_a_copy_takes_its_inputs_in_order():
    graph = dt.Graph()
    x, y = (graph.placeholder(dt.spec((2,)), name) for name in "xy")
    graph.outputs = [x - y]
    target = dt.Graph()
    a, b = (target.placeholder(dt.spec((2,)), name) for name in "ab")
    (found,) = copy_into(graph, target, [b, a])
    assert found.op.inputs == [b, a]
    assert len(target) == 3
    with pytest.raises(TypeError, match="has 2 inputs, not 1"):
        copy_into(graph, target, [a])
