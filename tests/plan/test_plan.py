"""Plans: what happens to variables when a step is interrupted or fails."""

import signal

import numpy as np
import pytest

import dovetail as dt
from dovetail.engines import current_engine
from dovetail.errors import StaleValueError


def stepping(size=2000):
    """A variable that only plans know, a step that adds 1 to it, and the step's plan."""
    v = dt.Variable(np.zeros(size, "float32"), name="v")
    step = dt.function(lambda: [v.assign(v + 1.0), None][1])
    for _ in range(3):
        step()
    return v, step, step.concrete().plan(current_engine())


def test_an_interrupt_leaves_a_value(engine, monkeypatch):
    v, step, plan = stepping()
    run = plan._run

    def interrupted(*args):
        results = run(*args)
        signal.raise_signal(signal.SIGINT)
        return results

    monkeypatch.setattr(plan, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step()
    consumed = current_engine().compiles_programs
    assert v.numpy()[0] == (4 if consumed else 3)  # the step is done, or it was never begun
    monkeypatch.undo()
    step()
    assert v.numpy()[0] == (5 if consumed else 4)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_step_that_fails_after_its_buffers_were_consumed(engine, monkeypatch):
    v, step, plan = stepping()
    run = plan._run

    def failing(*args):
        run(*args)
        raise RuntimeError("the machine broke")

    monkeypatch.setattr(plan, "_run", failing)
    with pytest.raises(RuntimeError, match="the machine broke"):
        step()
    monkeypatch.undo()
    if current_engine().compiles_programs:
        with pytest.raises(StaleValueError, match=r"'v' has no value.*a compiled step that failed"):
            v.numpy()
        with pytest.raises(StaleValueError, match="'v'"):
            step()
        v.assign(np.full(2000, 3, "float32"))
    step()
    assert v.numpy()[0] == 4
