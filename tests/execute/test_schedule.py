"""Schedules: the arrays of other segments and of variables that a segment consumes."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from tests.passes.checks import traced

pytestmark = pytest.mark.skipif("jax" not in dt.list_engines(), reason="no engine consumes arrays but jax")
SIZE = 300


@pytest.fixture(autouse=True)
def _on_jax():
    with dt.engine("jax"):
        yield


def stepping(pinned="Exp"):
    """Two variables, and a step that ends on jax, after another engine; it reads `v` last, and `w` before."""
    v, w = (dt.Variable(np.zeros(SIZE, "float32"), name=name) for name in "vw")

    def step():
        kept = ops.sin(v) + 1.0
        other = ops.exp(ops.tanh(w))
        w.assign(w + kept)
        v.assign(v + other * kept)

    graph = traced(step)
    graph.get_operation(pinned).engine = "numpy"
    f = dt.function(graph)
    for _ in range(3):
        f()
    concrete = f._traces.get(f._last_key).concrete
    return v, w, f, concrete.plan(get_engine("jax"))


def test_text():
    *_, plan = stepping()
    assert str(plan).splitlines()[1:] == [
        "  jax (cpu:0): Sin, AddV2, Tanh, AddV2",
        "  move Tanh:0 from jax to numpy, 1.2 kB",
        "  numpy (cpu:0): Exp",
        "  move Exp:0 from numpy to jax, 1.2 kB",
        "  jax (cpu:0): Mul, AddV2",
    ]


def given_to(segment, monkeypatch):
    """A list that records the arguments of the next calls of a segment's executable."""
    run, given = segment.executable, []
    monkeypatch.setattr(
        segment, "executable", lambda *arrays, **options: [given.extend(arrays), run(*arrays, **options)][1]
    )
    return given


def test_the_last_segment_consumes_what_it_reads_last(monkeypatch):
    """Check that it consumes another segment's result, and the variable.

    It consumes neither a moved value, nor a variable whose last reader is an earlier segment, after which the run can
    fail.
    """
    *_, f, plan = stepping()
    first, _, last = plan.segments
    assert (first.donated, len(last.donated)) == ((), 1)
    all_given = [given_to(segment, monkeypatch) for segment in plan.segments]
    f()
    consumed = {id(array) for given in all_given for array in given if getattr(array, "is_deleted", bool)()}
    assert consumed == {id(all_given[-1][last.donated[0]])}


def test_what_another_segment_made_is_consumed(monkeypatch):
    graph = traced(lambda x: ops.sin(x) + ops.exp(ops.cos(x)), dt.spec((SIZE,)))
    graph.get_operation("Exp").engine = "numpy"
    f, x = dt.function(graph), ops.ones((SIZE,))
    expected = [f(x).numpy() for _ in range(2)]
    given = given_to(f.plan(x).segments[-1], monkeypatch)
    assert (f(x).numpy() == expected[1]).all() and (expected[0] == expected[1]).all()
    assert [array.is_deleted() for array in given] == [True, False]  # the other one is in numpy's memory
    assert not x.value.is_deleted()


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_segment_that_fails_leaves_the_variables(monkeypatch, number, when):
    """Check a failure before arrays are consumed, and any failure before the last segment."""
    v, w, f, plan = stepping()
    before = v.numpy(), w.numpy()
    segment = plan.segments[number]
    run = segment.executable

    def failing(*arrays, **options):
        if when == "after" and segment is not plan.segments[-1]:
            run(*arrays, **options)
        raise RuntimeError("the machine broke")

    monkeypatch.setattr(segment, "executable", failing)
    with pytest.raises(RuntimeError, match="the machine broke"):
        f()
    assert [(v.numpy() == before[0]).all(), (w.numpy() == before[1]).all()] == [True, True]
    monkeypatch.undo()
    f()
    assert (v.numpy() != before[0]).all() and (w.numpy() != before[1]).all()


def test_a_variable_that_somebody_holds_is_not_consumed():
    v, w, f, _ = stepping()
    held = v.read(), w.read()
    numbers = [t.numpy().copy() for t in held]
    f()
    assert all((t.numpy() == n).all() for t, n in zip(held, numbers, strict=True))


def test_a_variable_that_ends_on_another_engine_is_not_consumed():
    v, _, f, plan = stepping(pinned="AddV2_2")
    assert plan._consumes is False
    before = v.numpy()
    f()
    assert v.engine == "numpy" and (v.numpy() > before).all()
