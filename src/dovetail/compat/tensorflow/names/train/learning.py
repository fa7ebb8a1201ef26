"""The training loop of TF-Slim, on a supervisor.

Source: `tf.contrib.slim.learning`, the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.train.steps import get_or_create_global_step
from dovetail.compat.tensorflow.names.train.supervisor import Supervisor
from dovetail.core.base.errors import op_error


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """Take a step, and return the loss and whether training ends.

    Args:
        train_step_kwargs: tensors of booleans, `should_log` and `should_stop`.
    """
    loss, count = sess.run([train_op, global_step])
    asked = {key: train_step_kwargs[key] for key in ("should_log", "should_stop") if key in train_step_kwargs}
    answers = sess.run(asked) if asked else {}
    if answers.get("should_log", False):
        logger.info("global step %d: loss = %.4f", count, loss)
    return loss, answers.get("should_stop", False)


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = 0,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    *,
    saver: Any = None,
    save_interval_secs: float = 600,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    ignore_live_threads: bool = False,
    **options: Any,
) -> Any:
    """Train until the global step is reached, and return the last loss.

    Args:
        logdir: the folder of checkpoints and summaries; None for none.
        train_step_fn: takes a step, as `train_step`.
        train_step_kwargs: the last argument of it; by default tensors for logging and for the last step.
        number_of_steps: the last global step; None for no end.
        saver, save_interval_secs: the writer of checkpoints, and how often it writes.
        session_wrapper: a function of the session, which gives another one to train with.
        **options: further arguments of `tf.train.Supervisor`, as `init_fn` or `save_summaries_secs`.

    Raises:
        ValueError: an argument is invalid, or a writer has no folder.
        NotImplementedError: an option is of several processes, or of traces.
    """
    title, graph = "tf.contrib.slim.learning.train", graph or graph_mode.open_graph()
    if train_op is None or (number_of_steps is not None and number_of_steps <= 0):
        raise op_error(ValueError, title, "it needs a train_op, and number_of_steps above 0.")
    if logdir is None and (saver is not None or "summary_op" in options):
        raise op_error(ValueError, title, "a saver or a summary_op needs a folder: give logdir.")
    others = {key: options.pop(key, None) for key in ("sync_optimizer", "startup_delay_steps", "trace_every_n_steps")}
    if any(others.values()):
        raise op_error(
            NotImplementedError, title, f"one process trains, without traces: leave {', '.join(others)} out."
        )
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        asked = _asked(step, number_of_steps, log_every_n_steps) if train_step_kwargs == 0 else train_step_kwargs
        given = {"global_step": step, "saver": saver or Saver(), "save_model_secs": save_interval_secs}
        supervisor = Supervisor(graph, is_chief=is_chief, logdir=logdir, **given, **options)
    loss = None
    with supervisor.managed_session(master, session_config, start_standard_services=bool(logdir)) as session:
        wrapped = session if session_wrapper is None else session_wrapper(session)
        while not supervisor.should_stop():
            loss, is_over = train_step_fn(wrapped, train_op, step, asked)
            if is_over:
                break
        if logdir:
            supervisor.stop(ignore_live_threads=ignore_live_threads)  # its threads write checkpoints, too
            supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
    return loss


def _asked(step: Any, last: int | None, every: int) -> dict[str, Any]:
    """The tensors that say whether a step is the last one, and whether it is logged."""
    with graph_mode.name_scope("train_step"):
        asked = {} if last is None else {"should_stop": ops.greater_equal(step, last)}
        return {**asked, "should_log": ops.equal(ops.mod(step, every), 0)} if every > 0 else asked


for _function in (train_step, train):
    value(f"contrib.slim.learning.{_function.__name__}", _function, "v1")
