"""Measurer: runs the calls of a graph where they are expected to be fastest, and learns from their times.

The policy decides, and the ledger limits what learning costs.  Here are the clock, the locks, the thread that prepares
candidates, and what happens when one fails.  Every call is real work: variables move to the engine that runs.

An exception of a signal's handler may come between any two lines.  State changes by small steps, each of which leaves
it valid, so such an exception loses one observation at most.
"""

from __future__ import annotations

import atexit
import functools
import logging
import math
import os
import statistics
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.engine import Engine
from dovetail.core.engine_registry import HOME, list_engines, share_devices
from dovetail.core.infer import size_of
from dovetail.core.locks import holding, make_lock
from dovetail.core.state import held_by
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph
from dovetail.plan import calibration, costs, policy, records
from dovetail.plan.background import later
from dovetail.plan.candidate import FAILURES, Candidate, split_strategies
from dovetail.plan.ledger import Ledger
from dovetail.plan.plan import Plan
from dovetail.plan.policy import Arm, Estimate, State
from dovetail.plan.segment import Segment
from dovetail.plan.strategy import Strategy

logger = logging.getLogger("dovetail.plan")

WATCHED = 64  # calls of a settled graph, of which one is timed
PAUSE = 0.5  # seconds: calls are not timed for that long at most
FIRST_CALLS = 5  # that are timed in any case
LATEST = 50  # times by which the watch compares
HOUR = 3600.0  # seconds between two widenings of the spreads
MEASURED = 0.1  # the spread of a time that an earlier process measured
UNPREDICTED = Estimate(math.log(1e-3), 5.0)  # whose first time says all
A_CALL_OF_STEPS = 2e-4  # seconds that a call costs in Python, where a group pays once
JOINED = 0.8  # of the time of a step that one takes in a joined batch, as a guess


class Call(NamedTuple):
    """A call whose results may still be computed."""

    candidate: Candidate
    counts: bool
    start: float
    results: list[Tensor]


class Measuring:
    """The settings by which the graphs of a function are measured.

    Args:
        fixed: the strategy by which all run; nothing is measured then.
        is_at_home: whether all run on the engine of their arguments, where single calls and groups are compared.

    Attributes:
        fixed, is_at_home: as given.
        steps: how many calls are to come, as far as the program has said.
    """

    def __init__(self, fixed: Strategy | None = None, is_at_home: bool = False) -> None:
        self.fixed, self.is_at_home = fixed, is_at_home
        self.steps = 0

    def plan(self, graph: Graph, home: Engine, shapes: Sequence[Any]) -> MeasuredPlan:
        """The plan of a graph for arguments of these shapes, on arrays of an engine."""
        return MeasuredPlan(graph, home, shapes, self)


STEADY = ("torch", "numpy")  # the first one that is installed runs where each run is to give the same bits


def steady() -> Strategy:
    """The strategy of programs that give the same bits in each run, if none was saved."""
    return Strategy(next(name for name in STEADY if name in list_engines()))


