"""The check for NaN and infinity: it names operation, line, step and input on every engine, and is quiet otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.frames import frames
from tests.functions.faults import PROGRAMS

EAGER = [name for name, found in PROGRAMS.items() if found.eagerly]


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(engine, name):
    found = PROGRAMS[name]
    run = dt.function(found.function, check_numerics=True)
    if not found.types:
        run(*found.given)
        return
    with pytest.raises(dt.NumericsError) as caught:
        run(*found.given)
    faults = caught.value.faults
    assert tuple(fault.type for fault in faults) == found.types, str(caught.value)
    assert [fault.where[1] for fault in faults if fault.where] == found.lines, str(caught.value)
    assert {fault.part_of for fault in faults} == {found.of}
    assert [step for _, step in faults[0].steps] == ([] if found.step is None else [found.step])
    assert all(fault.result.bad for fault in faults)
    for line in found.lines:
        assert f"faults.py:{line}" in str(caught.value)


@pytest.mark.parametrize("name", EAGER)
def test_eager(engine, name):
    found = PROGRAMS[name]
    given = [ops.convert(x) for x in found.given]
    with dt.check_numerics():
        if not found.types:
            found.function(*given)
            return
        with pytest.raises(dt.NumericsError) as caught:
            found.function(*given)
    (fault,) = caught.value.faults
    assert (fault.part_of or fault.type) == (found.of or found.types[0])
    assert f"faults.py:{found.lines[0]}" in str(caught.value)


def test_the_error_tells_the_numbers(engine):
    given = np.array([[0.0, 2.0, 0.0], [1.0, 4.0, 0.0]], "float32")
    with pytest.raises(dt.NumericsError) as caught:
        dt.function(lambda x, y: ops.exp(x) / y, check_numerics=True)(*given)
    (fault,) = caught.value.faults
    result = fault.result
    assert (result.kind, result.size, result.nans, result.infinities) == ("float32[3]", 3, 0, 1)
    assert [name for name, _ in fault.inputs] == ["x", "y"]
    assert np.allclose([result.least, result.most, fault.inputs[1][1].most], [1.0, np.exp(2.0) / 4.0, 4.0])
    assert "1 infinite of 3 numbers (33.3 %), the others from 1 to 1.847" in str(caught.value)
    assert isinstance(caught.value, FloatingPointError) and isinstance(caught.value, ValueError)


def test_a_failed_call_leaves_variables(engine):
    v, count = dt.Variable([4.0, 1.0]), dt.Variable(0)

    @dt.function(check_numerics=True)
    def step(x):
        count.assign_add(1)
        v.assign(ops.sqrt(v - x))
        return ops.sum(x)

    step(ops.convert([0.0, 0.0]))
    before = v.numpy()
    with pytest.raises(dt.NumericsError, match=r"Sqrt.*test_numerics\.py"):
        step(ops.convert([9.0, 0.0]))
    assert (v.numpy() == before).all() and count.numpy() == 1
    assert float(step(ops.convert([1.0, 0.0]))) == 1.0 and count.numpy() == 2
    v.assign([np.nan, 1.0])
    with pytest.raises(dt.NumericsError, match=r"The variable 'variable.* came with bad numbers"):
        step(ops.convert([0.0, 0.0]))


def test_gradients_of_a_compiled_function(engine):
    f = dt.function(lambda x: ops.sum(ops.sqrt(x)))
    x = ops.convert([1.0, 0.0])
    with dt.check_numerics():
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.raises(dt.NumericsError) as caught:
            tape.gradient(y, x)
    assert {fault.part_of for fault in caught.value.faults} == {"Sqrt"}


def test_scopes(engine):
    f = dt.function(ops.log)
    assert np.isinf(f([0.0]).numpy()).all()
    with dt.check_numerics():
        with pytest.raises(dt.NumericsError):
            f([0.0])
        with dt.check_numerics(False):
            f([0.0])
            ops.log([0.0])
        assert f([1.0]).tolist() == [0.0]
    assert np.isinf(f([0.0]).numpy()).all()
    assert len(f._traces) == 2


def test_sessions(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        y = ops.log(x)
    session = dt.Session(graph, engine=engine)
    session.run(y, {x: [1.0, 0.0]})
    with dt.check_numerics(), pytest.raises(dt.NumericsError, match="Log"):
        session.run(y, {x: [1.0, 0.0]})


def test_without_checks_a_call_is_as_before(engine):
    """Frames and the text of the program; checks of other calls change neither."""
    f, x = dt.function(lambda x: ops.tanh(x) * 2.0), ops.ones(3)

    def cost():
        for _ in range(3):
            f(x), ops.tanh(x)
        return frames(lambda: f(x), "/src/dovetail/"), frames(lambda: ops.tanh(x), "/src/dovetail/")

    before, text = cost(), f.plan(x).segments[0].source
    with dt.check_numerics():
        assert cost()[1] > before[1]
    assert cost() == before and f.plan(x).segments[0].source == text
    assert before[1] <= 5  # the op, and the engine's dtype, rule and array


def test_the_environment_variable():
    program = "import dovetail as dt; dt.set_engine('numpy'); dt.ops.log([0.0])"
    known = {**os.environ, "DOVETAIL_CHECK_NUMERICS": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=known, capture_output=True, text=True, check=False)
    assert "NumericsError: Log" in done.stderr
