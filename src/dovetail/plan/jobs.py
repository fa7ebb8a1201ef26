"""Jobs: the candidates that are prepared in the background, one at a time."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from dovetail.plan.background import later
from dovetail.plan.strategy import Strategy


class Preparing(Protocol):
    """A plan for which candidates are prepared."""

    def try_to_prepare(self, strategy: Strategy) -> None:
        """Prepares a candidate, in any thread; one that fails is left out."""

    def count_untimed(self) -> None:
        """Takes in the calls that ran without being timed."""


class Job:
    """The candidate that is prepared now.

    Attributes:
        is_running: whether there is one.
        name: of the strategy.
        plan: a reference to the plan for which it is prepared.
    """

    def __init__(self) -> None:
        self.is_running, self.name = False, ""
        self.plan: Callable[[], Preparing | None] = _nobody

    def begin(self, plan: Preparing, strategy: Strategy, lose: Callable[[float], None]) -> None:
        """Begins to prepare a candidate.

        Args:
            plan: for which; if nobody has it any more when the job's turn comes, nothing is prepared.
            strategy: of the candidate.
            lose: takes the processor time of the job, in seconds.
        """
        this = weakref.ref(plan)
        self.is_running, self.name, self.plan = True, strategy.name, this
        later(lambda: self._work(this(), strategy, lose))

    def _work(self, plan: Preparing | None, strategy: Strategy, lose: Callable[[float], None]) -> None:
        start = time.thread_time()
        try:
            if plan is not None:
                plan.try_to_prepare(strategy)
        finally:
            lose(time.thread_time() - start)
            self.end()

    def end(self) -> None:
        """Takes in that nothing is prepared any more."""
        self.is_running, self.plan = False, _nobody


def _nobody() -> None:
    """The plan of no job."""


job = Job()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=job.end)
