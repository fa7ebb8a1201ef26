"""Hooks that end an estimator's training once its evaluations say so."""

from __future__ import annotations

import glob
import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.estimators.estimators import Estimator
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunContext, SessionRunValues
from dovetail.compat.tensorflow.names.monitored.hooks import StepHook
from dovetail.compat.tensorflow.names.summary.event_files import summary_iterator
from dovetail.core.base.errors import op_error


class _StopIf(StepHook):
    """A hook that asks a function whether training ends, after an interval of seconds or steps."""

    def __init__(self, should_stop: Callable[[], bool], secs: float | None, steps: int | None) -> None:
        super().__init__(secs, steps)
        self._should_stop = should_stop

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._context = run_context
        super().after_run(run_context, run_values)

    def act(self, session: Any, step: int, results: Any, passed: tuple[float | None, int | None]) -> None:
        if self._should_stop():
            logger.info("the training ends early, at step %d", step)
            self._context.request_stop()


def make_early_stopping_hook(
    estimator: Any,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> _StopIf:
    """A hook that ends the training of an estimator as soon as a function says so.

    Args:
        estimator: the estimator.
        should_stop_fn: a function without arguments that returns a bool.
        run_every_secs, run_every_steps: how often it is called; one of them is None.

    Raises:
        TypeError: the estimator is none.
        ValueError: both intervals are given, or none.

    Source: `tf.estimator.experimental.make_early_stopping_hook`.
    """
    here = "tf.estimator.experimental.make_early_stopping_hook"
    if not isinstance(estimator, Estimator):
        raise op_error(TypeError, here, "it needs a tf.estimator.Estimator.", repr(estimator))
    if (run_every_secs is None) == (run_every_steps is None):
        raise op_error(ValueError, here, "give one of run_every_secs and run_every_steps, and None for the other.")
    return _StopIf(should_stop_fn, run_every_secs, run_every_steps)


def read_eval_metrics(eval_dir: str) -> OrderedDict[int, dict[str, float]]:
    """The measures that evaluations wrote into a folder: names and numbers for each global step, in order.

    Source: `tf.estimator.experimental`, whose hooks read them so.
    """
    by_step: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(eval_dir, "*tfevents*"))):
        for event in summary_iterator(path):
            numbers = {each.tag: each.simple_value for each in event.summary.value if each.HasField("simple_value")}
            if numbers:
                by_step.setdefault(event.step, {}).update(numbers)
    return OrderedDict(sorted(by_step.items()))


def _crosses(measures: Iterator[tuple[int, float]], threshold: float, better: Callable[..., bool]) -> bool:
    """Whether any measure is better than a threshold."""
    return any(better(number, threshold) for _, number in measures)


def _rests(measures: Iterator[tuple[int, float]], steps: int, better: Callable[..., bool]) -> bool:
    """Whether a measure came that many steps after the best one before it."""
    best: tuple[int, float] | None = None
    for step, number in measures:
        if best is None or better(number, best[1]):
            best = step, number
        if step - best[0] >= steps:
            return True
    return False


def _measured(ends: Callable[..., bool], better: Callable[..., bool], name: str, what: str) -> Callable[..., Any]:
    """A function that makes a hook for a measure.

    Args:
        ends: whether training ends, given (step, number) of each evaluation, the bound and `better`.
        better: whether the first of two numbers is better.
        name: the name of the function.
        what: the name of the bound.
    """

    def hook(
        estimator: Any,
        metric_name: str,
        bound: Any,
        eval_dir: str | None = None,
        min_steps: int = 0,
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> Any:
        def should_stop() -> bool:
            evaluations = read_eval_metrics(eval_dir or estimator.eval_dir())
            later = ((step, measures[metric_name]) for step, measures in evaluations.items() if step >= min_steps)
            return ends(later, bound, better)

        return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)

    def call(*args: Any, **kwargs: Any) -> Any:
        return hook(*args, **{"bound" if key == what else key: given for key, given in kwargs.items()})

    call.__name__ = name
    call.__doc__ = f"""A hook that ends training by a measure of the evaluations from `min_steps` on; see `{what}`.

    Source: `tf.estimator.experimental.{name}`.
    """
    return call


_RULES = {  # name → when training ends, which of two numbers is better, the name of the bound
    "stop_if_higher_hook": (_crosses, operator.gt, "threshold"),
    "stop_if_lower_hook": (_crosses, operator.lt, "threshold"),
    "stop_if_no_increase_hook": (_rests, operator.gt, "max_steps_without_increase"),
    "stop_if_no_decrease_hook": (_rests, operator.lt, "max_steps_without_decrease"),
}
_hooks = [_measured(ends, better, name, what) for name, (ends, better, what) in _RULES.items()]
for _function in (make_early_stopping_hook, *_hooks):
    value(f"estimator.experimental.{_function.__name__} contrib.estimator.{_function.__name__}", _function, "v1")
value("contrib.estimator.read_eval_metrics", read_eval_metrics, "v1")
