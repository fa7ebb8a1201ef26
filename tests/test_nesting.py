"""Structures that contain themselves or are 5,000 levels deep: errors name the function, the line and a solution."""

from __future__ import annotations

import re
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.compat import tensorflow as tf
from dovetail.core.base.errors import describe
from dovetail.core.values.structure import DEEPEST, flatten, map_structure, no_tree, unflatten

X = np.ones(2, "float32")
STEEP = 5000


Named = namedtuple("Named", "x link")


@dataclass
class Pair:
    x: object
    link: object = None


def own_list(x):
    made = [x]
    made.append(made)
    return made


def own_dict(x):
    made = {"x": x}
    made["again"] = made
    return made


def own_ordered(x):
    made = OrderedDict(x=x)
    made["again"] = [made]
    return made


def own_pair(x):
    made = Pair(x)
    made.link = made
    return made


def through_others(x):
    made = [x]
    made.append({"a": (made,)})
    return made


def named(x):
    link = []
    made = Named(x, link)
    link.append(made)
    return made


def both_ways(x):
    first, second = [x], [x]
    first.append(second)
    second.append(first)
    return (first, second)


def steep(wrap):
    def make(x):
        for _ in range(STEEP):
            x = wrap(x)
        return x

    return make


CYCLES = [own_list, own_dict, own_ordered, own_pair, named, through_others, both_ways]
STEEPS = [
    steep(lambda x: [x]),
    steep(lambda x: (x,)),
    steep(lambda x: {"k": x}),
    steep(Pair),
    steep(lambda x: [1.0, x]),
]
LISTS = [own_list, both_ways, STEEPS[0], STEEPS[1], STEEPS[4]]  # lists that may mean a tensor or a shape
HOLDS, LEVELS = "holds itself; a structure is a tree", f"has more than {DEEPEST} levels"


def in_graph(run):
    """A session's program on a graph with a placeholder, and a tensor that depends on it."""

    def call(make):
        graph = dt.Graph()
        with graph.as_default():
            x = graph.placeholder(dt.spec((2,)), "x")
            y = x * 2.0
        run(dt.Session(graph), x, y, make)

    return call


def of_k(run):
    """A program of K's placeholders."""

    def call(make):
        K.clear_session()
        x = K.placeholder((2,))
        try:
            run(x, x * 2.0, make)
        finally:
            K.clear_session()

    return call


def taped(run):
    def call(make):
        x = ops.constant(X)
        with dt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
        run(tape, x, y, make)

    return call


def step(python, **options):
    return dt.function(python, name="step", **options)