class Measurer:
    """The times of a step, alone and in groups, and the strategy of its next call.

    Args:
        graph: of a step.
        shapes: of its arguments.
        state: its strategies.
        keeps: whether its times are kept on disk.

    Attributes:
        name: of the graph, for the log.
        state: as given.
        plans: the size of a group → the plan that runs it.
        wants_group: whether the program of a group is to be traced.
        group_size: how many steps a group can have; 1 if there are none.
        joins: whether a group is computed as one batch.
    """

    def __init__(self, graph: Graph, shapes: Sequence[Any], state: State, keeps: bool) -> None:
        self.name, self.state = graph.name, state
        self._graph, self._shapes, self._keeps = graph, shapes, keeps
        self.plans: dict[int, weakref.ref[MeasuredPlan]] = {}
        self.wants_group = False
        self.group_size, self.joins = 1, False
        self._decided: tuple[Strategy, bool] | None = None
        self._latest: list[float] = []
        self._widened = -HOUR
        self._kept: dict[Strategy, int] = {}
        _measurers.add(self)

    @functools.cached_property
    def work(self) -> costs.Work:
        """The work of a step, by families."""
        return costs.work_of(self._graph)

    @functools.cached_property
    def key(self) -> str:
        """The key of its records; "" if nothing is kept."""
        return records.key_of(self._graph, self._shapes) if self._keeps else ""

    @property
    def next_group(self) -> int:
        """How many steps the next call should have."""
        if self._decided is None:
            self._decided = policy.next_call(self.state, ledger.room(time.perf_counter()))
        return self._decided[0].group

    def decide(self, group: int) -> tuple[Strategy, bool]:
        """The strategy of the next call, and whether its time counts.

        Args:
            group: how many steps the call has.
        """
        now = time.perf_counter()
        if ledger.started is None:
            ledger.started = now
        _prepare_next(now)
        found, self._decided = self._decided or policy.next_call(self.state, ledger.room(now)), None
        if found[0].group == group:
            return found
        able = {s: a for s, a in self.state.arms.items() if s.group == group and a.is_ready and not a.problem}
        best = policy.champion(State(able))
        return (found[0] if best is None else best.strategy), False

    def observe(self, strategy: Strategy, seconds: float, counts: bool) -> None:
        """Takes in how long a call took."""
        state, best = self.state, policy.champion(self.state)
        per_step = seconds / strategy.group
        is_busy = _job.is_running
        before = policy.estimate(best, state.widened).seconds if best is not None and best.times else per_step
        ledger.lose(policy.observe(state, strategy, per_step, counts and not is_busy))
        if is_busy:
            ledger.lose((per_step - before) * strategy.group)
        if best is None or best.strategy != strategy or not counts or is_busy:
            return
        if len(best.times) >= FIRST_CALLS and strategy.group == 1:
            if len(best.times) == FIRST_CALLS:
                costs.known.learn(strategy.engine, self.work, policy.estimate(best).seconds)
            self._consider_group(best)
        self._watch(per_step)

    def _consider_group(self, best: Arm) -> None:
        """Adds the strategy that runs groups of steps where single steps run fastest."""
        strategy = best.strategy._replace(group=self.group_size)
        if self.group_size == 1 or strategy in self.state.arms:
            return
        single, kept = policy.estimate(best).seconds, records.read(self.key)
        seconds = JOINED * single if self.joins else max(single - A_CALL_OF_STEPS, JOINED / 2 * single)
        predicted = _predicted(strategy, kept, Estimate(math.log(seconds), policy.WIDE))
        self.state.earlier = kept.steps
        self.add([Arm(strategy, predicted, start=2 * costs.known.start_seconds(strategy.engine, self.work))])

    def _watch(self, seconds: float) -> None:
        self._latest = [*self._latest[1 - LATEST :], seconds]
        now = time.perf_counter()
        is_due = len(self._latest) == LATEST and now - self._widened > HOUR
        if is_due and policy.watch(self.state, self._latest):
            self._widened = now
            logger.info("%r takes longer than it did: its candidates are measured again", self.name)

    def pause(self) -> int:
        """How many calls need no timing, since nothing is to be learned from them now."""
        best = policy.champion(self.state)
        if self.state.duel is not None or best is None or len(best.times) < FIRST_CALLS or _job.is_running:
            return 0
        self.keep()
        seconds = policy.estimate(best).seconds * best.strategy.group
        return min(WATCHED - 1, int(PAUSE / max(seconds, 1e-9)))

    def skipped(self, strategy: Strategy, calls: int) -> None:
        """Takes in that calls ran without being timed."""
        self.state.done += calls * strategy.group
        self.state.ahead = max(0, self.state.ahead - calls * strategy.group)

    def fail(self, strategy: Strategy, problem: str) -> None:
        """Takes in that a strategy cannot run; the log says so, once."""
        policy.fail(self.state, strategy, problem)
        logger.warning("%s does not run %r, and is left out: %s", strategy.name, self.name, problem)

    def keep(self, is_last: bool = False) -> None:
        """Appends new times to the records; at last also the number of steps."""
        best = policy.champion(self.state)
        for strategy, arm in self.state.arms.items() if self.key else ():
            kept = self._kept.get(strategy, 0)
            if arm.times and (arm.calls >= max(1, 2 * kept) or (is_last and (arm is best or arm.calls > kept))):
                self._kept[strategy] = arm.calls
                records.append(self.key, self.name, strategy, arm.times, self.state.done)

    def keep_one(self, arm: Arm) -> None:
        """Leaves one strategy."""
        self.state.arms, self.state.current, self.state.duel = {arm.strategy: arm}, arm.strategy, None
        self._decided = None

    def add(self, further: Sequence[Arm]) -> None:
        """Adds strategies."""
        for arm in further:
            self.state.arms.setdefault(arm.strategy, arm)


