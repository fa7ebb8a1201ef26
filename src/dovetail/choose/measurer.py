"""Measurer: the times of a graph, alone and in groups of steps, and the strategy of its next call.

The policy decides, and the ledger limits the cost of learning.  This module has the clock and the records, and chooses
the next candidate to prepare, among all graphs of the process.

An exception of a signal's handler may come between any two lines.  State changes by small steps, each of which leaves
it valid, so such an exception loses one observation at most.
"""

from __future__ import annotations

import atexit
import functools
import logging
import math
import statistics
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dovetail.choose import calibration, costs, estimates, policy, records
from dovetail.choose.estimates import UNPREDICTED, Arm, Estimate, State
from dovetail.choose.jobs import Preparing, job, nobody
from dovetail.choose.ledger import Ledger
from dovetail.choose.pressure import pressure
from dovetail.choose.report import Report, rows, trials
from dovetail.core.values.shapes import size_of
from dovetail.core.values.state import held_by
from dovetail.core.values.value_kinds import static_shape
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Strategy
from dovetail.execute.claims import NotClaimed
from dovetail.execute.exchanges import exchanges_of
from dovetail.execute.plan import shows

logger = logging.getLogger("dovetail.plan")

WATCHED = 64  # one call in this number is timed, if a graph is settled
PAUSE = 0.1  # seconds: the longest time without a timed call
SEVERAL = 8  # the least number of untimed calls in a row, since some calls after them do not count
FIRST_CALLS = 5  # first calls, which are all timed
LATEST = 50  # latest times, which the watch compares with earlier ones
HOUR = 3600.0  # seconds between two widenings of the spreads
MEASURED, DISTURBED = 0.1, 0.5  # the spread of an earlier process' time: undisturbed, and disturbed
A_CALL_OF_STEPS = 2e-4  # seconds of Python in a call, before any is measured; a group of steps pays them once
SHORT = 5e-3  # seconds of a step
MOST_STATES = 1000  # graphs of this process whose times are remembered after they are gone
JOINED = 0.8  # the part of its time that a step takes in a joined batch, as a guess


