"""Repeated calls: which calls are recognized, and which differences keep calls apart.

`tests/ops/test_table.py` checks for every op that repeated calls give the same bits.
"""

from __future__ import annotations

import enum
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.core.values.signature import signature
from tests.conftest import ENGINES
from tests.ops.table import CASES, draw, is_differentiable

TIMES = 3


def test_what_is_recognised(engine):
    x, v = dt.ops.convert(np.ones((2, 3), "float32")), dt.Variable(np.ones((2, 3), "float32"))
    for args, kwargs in (
        ((x, 1.5), {}),
        ((x, np.ones(3)), {}),
        ((np.float32(1.0), v), {}),
        ((x.value, x.value), {}),
    ):
        assert signature(dt.ops.add, args, kwargs) is not None
    assert signature(dt.ops.sum, (x,), {"axis": [0, 1]}) is not None
    assert signature(dt.ops.concatenate, ([x, x],), {"axis": -1}) is not None
    for op, args in (
        (dt.ops.add, (x, [1.0, 2.0, 3.0])),  # the dtype depends on the numbers
        (dt.ops.reshape, (x, dt.ops.convert([6]))),  # the next call may have another shape
        (dt.ops.add, (x, x, x)),
    ):
        assert signature(op, args, {}) is None
    assert signature(dt.ops.sum, (x,), {"axes": 1}) is None


def test_calls_are_those_of_an_engine(engine):
    """Check that a call belongs to its tensors' engine, and to the current engine if it has no tensors."""
    with dt.engine("numpy"):
        x = dt.ops.ones((2, 3))
    assert signature(dt.ops.sum, (x,), {})[-1] is get_engine("numpy")
    assert signature(dt.ops.sum, (1.0,), {})[-1] is current_engine()


def test_numbers_of_classes_derived_from_those_of_python(engine):
    class Degrees(float):
        pass

    class Level(enum.IntEnum):
        HIGH = 2

    for number in (Degrees(2), Level.HIGH):
        for x in (dt.ops.ones(2), dt.ops.ones(2, "float16")):
            y = dt.ops.add(x, number)
            assert y.tolist() == [3, 3] and y.dtype == x.dtype


def test_what_tells_calls_apart(engine):
    x, y = (dt.ops.convert(np.ones(shape, "float32")) for shape in ((2, 3), (3, 2)))
    calls = [
        ((x,), {}), ((y,), {}), ((dt.ops.cast(x, "int32"),), {}), ((x, 1), {}), ((x, True), {}), ((x, (1,)), {}),
        ((x,), {"axis": 1}), ((x,), {"keepdims": 1}), ((np.ones((2, 3), "float32"),), {}),
        ((dt.Variable(x),), {}), ((1.0,), {}), ((1,), {}),
    ]  # fmt: skip
    calls += [] if engine == "numpy" else [((x.value,), {})]
    found = [signature(dt.ops.sum, args, kwargs) for args, kwargs in calls]
    assert None not in found and len(set(found)) == len(found)
    before = signature(dt.ops.sum, (x,), {})
    dt.config.set_floatx("float64")
    assert signature(dt.ops.sum, (x,), {}) != before


def test_a_repeated_call_is_resolved_once(engine, monkeypatch):
    op = dt.ops.clip
    x, v = dt.ops.convert(np.int32([[1, 5], [2, 3]])), dt.Variable([0.5, 9.0])
    calls = [lambda: op(x, 0.5, 2), lambda: op(v, np.float32([0, 0]), x_max=2.0), lambda: op(x.value, 1, 2)]
    first = [np.asarray(call()).tolist() for call in calls]
    monkeypatch.setattr("dovetail.core.calls.dispatch.resolve", lambda *args: pytest.fail("resolved again"))
    assert [np.asarray(call()).tolist() for call in calls] == first == [[[1, 2], [2, 2]], [0.5, 2], [[1, 2], [2, 2]]]


def test_zeros_of_two_signs_are_two_calls(engine):
    x = dt.ops.convert(np.float32([1.0]))
    for zero in [0.0] * TIMES + [-0.0] * TIMES:
        assert np.signbit(dt.ops.where([True], zero, x).numpy())[0] == np.signbit(zero)


def test_numbers_are_those_of_each_call(engine):
    x = dt.ops.convert(np.uint8([1, 2]))
    assert [dt.ops.add(x, number).numpy().tolist() for number in (1, 2, 3)] == [[2, 3], [3, 4], [4, 5]]
    with pytest.raises(OverflowError, match="300 does not fit into uint8"):
        dt.ops.add(x, 300)


def test_numbers_of_any_size_are_cast(engine):
    """Check that numbers too large for int32 are cast, between numbers that fit."""
    for number in (5, 2**40, -(2**40), 7):
        assert dt.ops.cast(number, "int64").item() == number
        assert dt.ops.full((1,), number, "int64").tolist() == [number]


