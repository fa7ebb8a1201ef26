"""Batch hooks: calls of callbacks for batches, no more often than necessary."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from dovetail.interop.privates import Callback, ProgbarLogger, is_default

SHOWN = 0.05  # seconds between two updates of a progress bar


class BatchHooks:
    """The calls of batch callbacks: throttled if only a progress bar listens, skipped if no callback does.

    Args:
        callbacks: Keras' list of callbacks.
        what: "train", "test" or "predict".

    Attributes:
        are_idle: whether no callback needs single batches.
    """

    def __init__(self, callbacks: Any, what: str) -> None:
        self._bars = [callback for callback in callbacks.callbacks if type(callback) is ProgbarLogger]
        self._begin = getattr(callbacks, f"on_{what}_batch_begin")
        self._end = getattr(callbacks, f"on_{what}_batch_end")
        names = [f"on_{which}batch_{when}" for which in ("", f"{what}_") for when in ("begin", "end")]
        self.are_idle = not any(_listens(callback, names) for callback in callbacks.callbacks)
        scopes = (
            [getattr(callback, "around_steps", None) for callback in callbacks.callbacks] if what == "train" else []
        )
        self._around = [scope for scope in scopes if scope is not None]
        self._shown = -float("inf")
        self._untold: tuple[int, Any] | None = None
        self._told = (lambda found: {"outputs": found}) if what == "predict" else lambda logs: logs

    def around(self, data: Any) -> AbstractContextManager[Any]:
        """The scope in which a step, or a group of steps, runs: that of callbacks with a function `around_steps`."""
        if not self._around:
            return nullcontext()
        stack = ExitStack()
        for scope in self._around:
            stack.enter_context(scope(len(data)))
        return stack

    def begin(self, number: int) -> None:
        """Call the callbacks before a step."""
        if not self.are_idle:
            self._begin(number)

    def end(self, number: int, found: Any) -> None:
        """Call the callbacks after a step, with its results."""
        if self.are_idle and not self._bars:
            return
        now = time.perf_counter()
        self._untold = number, found
        if not self.are_idle or now - self._shown >= SHOWN:
            self._shown = now
            self.finish()

    def show(self, program: Any) -> None:
        """Show the `status` of a program next to the progress bars."""
        for bar in self._bars:
            if bar.progbar is not None:
                status = program.status
                bar.progbar.unit_name = f"step ({status})" if status else "step"

    def finish(self) -> None:
        """Call the callbacks after the last step; its number shows a progress bar how many steps there were."""
        if self._untold is not None:
            number, logs = self._untold
            self._end(number, self._told(logs))
            self._untold = None


def _listens(callback: Callback, names: list[str]) -> bool:
    return type(callback) is not ProgbarLogger and not all(is_default(getattr(callback, name)) for name in names)
