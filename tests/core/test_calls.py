"""Calls that repeat: the program that a later one runs gives what the first gave, and nothing else is different."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail.core import calls
from tests.ops.table import CASES, draw, float_arrays, identifier, leaves, replace_arrays

TIMES = 5


def programs(name):
    """The programs that there are for calls of an op."""
    return [known for key, known in calls._programs.items() if key[0].name == name and isinstance(known, tuple)]


@pytest.fixture(autouse=True)
def _forgotten():
    calls._programs.clear()


@pytest.mark.parametrize(("op", "number"), CASES, ids=identifier)
def test_repeated_calls_give_the_same_bits(engine, op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    given = [dt.ops.convert(a) for a in float_arrays(args, kwargs)]
    args, kwargs = replace_arrays(args, kwargs, given)
    first, *others = [leaves(op(*args, **kwargs)) for _ in range(TIMES)]
    for found in others:
        for f, e in zip(found, first, strict=True):
            assert (f.engine, f.dtype, f.shape) == (e.engine, e.dtype, e.shape)
            assert f.numpy().tobytes() == e.numpy().tobytes()


def test_a_composite_and_one_with_conversions_become_programs(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32"))
    for _ in range(TIMES):
        dt.ops.l2_normalize(x, axis=-1)
        dt.ops.clip(dt.ops.cast(x, "int32"), 0.5, 2)
    assert programs("L2Normalize")
    assert programs("ClipByValue")


def test_zeros_of_two_signs_are_two_calls(engine):
    x = dt.ops.convert(np.float32([1.0]))
    for zero in [0.0] * TIMES + [-0.0] * TIMES:
        assert np.signbit(dt.ops.where([True], zero, x).numpy())[0] == np.signbit(zero)


def test_results_share_no_memory(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32"))
    *others, last = [dt.ops.zeros_like(x) for _ in range(TIMES)]
    assert not any(np.shares_memory(last.numpy(), other.numpy()) for other in others)


def test_errors_stay_as_they_were(engine):
    x = dt.ops.convert(np.ones((2, 3), "float32"))
    said = set()
    for _ in range(TIMES):
        with pytest.raises(ValueError, match="Reshape") as caught:
            dt.ops.reshape(x, (4, 4))
        said.add(str(caught.value))
    assert len(said) == 1
    assert not programs("Reshape")


def test_settings_and_tapes_are_seen(engine):
    x = dt.ops.convert(np.ones((2, 3), "int32"))
    for _ in range(TIMES):
        assert dt.ops.mean(x, axis=0).dtype == "float32"
    dt.config.set_floatx("float64")
    for _ in range(TIMES):
        assert dt.ops.mean(x, axis=0).dtype == "float64"
    y = dt.ops.convert(np.ones((2, 3), "float32"))
    for _ in range(TIMES):
        dt.ops.sum(y, axis=0)
    with dt.GradientTape() as tape:
        tape.watch(y)
        total = dt.ops.sum(y, axis=0)
    assert tape.gradient(total, y).numpy().tolist() == [[1.0] * 3] * 2


def test_shapes_that_are_tensors_are_read_each_time(engine):
    x = dt.ops.convert(np.arange(6, dtype="float32"))
    for rows in [2] * TIMES + [3] * TIMES:
        assert dt.ops.reshape(x, dt.ops.convert(np.int32([rows, -1]))).shape == (rows, 6 // rows)


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


def test_functions_written_in_ops_repeat_too(engine):
    @calls.repeatable
    def shifted(x, by=1.0):
        ran.append(by)
        return dt.ops.add(dt.ops.square(x), by)

    ran = []
    x = dt.ops.convert(np.float32([1.0, 2.0]))
    assert [shifted(x, by=2.0).numpy().tolist() for _ in range(TIMES)] == [[3.0, 6.0]] * TIMES
    assert programs("shifted")
    assert len(ran) < TIMES
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = shifted(x)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]
    assert shifted([3.0]).numpy().tolist() == [10.0]