STRUCTURES = {  # calls of functions that take or return structures: the name in the error, and the call
    "argument": ("step", lambda make: step(lambda s: 1.0)(make(X))),
    "argument by name": ("step", lambda make: step(lambda s: 1.0)(s=make(X))),
    "static argument": ("step", lambda make: step(lambda s: 1.0)(make("word"))),
    "result": ("step", lambda make: step(make)(X)),
    "result of numbers": ("step", lambda make: step(lambda x: make(1.0))(X)),
    "graph": ("step", lambda make: step(lambda s: 1.0).graph(make(X))),
    "plan": ("step", lambda make: step(lambda s: 1.0).plan(make(X))),
    "concrete": ("step", lambda make: step(lambda s: 1.0).concrete(make(dt.spec((2,))))),
    "signature": ("step", lambda make: step(lambda s: 1.0, input_signature=[make(dt.spec((2,)))])),
    "inner argument": ("inner", lambda make: step(lambda x: dt.function(lambda s: x, name="inner")(make(x)))(X)),
    "inner result": ("step", lambda make: step(lambda x: dt.function(make, name="inner")(x))(X)),
    "tf.function": ("<lambda>", lambda make: tf.function(lambda s: 1.0)(make(X))),
    "while_loop": ("while_loop", lambda make: ops.while_loop(lambda s: False, lambda s: s, (make(X),))),
    "body": ("while_loop", lambda make: ops.while_loop(lambda s: True, lambda s: (make(s),), (X,))),
    "traced body": (
        "while_loop",
        lambda make: step(lambda x: ops.while_loop(lambda s: ops.sum(s) < 3, lambda s: (make(s),), (x,)))(X),
    ),
    "carry": ("scan", lambda make: ops.scan(lambda c, x: (c, x), make(X), X)),
    "next carry": ("scan", lambda make: ops.scan(lambda c, x: (make(c), x), X, X)),
    "slices": ("scan", lambda make: ops.scan(lambda c, x: (c, c), X, make(X))),
    "stacked": ("scan", lambda make: ops.scan(lambda c, x: (c, make(x)), X, X)),
    "map_fn": ("map_fn", lambda make: ops.map_fn(lambda x: X, make(X))),
    "mapped": ("map_fn", lambda make: ops.map_fn(make, X)),
    "vectorized_map": ("vectorized_map", lambda make: ops.vectorized_map(lambda x: X, make(X))),
    "vectorized": ("vectorized_map", lambda make: ops.vectorized_map(make, X)),
    "foldl": ("foldl", lambda make: ops.foldl(lambda a, x: a, make(X))),
    "branch": (
        "cond",
        lambda make: step(lambda x: ops.cond(ops.sum(x) > 0, lambda: make(x), lambda: make(x)))(X),
    ),
    "fetches": ("Session.run", in_graph(lambda session, x, y, make: session.run(make(y), {x: X}))),
    "K.function inputs": ("K.function", of_k(lambda x, y, make: K.function(make(x), [y])([X]))),
    "K.function outputs": ("K.function", of_k(lambda x, y, make: K.function([x], make(y))([X]))),
    "K.gradients": ("K.gradients", of_k(lambda x, y, make: K.gradients(y, make(x)))),
    "K.map_fn": ("K.map_fn", lambda make: K.map_fn(lambda x: x, make(X))),
    "K.rnn": ("K.rnn", lambda make: K.rnn(lambda x, s: (x, s), np.ones((2, 3, 2), "float32"), [make(X)])),
    "target": ("GradientTape.gradient", taped(lambda tape, x, y, make: tape.gradient(make(y), x))),
    "sources": ("GradientTape.gradient", taped(lambda tape, x, y, make: tape.gradient(y, make(x)))),
    "watch": ("GradientTape.watch", taped(lambda tape, x, y, make: tape.watch(make(x)))),
    "jacobian": ("GradientTape.jacobian", taped(lambda tape, x, y, make: tape.jacobian(y, make(x)))),
    "gradients": ("gradients", in_graph(lambda session, x, y, make: dt.gradients(make(y), x))),
    "gradients by": ("gradients", in_graph(lambda session, x, y, make: dt.gradients(y, make(x)))),
    "jvp": ("jvp", lambda make: dt.jvp(make, [X], [X])),
    "custom_gradient": ("double", lambda make: dt.custom_gradient(double)(make(ops.constant(X)))),
    "custom result": ("<lambda>", lambda make: dt.custom_gradient(lambda x: (make(x), lambda g: g))(ops.constant(X))),
    "recompute_grad": ("recompute_grad", lambda make: dt.recompute_grad(lambda s: X)(make(ops.constant(X)))),
    "method": ("step", lambda make: Stepping().step(make(X))),
}
OF_DICTS_TOO = {  # TensorFlow's structures have no dataclasses
    "nest.flatten": ("tf.nest.flatten", lambda make: tf.nest.flatten(make(1.0))),
    "nest.pack": ("tf.nest.pack_sequence_as", lambda make: tf.nest.pack_sequence_as(make(1.0), [1])),
    "nest.map": ("tf.nest.map_structure", lambda make: tf.nest.map_structure(lambda x: x, make(1.0))),
    "nest.same": ("tf.nest.assert_same_structure", lambda make: tf.nest.assert_same_structure(make(1.0), make(1.0))),
    "tf.while_loop": ("tf.while_loop", lambda make: tf.while_loop(lambda s: False, lambda s: s, [make(X)])),
    "tf.map_fn": ("tf.map_fn", lambda make: tf.map_fn(lambda x: x, make(X))),
    "tf.group": ("tf.group", lambda make: tf.group(make(tf.constant(1.0)))),
    "tf fetches": ("tf.Session.run", lambda make: tf.compat.v1.Session(graph=dt.SessionGraph()).run(make(1.0))),
}
TENSORS = {  # calls of functions that take lists for tensors, or for shapes
    "convert": ("convert", lambda make: ops.convert(make(1.0))),
    "convert tensors": ("convert", lambda make: ops.convert(make(ops.constant(1.0)))),
    "stack": ("stack", lambda make: ops.stack(make(ops.constant(X)))),
    "concatenate": ("concatenate", lambda make: ops.concatenate(make(X))),
    "add": ("AddV2", lambda make: ops.add(X, make(1.0))),
    "add tensors": ("AddV2", lambda make: ops.add(X, make(ops.constant(1.0)))),
    "operator": ("AddV2", lambda make: ops.constant(X) + make(1.0)),
    "traced add": ("AddV2", lambda make: step(lambda x: ops.add(x, make(1.0)))(X)),
    "traced stack": ("stack", lambda make: step(lambda x: ops.stack(make(x)))(X)),
    "reshape": ("Reshape", lambda make: ops.reshape(X, make(2))),
    "reshape tensors": ("Reshape", lambda make: ops.reshape(X, make(ops.constant(2)))),
    "traced reshape": ("Reshape", lambda make: step(lambda x: ops.reshape(x, make(2)))(X)),
    "axis": ("Sum", lambda make: ops.sum(X, axis=make(0))),
    "one_hot": ("OneHot", lambda make: ops.one_hot(X.astype("int32"), make(3))),
    "random": ("random.normal", lambda make: ops.random.normal(1, make(2))),
    "Variable": ("Variable", lambda make: dt.Variable(make(1.0))),
    "assign": ("AssignVariableOp", lambda make: dt.Variable(X).assign(make(1.0))),
    "assign_add": ("AddV2", lambda make: dt.Variable(X).assign_add(make(1.0))),
    "output_gradients": ("convert", taped(lambda tape, x, y, make: tape.gradient(y, x, output_gradients=make(x)))),
    "K.constant": ("K.constant", lambda make: K.constant(make(1.0))),
    "K.stack": ("K.stack", lambda make: K.stack(make(ops.constant(X)))),
    "K.reshape": ("K.reshape", lambda make: K.reshape(X, make(2))),
    "tf.constant": ("tf.constant", lambda make: tf.constant(make(1.0))),
    "tf.add_n": ("tf.add_n", lambda make: tf.add_n(make(tf.constant(1.0)))),
}


