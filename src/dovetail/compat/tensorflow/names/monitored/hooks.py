"""TensorFlow 1's hooks, which write checkpoints and summaries, log, stop and feed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.graph.util import write_beside_checkpoints
from dovetail.compat.tensorflow.names.monitored.hook_base import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from dovetail.compat.tensorflow.names.summary.event_files import FileWriterCache, write_rate
from dovetail.compat.tensorflow.names.train.standard import standard
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error
from dovetail.formats.wire.messages import TENSORFLOW


class StepHook(SessionRunHook):
    """A hook that acts at the first step, and then after each interval of seconds or steps."""

    def __init__(self, secs: float | None, steps: int | None, folder: str | None = None, writer: Any = None) -> None:
        self._timer, self._next = SecondOrStepTimer(secs, steps), 0
        self._folder, self._writer = folder, writer

    def begin(self) -> None:
        self._step = _global_step(self)
        if self._writer is None and self._folder is not None:
            self._writer = FileWriterCache.get(self._folder)

    def fetches(self) -> Any:
        """Further tensors that it needs when it acts."""
        return None

    def act(self, session: Any, step: int, results: Any, passed: tuple[float | None, int | None]) -> None:
        """Act after a step, with the results of its tensors and the seconds and steps since the last time."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._asks = self._timer.should_trigger_for_step(self._next)
        return SessionRunArgs([self._step, self.fetches() if self._asks else None])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step, results = int(run_values.results[0]) + 1, run_values.results[1]
        if self._asks:
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self.act(run_context.session, step, results, self._timer.update_last_triggered_step(step))
        self._next = step + 1


def _log(writer: Any, step: int, **contents: Any) -> None:
    """Write an event of a run, as its start."""
    if writer is not None:
        writer.add_session_log(TENSORFLOW.SessionLog(**contents), step)


def _global_step(hook: SessionRunHook) -> Any:
    """The global step of the graph, which a hook needs."""
    step = standard("global_step")
    if step is None:
        raise op_error(RuntimeError, f"tf.train.{type(hook).__name__}", "the graph has no global step: make one.")
    return step


class StepCounterHook(StepHook):
    """A hook that writes how many steps a second takes.

    Source: `tf.compat.v1.train.StepCounterHook`.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        super().__init__(every_n_secs, every_n_steps, output_dir, summary_writer)

    def act(self, session: Any, step: int, results: Any, passed: tuple[float | None, int | None]) -> None:
        seconds, steps = passed
        if seconds and steps is not None:
            write_rate(self._writer, self._step, steps / seconds, step)


class SummarySaverHook(StepHook):
    """A hook that writes summaries.

    Args:
        summary_op: the summary, or a list; by default, the one of the scaffold.

    Source: `tf.compat.v1.train.SummarySaverHook`.
    """

    @takes("save_steps=None save_secs=None output_dir=None summary_writer=None scaffold=None summary_op=None")
    def __init__(self, given: Any) -> None:
        if (given.scaffold is None) == (given.summary_op is None):
            raise op_error(ValueError, "tf.train.SummarySaverHook", "give either scaffold or summary_op.")
        super().__init__(given.save_secs, given.save_steps, given.output_dir, given.summary_writer)
        self._scaffold, self._summary = given.scaffold, given.summary_op

    def fetches(self) -> Any:
        summary = self._summary if self._scaffold is None else self._scaffold.summary_op
        return summary if summary is None or isinstance(summary, list) else [summary]

    def act(self, session: Any, step: int, results: Any, passed: tuple[float | None, int | None]) -> None:
        if passed == (None, None):  # the first time
            _log(self._writer, step, status=TENSORFLOW.SessionLog.START)
        for summary in results or ():
            self._writer.add_summary(summary, step)

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()


class CheckpointSaverListener:
    """The base of listeners, which a `CheckpointSaverHook` calls around each checkpoint.

    Source: `tf.compat.v1.train.CheckpointSaverListener`.
    """

    def begin(self) -> None:
        """Add to the graph, before the session is made."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Prepare a checkpoint."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Take note of a checkpoint; return True to stop."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Finish."""


