"""TensorFlow 1's names for the threads of a program: the coordinator, which stops them together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.core.base.errors import op_error


class Coordinator:
    """A coordinator, which stops the threads of a program together, and raises their first error where they are joined.

    Args:
        clean_stop_exception_types: exceptions that stop the threads, and are not raised; by default the end of inputs.

    Attributes:
        joined: whether the threads were joined.

    Source: `tf.compat.v1.train.Coordinator`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> coord = tf.train.Coordinator()
        >>> with coord.stop_on_exception():
        ...     raise ValueError("no data")
        >>> coord.should_stop()
        True
        >>> coord.join([])
        Traceback (most recent call last):
        ValueError: no data
    """

    def __init__(self, clean_stop_exception_types: Sequence[type[BaseException]] | None = None) -> None:
        self._clean = tuple(clean_stop_exception_types or (IndexError,))
        self._stops = threading.Event()
        self._lock = threading.Lock()
        self._registered: list[threading.Thread] = []
        self._error: BaseException | None = None
        self.joined = False

    def should_stop(self) -> bool:
        """Whether the threads are to stop."""
        return self._stops.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop.

        Args:
            ex: the reason: an exception, or what `sys.exc_info()` gives; `join` raises the first one.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if self.joined and error is not None:
            raise error
        with self._lock:
            if not self.should_stop():
                self._error = None if isinstance(error, self._clean) else error
                self._stops.set()

    def clear_stop(self) -> None:
        """Let threads run again."""
        with self._lock:
            self.joined, self._error = False, None
            self._stops.clear()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask the threads to stop if the `with` block raises an exception, which `join` raises."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until the threads are to stop, at most for this number of seconds; return whether they are."""
        return self._stops.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread, too."""
        with self._lock:
            self._registered.append(thread)

    def join(
        self,
        threads: Sequence[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the registered and the given threads, and raise the error that stopped them.

        Args:
            stop_grace_period_secs: how long threads may run after they were asked to stop.
            ignore_live_threads: whether threads may still run then.

        Raises:
            RuntimeError: threads still run.
        """
        waited_for = [*self._registered, *(threads or ())]
        while any(thread.is_alive() for thread in waited_for) and not self.wait_for_stop(0.1):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            thread.join(max(0.0, end - time.monotonic()))
        self.joined, self._registered = True, []
        alive = [thread.name for thread in waited_for if thread.is_alive()]
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            problem = f"threads still run after {stop_grace_period_secs} s: {', '.join(alive)}."
            raise op_error(RuntimeError, "tf.train.Coordinator.join", problem)

    def raise_requested_exception(self) -> None:
        """Raise the error with which the threads were asked to stop, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator stops.

    Args:
        coord: the coordinator, which an exception of the function stops.
        timer_interval_secs: the time from one call to the next; None for none.
        target, args, kwargs: the function and its arguments.

    Source: `tf.compat.v1.train.LooperThread`.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._call = target, args, kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(*args: Any, **kwargs: Any) -> LooperThread:
        """Make such a thread, and start it."""
        made = LooperThread(*args, **kwargs)
        made.start()
        return made

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                due += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Prepare the loop."""

    def stop_loop(self) -> None:
        """Clean up after the loop."""

    def run_loop(self) -> None:
        """Call the function once."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)


value("train.Coordinator", Coordinator, "v1")
value("train.LooperThread", LooperThread, "v1")