class Measurer:
    """The times of a step, alone and in groups, and the strategy of its next call.

    Args:
        graph: the graph of a step.
        shapes: the shapes of its arguments.
        keeps: whether its times are kept on disk.
        further: graphs that run after it, in the same step: its backward program.

    Attributes:
        name: the name of the graph, for the log.
        state: its strategies, with their predictions and times.
        plans: the size of a group → the plan that runs it.
        wants_group: whether the program of a group should be traced.
        group_size: the number of steps that a group can have; 1 if there are no groups.
        joins: whether a group is computed as one batch.
        follows: whether another rank decides for it.
    """

    def __init__(self, graph: Graph, shapes: Sequence[Any], keeps: bool, further: Sequence[Graph] = ()) -> None:
        self.name, self.state = graph.name, State({})
        self._graphs, self._shapes, self._keeps = (graph, *further), shapes, keeps
        self.plans: dict[int, Callable[[], Preparing | None]] = {}
        self.wants_group = False
        self.group_size, self.joins = 1, False
        self.follows = False
        self._decided: tuple[Strategy, bool] | None = None
        self._latest: list[float] = []
        self._widened = -HOUR
        self._kept: dict[Strategy, int] = {}
        self._between = math.inf  # the least seconds between two calls
        self._first_call = 0.0  # its seconds, in which the first engine makes its program
        self._before: State | None = None  # of an equal graph that was traced before
        self._sharing = _Sharing()
        _measurers.add(self)

    @functools.cached_property
    def work(self) -> costs.Work:
        """The work of a step, by families."""
        return costs.work_of(*self._graphs)

    @functools.cached_property
    def key(self) -> str:
        """The key of its records; "" if nothing is kept."""
        return records.key_of(self._graphs[0], self._shapes) if self._keeps else ""

    def begin(self, engines: Iterable[str], ahead: int, between: float = 0.0) -> None:
        """Make the strategies of a graph before its first call, from predictions and records of earlier processes.

        Args:
            engines: the names of the installed engines.
            ahead: the number of steps to come, as the program says.
            between: the expected seconds of the program's own work between two calls, if times include it.
        """
        calibration.recall()
        kept, names = records.read(self.key), list(engines)
        variables = _variables(self._graphs[0])
        arms: dict[Strategy, Arm] = {}
        for strategy in dict.fromkeys([*map(Strategy, names), *(s for s in kept.times if s.engine in names)]):
            rated = costs.known.predict(strategy.engine, self.work)
            predicted = _predicted(strategy, kept, rated)
            start = costs.known.start_seconds(strategy.engine, self.work)
            arms[strategy] = Arm(strategy, predicted, start, is_bare=strategy not in kept.quiet, rated=rated.mean)
        _doubt_surprises(arms, kept)
        self.state = State(arms, ahead=ahead, earlier=kept.steps, between=between, is_pressed=pressure.lasts)
        self._go_on()
        self.state.move = costs.moving_seconds([(size_of(static_shape(v)) or 0) * v.dtype.itemsize for v in variables])
        self.state.place = next((buffer.engine.name for buffer in filter(None, map(held_by, variables))), "")
        self._sharing = _share(variables)

    def _go_on(self) -> None:
        """Take over what this process knows of an equal graph, which was traced before: its times and its steps."""
        if not self.key:
            return
        before = self._before = _states.pop(self.key, None)
        if before is not None:
            policy.go_on(self.state, before)
            for arm in self.state.arms.values():
                arm.start = costs.known.start_seconds(arm.strategy.engine, self.work)
        _states[self.key] = self.state
        if len(_states) > MOST_STATES:
            del _states[next(iter(_states))]

    @property
    def next_group(self) -> int:
        """The number of steps that the next call should have."""
        if self._decided is None:
            self._decided = policy.next_call(self.state, ledger.room(time.perf_counter()))
        return self._decided[0].group

    def decide(self, group: int) -> tuple[Strategy, bool]:
        """The strategy of the next call, and whether its time counts.

        Args:
            group: the number of steps in the call.
        """
        now = time.perf_counter()
        if ledger.started is None:
            ledger.started = now
        _prepare_next(now)
        self._notice_others()
        decided, self._decided = self._decided or policy.next_call(self.state, ledger.room(now)), None
        if decided[0].group == group:
            return decided
        able = {s: a for s, a in self.state.arms.items() if s.group == group and a.is_ready and not a.problem}
        best = estimates.champion(State(able))
        return (decided[0] if best is None else best.strategy), False

    def _notice_others(self) -> None:
        """Take in whether another graph with some of its variables ran since the latest call of this one."""
        before, self._sharing.latest = self._sharing.latest(), weakref.ref(self)
        if before is None or before is self:
            return
        best = estimates.champion(before.state)
        policy.visit(self.state, self.state.place if best is None else best.strategy.engine)

    def observe(self, strategy: Strategy, seconds: float, counts: bool) -> None:
        """Take in the seconds of a call."""
        state, best = self.state, estimates.champion(self.state)
        per_step, is_busy = seconds / strategy.group, job.is_running
        before = estimates.estimate(best, state.widened).seconds if best is not None and best.times else per_step
        counts = counts and self._is_as_before()
        self._first_call = self._first_call or seconds
        ledger.lose(policy.observe(state, strategy, per_step, counts and not is_busy, counts and is_busy))
        if is_busy and state.current is not None:  # else it is the first one, which any engine would have
            ledger.lose((per_step - before) * strategy.group)
        if best is None or best.strategy != strategy or not counts or is_busy:
            return
        if len(best.times) == FIRST_CALLS and strategy.group == 1:
            self._learn(strategy, estimates.estimate(best).seconds)
        if len(best.times) == FIRST_CALLS or (len(best.times) < FIRST_CALLS and self.group_size > 1):
            self._foresee_groups([best] if strategy.group == 1 else [*state.arms.values()])
        self._watch(per_step)

    def _is_as_before(self) -> bool:
        """Whether the pressure of other programs is that of earlier times; if it has changed for long, set them aside.

        The call that began under another pressure does not count.
        """
        is_pressed = pressure.look(time.perf_counter())
        if pressure.lasts == self.state.is_pressed:
            return is_pressed == pressure.lasts
        policy.press(self.state, pressure.lasts)
        return False

    def saw_between(self, seconds: float) -> None:
        """Take in the seconds of the program's own work between two calls; the first ones replace the guess."""
        self.state.between = self._between = min(seconds, self._between)

    def _learn(self, strategy: Strategy, seconds: float) -> None:
        """Correct the rates of an engine; for the first engine, also the cost of making a program."""
        if self.state.is_pressed:
            return
        costs.known.learn(strategy.engine, self.work, max(seconds - self.state.between, seconds / 10))
        if sum(bool(arm.calls) for arm in self.state.arms.values()) == 1 and not (strategy.variant or strategy.split):
            costs.known.learn_build(strategy.engine, self.work, self._first_call - seconds)

    def _foresee_groups(self, arms: Iterable[Arm]) -> None:
        """Add the largest groups beside each strategy that runs fewer steps in a call, or correct their prediction."""
        kept = records.read(self.key)
        self.state.earlier = max(kept.steps, self.state.earlier)
        for arm in arms:
            strategy = arm.strategy._replace(group=self.group_size)
            is_new = strategy not in self.state.arms
            is_larger = arm.strategy.group < self.group_size and not arm.problem
            foreseen = self._foreseen_group(arm, is_new) if is_larger else None
            if foreseen is None:
                continue
            build = costs.known.build_seconds(strategy.engine, self.work)
            known = None if self._before is None else self._before.arms.get(strategy)
            self.add([Arm(strategy, UNPREDICTED, build)])
            group = self.state.arms[strategy]
            if is_new and known is not None:
                policy.learn_from(group, known)
            if group.times:
                continue
            group.predicted = _predicted(strategy, kept, foreseen)
            group.rated = arm.foreseen + foreseen.mean - estimates.expected(self.state, arm).mean

    def _foreseen_group(self, arm: Arm, is_new: bool) -> Estimate | None:
        """The estimate of a step in the largest groups; None if nothing is known, or new ones would save too little."""
        if arm.predicted == UNPREDICTED and not arm.times:
            return None
        step, before, engine = estimates.expected(self.state, arm), arm.strategy.group, arm.strategy.engine
        if self.joins:
            return Estimate(step.mean + (math.log(JOINED) if before == 1 else 0.0), estimates.WIDE)
        call = self._call_of_steps() + costs.known.call_seconds(engine)
        if is_new and (1 - policy.LEAD) * step.seconds > call:
            return None
        least = math.exp(costs.known.predict(engine, self.work).mean) - costs.known.call_seconds(engine)
        return estimates.in_groups(step, call * (1 / before - 1 / self.group_size), least)

    def _call_of_steps(self) -> float:
        """The seconds of Python in a call, by the engines that ran single steps and groups; a guess before that."""
        saved = [A_CALL_OF_STEPS]
        for strategy, group in self.state.arms.items():
            single = self.state.arms.get(strategy._replace(group=1))
            if single is not None and strategy.group > 1 and min(len(single.times), len(group.times)) >= FIRST_CALLS:
                times = statistics.median(single.times) - statistics.median(group.times)
                saved.append(times / (1 - 1 / strategy.group) - costs.known.call_seconds(strategy.engine))
        return max(saved)

    def allow_groups(self, size: int, joins: bool) -> None:
        """Compare steps with groups of this size from now on, unless it is less than twice the size so far.

        A step that waits for other ranks, or calls the user's Python, has no groups.
        """
        graph = self._graphs[0]
        if size >= 2 * self.group_size and not exchanges_of(graph) and not shows(graph):
            self.group_size, self.joins = size, joins
            self._foresee_groups(list(self.state.arms.values()))

    def limit_groups(self, size: int) -> None:
        """Leave out groups of more steps than `size`."""
        self.group_size = min(self.group_size, size)
        self.state.arms = {s: arm for s, arm in self.state.arms.items() if s.group <= size}

    def consider_threads(self, strategy: Strategy, threads: int) -> None:
        """Add a strategy that computes with one thread, if that may be faster.

        It may be in loops and in short steps, where threads wait for each other, after times drifted, and if other
        programs need the processors.  Then threads may wait so long that their time says nothing of one thread's, so
        it is predicted as what all of them would take without other programs, one after the other.

        Args:
            strategy: runs the graph with the engine's own number of threads.
            threads: this number, more than one.
        """
        has_loops = self.work.get("recurrent", 0.0) or self.work.get("turns", 0.0)
        base = estimates.estimate(self.state.arms[strategy])
        is_uneven = self.state.widened or self.state.is_pressed
        if strategy.threads or not (has_loops or is_uneven or base.seconds < SHORT):
            return
        start = costs.known.start_seconds(strategy.engine, self.work)
        arm = self.state.arms[strategy]
        mean = min(base.mean, arm.foreseen + math.log(threads)) if self.state.is_pressed else base.mean
        self.add([Arm(strategy._replace(threads=1), Estimate(mean, estimates.WIDE), start, rated=arm.foreseen)])

    def _watch(self, seconds: float) -> None:
        self._latest = [*self._latest[1 - LATEST :], seconds]
        now = time.perf_counter()
        is_due = len(self._latest) == LATEST and now - self._widened > HOUR
        if is_due and policy.watch(self.state, self._latest):
            self._widened = now
            logger.info("%r takes longer than it did: its candidates are measured again", self.name)

    def pause(self) -> int:
        """The number of calls that need no timing, since they would teach nothing now."""
        best = estimates.champion(self.state)
        if self.state.duel is not None or best is None or len(best.times) < FIRST_CALLS or job.is_running:
            return 0
        self.keep()
        seconds = estimates.estimate(best).seconds * best.strategy.group
        untimed = min(WATCHED - 1, int(PAUSE / max(seconds, 1e-9)))
        return untimed if untimed >= SEVERAL else 0

    def skipped(self, strategy: Strategy, calls: int) -> None:
        """Take in that calls ran without being timed."""
        self.state.done += calls * strategy.group
        self.state.ahead = max(0, self.state.ahead - calls * strategy.group)

    def follow(self) -> None:
        """Let another rank decide from now on; it keeps the times, too."""
        self.follows = True
        self.key = ""

    def prepared(self, strategy: Strategy) -> None:
        """Take in that a strategy can run; the first one runs from the next call on."""
        arm = self.state.arms[strategy]
        arm.is_ready, arm.waits, arm.problem = True, False, ""
        if self.state.current is None:
            self.state.current, self._decided = strategy, None

    def fail(self, strategy: Strategy, error: Exception) -> None:
        """Take in that a strategy cannot run; warn, unless its engine did not claim the graph."""
        is_unclaimed = isinstance(error, NotClaimed)
        first = str(error).partition("\n")[0]
        problem = first if is_unclaimed else f"{type(error).__name__}: {first}"
        policy.fail(self.state, strategy, problem)
        if not is_unclaimed:
            logger.warning("%s does not run %r, and is left out: %s", strategy.name, self.name, problem)

    @property
    def report(self) -> Report:
        """The times of all strategies, and the ledger."""
        elapsed = 0.0 if ledger.started is None else time.perf_counter() - ledger.started
        return Report(rows(self.state), ledger.lost, elapsed, trials(self.state))

    def keep(self, is_last: bool = False) -> None:
        """Append new times to the records; at the end, also the number of steps and the report."""
        for plan in filter(None, [plan() for plan in self.plans.values()] if is_last else []):
            plan.count_untimed()
        best = estimates.champion(self.state)
        for strategy, arm in self.state.arms.items() if self.key else ():
            kept = self._kept.get(strategy, 0)
            times, is_disturbed, is_pressed = self._to_keep(arm, is_last)
            if times and (arm.calls >= max(1, 2 * kept) or (is_last and (arm is best or arm.calls > kept))):
                self._kept[strategy] = arm.calls
                records.append(self.key, self.name, strategy, times, self.state.done, is_disturbed, is_pressed)
        if is_last and self._kept:
            records.append_report(self.key, self.name, self.state.done, self.report)
        if is_last and self.state.done:
            self.log()

    def _to_keep(self, arm: Arm, is_last: bool) -> tuple[list[float], bool, bool]:
        """The quietest times of a strategy, whether they are disturbed, and whether others pressed the program."""
        quiet, pressed = (arm.aside, arm.times) if self.state.is_pressed else (arm.times, arm.aside)
        others = [(arm.disturbed, True, False), (pressed, False, True)] if is_last else []
        return next((kind for kind in [(quiet, False, False), *others] if kind[0]), ([], False, False))

    def log(self) -> None:
        """Write the report to the log."""
        logger.info("%r after %d steps:\n%s", self.name, self.state.done, self.report)

    def keep_one(self, arm: Arm) -> None:
        """Remove all strategies except one."""
        self.state.arms, self.state.current, self.state.duel = {arm.strategy: arm}, arm.strategy, None
        self._decided = None

    def add(self, further: Sequence[Arm]) -> None:
        """Add strategies."""
        for arm in further:
            self.state.arms.setdefault(arm.strategy, arm)


