"""`tf.contrib.learn.monitors`: what an estimator of contrib calls before and after each step of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, get_collection
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunHook
from dovetail.compat.tensorflow.names.monitored.hooks import NanLossDuringTrainingError
from dovetail.compat.tensorflow.names.train.steps import get_global_step
from dovetail.core.base.errors import op_error

PLACE = "contrib.learn.monitors"


class BaseMonitor:
    """The base of monitors, which do nothing at any time.

    Source: `tf.contrib.learn.monitors.BaseMonitor`.
    """

    run_on_all_workers = False
    _estimator: Any = None
    _max_steps: int | None = None

    def set_estimator(self, estimator: Any) -> None:
        """Keep the estimator that is trained."""
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Begin the training, in its graph."""
        self._max_steps = max_steps

    def end(self, session: Any = None) -> None:
        """End the training."""

    def step_begin(self, step: int) -> Sequence[Any]:
        """Return the tensors, or their names, that the step computes for the monitor."""
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Take the values of these tensors, and return whether the training ends."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Run more in the session, after the step."""


class EveryN(BaseMonitor):
    """A monitor that acts in the first steps, in one of `every_n_steps`, and after the last.

    Source: `tf.contrib.learn.monitors.EveryN`.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._acts, self._last_active_step = False, 0
        self._last_successful_step: int | None = None

    def every_n_step_begin(self, step: int) -> Sequence[Any]:
        """Return the tensors, or their names, that the step computes for the monitor."""
        return []

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Take the values of these tensors, and return whether the training ends."""
        return False

    def every_n_post_step(self, step: Any, session: Any) -> None:
        """Run more in the session, after the step."""

    def step_begin(self, step: int) -> Sequence[Any]:
        super().step_begin(step)
        is_due = step >= self._every_n_steps + self._last_active_step
        self._acts = step <= self._first_n_steps or is_due or step == self._max_steps
        return self.every_n_step_begin(step) if self._acts else []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        super().step_end(step, output)
        return self._acts and self.every_n_step_end(step, output)

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._acts:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session)
        if self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)


class StopAtStep(BaseMonitor):
    """A monitor that ends the training after a number of steps, or at a step.

    Source: `tf.contrib.learn.monitors.StopAtStep`.
    """

    run_on_all_workers = True

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise op_error(ValueError, f"tf.{PLACE}.StopAtStep", "give either num_steps or last_step.")
        self._num_steps, self._last_step = num_steps, last_step

    def step_begin(self, step: int) -> Sequence[Any]:
        if self._last_step is None:
            self._last_step = step + (self._num_steps or 0) - 1
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        return step >= (self._last_step or 0)


class PrintTensor(EveryN):
    """A monitor that logs tensors.

    Args:
        tensor_names: tag → the name of a tensor, or a list of names.
        every_n, first_n: as in `EveryN`.

    Source: `tf.contrib.learn.monitors.PrintTensor`.
    """

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        is_named = isinstance(tensor_names, Mapping)
        self._tensor_names = dict(tensor_names) if is_named else {name: name for name in tensor_names}

    def every_n_step_begin(self, step: int) -> Sequence[Any]:
        return [*self._tensor_names.values()]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        shown = ", ".join(f"{tag} = {outputs[name]}" for tag, name in self._tensor_names.items())
        logger.info("Step %d: %s", step, shown)
        return False


class LoggingTrainable(PrintTensor):
    """A monitor that logs the trainable variables of a scope.

    Source: `tf.contrib.learn.monitors.LoggingTrainable`.
    """

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__({}, every_n, first_n)
        self._scope = scope

    def every_n_step_begin(self, step: int) -> Sequence[Any]:
        self._tensor_names = {v.name: v.name for v in get_collection(GraphKeys.TRAINABLE_VARIABLES, self._scope)}
        return super().every_n_step_begin(step)


class CaptureVariable(EveryN):
    """A monitor that keeps the values of a tensor.

    Attributes:
        values: step → value.

    Source: `tf.contrib.learn.monitors.CaptureVariable`.
    """

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self.values: dict[int, Any] = {}

    def every_n_step_begin(self, step: int) -> Sequence[Any]:
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        self.values[step] = outputs[self._var_name]
        return False


class NanLoss(EveryN):
    """A monitor that raises an error, or ends the training, when a loss is NaN.

    Source: `tf.contrib.learn.monitors.NanLoss`.
    """

    def __init__(self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> None:
        super().__init__(every_n_steps)
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> Sequence[Any]:
        return [self._loss]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        is_nan = bool(np.isnan(outputs[self._loss]).any())
        if is_nan and self._fails:
            raise op_error(NanLossDuringTrainingError, f"tf.{PLACE}.NanLoss", f"the loss is NaN in step {step}.")
        return is_nan


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors.

    Source: `tf.contrib.learn.monitors.RunHookAdapterForMonitors`.
    """

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = [*monitors]

    def begin(self) -> None:
        self._step = get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._next = int(session.run(self._step)) + 1

    def before_run(self, run_context: Any) -> SessionRunArgs:
        asked = [one for monitor in self._monitors for one in monitor.step_begin(self._next)]
        self._asked = {getattr(one, "name", one): one for one in asked}
        return SessionRunArgs({name: _of_output(one) for name, one in self._asked.items()})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        values = run_values.results
        outputs = values | {one: values[name] for name, one in self._asked.items()}
        if any(monitor.step_end(self._next, outputs) for monitor in self._monitors):  # each is asked
            run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._next, run_context.session)
        self._next = int(run_context.session.run(self._step)) + 1

    def end(self, session: Any) -> None:
        for monitor in self._monitors:
            monitor.end(session)


def _of_output(given: Any) -> Any:
    """A tensor, or its name, which may lack the number of the output."""
    return f"{given}:0" if isinstance(given, str) and ":" not in given else given


def replace_monitors_with_hooks(monitors_or_hooks: Iterable[Any] | None, estimator: Any) -> list[Any]:
    """Hooks, with one in place of all monitors.

    Source: `tf.contrib.learn.monitors.replace_monitors_with_hooks`.
    """
    given = [*(monitors_or_hooks or ())]
    monitors = [one for one in given if isinstance(one, BaseMonitor)]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    hooks = [one for one in given if isinstance(one, SessionRunHook)]
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks


for _part in (
    BaseMonitor, EveryN, StopAtStep, PrintTensor, LoggingTrainable, CaptureVariable, NanLoss,
    RunHookAdapterForMonitors, replace_monitors_with_hooks,
):  # fmt: skip
    value(f"{PLACE}.{_part.__name__}", _part, "v1")
