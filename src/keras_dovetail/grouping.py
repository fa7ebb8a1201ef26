"""Grouped steps: several equal batches in one call of a program, where nobody looks at single ones.

A short step costs more in Python than in the program.  A loop in a program has no such costs, and engines differ in
what it gains: so it is measured while a model trains, and groups stay where they are faster.  The numbers are the same.

Predictions of several batches may also be computed as those of one large batch.  That gains for long steps, too; the
numbers are the same but for rounding, so it is for programs whose engine is chosen by measuring.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from typing import Any

from keras.src.callbacks import Callback, ProgbarLogger
from keras.src.utils.python_utils import is_default

SIZE = 32  # steps of a group
# Calls between which time is measured, of single steps and of groups; those before trace, compile and make arrays.
STEPS, GROUPS = (2, 6, 10), (1, 2, 3)
# Of the time that making a program takes, what training loses while another processor makes it.
WAITED = 0.1 if (os.cpu_count() or 1) > 1 else 1.0
LONG = 3e-3  # seconds: steps that take longer gain nothing
LEAD = 0.95  # of the time of a single step, that one of a group may take at most
CLEAR = 0.7  # the same where one turn tells; else they take turns, since other programs may have disturbed one of them
TURNS = 3  # of each, at most
SHOWN = 0.05  # seconds between two updates of a progress bar


class Pace:
    """How many steps are run in one call: one, unless groups turn out to be faster.

    A group is another program, which takes about as long to make as that of a single step took; it is made in the
    background, while single steps go on.  So it is asked for when so many steps were run, or are known to come, that
    half of their time is more than training loses by that; and not while epochs are too short for a group.  Then groups
    and single steps take turns, until one is clearly faster.

    Args:
        is_settled: whether it stays at one.
        joins: whether a group is computed as one batch; then an epoch is divided into groups as large.

    Attributes:
        size: of the next calls.
        group: how many steps a group has, or will have.
        is_settled: whether the size stays.
        joins: as given.
    """

    def __init__(self, is_settled: bool = False, joins: bool = False) -> None:
        self.size, self.group = 1, SIZE
        self.joins = joins
        self._asks: bool | None = None  # whether to make the program of a group; None until it pays
        self.is_settled = is_settled
        self._done = 0  # steps that were run
        self._known = 0  # steps that were run, or were known to come
        self._begun = 0  # steps that were run before this epoch
        self._has_room = False  # whether a group fits into an epoch
        self._single: list[float] = []  # seconds that a step took, in each turn
        self._grouped: list[float] = []
        self._times: list[float] = []  # seconds that each step of each call took
        self._last = 0.0

    def start(self, steps: int | None) -> None:
        """An epoch begins; so many steps are to come, if that is known."""
        self._known = self._done + (steps or 0)
        if self.joins and self._asks is None and steps:
            self.group = math.ceil(steps / math.ceil(steps / SIZE))
        self._begun = self._done
        if not self.joins:  # what is still computed between two epochs is not measured
            done = len(self._times)
            del self._times[max((mark for mark in _marks(self.size) if mark <= done), default=done) :]
        self._last = time.perf_counter()

    def asks(self) -> bool:
        """Whether the program of a group is to be made now; once it is there, `ready` says so."""
        asks = bool(self._asks)
        self._asks = False if asks else self._asks
        return asks

    @property
    def waits(self) -> bool:
        """Whether the call is to be over before the next one: where what is measured begins or ends.

        In between it is not, so that an engine that computes while Python goes on does so here, too.  Where batches
        are joined each call is: there may be fewer in an epoch than are measured.
        """
        return not self.is_settled and (self.joins or len(self._times) + 1 in _marks(self.size))

    def limit(self, most: int) -> None:
        """A group has so many steps at most; there is none, if that is one."""
        self.group = min(self.group, most)
        self.is_settled = self.is_settled or self.group < 2

    def ready(self) -> None:
        """The program of a group is there, and has its turn."""
        self._times, self.size = [], self.group

    def done(self, count: int, counts: bool = True) -> None:
        """A call of so many steps is over; its time may say nothing of the next calls, and then does not count."""
        now = time.perf_counter()
        taken, self._last = (now - self._last) / count, now
        self._done += count
        self._has_room = self._has_room or self._done - self._begun >= self.group > 1
        size, times = self.size, self._times  # in this order: `ready`, in another thread, sets the times first
        if self.is_settled or count != size or not counts:
            return
        marks = _marks(size)
        if len(times) < marks[-1]:
            times.append(taken)
            if len(times) < marks[-1]:
                return
            self._compare(size, min(statistics.fmean(times[a:b]) for a, b in itertools.pairwise(marks)))
        if not self.is_settled and size == 1 and self._asks is None and self._has_room:
            pays = max(self._known, self._done) * self._single[0] / 2 > WAITED * times[0]
            self._asks = pays or None

    def __str__(self) -> str:
        """What was measured; "" before groups were."""
        if not self._grouped:
            return ""
        single, grouped = min(self._single) * 1e3, min(self._grouped) * 1e3
        told = ("are taken" if self.size > 1 else "are left out") if self.is_settled else "take turns"
        return f"groups of {self.group} {told}: {grouped:.3g} ms a step, single steps {single:.3g} ms"

    def _compare(self, size: int, seconds: float) -> None:
        """A step in calls of this size took so long, in a turn of theirs."""
        if size == 1:
            self._single.append(seconds)
            if self._grouped:
                self.ready()
            else:
                self.is_settled = seconds > LONG and not self.joins
            return
        self._grouped.append(seconds)
        ratio = min(self._grouped) / min(self._single)
        self.is_settled = len(self._grouped) == TURNS or not CLEAR < ratio < 1 / CLEAR
        self._times, self.size = [], self.group if self.is_settled and ratio < LEAD else 1


def _marks(size: int) -> tuple[int, ...]:
    """The numbers of calls between which time is measured, where a call has so many steps."""
    return STEPS if size == 1 else GROUPS


class BatchHooks:
    """What is told of batches: the callbacks; where none but a progress bar listens, seldom; where none does, nothing.

    Args:
        callbacks: a list of Keras'.
        what: "train", "test" or "predict".

    Attributes:
        are_idle: whether nobody looks at single batches.
    """

    def __init__(self, callbacks: Any, what: str) -> None:
        self._bars = [callback for callback in callbacks.callbacks if type(callback) is ProgbarLogger]
        self._begin = getattr(callbacks, f"on_{what}_batch_begin")
        self._end = getattr(callbacks, f"on_{what}_batch_end")
        names = [f"on_{which}batch_{when}" for which in ("", f"{what}_") for when in ("begin", "end")]
        self.are_idle = not any(_listens(callback, names) for callback in callbacks.callbacks)
        self._shown = -float("inf")
        self._untold: tuple[int, Any] | None = None
        self._told = (lambda found: {"outputs": found}) if what == "predict" else lambda logs: logs

    def begin(self, number: int) -> None:
        """Before the step of this number."""
        if not self.are_idle:
            self._begin(number)

    def end(self, number: int, found: Any) -> None:
        """After the step of this number, and what it gave."""
        if self.are_idle and not self._bars:
            return
        now = time.perf_counter()
        self._untold = number, found
        if not self.are_idle or now - self._shown >= SHOWN:
            self._shown = now
            self.finish()

    def show(self, status: str) -> None:
        """Says beside the progress bars what goes on besides."""
        for bar in self._bars:
            if bar.progbar is not None:
                bar.progbar.unit_name = f"step ({status})" if status else "step"

    def finish(self) -> None:
        """After the last step, whose number tells a progress bar how many there were."""
        if self._untold is not None:
            number, found = self._untold
            self._end(number, self._told(found))
            self._untold = None


def _listens(callback: Callback, names: list[str]) -> bool:
    return type(callback) is not ProgbarLogger and not all(is_default(getattr(callback, name)) for name in names)
