"""The journal of an edit: what undoes each of its steps, so that an edit that fails leaves everything as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Journal(threading.local):
    """What undoes the steps that were done in this thread since an edit began; None outside of edits."""

    steps: list[Callable[[], Any]] | None = None


journal = _Journal()


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Where an error leaves the `with` block, all that was done in it to graphs is undone, the last step first."""
    outside, steps = journal.steps, []  # type: ignore[var-annotated]
    journal.steps = steps
    try:
        yield
    except BaseException:
        journal.steps = None
        for undo in reversed(steps):
            undo()
        raise
    else:
        if outside is not None:
            outside += steps
    finally:
        journal.steps = outside


def note(undo: Callable[[], Any]) -> None:
    """Says what undoes the step that was just done."""
    if journal.steps is not None:
        journal.steps.append(undo)
