"""Results of a traced function: structures of tensors; an error names other tensors of its graph."""

import functools
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

X = np.array([1.0, 2.0], "float32")


@dataclass
class Pair:
    first: object
    second: object = 1.0
    name: str = "pair"


@dataclass(frozen=True, slots=True)
class Frozen:
    value: object
    parts: list = field(default_factory=list)

    def __post_init__(self):
        assert self.value is not None


class Box:
    def __init__(self, value):
        self.value = value


class Slotted:
    __slots__ = "value"

    def __init__(self, value):
        self.value = value


def test_dataclasses_a8(engine):
    traces = []

    @dt.function
    def f(given, factor):
        traces.append(given)
        return Pair(given.value * factor.second, [Frozen(given.parts[0])], factor.name)

    found = f(Frozen(X, [X + 1]), Pair(None, 3.0))
    assert type(found) is Pair and found.name == "pair" and type(found.second[0]) is Frozen
    assert found.first.numpy().tolist() == [3, 6] and found.second[0].value.numpy().tolist() == [2, 3]
    f(Frozen(X * 2, [X]), Pair(None, 3.0))
    assert len(traces) == 1
    f(Frozen(X, [X]), Pair(None, 4.0))  # another static value
    f(Frozen(X, [X, X]), Pair(None, 3.0))  # another structure
    assert len(traces) == 3