def _predicted(strategy: Strategy, kept: records.Kept, otherwise: Estimate) -> Estimate:
    """The time that an earlier process measured, or else another estimate."""
    seen = kept.quiet.get(strategy)
    if seen is None:
        return otherwise
    return Estimate(math.log(seen.median), DISTURBED if seen.is_disturbed else MEASURED)


def _doubt_surprises(arms: Mapping[Strategy, Arm], kept: records.Kept) -> None:
    """Widen the spread of a record that is a surprise beside the fastest one; something may have disturbed it."""
    errors = {s: math.log(seen.median) - arms[s].foreseen for s, seen in kept.quiet.items() if s in arms}
    fastest = next(iter(errors.values()), 0.0)
    for strategy, error in errors.items():
        if abs(error - fastest) > policy.SURPRISE:
            arm, doubt = arms[strategy], abs(error - fastest) / 2
            arm.predicted = arm.predicted._replace(spread=max(arm.predicted.spread, doubt))


# -- graphs that share variables ---------------------------------------------------------------------------------------


class _Sharing:
    """Graphs that share variables, directly or through others.

    Attributes:
        latest: a weak reference to the measurer of the graph that ran last.
        variables: weak references to the variables of all of them, by id.
    """

    def __init__(self, variables: Sequence[Variable] = ()) -> None:
        self.latest: Callable[[], Measurer | None] = nobody
        self.variables = {id(variable): weakref.ref(variable) for variable in variables}

    def shares(self, variables: Iterable[Variable]) -> bool:
        """Whether one of the variables is among these."""
        return any((kept := self.variables.get(id(v))) is not None and kept() is v for v in variables)


