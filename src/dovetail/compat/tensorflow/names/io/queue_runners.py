"""TensorFlow 1's runners: threads that fill queues."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.io.queues import Cancelled
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.sessions.session import default_session

if TYPE_CHECKING:  # names.training imports this module
    from dovetail.compat.tensorflow.names.train.coordinator import Coordinator


class QueueRunner:
    """A runner, whose threads put elements into a queue until the inputs end, and then close it.

    Args:
        queue: the queue.
        enqueue_ops: operations; a thread runs each again and again.
        close_op, cancel_op: run at the end of the inputs, and when the coordinator stops; by default, they close it.
        queue_closed_exception_types: the exceptions that end a thread; others stop the coordinator.

    Attributes:
        exceptions_raised: the exceptions that ended threads without a coordinator.

    Raises:
        NotImplementedError: it is given by a definition.

    Source: `tf.compat.v1.train.QueueRunner`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     queue, count = tf.FIFOQueue(2, tf.int32, [()]), tf.Variable(0)
        ...     runner = tf.train.QueueRunner(queue, [queue.enqueue(count.count_up_to(3))])
        ...     element = queue.dequeue()
        ...     session.run(count.initializer)
        ...     threads = runner.create_threads(session, start=True)
        ...     [int(session.run(element)) for _ in range(3)]
        [0, 1, 2]
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Sequence[type[BaseException]] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None or queue is None or not enqueue_ops:
            problem = "it needs a queue and its enqueue_ops; a definition is not read"
            raise op_error(NotImplementedError, "tf.train.QueueRunner", f"{problem}: leave queue_runner_def out.")
        self.queue, self.enqueue_ops, self.name = queue, list(enqueue_ops), queue.name
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self.queue_closed_exception_types = tuple(queue_closed_exception_types or (IndexError, Cancelled))
        self.exceptions_raised: list[BaseException] = []
        self._running: Counter[Any] = Counter()  # session → its threads
        self._lock = threading.Lock()

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Make the threads for a session; none if it has some that run."""
        with self._lock:
            if self._running[sess]:
                return []
            self._running[sess] = len(self.enqueue_ops)
        calls: list[tuple[Callable[..., None], Any]] = [(self._fill, (sess, op, coord)) for op in self.enqueue_ops]
        if coord is not None:
            calls.append((self._close_on_stop, (sess, coord)))
        threads = [threading.Thread(target=call, args=args, daemon=daemon) for call, args in calls]
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _fill(self, session: Any, operation: Any, coord: Coordinator | None) -> None:
        try:
            while not (session.is_closed or (coord is not None and coord.should_stop())):
                self.queue.wait_for_room()  # a run that waits would keep others from the variables that it assigns
                self.queue.fill(session, operation)
        except self.queue_closed_exception_types:
            pass
        except Exception as error:
            if session.is_closed:
                return
            if coord is None:
                self.exceptions_raised.append(error)
                raise
            coord.request_stop(error)
        finally:
            with self._lock:
                self._running[session] -= 1
                is_last = not self._running[session]
            if is_last and not session.is_closed:
                session.run(self.close_op)

    def _close_on_stop(self, session: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        if not session.is_closed:
            session.run(self.cancel_op)


value("train.QueueRunner train.queue_runner.QueueRunner", QueueRunner, "v1")


@function("train.add_queue_runner train.queue_runner.add_queue_runner", "v1")
def add_queue_runner(qr: Any, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Put a runner, which makes threads, into a collection of the graph.

    Source: `tf.compat.v1.train.add_queue_runner`.
    """
    graph_mode.open_graph().add_to_collection(collection, qr)


@function("train.start_queue_runners train.queue_runner.start_queue_runners", "v1")
def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """The threads of the graph's runners: none, if the program put no runner into the graph.

    Raises:
        ValueError: there is no session.

    Source: `tf.compat.v1.train.start_queue_runners`.
    """
    session: Any = sess or default_session()
    if session is None:
        raise op_error(ValueError, "tf.train.start_queue_runners", "there is no default session: give sess.")
    runners = session.graph.get_collection(collection)
    return [t for r in runners for t in r.create_threads(session, coord=coord, daemon=daemon, start=start)]
