"""Origins: every operation knows the user's operation that it comes from, without keeping a graph alive."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.transplant import copy_graph
from dovetail.execute.optimize import optimized_copy
from dovetail.passes.composites import inline_composites
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.control_inputs import control_inputs_to_data
from dovetail.passes.cse import merge_common
from dovetail.passes.dead_assignments import remove_dead_assignments
from dovetail.passes.fuse import fuse
from dovetail.passes.fused_convolutions import fuse_convolutions
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify
from dovetail.passes.specialize import specialize
from dovetail.trace import trace
from tests.conftest import ENGINES
from tests.graph.random_graphs import check_origins, everything, graphs

SQUARE = dt.spec((2, 2))


# -- passes -----------------------------------------------------------------------------------------------------------


def traced(function, *specs):
    return dt.function(function, input_signature=specs).concrete(*specs).graph


def constant(value, name=None):
    """A constant that tracing does not compute at once."""
    return trace.current_graph().constant(np.asarray(value, "float32"), name)


def looping(x):
    factor = constant(2.0, "y")
    return ops.scan(lambda state, row: (state, row * factor), 0.0, x)[1]


def waiting(x):
    shown = ops.print_tensor(x, "shown")
    with shown.graph.control_dependencies([shown.op]):
        return ops.tanh(x, name="y")


V, W = (dt.Variable(np.ones((2, 2), "float32"), name=name) for name in "vw")


def assigning(x):
    V.assign(x)
    V.assign(ops.exp(x) + ops.exp(x))


def biased(x):
    return ops.add(ops.conv(x[None], np.ones((1, 2, 3), "float32")), np.ones(3, "float32"), name="y")


# a pass, the function it is applied to, and whether it adds an operation, made for the one named y
PASSES = {
    "composites": (lambda g: inline_composites(g, lambda op: {"Mul"}), lambda x: ops.softplus(x, name="y") * 2.0, True),
    "constant folding": (fold_constants, lambda x: x + ops.exp(constant([0.0, 1.0]), name="y"), True),
    "folding of shapes": (fold_constants, lambda x: ops.shape(x, name="y"), True),
    "folding into loops": (fold_constants, looping, True),
    "specialize": (lambda g: specialize(g, [(2, 2)]), lambda x: ops.shape(x, name="y"), True),
    "simplify by a pattern": (simplify, lambda x: ops.power(x, 2.0, name="y"), True),
    "simplify by a rule": (simplify, lambda x: ops.transpose(ops.transpose(x), (1, 0), name="y"), True),
    "control inputs": (control_inputs_to_data, waiting, True),
    "common": (merge_common, assigning, False),
    "dead assignments": (remove_dead_assignments, assigning, False),
    "prune": (lambda g: prune(g) or g.prune(g.inputs), assigning, False),
    "fuse convolutions": (lambda g: fuse_convolutions(g, lambda op: {"FusedConv"}), biased, True),
    "fuse": (lambda g: fuse(g, lambda op: {"AddScaled"}), lambda x: ops.add(x, ops.exp(x) * 2.0, name="y"), True),
}


@pytest.mark.parametrize("name", PASSES)
def test_what_a_pass_adds_has_the_origin_of_what_it_stands_for(name):
    apply, function, adds = PASSES[name]
    graph = traced(function, dt.spec((None, 2)) if name == "specialize" else SQUARE)
    copied = copy_graph(graph)
    before = everything(copied)
    assert [op.origin for op in before] == everything(graph)
    assert apply(copied)
    added = set(everything(copied)).difference(before)
    assert {op.origin.name for op in added} == ({"y"} if adds else set())
    check_origins(copied, graph)


def first_loop(x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, ops.tanh(s * x)), (0, x))[1]
    return tape.gradient(y, x)


def second_loop(x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, ops.tanh(s * x)), (0, x))[1]
    return tape.gradient(y, x)


@pytest.mark.parametrize("function", [first_loop, second_loop])
def test_a_loop_in_the_body_of_a_composite_has_the_line_and_origin_of_that(function):
    """Check `WhileGrad`, whose body is traced once, holds loops, and is put into both programs."""
    graph = traced(function, SQUARE)
    assert "WhileGrad" in [op.type for op in graph.operations]
    inlined = copy_graph(graph)
    inline_composites(inlined, lambda op: ())
    check_origins(inlined, graph)
    code = function.__code__
    lines = range(code.co_firstlineno, max(line for *_, line in code.co_lines() if line) + 1)
    places = {op.where for op in everything(inlined) if op is not inlined.inputs[0].op}
    assert {(file, line in lines) for file, line in places} == {(__file__, True)}


# -- programs that are cut, differentiated and called -----------------------------------------------------------------


@dt.custom_gradient
def custom(x):
    return ops.tanh(x), lambda g: g * ops.exp(x) * 2.0


def weighted(x):
    return x @ W


PROGRAMS = {
    "composites": lambda x: ops.softmax(ops.relu(weighted(x)) + 1.0),
    "scan": lambda x: ops.scan(lambda s, row: (ops.tanh(weighted(s) + row), s * row), x, ops.ones((3, 2, 2)))[1],
    "while": lambda x: ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, ops.softmax(s * x)), (0, x))[1],
    "while of a limit": lambda x: ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s * x,), (x,), 5)[0],
    "cond": lambda x: ops.cond(ops.sum(x) > 0, lambda: ops.softmax(x), lambda: x - 1.0),
    "custom gradient": lambda x: custom(weighted(x)),
    "recompute": lambda x: dt.recompute_grad(lambda x: ops.softmax(x * 2.0))(x),
}


@pytest.mark.parametrize("dims", [(2, 2), (None, 2)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_operation_of_a_program_has_one_of_the_users_for_its_origin(name, dims):
    """Check plans, split gradients, and gradients of gradients."""
    engines = [get_engine(e) for e in ENGINES if not get_engine(e).static_shapes or None not in dims]
    graph = traced(PROGRAMS[name], dt.spec(dims))
    parts = split(graph)
    for found in (gradient_graph(graph)[0], gradient_graph(gradient_graph(graph)[0])[0], parts.forward, parts.backward):
        check_origins(found, graph)
        for engine in engines:
            check_origins(optimized_copy(found, engine), graph)

    def differentiated(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = PROGRAMS[name](x)
        return tape.gradient(y, x)

    graph = traced(differentiated, dt.spec(dims))
    for engine in engines:
        check_origins(optimized_copy(graph, engine), graph)


@settings(deadline=None, max_examples=25)
@given(graphs())
def test_random_programs(graph):
    parts = split(graph)
    for found in (graph, parts.forward, parts.backward, gradient_graph(graph)[0]):
        check_origins(optimized_copy(found, get_engine("numpy")), graph)


def test_what_a_gradient_adds_is_for_what_it_is_the_gradient_of():
    graph = dt.Graph()
    x = graph.placeholder(SQUARE, "x")
    y = ops.tanh(ops.exp(x, name="inner"), name="outer")
    graph.outputs = [y]
    backward = split(graph).backward
    before = len(graph)
    dt.gradients(y, x)
    for added in (graph.operations[before:], [op for op in backward.operations if op.inputs]):
        assert list(dict.fromkeys(op.origin.name for op in added)) == ["outer", "inner"]


def test_a_gradient_that_begins_a_branch():
    """Check that the branch's first operations go into a graph that is still empty."""

    def f(x):
        y = ops.tanh(x, name="y")
        return ops.cond(ops.sum(x) > 0.0, lambda: dt.gradients(y, x)[0], lambda: x)

    (branch, _) = traced(f, SQUARE).outputs[0].op.subgraphs()
    assert {op.origin.name for op in branch.operations if op.type != "Placeholder"} == {"y"}