HOLDERS = {
    "an object": Box,
    "an object with slots": Slotted,
    "a set": lambda y: {y},
    "a deque": lambda y: deque([y]),
    "objects in objects": lambda y: [1, Box({"k": (Box({y}),)})],
    "a default": lambda y: lambda z=y: z,
    "a closure": lambda y: lambda: y,
    "a partial": lambda y: functools.partial(abs, y),
    "a method": lambda y: y.consumers,
    "an operation": lambda y: y.op,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_tensor_in_what_is_no_structure_a8(holder):
    f = dt.function(lambda x: HOLDERS[holder](ops.tanh(x)), name="holding")
    with pytest.raises(TypeError, match=r"holding at test_results.py:\d+: it returns .* that holds <graph tensor "):
        f(X)


def test_other_objects_are_returned_as_they_are_a8():
    box = Box(3)
    assert dt.function(lambda x: (x, box, "word", None))(X)[1:] == (box, "word", None)


@pytest.mark.parametrize("make", [lambda x: (v for v in [x * 2]), lambda x: map(abs, [x])], ids=["generator", "map"])
def test_generators_a8(make):
    with pytest.raises(TypeError, match="return a list or tuple of its values"):
        dt.function(make)(X)


def keeping():
    """A compiled function, and a list that its trace fills with tensors of its graph and of a loop."""
    kept = []

    @dt.function
    def keeps(x):
        kept.append(ops.tanh(x))
        ops.scan(lambda s, e: (kept.append(s * e) or s + e, None), 0.0, x)
        return x

    return keeps, kept


USES = {
    "an operator": lambda y: y + 1,
    "an op": ops.exp,
    "an op with NumPy": lambda y: ops.add(X, y),
    "a function's argument": lambda y: keeping()[0](y),
    "a function's result": lambda y: dt.function(lambda x: y, name="other")(X),
    "another function": lambda y: dt.function(lambda x: x + y)(X),
    "a branch": lambda y: ops.cond(True, lambda: y * 1, lambda: y),
    "a loop": lambda y: ops.scan(lambda s, e: (s + e, None), 0.0, y[None]),
    "a gradient": lambda y: dt.gradients(y, y),
    "a custom gradient": lambda y: dt.custom_gradient(lambda x: (x * 2, lambda g: g))(y),
    "a tape": lambda y: dt.hvp(lambda x: x * x, [y], [y]),
    "an assignment": lambda y: dt.Variable(np.zeros(y.shape)).assign(y),
    "numpy": lambda y: y.numpy(),
    "float": float,
    "bool": bool,
}


@pytest.mark.parametrize("use", USES)
def test_a_tensor_that_was_kept_is_named_when_it_is_used_a8(use):
    keeps, kept = keeping()
    graph = keeps.concrete(X).graph
    assert len(kept) == 2
    for tensor in kept:
        before = str(graph)
        with pytest.raises((ValueError, TypeError), match=f"<graph tensor {tensor.name}"):
            USES[use](tensor)
        assert str(graph) == before


def test_a_tensor_of_a_trace_that_failed_a8():
    leaked = []

    @dt.function
    def f(x):
        leaked.append(x * 2)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f(X)
    with pytest.raises(ValueError, match="was made while 'f' was traced, and kept"):
        ops.tanh(leaked[0])


def test_objects_that_hold_each_other_are_returned_a8():
    first, second = Box(1), Box(2)
    first.value, second.value = second, [first]
    assert dt.function(lambda x: (x, first))(X)[1] is first


def test_objects_that_hold_each_other_and_a_tensor_a8():
    first = Box(None)

    def run(x):
        first.value = [first, Box(x * 2.0)]
        return first

    with pytest.raises(TypeError, match="returns a Box that holds <graph tensor Mul:0"):
        dt.function(run)(X)


def test_tensors_of_other_graphs_modules_and_classes_are_left_alone_a8():
    other = dt.Graph("other").placeholder(dt.spec(()), "y")

    class Holder:
        tensor = other

    for value in (Box(other), Holder, functools, len, Box(np), Box(Holder)):
        assert dt.function(lambda x, value=value: (x, value))(X)[1] is value


MORE_HOLDERS = {
    "a key": lambda y: {1: Box({y: 1})},
    "a partial's function": lambda y: functools.partial(lambda: y),
    "a partial's keyword": lambda y: functools.partial(abs, key=y),
    "a keyword default": lambda y: eval("lambda *, z=y: z", {"y": y}),
    "a frozen set": lambda y: frozenset([Box(y)]),
    "a slot of a base": lambda y: type("Derived", (Slotted,), {"__slots__": ("other",)})(y),
    "a graph inside": lambda y: Box(ops.scan(lambda s, e: (s + e, None), 0.0, y)[0].op.attr("body").outputs[0]),
}


@pytest.mark.parametrize("holder", MORE_HOLDERS)
def test_a_tensor_in_more_of_what_is_no_structure_a8(holder):
    f = dt.function(lambda x: MORE_HOLDERS[holder](ops.tanh(x)), name="holding")
    with pytest.raises(TypeError, match=r"it returns .* that holds <graph tensor "):
        f(X)


def test_numbers_arrays_and_words_in_structures(engine):
    """Check that numbers become tensors, and that words, bytes and None stay, each in its place."""
    found = dt.function(lambda x: {"a": (1, "one", x), "b": [None, 2.5, True], "c": b"bytes", "d": np.ones(2)})(X)
    assert [found["a"][0].dtype, found["b"][1].dtype, found["b"][2].dtype] == ["int32", "float32", "bool"]
    assert (int(found["a"][0]), float(found["b"][1]), bool(found["b"][2])) == (1, 2.5, True)
    assert (found["a"][1], found["b"][0], found["c"]) == ("one", None, b"bytes")
    assert found["a"][2].numpy().tolist() == X.tolist() and found["d"].numpy().tolist() == [1, 1]


def test_one_value_alone(engine):
    assert dt.function(lambda x: None)(X) is None
    assert dt.function(lambda x: "word")(X) == "word"
    assert dt.function(lambda x: [x])(X)[0].numpy().tolist() == X.tolist()
    assert dt.function(lambda x: 3 + 0j)(X).dtype.is_complex


def test_coroutines_and_asynchronous_generators_a8():
    async def later(x):
        return x

    async def several(x):
        yield x

    for make, kind in ((later, "coroutine"), (several, "async_generator")):
        made = []
        with pytest.raises(TypeError, match=f"returns a {kind}, which runs when tracing is over"):
            dt.function(lambda x, make=make, made=made: made.append(make(x)) or made[0])(X)
        if kind == "coroutine":
            made[0].close()


def test_cells_that_are_not_filled_a8():
    def run(x):
        def inner():
            return later

        if x is None:
            later = 1
        return x, inner

    assert callable(dt.function(run)(X)[1])
