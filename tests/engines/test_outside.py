"""An engine of another distribution, whose arrays are of a type of its own, without attributes."""

import importlib.metadata
import sys
import types

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import engine_registry as engines
from dovetail.core import worlds
from dovetail.core.engine import Engine
from dovetail.core.rules import Rules
from dovetail.engines import numpy as living
from tests.ops.table import CASES, draw, identifier, leaves
from tests.ops.test_table import check_close


class Box:
    """An array of a library that says nothing about its arrays but by functions."""

    __slots__ = ("_held",)

    def __init__(self, held):
        self._held = held


def open_box(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(open_box, value)) if type(value) in (tuple, list) else value
    return value._held if isinstance(value, Box) else value


def boxed(rule):
    def run(*args):
        with np.errstate(all="ignore"):
            found = rule(*map(open_box, args))
        return tuple(map(Box, found)) if isinstance(found, (tuple, list)) else Box(found)

    return run


class BoxEngine(Engine):
    name = "boxed"

    def owns_type(self, kind):
        return issubclass(kind, Box)

    def shape(self, value):
        return value._held.shape

    def dtype(self, value):
        return dt.dtypes.as_dtype(value._held.dtype)

    def asarray(self, value, dtype):
        return Box(np.array(open_box(value), dtype.numpy))

    def to_numpy(self, value):
        return value._held


@pytest.fixture
def installed(monkeypatch):
    """The engine is installed, and not loaded yet."""
    module = types.ModuleType("boxes")
    module.engine = BoxEngine(Rules({name: boxed(rule) for name, rule in living.rules.items()}))
    monkeypatch.setitem(sys.modules, "boxes", module)
    point = importlib.metadata.EntryPoint("boxed", "boxes:engine", engines.ENTRY_POINTS)
    monkeypatch.setattr(engines, "entry_points", lambda group: [point])
    monkeypatch.setattr(engines, "_loaded", dict(engines._loaded))
    monkeypatch.setattr(Box, "__module__", "boxes")
    monkeypatch.setattr(worlds, "_worlds", dict(worlds._worlds))
    engines._outside_engines.cache_clear()
    yield
    engines._outside_engines.cache_clear()


def test_its_values_are_known_before_it_is_loaded(installed):
    assert "boxed" in dt.list_engines() and "boxed" not in engines._loaded
    for _ in range(2):
        found = ops.add(Box(np.float32([1, 2])), 1.0)
        assert isinstance(found, Box) and found._held.tolist() == [2, 3]


def test_a_type_that_nothing_knows_may_be_known_later(installed, monkeypatch):
    class Later(Box):
        __slots__ = ()

    monkeypatch.setattr(Later, "__module__", "another_library")
    assert not dt.backend.is_tensor(Later(np.float32([1])))
    engines.get_engine("boxed")
    assert dt.backend.is_tensor(Later(np.float32([1])))


def test_calls_of_tensors_without_attributes(installed):
    with dt.engine("boxed"):
        x = ops.convert([1.0, -2.0])
        for _ in range(4):  # the third is a program
            assert (x + 1).tolist() == [2, -1] and (1 - x).tolist() == [0, 3] and (-x).tolist() == [-1, 2]
            assert (x + x).tolist() == [2, -4] and ops.add(x, ops.convert([1, 2])).tolist() == [2, 0]
            assert ops.softmax(x).shape == (2,) and ops.mean(x).tolist() == -0.5
        assert x.dtype == "float32" and [row.tolist() for row in x] == [1, -2]
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.sum(ops.square(x) * x)
        assert tape.gradient(y, x).tolist() == [3, 12]
        assert dt.function(lambda x: ops.map_fn(lambda row: row * 2, x))(x).tolist() == [2, -4]


@pytest.mark.parametrize(("op", "number"), [case for case in CASES if case[1] == 0], ids=identifier)
def test_values_of_every_op(installed, op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    with dt.engine("boxed"):
        found = leaves(op(*args, **kwargs))
    with dt.engine("numpy"):
        expected = leaves(op(*args, **kwargs))
    for f, e in zip(found, expected, strict=True):
        assert f.engine == "boxed"
        check_close(f.numpy(), e.numpy(), op.samples[number].tolerance)
