"""TensorFlow 1's sessions that begin with a checkpoint or the first values, and call hooks around each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.io.queue_runners import start_queue_runners
from dovetail.compat.tensorflow.names.monitored import hooks as hook_classes
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunContext, SessionRunValues
from dovetail.compat.tensorflow.names.session.session import Session
from dovetail.compat.tensorflow.names.train.coordinator import Coordinator
from dovetail.compat.tensorflow.names.train.session_manager import DEFAULT, SessionManager, one_process
from dovetail.compat.tensorflow.names.train.standard import standard
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error


class Scaffold:
    """The parts of a graph that a monitored session needs; `finalize` takes those not given from the graph.

    Args:
        init_op, init_feed_dict, init_fn: run, fed and called if there is no checkpoint.
        local_init_op, local_init_feed_dict: run and fed in any case.
        ready_op: gives the names of variables that have no value by then, which there must not be.
        copy_from_scaffold: another scaffold, which has the parts that are not given.

    Source: `tf.compat.v1.train.Scaffold`.
    """

    @takes(
        "init_op=None init_feed_dict=None init_fn=None ready_op=None ready_for_local_init_op=None local_init_op=None "
        "summary_op=None saver=None copy_from_scaffold=None local_init_feed_dict=None",
        ignores="ready_for_local_init_op",
    )
    def __init__(self, given: Any) -> None:
        other, first = given.copy_from_scaffold, given.init_fn
        given.init_fn = first and (lambda session: first(self, session))
        for part, own in vars(given).items():
            setattr(self, part, getattr(other, part) if own is None and other is not None else own)

    def finalize(self) -> Any:
        """Take the parts that were not given from the graph, and return the scaffold."""
        for part in ("init_op", "local_init_op", "ready_op", "summary_op", "saver"):
            if getattr(self, part) is None:
                setattr(self, part, standard(part))
        return self


class SessionCreator:
    """The base of makers of sessions.

    Source: `tf.compat.v1.train.SessionCreator`.
    """

    def create_session(self) -> Session:
        """Make the session."""
        raise op_error(NotImplementedError, f"tf.train.{type(self).__name__}", "define create_session.")


class ChiefSessionCreator(SessionCreator):
    """A maker of sessions that begin with the latest checkpoint of a folder, or with the first values.

    Source: `tf.compat.v1.train.ChiefSessionCreator`.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold, self._at = scaffold or Scaffold(), (master, config)
        self._paths = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        parts, (master, config) = self._scaffold.finalize(), self._at
        manager = SessionManager(parts.local_init_op, parts.ready_op, local_init_feed_dict=parts.local_init_feed_dict)
        first = {"init_feed_dict": parts.init_feed_dict, "init_fn": parts.init_fn}
        return manager.prepare_session(master, parts.init_op, parts.saver, *self._paths, config=config, **first)