class MeasuredPlan:
    """A graph that runs where it is expected to be fastest; called like a plan.

    Args:
        graph: what to run; it is not changed.
        home: the engine of the arguments and results.
        shapes: of the arguments.
        measuring: of the function.

    Attributes:
        engine: the home.
        measurer: knows the times.
        group: how many steps a call has.
        candidates: the candidates that are made, by strategy.
    """

    def __init__(self, graph: Graph, home: Engine, shapes: Sequence[Any], measuring: Measuring) -> None:
        self.engine, self.group, self.is_at_home = home, 1, measuring.is_at_home
        self._graph, self._shapes, self._measuring = graph, tuple(shapes), measuring
        self._lock = make_lock()
        self._under_way: Call | None = None
        self._untimed = 0  # calls that are still to run without being timed
        self._skipped = 0
        self.candidates: dict[Strategy, Candidate] = {}
        is_fixed = measuring.fixed is not None
        self.measurer = Measurer(graph, self._shapes, State({}), keeps=not is_fixed)
        self.measurer.state = _state(measuring, home, graph, self.measurer)
        self.measurer.plans[1] = weakref.ref(self)
        self._chosen: Any = None  # the candidate that runs; none is made before somebody asks
        self._unpinned: dict[Strategy, Arm] = {}  # all strategies, where one is pinned
        _plans.add(self)

    @property
    def chosen(self) -> Candidate:
        """The candidate that runs now, as far as nothing is compared."""
        return self._chosen or holding(self._lock, self._started)

    def _started(self) -> Candidate:
        if self._chosen is None:
            self._start()
        return self._chosen

    def _start(self) -> None:
        """Makes the first candidate."""
        state, fixed = self.measurer.state, self._measuring.fixed
        if fixed is not None:
            self._make(fixed)
            return
        while any(self._can_start(arm) for arm in state.arms.values()):
            strategy = policy.first(filter(self._can_start, state.arms.values()), policy.remaining(state))
            try:
                self._make(strategy)
                return
            except FAILURES as error:
                self.measurer.fail(strategy, _said(error))
        self._make(Strategy(HOME, group=self.group))

    def _can_start(self, arm: Arm) -> bool:
        return not arm.problem and arm.strategy.group == self.group

    def _make(self, strategy: Strategy) -> Candidate:
        calibration.load(strategy.engine, costs.known)
        found = Candidate(strategy, self._graph, self.engine, self._shapes)
        self.candidates[strategy] = found
        arm = self.measurer.state.arms.setdefault(strategy, Arm(strategy, UNPREDICTED))
        arm.is_ready, arm.problem = True, ""
        self.measurer.state.current = self.measurer.state.current or strategy
        self._chosen = found
        return found

    # calls

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs it on native arrays of the home engine; the results are such arrays."""
        if self._untimed > 0:
            self._untimed -= 1
            return self._attempt(self._chosen, Candidate.run, arguments)[0]
        candidate, counts = holding(self._lock, self._next)
        start = time.perf_counter()
        results, ran = self._attempt(candidate, Candidate.run, arguments)
        self._observe(ran, time.perf_counter() - start, counts and ran is candidate)
        return results

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Runs it on native arrays of the home engine; the results stay where they are, and may still be computed.

        So an engine that computes in the background goes on while the program makes the next call.  The time of a call
        is that from call to call, with all that the program does in between.
        """
        if self._untimed > 0:
            self._untimed -= 1
            return self._attempt(self._chosen, Candidate.tensors, arguments)[0]
        start = time.perf_counter()
        before, self._under_way = self._under_way, None
        if before is not None:
            self._observe(before.candidate, start - before.start, before.counts)
            if self._untimed > 0:
                self._untimed -= 1
                return self._attempt(self._chosen, Candidate.tensors, arguments)[0]
        candidate, counts = holding(self._lock, self._next)
        under_way = None
        if before is not None and before.candidate is candidate:
            under_way = before.results
        elif before is not None:
            before.candidate.wait(before.results)
            start = time.perf_counter()
        results, ran = self._attempt(candidate, Candidate.tensors, arguments)
        ran.wait(results if under_way is None else under_way)
        self._under_way = Call(ran, counts and ran is candidate, start, results)
        return results

    def count_untimed(self) -> None:
        """Takes in the calls that ran without being timed."""
        ran = self._skipped - max(0, self._untimed)
        if ran > 0:
            self._skipped -= ran
            self.measurer.skipped(self.chosen.strategy, ran)

    def _next(self) -> tuple[Candidate, bool]:
        chosen = self._started()
        self.count_untimed()
        strategy, counts = self.measurer.decide(self.group)
        found = self.candidates.get(strategy)
        return (chosen, False) if found is None else (found, counts)

    def _observe(self, candidate: Candidate, seconds: float, counts: bool) -> None:
        holding(self._lock, self._observed, candidate.strategy, seconds, counts)

    def _observed(self, strategy: Strategy, seconds: float, counts: bool) -> None:
        self.measurer.observe(strategy, seconds, counts)
        best = policy.champion(self.measurer.state)
        if best is not None and best.strategy in self.candidates:
            self._chosen = self.candidates[best.strategy]
        self._untimed = self._skipped = self.measurer.pause()

    def _attempt(
        self, candidate: Candidate, run: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Any, Candidate]:
        """The results of a candidate, or of the last resort if it fails; and which of the two ran."""
        try:
            return run(candidate, arguments), candidate
        except Exception as error:
            if self._measuring.fixed is not None or not candidate.failed_by(error):
                raise
            other = holding(self._lock, self._last_resort, candidate)
            if other is None:
                raise
            results = run(other, arguments)  # raises, too, if the program is at fault
            holding(self._lock, self.measurer.fail, candidate.strategy, _said(error))
            self._chosen = other
            return results, other

    def _last_resort(self, failed: Candidate) -> Candidate | None:
        """What runs if a candidate fails: the champion, else numpy."""
        able = {s: a for s, a in self.measurer.state.arms.items() if s != failed.strategy and s in self.candidates}
        best = policy.champion(State(able))
        if best is not None:
            return self.candidates[best.strategy]
        last = Strategy(HOME, group=self.group)
        return None if last == failed.strategy else self._make(last)

    # further candidates

    def prepare(self) -> None:
        """Prepares the first call, in any thread."""
        self.chosen.plan.prepare()

    def prepare_strategy(self, strategy: Strategy) -> None:
        """Makes a candidate, in any thread; it takes part in later calls.

        Raises:
            Exception: of the engine, if it cannot run the graph.
        """
        share_devices()
        calibration.load(strategy.engine, costs.known)
        start = time.perf_counter()
        found = Candidate(strategy, self._graph, self.engine, self._shapes)
        found.plan.prepare()
        if not strategy.variant:
            costs.known.learn_build(strategy.engine, self.measurer.work, time.perf_counter() - start)
        holding(self._lock, self._prepared, found)

    def try_to_prepare(self, strategy: Strategy) -> None:
        """Does `prepare_strategy`; a strategy that fails is left out."""
        try:
            self.prepare_strategy(strategy)
        except Exception as error:
            holding(self._lock, self.measurer.fail, strategy, _said(error))

    def _prepared(self, found: Candidate) -> None:
        self.candidates[found.strategy] = found
        self.measurer.state.arms[found.strategy].is_ready = True
        self.measurer.add(self._further(found))

    def _further(self, found: Candidate) -> list[Arm]:
        """The strategies that a candidate suggests: variants of its engine, and plans of two engines."""
        if self._measuring.is_at_home:
            return []
        base = policy.estimate(self.measurer.state.arms[found.strategy])
        engine, variant, threads, group = found.strategy
        if variant or group > 1:
            return []
        variants = [Strategy(engine, other, threads) for other in found.further_variants()]
        loaded = list(dict.fromkeys(s.engine for s in self.candidates))
        split = [s for s in split_strategies(self._graph, loaded) if engine in (s.engine, s.variant.split()[-1])]
        start = costs.known.start_seconds(engine, self.measurer.work)
        return [Arm(s, Estimate(base.mean, policy.WIDE), start=start) for s in (*variants, *split)]

    def belong_to(self, measurer: Measurer, size: int) -> None:
        """Lets the measurer of a step decide for this plan, too.

        Args:
            measurer: of the step.
            size: how many of its steps a call of this plan runs.
        """
        self.measurer, self.group = measurer, size
        measurer.plans[size], measurer.wants_group = weakref.ref(self), False

    # to be seen

    @property
    def segments(self) -> list[Segment]:
        """The segments of the plan that runs now."""
        return self.chosen.plan.segments

    @property
    def is_settled(self) -> bool:
        """Whether nothing is to be learned for as many steps again as were run."""
        return self._measuring.fixed is not None or policy.is_settled(self.measurer.state)

    @property
    def status(self) -> str:
        """The trial or the preparation that is going on, in a few words; "" if there is none."""
        state = self.measurer.state
        if state.duel is not None:
            return f"comparing {state.duel.challenger.name}"
        return f"preparing {_job.name}" if _job.is_running and _job.plan is self else ""

    def pin(self, name: str) -> None:
        """Runs by the strategy of this name until another one is pinned, whatever was measured.

        Raises:
            ValueError: there is no such strategy.
        """
        holding(self._lock, self._pin, name)

    def _pin(self, name: str) -> None:
        arms = self._unpinned or self.measurer.state.arms
        known = {strategy.name: strategy for strategy in arms if strategy.group == self.group}
        if name not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"{self._graph.name!r} has no strategy {name!r}; it has {listed}.")
        strategy = known[name]
        self._unpinned = self.measurer.state.arms = arms
        found = self.candidates.get(strategy) or self._make(strategy)
        self.measurer.keep_one(arms[strategy])
        self._chosen, self._under_way = found, None

    def save(self, path: str | Path) -> None:
        """Writes the strategy that runs now to a file, for `function(..., replay=path)`.

        Raises:
            OSError: the file cannot be written.
        """
        records.save(path, self.chosen.strategy)

    @property
    def summary(self) -> str:
        """The strategy that runs now, in a line, and how far it is ahead of the next one."""
        state = self.measurer.state
        line = f"now: {self.chosen.strategy.name}, of {len(state.arms)} strategies"
        times = {strategy: statistics.median(arm.times) for strategy, arm in state.arms.items() if arm.times}
        mine = times.pop(self.chosen.strategy, None)
        if mine is None or not times:
            return line
        rival = min(times, key=lambda strategy: times[strategy])
        return f"{line}, {times[rival] / mine:.2f} times as fast as {rival.name}"

    def __str__(self) -> str:
        lines = [self.summary, *rows(self.measurer), ledger_row()]
        return "\n  ".join([*lines, *str(self.chosen.plan).splitlines()])

    def go_on_in_child(self) -> None:
        """Goes on in a forked child, where some engines cannot run."""
        self._under_way, self.measurer.state.duel = None, None
        for strategy, found in list(self.candidates.items()):
            if not found.plan.can_run:
                del self.candidates[strategy]
                self.measurer.state.arms[strategy].is_ready = False
        if self._chosen is not None and self._chosen.strategy not in self.candidates:
            self._make(Strategy(HOME, group=self.group))