def _share(variables: Sequence[Variable]) -> _Sharing:
    """Join a new graph and all graphs that share variables with it, and return them."""
    joined = _Sharing(variables)
    sharings = {sharing for sharing in {m._sharing for m in _measurers} if sharing.shares(variables)}
    for measurer in list(_measurers) if sharings else ():
        if measurer._sharing in sharings:
            measurer._sharing = joined
    for sharing in sharings:
        joined.variables, joined.latest = {**sharing.variables, **joined.variables}, sharing.latest
    return joined


def _variables(graph: Graph) -> list[Variable]:
    """The variables of a graph."""
    variables = {op.attrs["variable"] for op in graph.operations if op.type in ("ReadVariableOp", "AssignVariableOp")}
    return [variable.holder() for variable in variables]


# -- all graphs of the process -----------------------------------------------------------------------------------------


def import_engine(name: str) -> None:
    """Import the library of an engine, which makes the start of its strategies cheaper, in all graphs."""
    predicted = costs.known.load_seconds(name)
    calibration.load(name, costs.known)
    for measurer in list(_measurers) if predicted else ():
        for arm in list(measurer.state.arms.values()):
            if arm.strategy.engine == name and arm.strategy.group == 1:  # a group begins after its single step
                arm.start = max(costs.TICK, arm.start - predicted)


def _prepare_next(now: float) -> None:
    """Begin to prepare a candidate, if one pays and the ledger has room for it.

    A group of steps whose program is not traced yet lets the next candidate go first: its loop may have ended.
    """
    if job.is_running:
        return
    live = [measurer for measurer in list(_measurers) if not measurer.follows]
    for state, strategy in policy.next_jobs([m.state for m in live], ledger.room(now)):
        measurer = next(m for m in live if m.state is state)
        plan = measurer.plans.get(strategy.group, nobody)()
        if plan is not None:
            policy.begin(state, strategy)
            job.begin(plan, strategy, functools.partial(_pay, state.arms[strategy]))
            return
        measurer.wants_group = strategy.group > 1


def _pay(arm: Arm, seconds: float) -> None:
    arm.cost += seconds
    ledger.lose(seconds)


ledger = Ledger()
_states: dict[str, State] = {}  # by key; the latest last
_measurers: weakref.WeakSet[Measurer] = weakref.WeakSet()


def _keep_all() -> None:
    for measurer in list(_measurers):
        measurer.keep(is_last=True)
    calibration.keep()


atexit.register(_keep_all)