class MonitoredSession:
    """A session that calls hooks, and stops when one asks for it or when inputs end.

    Args:
        session_creator: makes the session.
        hooks: hooks of a program, or of this module.
        stop_grace_period_secs: how long threads may run after the end.

    Source: `tf.compat.v1.train.MonitoredSession`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     step = tf.train.get_or_create_global_step().assign_add(1)
        ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
        ...         while not session.should_stop():
        ...             found = session.run(step)
        >>> found
        np.int64(3)
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self.graph, self._hooks, self._grace = graph_mode.open_graph(), list(hooks or ()), stop_grace_period_secs
        self._coord: Coordinator = Coordinator()
        creator = session_creator or ChiefSessionCreator()
        for hook in self._hooks:
            hook.begin()
        self._session: Session | None = creator.create_session()
        self._threads = start_queue_runners(self._session, self._coord)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coord)

    def should_stop(self) -> bool:
        """Whether it is closed, or is to stop."""
        return self._session is None or self._coord.should_stop()

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Compute tensors, as a session does, and call the hooks.

        Raises:
            RuntimeError: it is to stop; or two feed the same.
        """
        session = self._session
        if session is None or self.should_stop():
            raise op_error(RuntimeError, "tf.train.MonitoredSession.run", "it is closed, or should_stop() is true.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), session)
        asked = [hook.before_run(context) or SessionRunArgs(None) for hook in self._hooks]
        feeds = dict(feed_dict or {})
        for one in asked:
            if twice := feeds.keys() & (one.feed_dict or {}).keys():
                problem = f"{list(twice)} are fed by feed_dict and by a hook: leave them out of one of these."
                raise op_error(RuntimeError, "tf.train.MonitoredSession.run", problem)
            feeds |= one.feed_dict or {}
        fetched, *others = session.run([fetches, *(one.fetches for one in asked)], feeds, options, run_metadata)
        for hook, results in zip(self._hooks, others, strict=True):
            hook.after_run(context, SessionRunValues(results, options, run_metadata))
        if context.stop_requested:
            self._coord.request_stop()
        return fetched

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call a function with the session's `session`, `run_with_hooks` and `request_stop`."""
        return step_fn(_StepContext(self))

    def close(self) -> None:
        """End it: call the hooks' `end`, stop the threads, and close the session."""
        self._close(calls_hooks=True)

    def _close(self, calls_hooks: bool) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            for hook in self._hooks if calls_hooks else ():
                hook.end(session)
            self._coord.request_stop()
            self._coord.join(self._threads, self._grace, ignore_live_threads=True)
        finally:
            session.close()

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        is_end = isinstance(error, (IndexError, StopIteration))
        self._close(calls_hooks=error is None or is_end)
        return is_end


class _StepContext:
    """A step, as `run_step_fn` gives it to a function."""

    def __init__(self, monitored: MonitoredSession) -> None:
        self.session, self.run_with_hooks = monitored._session, monitored.run

    def request_stop(self) -> None:
        """End the session, as if inputs had ended."""
        raise StopIteration("step_fn asked to stop")


class SingularMonitoredSession(MonitoredSession):
    """A monitored session that begins with the latest checkpoint of a folder.

    Source: `tf.compat.v1.train.SingularMonitoredSession`.
    """

    def __init__(
        self,
        hooks: Sequence[Any] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Session | None:
        """The session that it monitors."""
        return self._session


@takes(
    "master='' is_chief=True checkpoint_dir=None scaffold=None hooks=None chief_only_hooks=None "
    "save_checkpoint_secs=... save_summaries_steps=... save_summaries_secs=... config=None stop_grace_period_secs=120 "
    "log_step_count_steps=100 max_wait_secs=7200 save_checkpoint_steps=... summary_dir=None save_graph_def=True",
    ignores="max_wait_secs",
)
def monitored_training_session(given: Any) -> MonitoredSession:
    """Make a monitored session that writes checkpoints and summaries into folders.

    Args:
        save_checkpoint_secs, save_checkpoint_steps: how often; by default every 600 s.
        save_summaries_secs, save_summaries_steps: how often; by default every 100 steps.
        log_step_count_steps: how often it logs the number of steps a second.

    Source: `tf.compat.v1.train.MonitoredTrainingSession`.
    """
    one_process(given.is_chief, "tf.train.MonitoredTrainingSession")
    checkpoint_secs, checkpoint_steps = _interval(given.save_checkpoint_secs, given.save_checkpoint_steps, (600, None))
    secs, steps = _interval(given.save_summaries_secs, given.save_summaries_steps, (None, 100))
    scaffold, checkpoints = given.scaffold or Scaffold(), given.checkpoint_dir
    folder, hooks = given.summary_dir or checkpoints, list(given.chief_only_hooks or ())
    if folder and given.log_step_count_steps:
        hooks.append(hook_classes.StepCounterHook(given.log_step_count_steps, output_dir=folder))
    if folder and (steps or secs):
        hooks.append(hook_classes.SummarySaverHook(steps, secs, folder, scaffold=scaffold))
    if checkpoints and (checkpoint_secs or checkpoint_steps):
        options: dict[str, Any] = {"scaffold": scaffold, "save_graph_def": given.save_graph_def}
        hooks.append(hook_classes.CheckpointSaverHook(checkpoints, checkpoint_secs, checkpoint_steps, **options))
    creator = ChiefSessionCreator(scaffold, given.master, given.config, checkpoints)
    return MonitoredSession(creator, [*hooks, *(given.hooks or ())], given.stop_grace_period_secs)


def _interval(secs: Any, steps: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """The seconds and the steps of an interval, of which one or both may be given."""
    if secs is steps is DEFAULT:
        return default
    return None if secs is DEFAULT else secs, None if steps is DEFAULT else steps


for _class in (Scaffold, SessionCreator, ChiefSessionCreator, MonitoredSession, SingularMonitoredSession):
    value(f"train.{_class.__name__}", _class, "v1")
value("train.MonitoredTrainingSession", monitored_training_session, "v1")
