"""TensorFlow 1's supervisor, which makes the session of a program, and writes checkpoints and summaries meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.util import write_beside_checkpoints
from dovetail.compat.tensorflow.names.io.queue_runners import start_queue_runners
from dovetail.compat.tensorflow.names.session.session import Session
from dovetail.compat.tensorflow.names.summary.event_files import FileWriter, write_rate
from dovetail.compat.tensorflow.names.train.coordinator import Coordinator, LooperThread
from dovetail.compat.tensorflow.names.train.session_manager import DEFAULT, SessionManager, one_process
from dovetail.compat.tensorflow.names.train.standard import PARTS, standard
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error
from dovetail.formats.wire.messages import TENSORFLOW


class Supervisor:
    """A supervisor, which begins with the latest checkpoint of a folder or with the first values.

    Threads write summaries, the number of steps a second, and checkpoints.

    Args:
        graph: the graph; the one that is being built, if not given.
        init_op, init_feed_dict, init_fn: run, fed and called if there is no checkpoint.
        local_init_op: run in any case.
        ready_op: gives the names of variables that have no value by then, which there must not be; None for no check.
        logdir: the folder of checkpoints and summaries.
        summary_op, saver, global_step, summary_writer: by default, of the graph and the folder; None for none.
        save_summaries_secs, save_model_secs: how often the threads write; 0 for never.
        checkpoint_basename: the name of checkpoints.

    Raises:
        NotImplementedError: it is one of several processes.

    Source: `tf.compat.v1.train.Supervisor`.
    """

    @takes(
        "graph=None ready_op=... ready_for_local_init_op=... is_chief=True init_op=... init_feed_dict=None "
        "local_init_op=... logdir=None summary_op=... saver=... global_step=... save_summaries_secs=120 "
        "save_model_secs=600 recovery_wait_secs=30 stop_grace_secs=120 checkpoint_basename='model.ckpt' "
        "session_manager=None summary_writer=... init_fn=None local_init_run_options=None",
        ignores="ready_for_local_init_op recovery_wait_secs",
    )
    def __init__(self, given: Any) -> None:
        one_process(given.is_chief, "tf.train.Supervisor")
        self._graph, self.is_chief = given.graph or graph_mode.open_graph(), given.is_chief
        with graph_mode.inside(self._graph):
            self.init_op, self.local_init_op, self.ready_op, self.summary_op, self.saver, self.global_step = (
                standard(part) if getattr(given, part) is DEFAULT else getattr(given, part) for part in PARTS
            )
        self.init_feed_dict, self.init_fn, self._grace = given.init_feed_dict, given.init_fn, given.stop_grace_secs
        self.coord, self._logdir = Coordinator(), given.logdir
        self.save_summaries_secs, self.save_model_secs = given.save_summaries_secs, given.save_model_secs
        self.save_path = given.logdir and os.path.join(given.logdir, given.checkpoint_basename)
        self.summary_writer: Any = given.summary_writer
        if given.summary_writer is DEFAULT:
            self.summary_writer = FileWriter(given.logdir) if given.logdir else None
        options = {"graph": self._graph, "local_init_run_options": given.local_init_run_options}
        self.session_manager = given.session_manager or SessionManager(self.local_init_op, self.ready_op, **options)

    # sessions

    @takes("master='' config=None wait_for_checkpoint=False max_wait_secs=7200 start_standard_services=True")
    def prepare_or_wait_for_session(self, master: str, config: Any, start_standard_services: bool) -> Session:
        """Make the session, and start the threads."""
        self.coord.clear_stop()
        first = {"init_feed_dict": self.init_feed_dict, "init_fn": self.init_fn}
        session = self.session_manager.prepare_session(
            master, self.init_op, self.saver, self._logdir, config=config, **first
        )
        if self._logdir:
            write_beside_checkpoints(self._graph, self._logdir, "tf.train.Supervisor")
        if self.summary_writer is not None:
            self.summary_writer.add_graph(self._graph)
        if start_standard_services:
            self.start_standard_services(session)
        self.start_queue_runners(session)
        return session

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Make the session for a `with` block, and stop at its end; the end of inputs is no error.

        Example:
            >>> import dovetail.compat.tensorflow.compat.v1 as tf
            >>> with tf.Graph().as_default():
            ...     step = tf.train.get_or_create_global_step().assign_add(1)
            ...     supervisor = tf.train.Supervisor()
            ...     with supervisor.managed_session() as session:
            ...         while not supervisor.should_stop():
            ...             if session.run(step) == 3:
            ...                 supervisor.request_stop()
            ...         session.run(supervisor.global_step)
            np.int64(3)
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    session.close()

    # threads

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Start the threads that write summaries, the number of steps a second, and checkpoints."""
        if not self._logdir:
            return []
        threads: list[LooperThread] = []
        if self.save_summaries_secs and self.summary_writer is not None:
            self._log_session(TENSORFLOW.SessionLog.START, sess)
            if self.summary_op is not None:
                threads.append(self.loop(self.save_summaries_secs, self._write_summary, (sess,)))
            if self.global_step is not None:
                last = [time.time(), sess.run(self.global_step)]
                threads.append(self.loop(self.save_summaries_secs, self._write_rate, (sess, last)))
        if self.saver is not None and self.save_model_secs:
            threads.append(self.loop(self.save_model_secs, self._write_checkpoint, (sess,)))
        return threads

    def _log_session(self, status: int, session: Session | None = None) -> None:
        step = None if session is None or self.global_step is None else session.run(self.global_step)
        self.summary_writer.add_session_log(TENSORFLOW.SessionLog(status=status), step)

    def _write_summary(self, session: Session) -> None:
        self.summary_computed(session, session.run(self.summary_op))

    def _write_rate(self, session: Session, last: list[Any]) -> None:
        (before, at), now, step = last, time.time(), session.run(self.global_step)
        last[:] = now, step
        rate = (step - at) / (now - before) if now > before else float("inf")
        write_rate(self.summary_writer, self.global_step, rate, step)

    def _write_checkpoint(self, session: Session) -> None:
        self.saver.save(session, self.save_path, global_step=self.global_step)

    def loop(self, *args: Any, **kwargs: Any) -> LooperThread:
        """Start a thread that calls a function again and again; the arguments are those of `LooperThread`."""
        return LooperThread.loop(self.coord, *args, **kwargs)

    def start_queue_runners(self, sess: Session, queue_runners: Sequence[Any] | None = None) -> list[Any]:
        """Start the threads of runners; by default, of the graph's runners."""
        if queue_runners is None:
            return start_queue_runners(sess, self.coord)
        return [t for r in queue_runners for t in r.create_threads(sess, coord=self.coord, daemon=True, start=True)]

    # the end

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stop the threads, wait for them, and close the writer of summaries."""
        self.request_stop()
        try:
            self.coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                self._log_session(TENSORFLOW.SessionLog.STOP)
                self.summary_writer.close()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop; see `Coordinator.request_stop`."""
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Whether the threads are to stop."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Ask the threads to stop if the `with` block raises an exception."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until the threads are to stop."""
        self.coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: Any, global_step: Any = None) -> None:
        """Write a summary, with the global step if none is given.

        Raises:
            RuntimeError: there is no writer of summaries.
        """
        if self.summary_writer is None:
            problem = "there is no writer: give logdir, or summary_writer."
            raise op_error(RuntimeError, "tf.train.Supervisor.summary_computed", problem)
        if global_step is None and self.global_step is not None:
            global_step = sess.run(self.global_step)
        self.summary_writer.add_summary(summary, global_step)


value("train.Supervisor", Supervisor, "v1")