def test_a_function_that_calls_another():
    """Check a called function, whose operations join the trace, and a replayed graph.

    The replayed operations refer to that graph's operations, not to the caller's.
    """
    graph = traced(lambda x: ops.tanh(x, name="y"), SQUARE)
    inner, replayed = dt.function(lambda x: ops.exp(x, name="inner")), dt.function(graph)
    outer = dt.function(lambda x: replayed(inner(x)))
    found = outer.concrete(SQUARE).graph
    origins = {op.type: op.origin for op in found.operations}
    assert origins["Exp"] is found.get_operation("inner")
    assert origins["Tanh"] is graph.get_operation("y")
    plan = optimized_copy(found, get_engine("numpy"))
    assert {op.type: op.origin for op in plan.operations} == origins


def test_a_program_of_k():
    x = K.placeholder((2, 2))
    y = K.softmax(x)
    try:
        run = K.function([x], [y])
        check_origins(run._program.graph, y.graph)
    finally:
        K.clear_session()


# -- graphs of the user -----------------------------------------------------------------------------------------------


def imported(graph):
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph)
    return target


OWN = {
    "copy": copy.copy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "subgraph": lambda graph: graph.subgraph(graph.outputs, graph.inputs),
    "import_graph": imported,
    "function.graph": lambda graph: dt.function(graph).graph(SQUARE),
}


