"""The base of TensorFlow 1's hooks, which a monitored session calls before and after each run."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from dovetail.compat.tensorflow.entries import value
from dovetail.core.base.errors import op_error


class SessionRunArgs(NamedTuple):
    """The part of a run that a hook asks for."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results that a hook gets of a run."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """A run, as hooks see it.

    Attributes:
        original_args: the program's fetches and feeds.
        session: the session.
        stop_requested: whether a hook asked to stop.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self.original_args, self.session, self.stop_requested = original_args, session, False

    def request_stop(self) -> None:
        """Ask the monitored session to stop after this run."""
        self.stop_requested = True


class SessionRunHook:
    """The base of hooks, which do nothing at any time.

    Source: `tf.compat.v1.train.SessionRunHook`.
    """

    def begin(self) -> None:
        """Add to the graph, before the session is made."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Prepare the session."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return the fetches and feeds that the hook adds to the run."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Take the results of a run."""

    def end(self, session: Any) -> None:
        """Finish, if no error ended the session."""


class SecondOrStepTimer:
    """A timer for a number of seconds or steps.

    Source: `tf.compat.v1.train.SecondOrStepTimer`.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise op_error(ValueError, "tf.train.SecondOrStepTimer", "give either every_secs or every_steps.")
        self._secs, self._steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self._last: tuple[int, float] | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is over at a step; it is at the first one."""
        if self._last is None:
            return True
        last, at = self._last
        over = self._steps is not None and step >= last + self._steps
        return step != last and (over or (self._secs is not None and time.time() >= at + self._secs))

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Begin the next time at a step, and return the seconds and steps since the last one."""
        last, self._last = self._last, (step, time.time())
        return (None, None) if last is None else (self._last[1] - last[1], step - last[0])

    def last_triggered_step(self) -> int | None:
        """The step at which it was over last."""
        return None if self._last is None else self._last[0]


for _class in (SessionRunArgs, SessionRunValues, SessionRunContext, SessionRunHook, SecondOrStepTimer):
    value(f"train.{_class.__name__} estimator.{_class.__name__}", _class, "v1")