class CheckpointSaverHook(StepHook):
    """A hook that writes checkpoints: before the first step, after each interval, and at the end.

    Source: `tf.compat.v1.train.CheckpointSaverHook`.
    """

    @takes(
        "checkpoint_dir save_secs=None save_steps=None saver=None checkpoint_basename='model.ckpt' scaffold=None "
        "listeners=None save_graph_def=True"
    )
    def __init__(self, given: Any) -> None:
        super().__init__(given.save_secs, given.save_steps, given.checkpoint_dir)
        self._path = os.path.join(given.checkpoint_dir, given.checkpoint_basename)
        self._saver, self._scaffold, self._listeners = given.saver, given.scaffold, list(given.listeners or ())
        self._writes_graph = given.save_graph_def

    def add_listeners(self, listeners: Iterable[CheckpointSaverListener]) -> None:
        """Call further listeners around each checkpoint."""
        self._listeners += listeners

    def begin(self) -> None:
        super().begin()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step, graph = int(session.run(self._step)), graph_mode.open_graph()
        if self._writes_graph:
            write_beside_checkpoints(graph, os.path.dirname(self._path), "tf.train.CheckpointSaverHook")
        self._writer.add_graph(graph)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)
        self._next = step + 1

    def act(self, session: Any, step: int, results: Any, passed: tuple[float | None, int | None]) -> None:
        self._stops = self._save(session, step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._stops = False
        super().after_run(run_context, run_values)
        if self._stops:
            run_context.request_stop()

    def _save(self, session: Any, step: int) -> bool:
        """Write a checkpoint, and return whether a listener asks to stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        saver = self._saver or (standard("saver") if self._scaffold is None else self._scaffold.saver)
        saver.save(session, self._path, global_step=step, write_meta_graph=self._writes_graph)
        _log(self._writer, step, status=TENSORFLOW.SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.flush()
        stops = [listener.after_save(session, step) for listener in self._listeners]
        return any(stops)

    def end(self, session: Any) -> None:
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)


class LoggingTensorHook(SessionRunHook):
    """A hook that logs tensors after each interval of runs or seconds.

    Args:
        tensors: tag → tensor or its name; or a list of these.
        at_end: whether it logs at the end, too; alone, only then.
        formatter: tag → value to the text; by default, "tag = value, ...".

    Source: `tf.compat.v1.train.LoggingTensorHook`.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        self._timer = SecondOrStepTimer(math.inf if only_at_end else every_n_secs, every_n_iter)
        self._only_at_end, self._at_end, self._formatter = only_at_end, at_end, formatter
        named = tensors if isinstance(tensors, Mapping) else {getattr(x, "name", x): x for x in tensors}
        self._tensors = {tag: f"{x}:0" if isinstance(x, str) and ":" not in x else x for tag, x in named.items()}

    def begin(self) -> None:
        self._timer.reset()
        self._run = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        asks = not self._only_at_end and self._timer.should_trigger_for_step(self._run)
        return SessionRunArgs(self._tensors) if asks else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results is not None:
            self._log(run_values.results)
        self._run += 1

    def _log(self, found: dict[str, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._run)
        text = ", ".join(f"{tag} = {found[tag]}" for tag in self._tensors)
        took = "" if seconds is None else f" ({seconds:.3f} sec)"
        logger.info("%s", f"{text}{took}" if self._formatter is None else self._formatter(found))

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._tensors))


class StopAtStepHook(SessionRunHook):
    """A hook that stops after a number of steps, or at a step.

    Source: `tf.compat.v1.train.StopAtStepHook`.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise op_error(ValueError, "tf.train.StopAtStepHook", "give either num_steps or last_step.")
        self._count, self._last = num_steps, last_step

    def begin(self) -> None:
        self._step = _global_step(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._count is not None:
            self._last = int(session.run(self._step)) + self._count

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if int(run_context.session.run(self._step)) >= (self._last or 0):
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number.

    Source: `tf.compat.v1.train.NanLossDuringTrainingError`.
    """


class NanTensorHook(SessionRunHook):
    """A hook that raises `NanLossDuringTrainingError`, or only stops, when a loss is NaN.

    Source: `tf.compat.v1.train.NanTensorHook`.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results).any():
            return
        problem = f"the loss {self._loss.name!r} is NaN."
        if self._fails:
            raise op_error(NanLossDuringTrainingError, "tf.train.NanTensorHook", problem)
        logger.warning(problem)
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """A hook that computes tensors at the end; `final_ops_values` are their values.

    Source: `tf.compat.v1.train.FinalOpsHook`.
    """

    final_ops_values: Any = None

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final = final_ops, final_ops_feed_dict

    def end(self, session: Any) -> None:
        self.final_ops_values = session.run(*self._final)


class FeedFnHook(SessionRunHook):
    """A hook that feeds each run with the result of a function.

    Source: `tf.compat.v1.train.FeedFnHook`.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(None, self.feed_fn())


for _class in (
    StepCounterHook, SummarySaverHook, CheckpointSaverListener, CheckpointSaverHook, LoggingTensorHook,
    StopAtStepHook, NanTensorHook, NanLossDuringTrainingError, FinalOpsHook, FeedFnHook,
):  # fmt: skip
    value(f"train.{_class.__name__} estimator.{_class.__name__}", _class, "v1")