def _state(measuring: Measuring, home: Engine, graph: Graph, measurer: Measurer) -> State:
    """The state of a graph before its first call: predictions, and records of earlier processes.

    Where one strategy alone can run, neither is needed before groups are considered.
    """
    ahead, measuring.steps = measuring.steps, 0  # of the first graph that runs, not of smaller last batches
    only = Strategy(home.name) if measuring.is_at_home else measuring.fixed
    if only is not None:
        return State({only: Arm(only, UNPREDICTED)}, ahead=ahead)
    calibration.recall()
    kept, names = records.read(measurer.key), list_engines()
    sizes, places = _variables(graph)
    moved = costs.moved_bytes(sizes)
    arms = {}
    for strategy in dict.fromkeys([*map(Strategy, names), *(s for s in kept.times if s.engine in names)]):
        arms[strategy] = Arm(
            strategy,
            _predicted(strategy, kept, costs.known.predict(strategy.engine, measurer.work)),
            start=costs.known.start_seconds(strategy.engine, measurer.work),
            move=0.0 if not places or strategy.engine in places else moved,
        )
    return State(arms, ahead=ahead, earlier=kept.steps)


def _predicted(strategy: Strategy, kept: records.Kept, otherwise: Estimate) -> Estimate:
    """The time that an earlier process measured, or else another estimate."""
    seen = kept.times.get(strategy)
    return otherwise if seen is None else Estimate(math.log(seen.median), MEASURED)