@pytest.mark.parametrize("way", OWN)
def test_a_graph_of_the_users_is_its_own_and_holds_no_other(way):
    """Check a graph made from one that refers to another, too."""
    v = dt.Variable(np.ones((2, 2), "float32"), name="v")

    def program(x):
        v.assign(ops.exp(x))
        return ops.scan(lambda s, row: (s + row, None), ops.softmax(v)[0], x)[0]

    source = copy_graph(traced(program, SQUARE))
    found = OWN[way](source)
    assert {"Scan", "AddV2"} <= {op.type for op in everything(found)}  # the loop's body has one, too
    assert all(op.origin is op for op in everything(found))
    alive = weakref.ref(source)
    del source
    gc.collect()
    assert alive() is None


def test_nothing_that_is_remembered_for_good_holds_a_graph():
    """Check that bodies of composites are kept for the next graph, but not the parts made for this one."""

    def program(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.scan(lambda s, row: (ops.softmax(s + row), ops.gelu(s)), x[0], x)[1]
        return tape.gradient(y, x)

    function = dt.function(program)
    function(np.ones((3, 2), "float32"))
    alive = weakref.ref(function.concrete(dt.spec((3, 2))).graph)
    assert alive() is not None
    del function
    gc.collect()
    assert alive() is None


# -- errors -----------------------------------------------------------------------------------------------------------

ROWS, OTHERS = np.ones((3, 4), "float32"), np.ones((2, 3), "float32")


def of_gradient(x, g):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.tanh(x, name="y")
    return tape.gradient(y, x, output_gradients=g)


# a program, and the error's text between the engine's name and the engine's words
FAILURES = {
    "as it was written": (lambda x, y: ops.add(x, y, name="y"), r"AddV2 at test_origins.py:\d+: numpy says: "),
    "inlined": (
        lambda x, y: ops.mean_squared_error(x, y, name="y"),
        r"MeanSquaredError at test_origins.py:\d+: numpy says of Sub, which was made for 'y': ",
    ),
    "of a gradient": (
        of_gradient,
        r"Tanh at test_origins.py:\d+: numpy says of Mul, which was made at test_origins.py:\d+ for 'y': ",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_names_what_the_user_wrote(name):
    function, told = FAILURES[name]
    run = dt.function(function, input_signature=[dt.spec((None, None))] * 2)
    with dt.engine("numpy"), pytest.raises(ValueError, match=told + "operands could not be broadcast") as raised:
        run(ROWS, OTHERS)
    assert str(raised.value).count("test_origins.py") == told.count("test_origins.py")


def test_an_error_of_what_was_fused():
    pytest.importorskip("torch")
    run = dt.function(lambda x, y: ops.add(x, y * 2.0, name="y"), input_signature=[dt.spec((None, 3))] * 2)
    told = r"AddV2 at test_origins.py:\d+: torch says of AddScaled, which was made for 'y': "
    with dt.engine("torch"), pytest.raises(ValueError, match=told):
        run(ROWS[:, :3], OTHERS)