class Stepping:
    @dt.function(name="step")
    def step(self, s):
        return 1.0


def double(x):
    return X, lambda g: g


def refusal(call, make):
    """The text of a call's error, which must not be a RecursionError."""
    with pytest.raises(ValueError) as caught:
        call(make)
    return str(caught.value)


def check(name, call, makes):
    for make in makes:
        text = refusal(call, make)
        assert re.search(rf"(^|: ){re.escape(name)}(:| ).*at test_nesting.py:\d+: ", text), text
        assert (HOLDS if make in CYCLES else LEVELS) in text and "it calls itself" not in text, text
        assert ("Remove the reference back" if make in CYCLES else "or stack them") in text


@pytest.mark.parametrize("entry", STRUCTURES)
def test_structures(engine, entry):
    check(*STRUCTURES[entry], [*CYCLES, *STEEPS])


@pytest.mark.parametrize("entry", OF_DICTS_TOO)
def test_structures_of_tensorflow(engine, entry):
    name, call = OF_DICTS_TOO[entry]
    pairs = (own_pair, STEEPS[3])
    check(name, call, [make for make in (*CYCLES, *STEEPS) if make not in pairs])


@pytest.mark.parametrize("entry", TENSORS)
def test_lists_for_tensors(engine, entry):
    check(*TENSORS[entry], LISTS)


@pytest.mark.parametrize("make", [*CYCLES, *STEEPS])
def test_values_of_feeds(engine, make):
    run = in_graph(lambda session, x, y, make: session.run(y, {x: make(1.0)}))
    with pytest.raises((ValueError, TypeError), match=r"one length|no tensor|must be|shape"):
        run(make)