def _variables(graph: Graph) -> tuple[list[int], set[str]]:
    """The bytes of the variables of a graph, and the engines that hold them."""
    found = {op.attrs["variable"] for op in graph.operations if op.type in ("ReadVariableOp", "AssignVariableOp")}
    held = [buffer for v in found if (buffer := held_by(v.holder())) is not None]
    sizes = [(size_of(v.shape) or 0) * v.dtype.itemsize for v in found]
    return sizes, {buffer.engine.name for buffer in held}


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


# -- preparing, one candidate at a time -------------------------------------------------------------------------------


class Job:
    """The candidate that is prepared now.

    Attributes:
        is_running: whether there is one.
        name: of the strategy.
        plan: for which it is prepared.
    """

    def __init__(self) -> None:
        self.is_running, self.name = False, ""
        self.plan: MeasuredPlan | None = None


def _prepare_next(now: float) -> None:
    """Begins to prepare a candidate, if one pays and the ledger has room for it."""
    if _job.is_running:
        return
    live = list(_measurers)
    found = policy.next_job([m.state for m in live], ledger.room(now))
    if found is None:
        return
    state, strategy = found
    measurer = next(m for m in live if m.state is state)
    plan = measurer.plans.get(strategy.group, lambda: None)()
    if plan is None:
        measurer.wants_group = strategy.group > 1
        return
    _job.is_running, _job.name, _job.plan = True, strategy.name, plan
    this = weakref.ref(plan)
    later(lambda: _prepare(this(), strategy))