def test_domains_are_checked_in_each_call(engine):
    x = np.float32([1.0, 2.0])
    assert dt.ops.quantile(x, 0.5).item() == 1.5
    with pytest.raises(ValueError, match="q must be"):
        dt.ops.quantile(x, -0.5)


def test_results_share_no_memory(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32"))
    *others, last = [dt.ops.zeros_like(x) for _ in range(TIMES)]
    assert not any(np.shares_memory(last.numpy(), other.numpy()) for other in others)


def test_native_results_may_be_written_to(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32")).value
    for _ in range(TIMES):
        if isinstance(found := dt.ops.reshape(x, (3, 2)), np.ndarray) or hasattr(found, "add_"):
            found += 1
        assert np.asarray(x).tolist() == [[1.0] * 3] * 2


def test_errors_stay_as_they_were(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32"))
    said = set()
    for _ in range(TIMES):
        with pytest.raises(ValueError, match="Reshape") as caught:
            dt.ops.reshape(x, (4, 4))
        said.add(str(caught.value))
    assert len(said) == 1
    with pytest.raises(TypeError, match="takes 3 arguments but 4 were given"):
        dt.ops.sum(x, 0, False, 1)


def test_settings_and_tapes_are_seen(engine):
    x = dt.ops.convert(np.ones((2, 3), "int32"))
    for floatx in ("float32", "float64"):
        dt.config.set_floatx(floatx)
        assert [str(dt.ops.mean(x, axis=0).dtype) for _ in range(TIMES)] == [floatx] * TIMES
    y = dt.ops.convert(np.ones((2, 3), "float32"))
    for _ in range(TIMES):
        dt.ops.sum(y, axis=0)
    with dt.GradientTape() as tape:
        tape.watch(y)
        total = dt.ops.sum(y, axis=0)
    assert tape.gradient(total, y).numpy().tolist() == [[1.0] * 3] * 2


def test_the_current_engine_is_seen():
    x = np.ones((2, 3), "float32")
    for name in ENGINES * 2:
        with dt.engine(name):
            assert dt.ops.sum(x).engine == name


def test_shapes_that_are_tensors_are_read_each_time(engine):
    x = dt.ops.convert(np.arange(6, dtype="float32"))
    for rows in [2] * TIMES + [3] * TIMES:
        assert dt.ops.reshape(x, dt.ops.convert(np.int32([rows, -1]))).shape == (rows, 6 // rows)


def test_many_signatures_are_not_kept_for_ever():
    for length in range(1, 1200):
        dt.ops.celu(np.zeros(length, "float32"))
    assert 500 <= len(dt.ops.celu.resolved) <= 1000


def test_threads_call_at_once(engine):
    x = dt.ops.convert(np.arange(12, dtype="float32").reshape(3, 4))
    expected = dt.ops.softmax(x).numpy().tobytes()
    wrong = []

    def work():
        with dt.engine(engine):
            wrong.extend(i for i in range(100) if dt.ops.softmax(x).numpy().tobytes() != expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


UNARY = [
    op.name
    for op, number in CASES
    if number == 0 and op.body is not None and len(op.params) == 1 and not op.returns_tuple and is_differentiable(op, 0)
]


@dt.RegisterGradient("FortyTwoOfDispatch")
def _forty_two(op, g):
    return dt.ops.full_like(op.inputs[0], 42.0)


@pytest.mark.parametrize("name", UNARY)
def test_a_composite_has_the_gradient_that_replaces_its_own(name, rng):
    """Check composites with their own gradient or the body's, run by the engine's rule or by the body."""
    ((x,), _) = draw(OPS[name].samples[0], rng)
    with dt.engine("numpy"), dt.gradient_override_map({name: "FortyTwoOfDispatch"}), dt.GradientTape() as tape:
        x = dt.ops.convert(x)
        tape.watch(x)
        result = OPS[name](x)
    assert np.unique(tape.gradient(result, x).numpy()).tolist() == [42.0]


@pytest.mark.parametrize("name", UNARY)
def test_a_tape_holds_a_composite_that_has_a_gradient_and_the_body_of_another(name, rng):
    ((x,), _) = draw(OPS[name].samples[0], rng)
    with dt.engine("numpy"), dt.GradientTape() as tape:
        x = dt.ops.convert(x)
        tape.watch(x)
        OPS[name](x)
    names = [node.op.name for node in tape.nodes]
    assert (names == [name]) == (OPS[name].gradient_function is not None)


@pytest.mark.parametrize("name", ["ZerosLike", "OnesLike"])
def test_a_composite_without_a_gradient_has_none(name):
    with dt.engine("numpy"), dt.GradientTape() as tape:
        x = dt.ops.convert([1.0, 2.0])
        tape.watch(x)
        result = OPS[name](x)
    assert tape.gradient(result, x) is None