def test_a_failed_call_leaves_all_as_it_was(engine):
    v = dt.Variable(X)

    @dt.function
    def add(s):
        v.assign_add(s[0] if isinstance(s, list) else s)
        return own_list(v.read()) if isinstance(s, list) else v.read()

    np.testing.assert_allclose(add(X), X * 2)
    for given in ([X], own_list(X)):
        with pytest.raises(ValueError, match="holds itself"):
            add(given)
    np.testing.assert_allclose(add(X), X * 3)


# -- allowed structures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"k": x}, Pair, lambda x: [1.0, x]])
def test_as_deep_as_is_said(engine, wrap):
    """Check an argument, a carried state, and a result; one level more raises an error."""
    value = X
    for _ in range(DEEPEST - 1):  # the arguments are a tuple
        value = wrap(value)
    f = dt.function(lambda s: ops.while_loop(lambda s: ops.sum(flatten(s)[0][-1]) < 8, doubled, (s,))[0])
    found, structure = flatten(f(value))
    assert structure == flatten(value)[1]
    np.testing.assert_allclose(found[-1], X * 4)
    with pytest.raises(ValueError, match=LEVELS):
        f(wrap(value))


def doubled(s):
    return (map_structure(lambda x: x * 2.0, s),)


def test_the_innermost_may_be_empty():
    for empty in ([], (), {}):
        value = empty
        for _ in range(DEEPEST - 1):
            value = [value]
        assert flatten(value)[0] == []
        with pytest.raises(ValueError, match=LEVELS):
            flatten([value])


def test_the_same_part_twice_is_no_cycle(engine):
    shared = {"w": X}
    f = dt.function(lambda s: [s, s, (s["a"], s)])
    found = f({"a": shared, "b": [shared, shared]})
    assert len(flatten(found)[0]) == 3 * 3 + 1
    assert no_tree([shared, (shared, [shared])]) == "" and no_tree([X, None, "x", ()]) == ""


def test_an_object_of_a_class_of_its_own_is_a_leaf(engine):
    class Node:
        def __init__(self):
            self.parent = self

    f = dt.function(lambda node, x: (node, x + 1.0))
    node = Node()
    found, _ = f(node, X)
    assert found is node


def test_where_the_cycle_is():
    first = {"layers": [X, Pair(X)]}
    first["layers"][1].link = Named(X, first)
    with pytest.raises(ValueError, match=r"^the dict at \['layers'\]\[1\]\.link\.link holds itself"):
        flatten(first)
    leaves, structure = flatten([X, {"a": X}])
    assert len(leaves) == 2 and unflatten(structure, [1, 2]) == [1, {"a": 2}]


@pytest.mark.parametrize("make", [*CYCLES, *STEEPS])
def test_errors_show_them(make):
    """Check that Python shows cycles, and that a structure too deep for it is shown by its type."""
    for leaf in (1.0, ops.constant(X)):
        assert 0 < len(describe(make(leaf))) <= 80


# -- the program's own recursion ---------------------------------------------------------------------------------------


def test_a_function_that_calls_itself_is_told_so(engine):
    @dt.function
    def f(x):
        return f(x) + 1.0

    def g(x, depth=()):
        return h(x, [depth])

    def h(x, depth):
        return g(x, (depth,))

    for function in (f, step(g)):
        with pytest.raises(RecursionError, match="its trace does not end: it calls itself"):
            function(X)


def test_recursion_in_a_library_is_left_as_it_is(engine):
    """Check `repr` of a deep object, which no function of the program walks through."""
    deep = [1.0]
    for _ in range(10**6):
        deep = [deep]

    @dt.function
    def f(x):
        repr(deep)
        return x

    with pytest.raises(RecursionError, match="repr of an object"):
        f(X)


def test_a_recursion_of_the_program_is_left_as_it_is(engine):
    """Check a program's recursion whose arguments are flat."""

    def descend(x):
        return descend(ops.add(x, [1.0, 1.0]))

    with pytest.raises(RecursionError):
        descend(X)
