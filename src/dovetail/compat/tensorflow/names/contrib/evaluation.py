"""The evaluation of checkpoints by TF-Slim and `tf.contrib.training`.

Source: `tf.contrib.slim.evaluation` and `tf.contrib.training`, the function of the same name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import under
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunHook
from dovetail.compat.tensorflow.names.monitored.hooks import FinalOpsHook
from dovetail.compat.tensorflow.names.monitored.sessions import ChiefSessionCreator, MonitoredSession, Scaffold
from dovetail.compat.tensorflow.names.saving.checkpoint_files import latest_checkpoint
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.summary.event_files import FileWriter
from dovetail.compat.tensorflow.names.summary.summary import merge_all
from dovetail.compat.tensorflow.names.train.steps import get_or_create_global_step
from dovetail.compat.tensorflow.names.variables.initializers import Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable
from dovetail.core.base.errors import op_error

EVAL_STEP = "eval_step"


def get_or_create_eval_step() -> Any:
    """The local variable that counts the runs of an evaluation."""
    steps = graph_mode.open_graph().get_collection(EVAL_STEP)
    kept = [GraphKeys.LOCAL_VARIABLES, EVAL_STEP]
    return steps[0] if steps else get_variable("eval_step", [], "int64", Zeros(), trainable=False, collections=kept)


class StopAfterNEvalsHook(SessionRunHook):
    """A hook that ends an evaluation after so many runs; None for no end."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._most, self._count = num_evals, None

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._count = updated_eval_step

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._count})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._most is not None and run_values.results["evals_completed"] >= self._most:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """A hook that writes summaries at the end of an evaluation; by default all of the graph."""

    def __init__(
        self, log_dir: str | None = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise op_error(ValueError, "tf.contrib.training.SummaryAtEndHook", "give log_dir or summary_writer.")
        self._writer = summary_writer or FileWriter(str(log_dir))
        self._op, self._feeds = summary_op, feed_dict

    def begin(self) -> None:
        self._op = merge_all() if self._op is None else self._op
        self._step = get_or_create_global_step()

    def end(self, session: Any) -> None:
        if self._op is not None:
            self._writer.add_summary(session.run(self._op, self._feeds), session.run(self._step))
        self._writer.flush()


def wait_for_new_checkpoint(
    checkpoint_dir: str, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The latest checkpoint of a folder, as soon as it is another one; None after too long a time."""
    end = None if timeout is None else time.time() + timeout
    while (path := latest_checkpoint(checkpoint_dir)) in (None, last_checkpoint):
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)
    return path


def checkpoints_iterator(
    checkpoint_dir: str, min_interval_secs: float = 0, timeout: float | None = None, timeout_fn: Any = None
) -> Iterator[str]:
    """The checkpoints of a folder as they come, until none comes for too long a time and `timeout_fn` agrees."""
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None and (timeout_fn is None or timeout_fn()):
            return
        if new is not None:
            path, start = new, time.time()
            yield new
            time.sleep(max(0.0, start + min_interval_secs - time.time()))


def _evaluated(
    paths: Iterable[str],
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Iterable[Any] | None = None,
    config: Any = None,
) -> Any:
    """The values of `final_ops` for the last of some checkpoints, each after `eval_ops` ran until a hook stops."""
    step, last = get_or_create_eval_step(), FinalOpsHook(final_ops, final_ops_feed_dict)
    all_hooks = [*(hooks or ()), last]
    if eval_ops is not None:
        count = step.assign_add(ops.cast(1, step.dtype))
        for hook in all_hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(count)
        eval_ops = [eval_ops, count]
    for path in paths:
        maker = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=path)
        with MonitoredSession(maker, all_hooks) as session:
            while eval_ops is not None and not session.should_stop():
                session.run(eval_ops, feed_dict)
    return last.final_ops_values


def evaluate_once(checkpoint_path: str, *args: Any, **kwargs: Any) -> Any:
    """Evaluate a checkpoint, and return the values of `final_ops`."""
    return _evaluated([checkpoint_path], *args, **kwargs)


def evaluate_repeatedly(
    checkpoint_dir: str,
    *args: Any,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    **kwargs: Any,
) -> Any:
    """Evaluate the checkpoints of a folder as they come, and return the last values of `final_ops`."""
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    return _evaluated(islice(paths, max_number_of_evaluations), *args, **kwargs)


_SLIM = {  # slim's argument → that of contrib.training
    "eval_op": "eval_ops",
    "eval_op_feed_dict": "feed_dict",
    "final_op": "final_ops",
    "final_op_feed_dict": "final_ops_feed_dict",
    "session_config": "config",
}


def _of_slim(evaluate: Callable[..., Any], where: str) -> Callable[..., Any]:
    """A function of slim, which counts the runs and writes summaries; `where` is the name of its second argument."""

    def call(
        master: str = "",
        checkpoint: str | None = None,
        logdir: str | None = None,
        num_evals: int = 1,
        initial_op: Any = None,
        initial_op_feed_dict: Any = None,
        init_fn: Any = None,
        summary_op: Any = 0,
        summary_op_feed_dict: Any = None,
        variables_to_restore: Any = None,
        hooks: Iterable[Any] | None = None,
        **options: Any,
    ) -> Any:
        checkpoint = options.pop(where, checkpoint)
        summary = merge_all() if type(summary_op) is int else summary_op
        own: list[Any] = [StopAfterNEvalsHook(num_evals)]
        if summary is not None:
            own.append(SummaryAtEndHook(logdir, summary_op=summary, feed_dict=summary_op_feed_dict))
        saver = None if variables_to_restore is None else Saver(variables_to_restore)
        scaffold = Scaffold(initial_op, initial_op_feed_dict, init_fn, saver=saver)
        given = {_SLIM.get(key, key): option for key, option in options.items()}
        return evaluate(checkpoint, master=master, scaffold=scaffold, hooks=[*own, *(hooks or ())], **given)

    call.__doc__ = "Evaluate, and return the last values of `final_op`."
    return call


value("contrib.slim.evaluation.evaluate_once", _of_slim(evaluate_once, "checkpoint_path"), "v1")
value("contrib.slim.evaluation.evaluation_loop", _of_slim(evaluate_repeatedly, "checkpoint_dir"), "v1")
value("contrib.training.evaluate_once python.training.evaluation._evaluate_once", evaluate_once, "v1")
value("contrib.training.evaluate_repeatedly", evaluate_repeatedly, "v1")
for _shared in (
    get_or_create_eval_step,
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    wait_for_new_checkpoint,
    checkpoints_iterator,
):
    value(under("contrib.training contrib.slim.evaluation", _shared.__name__), _shared, "v1")
value("train.checkpoints_iterator", checkpoints_iterator)
value("python.training.evaluation._StopAfterNEvalsHook", StopAfterNEvalsHook, "v1")
value("python.training.evaluation._get_or_create_eval_step", get_or_create_eval_step, "v1")
