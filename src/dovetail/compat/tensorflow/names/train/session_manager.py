"""TensorFlow 1's manager of sessions, which begin with a checkpoint or the first values."""

from __future__ import annotations

from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.saving import checkpoint_files as files
from dovetail.compat.tensorflow.names.session.session import Session
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error

DEFAULT: Any = ...  # an argument that is not given
_WAITS = "wait_for_checkpoint max_wait_secs"
_CHECKPOINT = (
    "saver=None checkpoint_dir=None checkpoint_filename_with_path=None wait_for_checkpoint=False max_wait_secs=7200 "
    "config=None"
)


class SessionManager:
    """A manager, which makes sessions that begin with a checkpoint or the first values.

    Source: `tf.compat.v1.train.SessionManager`.
    """

    @takes(
        "local_init_op=None ready_op=None ready_for_local_init_op=None graph=None recovery_wait_secs=30 "
        "local_init_run_options=None local_init_feed_dict=None",
        ignores="ready_for_local_init_op recovery_wait_secs",
    )
    def __init__(self, given: Any) -> None:
        self._local = given.local_init_op, given.local_init_feed_dict, given.local_init_run_options
        self._graph, self._ready = given.graph, given.ready_op

    @takes(f"master {_CHECKPOINT}", ignores=_WAITS)
    def recover_session(self, given: Any) -> tuple[Session, bool]:
        """Make a session with the latest checkpoint, and return it, and whether there is one."""
        session, folder = Session(given.master, self._graph, given.config), given.checkpoint_dir
        path = given.checkpoint_filename_with_path or (folder and files.latest_checkpoint(folder))
        if given.saver is None or not path:
            return session, False
        given.saver.restore(session, path)
        if folder:
            state = files.get_checkpoint_state(folder)
            given.saver.recover_last_checkpoints([] if state is None else list(state.all_model_checkpoint_paths))
        self._begin_locally(session)
        return session, True

    @takes(f"master init_op=None {_CHECKPOINT} init_feed_dict=None init_fn=None", ignores=_WAITS)
    def prepare_session(self, given: Any) -> Session:
        """Make a session with the latest checkpoint, or else with the first values.

        Raises:
            RuntimeError: there is no checkpoint, and nothing that gives first values; or variables have none after it.
        """
        source = given.saver, given.checkpoint_dir, given.checkpoint_filename_with_path
        session, is_restored = self.recover_session(given.master, *source, config=given.config)
        if is_restored:
            return session
        if given.init_op is None and given.init_fn is None and self._local[0] is None:
            problem = "there is no checkpoint: give init_op, init_fn or local_init_op."
            raise op_error(RuntimeError, "tf.train.SessionManager.prepare_session", problem)
        if given.init_op is not None:
            session.run(given.init_op, given.init_feed_dict)
        if given.init_fn is not None:
            given.init_fn(session)
        self._begin_locally(session)
        absent = [] if self._ready is None else session.run(self._ready)
        if len(absent):
            names = b", ".join(absent).decode()
            problem = f"init operations did not make the model ready; variables not initialized: {names}: "
            raise op_error(RuntimeError, "tf.train.SessionManager.prepare_session", f"{problem}let init_op do it.")
        return session

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: float = 0) -> Session:
        """Make a session: no other process gives its variables values, so there is nothing to wait for."""
        session = Session(master, self._graph, config)
        self._begin_locally(session)
        return session

    def _begin_locally(self, session: Session) -> None:
        operation, feeds, options = self._local
        if operation is not None:
            session.run(operation, feeds, options)


def one_process(is_chief: bool, title: str) -> None:
    """Refuse to be one of several processes."""
    if not is_chief:
        raise op_error(NotImplementedError, title, "one process computes, which is the chief: leave is_chief out.")


value("train.SessionManager", SessionManager, "v1")
