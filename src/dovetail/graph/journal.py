"""The journal of an edit: how to undo each of its steps, so that a failed edit leaves everything as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from dovetail.core.base.scopes import scopes, within

_NO_EDIT = nullcontext()  # most traces happen outside of edits, and scopes take time


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Undo all changes to graphs, the last one first, if an error leaves the `with` block."""
    steps: list[Callable[[], Any]] = []
    try:
        with within(undo=steps):
            yield
    except BaseException:
        with within(undo=None):
            for undo in reversed(steps):
                undo()
        raise
    outside = scopes().undo
    if outside is not None:
        outside += steps


def no_part_of_edits() -> AbstractContextManager[None]:
    """A scope whose changes stay if an edit around it fails: those of traces, which are kept for later calls."""
    return within(undo=None) if scopes().undo is not None else _NO_EDIT


def note(undo: Callable[[], Any]) -> None:
    """Note how to undo the step that was just done."""
    steps = scopes().undo
    if steps is not None:
        steps.append(undo)
