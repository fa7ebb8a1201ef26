"""Choice: a graph on whichever engine is measured to run it fastest, in the calls that a program makes anyway.

The candidates are the installed engines, each with its `strategies`, and last the plans of two engines.  Calls run on
the engine that can start at once; once they took long enough, a thread prepares the others, one after the other.  Each
that is ready is tried, and the fastest so far takes the calls.  When all are ready they take turns; the two best go on
with that for longer.  One takes the place of the first only if it is more than a tenth faster.  Variables go to
whichever engine runs, so all of this is real work: a training step is a step, wherever it is computed.

An exception may come between any two lines: that of a signal.  It closes the generator that says which candidate is
next, so the next call makes another one, which goes on with the times measured so far.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.engine import Engine
from dovetail.core.engine_registry import get_engine, list_engines, share_devices
from dovetail.core.errors import LIBRARIES
from dovetail.core.locks import holding, make_lock
from dovetail.core.memory import give_back
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph
from dovetail.plan import store
from dovetail.plan.background import later
from dovetail.plan.candidate import Candidate
from dovetail.plan.divided import WORTH, crossings, strategies
from dovetail.plan.history import History
from dovetail.plan.plan import Plan

logger = logging.getLogger("dovetail.plan")

WARM = 2  # calls of a trial or turn that do not count: arrays move, libraries set themselves up
TRIAL = 2  # calls by which a candidate that is ready is compared with the best so far
TURN = 5  # calls of a turn
ROUNDS = 2  # turns of each that is not hopeless
FINAL = 4  # turns after that of the two best, which may be a few percent apart, and of what they are to replace
LEAD = 0.9  # of the time of what is simpler, that a candidate may take at most to replace it
HOPELESS = 2.0  # times the best time: candidates that take longer have no further turns
DISTURBED = 20.0  # the same of trials while others are compiled, which may take the processor from them
BRIEF = 0.5  # seconds: candidates whose calls took less, even then, are tried again in any case
BEFORE = 2  # calls of a graph before others are prepared: what is called once or twice gains nothing
# What making a plan raises where it is not possible: not all exceptions, since a signal's handler may raise any.
FAILURES = (*LIBRARIES, ImportError, OSError, MemoryError)
WORTHWHILE = 2.0  # seconds that these calls take at least: to import and compile for others takes more


class Call(NamedTuple):
    """A call whose results may still be computed."""

    candidate: Candidate
    counts: bool
    start: float
    results: list[Tensor]


class Choice:
    """A graph that runs where it is measured to be fastest; called like a plan.

    Args:
        graph: what to run; it is not changed.
        home: the engine of the arguments and results.
        shapes: those of the arguments.
        history: what is known of calls of the same function with other shapes, and kept from other processes.

    Attributes:
        engine: the home.
        candidates: all that are considered, the first of them first.
        chosen: the one that runs, or would run if no other were measured.
        is_settled: whether the choice is final.
    """

    def __init__(self, graph: Graph, home: Engine, shapes: Sequence[Any], history: History) -> None:
        self.engine = home
        self._graph, self._shapes, self._history = graph, tuple(shapes), history
        self._lock = make_lock()
        self._calls = 0
        self._seconds = 0.0  # that calls took before others are prepared
        self._under_way: Call | None = None
        self._measured: Iterator[tuple[Candidate, bool]] | None = None
        self._waiting: list[Candidate] = []
        self.candidates = [Candidate(*way) for way in history.known(graph, self._shapes)]
        self._is_known = bool(self.candidates) and self._can_start(self.candidates[0])
        self.is_settled = self._is_known and len(self.candidates) == 1
        if not self._is_known:
            self.candidates = [Candidate(home.name)]
            self.candidates[0].make(graph, home, self._shapes)
        self.chosen = self.candidates[0]
        self._is_begun = False
        self._stays_home = False  # in a forked child
        _choices.add(self)

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs it on native arrays of the home engine; the results are such arrays."""
        if self.is_settled:
            return self.chosen.run(arguments)
        candidate, counts = holding(self._lock, self._next)
        start = time.perf_counter()
        results, ran = self._attempt(candidate, Candidate.run, arguments)
        seconds = time.perf_counter() - start
        if counts and ran is candidate:
            candidate.times.append(seconds)
        elif not self._is_begun:
            self._seconds += seconds
        return results

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Runs it on native arrays of the home engine; the results stay where they are, and may still be computed.

        So an engine that computes in the background goes on while the program makes the next call.  What counts is the
        time from call to call: in it are also what the program waits for, and what it does itself.
        """
        if self.is_settled:
            return self.chosen.tensors(arguments)
        start = time.perf_counter()
        before, self._under_way = self._under_way, None
        if before is not None and before.counts:
            before.candidate.times.append(start - before.start)
        candidate, counts = holding(self._lock, self._next)
        under_way = None
        if before is not None and before.candidate is candidate:
            under_way = before.results
        elif before is not None:
            before.candidate.wait(before.results)
            start = time.perf_counter()
        results, ran = self._attempt(candidate, Candidate.tensors, arguments, under_way)
        if not self._is_begun:
            self._seconds += time.perf_counter() - start
        if not self.is_settled:
            self._under_way = Call(ran, counts and ran is candidate, start, results)
        return results

    def _attempt(
        self,
        candidate: Candidate,
        run: Callable[..., Any],
        arguments: Sequence[Any],
        under_way: Sequence[Tensor] | None = None,
    ) -> tuple[Any, Candidate]:
        """What a candidate gives, or if it fails what the chosen one gives; and which one it is.

        It waits for what is under way, as in a loop without an end, where two calls are; else for what it gives.
        """
        try:
            results = run(candidate, arguments)
            candidate.wait(results if under_way is None else under_way)
        except Exception as error:
            if candidate is self.chosen or not candidate.failed_by(error):
                raise
            results = run(self.chosen, arguments)  # which raises, too, if the program is at fault
            self._drop(candidate, error)
            return results, self.chosen
        return results, candidate

    def prepare(self) -> None:
        """Begins to measure with the next call, however long calls took: there will be many."""
        holding(self._lock, self._begin)

    def take(self, name: str) -> None:
        """Runs on the candidate of this name from now on, whatever was measured.

        Raises:
            ValueError: there is no such candidate.
        """
        holding(self._lock, self._take, name)

    def save(self, path: str | Path) -> None:
        """Writes what is chosen to a file, for `function(..., replay=path)`.

        Raises:
            OSError: it cannot be written.
        """
        store.save(path, (self.chosen.engine, self.chosen.strategy))

    def _take(self, name: str) -> None:
        found = {candidate.name: candidate for candidate in self.candidates}
        if name not in found:
            raise ValueError(f"{self._graph.name!r} has no candidate {name!r}; it has {', '.join(map(repr, found))}.")
        if found[name].plan is None:
            found[name].make(self._graph, self.engine, self._shapes)
        self.chosen, self.is_settled = found[name], True
        self._waiting, self._measured, self._under_way = [], None, None

    def _go_on_in_child(self) -> None:
        """In a forked child it runs on the home engine, if it was being measured or the chosen engine cannot go on."""
        is_measuring = self._is_begun and not self.is_settled
        if not is_measuring and (self.chosen.plan is None or self.chosen.plan.can_run):
            return
        self.candidates = [Candidate(self.engine.name)]
        self.chosen = self.candidates[0]
        self.is_settled, self._is_begun, self._stays_home = False, True, True
        self._waiting, self._measured, self._under_way = [], None, None

    # which candidate is next

    def _can_start(self, candidate: Candidate) -> bool:
        """Makes the plan of a way that is known; what was kept on disk may say what is not possible here."""
        try:
            candidate.make(self._graph, self.engine, self._shapes)
        except FAILURES as error:
            if self._history.fixed is not None:
                raise
            self._drop(candidate, error)
            return False
        return True

    def _next(self) -> tuple[Candidate, bool]:
        """The candidate of the next call, and whether its time counts."""
        if self._stays_home and not self.is_settled:
            self.chosen.make(self._graph, self.engine, self._shapes)
            self.is_settled = True
        self._calls += 1
        if self._calls > BEFORE and self._seconds >= WORTHWHILE:
            self._begin()
        while self._is_begun and not self.is_settled:
            found = next(self._measured or self._go_on(), None)
            if found is not None:
                return found
            self._measured = None  # it is at its end, or an exception has closed it
        return self.chosen, False

    def _begin(self) -> None:
        if self._is_begun or self.is_settled:
            return
        if not self._is_known:
            self.candidates += _others(self.candidates)
        share_devices()
        self._waiting, self._is_begun = self.candidates[1:], True
        self._go_on()

    def _go_on(self) -> Iterator[tuple[Candidate, bool]]:
        """Measures from here on, with the times that there are, and prepares the candidates that wait."""
        self._prepare_later()
        self._measured = self._measure()
        return self._measured

    def _prepare_later(self) -> None:
        """Prepares the next candidate in the background, unless nobody has this choice any more by then."""
        this = weakref.ref(self)
        later(lambda: _prepare(this()))

    def _prepare(self) -> None:
        if not self._waiting:
            return
        candidate = self._waiting[0]
        try:
            candidate.make(self._graph, self.engine, self._shapes)
            assert candidate.plan is not None
            if not self._is_known and not candidate.strategy:
                further = _strategies(candidate.engine, candidate.plan)
                self.candidates += further
                self._waiting += further
            if candidate.is_divided and (seconds := crossings(candidate.plan)) > WORTH * self.chosen.median:
                candidate.problem = f"left out, crossings would take {seconds * 1e3:.3g} ms"
            else:
                candidate.plan.prepare()
        except Exception as error:
            self._drop(candidate, error)
        self._waiting = [c for c in self._waiting if c is not candidate]  # from now on it is ready
        self._prepare_later()

    def _drop(self, candidate: Candidate, error: Exception) -> None:
        candidate.problem = f"dropped, {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        logger.warning("%s is not considered for %r: %s", candidate.name, self._graph.name, candidate.problem)

    def _measure(self) -> Iterator[tuple[Candidate, bool]]:
        """The candidates of the calls to come, until the choice is settled."""
        first = self.candidates[0]
        yield from self._turn(first, TRIAL)
        yield from self._try_others()
        if not self._is_known:
            known = {(c.engine, c.strategy) for c in self.candidates}
            ways = strategies(self._graph, [c.engine for c in self._fit])
            divided = [Candidate(*way) for way in ways if way not in known]
            self._waiting, self.candidates = divided, [*self.candidates, *divided]
            self._prepare_later()
            yield from self._try_others()
        rivals = self._near(self._fit, DISTURBED, BRIEF)
        for candidate in rivals:
            candidate.times.clear()
            yield from self._turn(candidate, TRIAL)
        rivals = self._near(rivals, HOPELESS)
        for candidate in rivals:
            candidate.times.clear()
        for number in range(ROUNDS):
            yield from self._turns(rivals, number)
            rivals = self._near(rivals, HOPELESS)
        ranked = sorted(rivals, key=lambda c: c.median)
        simpler = [c for c in self._simpler_than(ranked[0], first) if c in rivals]
        best = list(dict.fromkeys([*ranked[:2], *simpler]))
        for number in range(FINAL if len(best) > 1 else 0):
            yield from self._turns(best, number)
        self._settle(min(self._near(best, HOPELESS), key=lambda c: c.median), first)

    def _try_others(self) -> Iterator[tuple[Candidate, bool]]:
        """A trial of each candidate that was not tried yet, once it is ready; the fastest so far is chosen."""
        while self._waiting or any(not c.times for c in self._fit):
            new = [c for c in self._fit if not c.times and c not in self._waiting]
            for candidate in new:
                yield from self._turn(candidate, TRIAL)
                if not candidate.problem and candidate.median < self.chosen.median:
                    self.chosen = candidate
            if not new:
                yield self.chosen, False

    def _turns(self, candidates: Sequence[Candidate], number: int) -> Iterator[tuple[Candidate, bool]]:
        """A turn of each, every second time the last one first: so what drifts meanwhile hits all alike."""
        for candidate in reversed(candidates) if number % 2 else candidates:
            yield from self._turn(candidate, TURN)

    def _turn(self, candidate: Candidate, count: int) -> Iterator[tuple[Candidate, bool]]:
        for number in range(WARM + count):
            if not candidate.problem:
                yield candidate, number >= WARM

    @property
    def _fit(self) -> list[Candidate]:
        return [c for c in self.candidates if not c.problem]

    def _near(self, candidates: Sequence[Candidate], times: float, seconds: float = 0.0) -> list[Candidate]:
        """Those of which calls took at most so many times as long as those of the best, or at most so many seconds.

        A quarter of the calls is enough: other programs may disturb the rest of the few that there were.  One of many
        is not: where an engine computes in the background, a call after a pause takes next to no time.
        """
        fit = [c for c in candidates if not c.problem]
        most = max(times * min(c.median for c in fit), seconds)
        return [c for c in fit if c.lower_quartile <= most]

    def _simpler_than(self, candidate: Candidate, first: Candidate) -> list[Candidate]:
        """Those whose place it takes only with a lead: the first, and of a plan of two engines the best of one."""
        of_one = [c for c in self._fit if c.times and not c.is_divided]
        return [min(of_one, key=lambda c: c.median, default=first), first] if candidate.is_divided else [first]

    def _settle(self, best: Candidate, first: Candidate) -> None:
        for simpler in self._simpler_than(best, first):
            if simpler.times and not simpler.problem and best.median >= LEAD * simpler.median:
                best = simpler
        ranking = sorted((c for c in self._fit if c.times), key=lambda c: (c is not best, c.median))
        self._history.learn(self._graph, self._shapes, [c.measured for c in ranking])
        candidates = [c if c is best else c.without_plan() for c in self.candidates]
        self.chosen, self.candidates, self.is_settled = best, candidates, True  # all of it, or an exception before
        later(give_back)  # what the others took
        logger.info("%s", self)

    # to be seen

    @property
    def status(self) -> str:
        """What it is doing, in a few words; "" once it is settled."""
        if self.is_settled or not self._is_begun:
            return ""
        done = sum(bool(c.times or c.problem) for c in self.candidates)
        return f"measuring {done} of {len(self.candidates)} plans"

    @property
    def summary(self) -> str:
        """What is chosen, in a line, and how far it is ahead."""
        what = "chosen" if self.is_settled else "so far"
        count = len(self.candidates)
        line = f"{what}: {self.chosen.name}, of {count} plan{'' if count == 1 else 's'}"
        others = [c for c in self._fit if c.times and c is not self.chosen]
        if not (self.is_settled and self.chosen.times and others):
            return line
        rival = min(others, key=lambda c: c.median)
        return f"{line}, {rival.median / self.chosen.median:.2f} times as fast as {rival.name}"

    def __str__(self) -> str:
        lines = [self.summary, *map(str, self.candidates), *str(self.chosen.plan).splitlines()]
        return "\n  ".join(lines)


def _prepare(choice: Choice | None) -> None:
    if choice is not None:
        choice._prepare()


_choices: weakref.WeakSet[Choice] = weakref.WeakSet()


def _go_on_in_child() -> None:
    for choice in list(_choices):
        choice._go_on_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)


def _others(known: Sequence[Candidate]) -> list[Candidate]:
    """The installed engines that are not among the candidates."""
    names = [c.engine for c in known]
    return [Candidate(name) for name in list_engines() if name not in names]


def _strategies(name: str, plan: Plan) -> list[Candidate]:
    """The engine's further strategies, those that make a difference for what a plan computes by its first one."""
    engine = get_engine(name)
    graphs = [segment.graph for segment in plan.segments]
    found, seen = [], set()
    for strategy, variants in engine.strategies.items():
        taken = tuple(engine.taken(graph, variants) for graph in graphs)
        if taken not in seen:
            seen.add(taken)
            found.append(Candidate(name, strategy))
    return found[1:]
