"""Plans: the state of variables if a step is interrupted or fails."""

import tracemalloc

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import StaleValueError
from dovetail.core.engines.engine_registry import current_engine


def stepping(size=2000):
    """A variable that only plans know, a step that adds 1 to it, and the step's plan."""
    v = dt.Variable(np.zeros(size, "float32"), name="v")
    step = dt.function(lambda: [v.assign(v + 1.0), None][1])
    for _ in range(3):
        step()
    return v, step, step.concrete().plan(current_engine())


def test_a_step_that_fails_after_its_buffers_were_consumed(engine, monkeypatch):
    """Check an engine that fails in the middle of a program that consumes: no values are left to keep."""
    v, step, plan = stepping()
    run = plan.segments[0].executable

    def failing(*args, into=None):
        run(*args)
        raise RuntimeError("the machine broke")

    monkeypatch.setattr(plan.segments[0], "executable", failing)
    with pytest.raises(RuntimeError, match="the machine broke"):
        step()
    monkeypatch.undo()
    if plan._consumes:
        for use in (v.numpy, v.read, step, dt.function(lambda: v * 2.0)):
            with pytest.raises(StaleValueError, match=r"'v' has no value.*a compiled step that failed"):
                use()
        assert "deleted" in repr(v)
        v.assign(np.full(2000, 3, "float32"))
    step()
    assert v.numpy()[0] == 4


def test_a_step_that_fails_before_its_buffers_were_consumed(engine, monkeypatch):
    v, step, plan = stepping()

    def failing(*args, into=None):
        raise RuntimeError("the machine is busy")

    monkeypatch.setattr(plan.segments[0], "executable", failing)
    with pytest.raises(RuntimeError, match="the machine is busy"):
        step()
    monkeypatch.undo()
    assert v.numpy()[0] == 3 and (v + 0.0).numpy()[0] == 3
    step()
    assert v.numpy()[0] == 4


@pytest.mark.parametrize("where", ["plain", "loop"])
def test_errors_at_run_time_name_the_op_and_the_line(engine, where):
    """Check errors that unknown dimensions hide during tracing: they have the same text at run time."""

    def add(x, y):
        return ops.exp(x) + y

    def add_in_a_loop(x, y):
        return ops.scan(lambda total, _: (total, ops.exp(x) + y), 0.0, length=2)[1]

    f = dt.function(add if where == "plain" else add_in_a_loop, input_signature=[dt.spec((None,)), dt.spec((None,))])
    assert f(np.zeros(2, "float32"), np.ones(1, "float32")).shape[-1] == 2
    with pytest.raises(ValueError, match=r"AddV2 at test_plan.py:\d+: "):
        f(np.zeros(2, "float32"), np.ones(3, "float32"))


def test_a_value_whose_shape_turns_out_to_be_another_changes_no_variable(engine):
    count, w = dt.Variable(0.0, name="count"), dt.Variable(np.zeros(3, "float32"), name="w")

    @dt.function(input_signature=[dt.spec((None,))])
    def step(x):
        count.assign_add(1.0)
        w.assign(x)

    step(np.ones(3, "float32"))
    with pytest.raises(ValueError, match=r"AssignVariableOp at .*\(5,\)"):  # making the plan names the line
        step(np.full(5, 2, "float32"))
    assert (float(count), w.numpy().tolist()) == (1.0, [1.0, 1.0, 1.0])
    step(np.full(3, 2, "float32"))
    assert (float(count), w.numpy().tolist()) == (2.0, [2.0, 2.0, 2.0])


def test_stepping_allocates_nothing(monkeypatch):
    with dt.engine("numpy"):
        v, step, _ = stepping()
        made = []
        monkeypatch.setattr(current_engine(), "allocate", lambda *_: made.append(1))
        for _ in range(4):
            step()
        assert not made and v.numpy()[-1] == 7


def test_the_spare_buffer_is_not_one_that_somebody_reads():
    """Check a plan in another thread that holds the array, and reads it during the next steps."""
    with dt.engine("numpy"):
        v, step, _ = stepping()
        held = v.array_on(current_engine())
        for _ in range(4):
            step()
        assert held[0] == 3 and v.numpy()[0] == 7