def _prepare(plan: MeasuredPlan | None, strategy: Strategy) -> None:
    start = time.thread_time()
    try:
        if plan is not None:
            plan.try_to_prepare(strategy)
    finally:
        ledger.lose(time.thread_time() - start)
        _job.is_running, _job.plan = False, None


# -- text -----------------------------------------------------------------------------------------------------


def rows(measurer: Measurer) -> list[str]:
    """A line for each strategy: predicted, measured, and why it is not tried."""
    best = policy.champion(measurer.state)
    return [_row(measurer.state, arm, arm is best) for arm in measurer.state.arms.values()]


def _row(state: State, arm: Arm, is_best: bool) -> str:
    measured = f"measured {_ms(statistics.median(arm.times))}" if arm.times else "not measured"
    predicted = "not predicted" if arm.predicted == UNPREDICTED else f"predicted {_ms(arm.predicted.seconds)}"
    parts = [f"{arm.strategy.name}: {predicted}", measured]
    if arm.problem:
        return ", ".join([*parts, f"left out, {arm.problem}"])
    if not is_best and not arm.times:
        gain, cost = policy.prospect(state, arm)
        sign = ">" if gain > cost else "<"
        parts.append(f"gain {gain:.2g} s {sign} cost {cost:.2g} s")
    return ", ".join(parts)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def ledger_row() -> str:
    """The cost of learning so far, in words."""
    elapsed = 0.0 if ledger.started is None else time.perf_counter() - ledger.started
    return f"learning has cost {ledger.lost:.2g} s of {elapsed:.3g} s"


AnyPlan: TypeAlias = Plan | MeasuredPlan  # both run, print and save in the same way

ledger = Ledger()
_job = Job()
_measurers: weakref.WeakSet[Measurer] = weakref.WeakSet()
_plans: weakref.WeakSet[MeasuredPlan] = weakref.WeakSet()


def _keep_all() -> None:
    for measurer in list(_measurers):
        measurer.keep(is_last=True)
    calibration.keep()


def _go_on_in_child() -> None:
    _job.is_running, _job.plan = False, None
    for plan in list(_plans):
        plan.go_on_in_child()


atexit.register(_keep_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