@pytest.mark.skipif("jax" not in dt.list_engines(), reason="jax is not installed")
@pytest.mark.parametrize("shown", [False, True])
def test_arrays_are_consumed_but_by_programs_that_print(capsys, shown):
    """Check that a program that runs Python code keeps its arguments."""
    with dt.engine("jax"):
        v = dt.Variable(np.zeros(3, "float32"))
        step = dt.function(lambda: [v.assign(ops.print_tensor(v + 1.0) if shown else v + 1.0), None][1])
        for _ in range(2):  # these warm up, with copies
            step()
        before = v.array_on(current_engine())
        address = before.unsafe_buffer_pointer()
        del before
        step()
        assert (v.array_on(current_engine()).unsafe_buffer_pointer() == address) == (not shown)
        assert v.numpy()[0] == 3


def taken_meanwhile(call):
    """The peak of bytes that NumPy allocates during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_temporaries_and_new_values_take_no_new_memory():
    size = 1 << 18
    with dt.engine("numpy"):
        v = dt.Variable(np.zeros(size, "float32"))
        step = dt.function(lambda: [v.assign(v + ops.exp(ops.exp(v) * 0.5)), None][1])
        total = dt.function(lambda x: ops.exp(ops.exp(ops.exp(x) * 0.5) * 0.25))
        x = ops.zeros((size,))
        for _ in range(3):
            step(), total(x)
        assert taken_meanwhile(step) < size
        assert taken_meanwhile(lambda: total(x)) < 1.5 * 4 * size  # the result alone


def test_errors_that_are_no_operations_stay_as_they_are(engine, monkeypatch):
    _, step, plan = stepping()

    def failing(*args, into=None):
        raise ValueError("of nobody's")

    monkeypatch.setattr(plan.segments[0], "executable", failing)
    with pytest.raises(ValueError, match=r"^of nobody's$"):
        step()


def test_what_an_engine_refuses_no_plan_runs(monkeypatch):
    f = dt.function(lambda x: x * 2.0)
    x = ops.constant(1.0)
    f(x)

    def refuse():
        raise RuntimeError("not in this process")

    monkeypatch.setattr(current_engine().around, "refused", refuse)
    with pytest.raises(RuntimeError, match="not in this process"):
        f(x)
    monkeypatch.undo()
    assert float(f(x)) == 2


def test_variables_that_are_assigned_and_not_read(engine):
    a, b, c = (dt.Variable(float(n)) for n in range(3))

    @dt.function
    def step(x):
        b.assign(x)
        c.assign(a + x)
        a.assign(a * 2.0 + c)
        return b + c

    assert [float(step(np.float32(n))) for n in (1, 2, 3)] == [2, 5, 11]
    assert (float(a), float(b), float(c)) == (18, 3, 8)


def test_results_are_not_the_memory_of_the_next_value(engine):
    """Check that results made of a variable's old or new value stay as they are."""
    v = dt.Variable(np.ones(4096, "float32"))
    w = dt.Variable(np.ones(4096, "float32"))

    @dt.function
    def step():
        before = v.value
        v.assign(v * 2.0)
        w.assign(v.value)
        return before, v.value, ops.reshape(v, (64, 64))

    found = [step() for _ in range(5)]
    for n, (before, after, view) in enumerate(found):
        assert (before.numpy() == 2**n).all() and (after.numpy() == view.numpy().reshape(-1)).all()
        assert after.numpy()[0] == 2 ** (n + 1)
    assert w.numpy()[0] == v.numpy()[0] == 32


def test_a_variable_that_was_deleted_is_assigned(engine):
    v = dt.Variable(np.zeros(2000, "float32"))
    double = dt.function(lambda x: [v.assign(x * 2.0), None][1])
    for n in (1, 2):
        v.delete()
        double(np.full(2000, n, "float32"))
        assert (v.numpy() == 2 * n).all()
