"""Measured plan: a graph that runs where it is expected to be fastest, and elsewhere if an engine fails.

Every call is real work: variables move to the engine that runs.  The measurer decides, and takes in the times.

An exception of a signal's handler may come between any two lines.  State changes by small steps, each of which leaves
it valid, so such an exception loses one observation at most.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.choose import costs, estimates, policy
from dovetail.choose.agreement import Agreement, is_shared
from dovetail.choose.background import later
from dovetail.choose.candidate import FAILURES, Candidate, split_strategies
from dovetail.choose.estimates import UNPREDICTED, Arm, Estimate, State
from dovetail.choose.jobs import job
from dovetail.choose.measurer import FIRST_CALLS, Measurer, import_engine
from dovetail.choose.report import Report, rows
from dovetail.core.base import config
from dovetail.core.base.ending import stop_if_ending
from dovetail.core.base.locks import holding, make_lock
from dovetail.core.base.memory import give_back
from dovetail.core.engine import Engine
from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import get_engine, list_candidates, list_engines, owns_devices, share_devices
from dovetail.core.engines.host_calls import CALLED
from dovetail.core.tensor import Tensor
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice, Strategy
from dovetail.execute.claims import NotClaimed
from dovetail.execute.fallback import last_resort, log_fallback
from dovetail.execute.plan import Plan, shows
from dovetail.execute.plan_base import Runnable

if TYPE_CHECKING:
    from dovetail.choose.backward_plan import BackwardPlan


class Observation(NamedTuple):
    """The seconds of a call, and whether they count."""

    candidate: Candidate
    seconds: float
    counts: bool


class Call(NamedTuple):
    """A call whose results may still be computed, with the times of its start and of its return."""

    candidate: Candidate
    counts: bool
    start: float
    end: float
    results: list[Tensor]


class Measuring:
    """The settings for measuring the graphs of a function.

    Args:
        fixed: the choice whose strategy runs all of them; then nothing is measured.
        is_at_home: whether all run on the engine of their arguments, with single calls and groups as candidates.
        backward: the backward program of the only graph; the two are one choice.
        stays: whether results stay on the engine that runs, so that times include the program's own work.
        waits: whether the first call waits for its engine, so that no other one bridges the start.

    Attributes:
        fixed, is_at_home, backward, stays, waits: as given.
        steps: the number of calls to come, if the program has said it.
        plans: the plans that it made and that live.
        called: the plan that was called last, if there is a backward program.
    """

    def __init__(
        self,
        fixed: Choice | None = None,
        is_at_home: bool = False,
        backward: Graph | None = None,
        stays: bool = False,
        waits: bool = False,
    ) -> None:
        self.fixed, self.is_at_home, self.backward, self.stays, self.waits = fixed, is_at_home, backward, stays, waits
        self.steps = 0
        self.called: MeasuredPlan | None = None
        self.plans: weakref.WeakSet[MeasuredPlan] = weakref.WeakSet()

    def again(self) -> Measuring:
        """The same settings, for programs that are measured by themselves."""
        return Measuring(self.fixed, self.is_at_home, stays=self.stays)

    def plan(self, graph: Graph, home: Engine, shapes: Sequence[Any]) -> MeasuredPlan:
        """The plan of a graph for arguments of these shapes, on arrays of an engine."""
        plan = MeasuredPlan(graph, home, shapes, self)
        self.plans.add(plan)
        return plan


BETWEEN = 5e-4  # seconds between two steps of Keras' loop, as a guess before they are measured
REFILLING = 2  # calls after untimed ones, which do not count: they empty and fill the queue of an engine
STEADY = ("torch", "numpy")  # the first installed one runs programs that must give the same bits in each run


def steady() -> Choice:
    """The choice of programs that give the same bits in each run, if none was saved."""
    return Choice(Strategy(next(name for name in STEADY if name in list_engines())))


class MeasuredPlan(Runnable):
    """A graph that runs where it is expected to be fastest; called like a plan.

    Args:
        graph: the graph to run; it is not changed.
        home: the engine of the arguments and results.
        shapes: the shapes of the arguments.
        measuring: the settings of the function.

    Attributes:
        graph, shapes: as given.
        engine: the home engine.
        holder: the engine of the arguments and results.
        measurer: the measurer, which knows the times.
        group: the number of steps in a call.
        candidates: the candidates that are made, by strategy.
        lock: guards its decisions.
    """

    def __init__(self, graph: Graph, home: Engine, shapes: Sequence[Any], measuring: Measuring) -> None:
        self.engine, self.holder = home, home.holder
        self.group, self.is_at_home = 1, measuring.is_at_home
        self.graph, self.shapes, self._measuring = graph, tuple(shapes), measuring
        self.lock = make_lock()
        self._me: Callable[[], MeasuredPlan | None] = weakref.ref(self)
        self._under_way: Call | None = None
        self._untimed = 0  # calls that are still to run untimed
        self._skipped = 0
        self._refilling = 0  # timed calls that do not count
        self._bridged: Strategy | None = None  # the first strategy, until its preparation begins
        self.candidates: dict[Strategy, Candidate] = {}
        self._was_pressed = False
        self._asked: set[Strategy] = set()  # candidates that have suggested further strategies
        self._backward: BackwardPlan | None = None
        self._forward: Observation | None = None  # a call whose backward program may follow
        self.measurer = self._new_measurer()
        self._agreement = Agreement(self) if self._chooses and is_shared(graph) else None
        self.measurer.state.lag = 0 if self._agreement is None else 1
        self._chosen: Any = None  # the candidate that runs; made when it is first needed
        self._unpinned: dict[Strategy, Arm] = {}  # all strategies, if one is pinned
        _plans.add(self)

    def _new_measurer(self) -> Measurer:
        """A measurer with strategies; if only one strategy can run, nothing is predicted or read."""
        measuring, graph = self._measuring, self.graph
        further = [] if measuring.backward is None else [measuring.backward]
        measurer = Measurer(graph, self.shapes, keeps=measuring.fixed is None, further=further)
        ahead, measuring.steps = measuring.steps, 0  # for the first graph that runs, not for smaller last batches
        fixed = measuring.fixed and measuring.fixed.strategy
        only = Strategy(self.engine.name) if measuring.is_at_home else fixed
        self._chooses = only is None
        if only is None:
            names = [name for name in list_candidates() if not owns_devices(name)]
            measurer.begin(names, ahead, BETWEEN if measuring.stays else 0.0)
        else:
            measurer.state = State({only: Arm(only, UNPREDICTED)}, ahead=ahead)
        measurer.plans[1] = self._me
        return measurer

    @property
    def parts(self) -> list[Plan]:
        """The plan of the candidate that runs now."""
        return [self.chosen.plan]

    @property
    def chosen(self) -> Candidate:
        """The candidate that runs now, except in trials."""
        return self._chosen or holding(self.lock, self._started)

    def _started(self) -> Candidate:
        if self._chosen is None:
            self._start()
        return self._chosen

    def _start(self) -> None:
        """Make the first candidate; if that takes long, another one runs the first calls."""
        state, fixed = self.measurer.state, self._measuring.fixed
        if fixed is not None:
            self._make_named(fixed.strategy)
            return
        while able := [arm for arm in state.arms.values() if self._can_start(arm)]:
            first = policy.first(state, able)
            load = costs.known.load_seconds(first.engine)
            waits = self.group > 1 or job.is_running or self._measuring.waits
            bridge = None if waits else policy.bridge(state, first, able, load)
            begun = bridge or first
            if bridge is not None and self._compiles_long(first):
                begun = self._on_one_thread(bridge)
            make = self._make_named if self.is_at_home else self._make
            try:
                make(begun)
            except FAILURES as error:
                for strategy in {begun, bridge or first}:  # with one thread, it fails as with all
                    self.measurer.fail(strategy, error)
                continue
            if bridge is not None:
                state.current, self._bridged = None, first  # the first one runs as soon as it is ready
            return
        self._make_last_resort()

    def _make_named(self, strategy: Strategy) -> None:
        """Make the candidate of a strategy that nobody measured, or of the last resort if that is not claimed."""
        try:
            self._make(strategy)
        except NotClaimed as error:
            if error.engine.eager is None:
                raise
            self.measurer.fail(strategy, error)
            log_fallback(self.graph, error)
            self._make(strategy._replace(engine=last_resort(error.engine), variant="", split=""))

    def _make_last_resort(self) -> Candidate:
        return self._make(Strategy(last_resort(self.engine), group=self.group))

    def _on_one_thread(self, strategy: Strategy) -> Strategy:
        """The strategy with one thread, so that it leaves a core to the preparation of the first one."""
        if get_engine(strategy.engine).thread_count < 2:
            return strategy
        arm, single = self.measurer.state.arms[strategy], strategy._replace(threads=1)
        self.measurer.add([Arm(single, arm.predicted, arm.start)])
        return single

    def _cross(self) -> None:
        """Prepare the first strategy if that pays by now, at once, or in the background if a compiler takes long.

        An import is never in the background: it needs Python's lock, so it and the calls would slow each other down.
        """
        first = holding(self.lock, self._due)
        if first is None:
            return
        if self._compiles_long(first):
            import_engine(first.engine)
            job.begin(self, first, lose=_nothing)
        else:
            self.try_to_prepare(first)
        self._bridged = None

    def _due(self) -> Strategy | None:
        """The first strategy, if the bridge to it ends now."""
        first, state = self._bridged, self.measurer.state
        if first is None or job.is_running:
            return None
        if state.current is not None or self.measurer.follows:  # it was prepared as any other one, or is not needed
            self._bridged = None
            return None
        others = [plan.measurer.state for plan in list(_plans) if plan is not self and plan._bridged == first]
        return first if policy.is_over(state, first, costs.known.load_seconds(first.engine), others) else None

    def _compiles_long(self, strategy: Strategy) -> bool:
        return costs.known.build_seconds(strategy.engine, self.measurer.work) > policy.LONG

    def _can_start(self, arm: Arm) -> bool:
        return not arm.problem and arm.strategy.group == self.group

    def _make(self, strategy: Strategy) -> Candidate:
        import_engine(strategy.engine)
        candidate = Candidate(strategy, self.graph, self.engine, self.shapes)
        if shows(self.graph):
            candidate.plan.prepare()  # a call that fails after a user's function is not made again
        self.candidates[strategy] = candidate
        self.measurer.add([Arm(strategy, UNPREDICTED)])
        self.measurer.prepared(strategy)
        self._chosen = candidate
        return candidate

    # calls

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the graph on native arrays of the home engine; the results are such arrays."""
        if self._untimed > 0 and _open.plan is None and self._measuring.backward is None:
            self._untimed -= 1
            candidate, before = self._chosen, (WORLD.exchanged, CALLED.count)
            try:
                return (candidate.plan if candidate.is_direct else candidate.run)(arguments)
            except Exception as error:
                return self._instead(candidate, Candidate.run, arguments, error, before)[0]
        if _open.plan is not None:
            _open.end()
        if self._measuring.backward is not None:
            self._measuring.called = self
            self._observe_forward()
        if self._untimed > 0:
            self._untimed -= 1
            return self._attempt(self._chosen, Candidate.run, arguments)[0]
        if self._bridged is not None:
            self._cross()
        candidate, counts = holding(self.lock, self._next)
        start = time.perf_counter()
        results, ran = self._timed(candidate, Candidate.run, arguments)
        observation = Observation(ran, time.perf_counter() - start, counts and ran is candidate)
        if self._backward is None:
            self._observe(*observation)
        else:
            self._forward = observation
        return results

    def _observe_forward(self) -> None:
        forward, self._forward = self._forward, None
        if forward is not None:
            self._observe(*forward)

    def run_backward(self, plan: BackwardPlan, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the backward program of the latest call by the call's strategy; the two times are one observation."""
        self._backward, forward, self._forward = plan, self._forward, None
        candidate = self.chosen if forward is None else forward.candidate
        start = time.perf_counter()
        results, has_failed = plan.run_as(candidate.strategy, arguments)
        seconds = time.perf_counter() - start
        if forward is not None:
            self._observe(candidate, forward.seconds + seconds, forward.counts and not has_failed)
        return results

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Run the graph on native arrays of the home engine; the results stay on the engine that runs.

        An engine that computes in the background may still compute them while the program makes the next call.  So the
        time of a call lasts until the next call, and includes the program's own work between the two.  If the next call
        runs another graph, it waits for the results.
        """
        if _open.plan is not None and _open.plan is not self._me:
            _open.end()
        if self._untimed > 0:
            self._untimed -= 1
            return self._attempt(self._chosen, Candidate.tensors, arguments)[0]
        start = time.perf_counter()
        before, self._under_way = self._under_way, None
        if before is not None:
            if self.group == 1:
                self.measurer.saw_between(start - before.end)
            self._observe(before.candidate, start - before.start, before.counts)
            if self._untimed > 0:
                self._untimed -= 1
                return self._attempt(self._chosen, Candidate.tensors, arguments)[0]
        if self._bridged is not None:
            self._cross()
        candidate, counts = holding(self.lock, self._next)
        under_way = None
        if before is not None and before.candidate is candidate:
            under_way = before.results
        elif before is not None:
            before.candidate.wait(before.results)
            start = time.perf_counter()
        results, ran = self._timed(candidate, Candidate.tensors, arguments)
        ran.wait(results if under_way is None else under_way)
        self._under_way = Call(ran, counts and ran is candidate, start, time.perf_counter(), results)
        _open.plan = self._me
        return results

    def end_call(self) -> None:
        """End the call whose results may still be computed, since another graph runs now."""
        before, self._under_way = self._under_way, None
        if before is not None:
            before.candidate.wait(before.results)
            self._observe(before.candidate, time.perf_counter() - before.start, before.counts)

    def count_untimed(self) -> None:
        """Take in the calls that ran without being timed."""
        ran = self._skipped - max(0, self._untimed)
        if ran > 0:
            self._skipped -= ran
            self.measurer.skipped(self.chosen.strategy, ran)

    def _next(self) -> tuple[Candidate, bool]:
        chosen = self._started()
        if self._skipped:
            self.count_untimed()
            self._refilling = REFILLING if self._measuring.stays else 0  # other calls do not wait when they are timed
        if self._agreement is None:
            strategy, counts = self.decided(chosen)
            candidate = self.candidates[strategy]
        else:
            candidate, counts = self._agreement.next(chosen)
        return candidate, counts and self._refilling == 0 and not config.is_profiled

    def decided(self, chosen: Candidate) -> tuple[Strategy, bool]:
        """The measurer's decision on the next call: the strategy, and whether its time counts."""
        if config.is_profiled:  # a profile makes calls slower
            return chosen.strategy, False
        strategy, counts = self.measurer.decide(self.group)
        if self.measurer.state.duel is not None:
            self._refilling = 0  # a trial leaves out calls by itself
        return (strategy, counts) if strategy in self.candidates else (chosen.strategy, False)

    def _observe(self, candidate: Candidate, seconds: float, counts: bool) -> None:
        holding(self.lock, self._observed, candidate.strategy, seconds, counts)

    def _observed(self, strategy: Strategy, seconds: float, counts: bool) -> None:
        was_tried = self.measurer.state.duel is not None
        self.measurer.observe(strategy, seconds, counts)
        if self.measurer.state.is_pressed != self._was_pressed:
            self._was_pressed = self.measurer.state.is_pressed
            for found in list(self.candidates.values()):
                self._ask(found)  # one thread may be better now
        if was_tried and self.measurer.state.duel is None:
            later(give_back)  # the memory that the loser of the trial took
        best = estimates.champion(self.measurer.state)
        if best is not None and best.strategy in self.candidates:
            before, self._chosen = self._chosen, self.candidates[best.strategy]
            if self._chosen is not before:
                self.measurer.log()
            if best.strategy not in self._asked and len(best.times) >= FIRST_CALLS:
                self._ask(self._chosen)
        if self._refilling > 0:
            self._refilling -= 1
        elif self._agreement is None or self._agreement.may_pause(self.chosen.strategy):
            self._untimed = self._skipped = self.measurer.pause()

    def _timed(self, candidate: Candidate, run: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Candidate]:
        if self._agreement is None:
            return self._attempt(candidate, run, arguments)
        with self._agreement.telling():
            return self._attempt(candidate, run, arguments)

    def _attempt(
        self, candidate: Candidate, run: Callable[..., Any], arguments: Sequence[Any]
    ) -> tuple[Any, Candidate]:
        """Return the results of a candidate, or of the last resort if it fails, and the candidate that ran.

        After a collective or a user's function, no other candidate can run: the other ranks would not come again, and
        the function may have effects, as the next batch of a data set has.
        """
        before = WORLD.exchanged, CALLED.count
        try:
            return run(candidate, arguments), candidate
        except Exception as error:
            return self._instead(candidate, run, arguments, error, before)

    def _instead(
        self, candidate: Candidate, run: Callable[..., Any], arguments: Sequence[Any], error: Exception, before: Any
    ) -> tuple[Any, Candidate]:
        """The results of the last resort for a candidate that failed; the error if no other candidate can run.

        `before` are the counts of exchanges and of users' functions before the call.
        """
        is_done = (WORLD.exchanged, CALLED.count) != before
        if self._measuring.fixed is not None or not candidate.failed_by(error) or is_done:
            raise
        other = holding(self.lock, self._last_resort, candidate)
        if other is None:
            raise
        results = run(other, arguments)  # raises, too, if the program is at fault
        holding(self.lock, self.measurer.fail, candidate.strategy, error)
        self._chosen = other
        return results, other

    def _last_resort(self, failed: Candidate) -> Candidate | None:
        """The candidate that runs if another one fails: the champion, else the last resort; None if that has failed.

        If the last resort fails while the first engine is prepared, the first engine runs.
        """
        able = {s: a for s, a in self.measurer.state.arms.items() if s != failed.strategy and s in self.candidates}
        best = estimates.champion(State(able))
        if best is not None:
            return self.candidates[best.strategy]
        resort = last_resort(self.engine)
        if failed.strategy.engine != resort:
            return self._make_last_resort()
        state = self.measurer.state
        arms = [arm for arm in state.arms.values() if arm.strategy.engine != resort and self._can_start(arm)]
        return self._make(policy.first(state, arms)) if state.current is None and arms else None

    # further candidates

    def prepare(self) -> None:
        """Prepare the first call, in any thread; if the engine cannot do it, prepare the last resort."""
        self._attempt(self.chosen, _make_ready, ())

    def prepare_strategy(self, strategy: Strategy) -> None:
        """Make a candidate, in any thread; it takes part in later calls.

        Raises:
            Exception: the engine cannot run the graph.
        """
        share_devices()
        import_engine(strategy.engine)
        stop_if_ending()
        start = time.perf_counter()
        candidate = Candidate(strategy, self.graph, self.engine, self.shapes)
        candidate.plan.prepare()
        if self._backward is not None:
            self._backward.prepare_strategy(strategy)
        if not (strategy.variant or strategy.split):
            costs.known.learn_build(strategy.engine, self.measurer.work, time.perf_counter() - start)
        holding(self.lock, self._prepared, candidate)

    def try_to_prepare(self, strategy: Strategy) -> None:
        """Call `prepare_strategy`, and leave out a strategy that fails."""
        try:
            self.prepare_strategy(strategy)
        except Exception as error:
            holding(self.lock, self.measurer.fail, strategy, error)

    def _prepared(self, found: Candidate) -> None:
        self.candidates[found.strategy] = found
        if self._agreement is None or not self._agreement.holds(found.strategy):
            self.measurer.prepared(found.strategy)
        self._ask(found)

    def _ask(self, found: Candidate) -> None:
        """Add the strategies that a candidate suggests."""
        self._asked.add(found.strategy)
        self.measurer.add(self._further(found))

    def _further(self, found: Candidate) -> list[Arm]:
        """The strategies that a candidate suggests: variants of its engine, and plans of two engines."""
        if self._measuring.is_at_home or self._measuring.fixed is not None or self._unpinned:
            return []
        arm = self.measurer.state.arms[found.strategy]
        base = estimates.estimate(arm)
        engine, variant, threads, group, other = found.strategy
        if variant or threads or group > 1 or other:
            return []
        if (count := found.plan.engine.thread_count) > 1:
            self.measurer.consider_threads(found.strategy, count)
        variants = [Strategy(engine, name, threads) for name in found.further_variants()]
        loaded = list(dict.fromkeys(s.engine for s in self.candidates))
        split = [s for s in split_strategies(self.graph, loaded) if engine in (s.engine, s.split)]
        start = costs.known.start_seconds(engine, self.measurer.work)
        like = Estimate(base.mean, estimates.WIDE)
        return [Arm(s, like, start, rated=arm.foreseen) for s in (*variants, *split)]

    def belong_to(self, measurer: Measurer, size: int) -> None:
        """Let the measurer of a step decide for this plan, too.

        Args:
            measurer: the measurer of the step.
            size: the number of steps in a call of this plan.
        """
        self.measurer, self.group = measurer, size
        measurer.plans[size], measurer.wants_group = self._me, False

    # inspection

    @property
    def is_settled(self) -> bool:
        """Whether no trial pays over the remaining steps, which are at least as many as have run."""
        if self._agreement is not None and self._agreement.follows:
            return self._agreement.is_settled
        return self._measuring.fixed is not None or policy.is_settled(self.measurer.state)

    @property
    def status(self) -> str:
        """The trial or the preparation that is going on, in a few words; "" if there is none."""
        state = self.measurer.state
        if state.duel is not None:
            return f"comparing {state.duel.challenger.name}"
        return f"preparing {job.name}" if job.is_running and job.plan() is self else ""

    def pin(self, name: str) -> None:
        """Run by the strategy of this name until another one is pinned; measurements no longer matter.

        Raises:
            ValueError: there is no such strategy.
        """
        holding(self.lock, self._pin, name)

    def _pin(self, name: str) -> None:
        arms = self._unpinned or self.measurer.state.arms
        known = {strategy.name: strategy for strategy in arms if strategy.group == self.group}
        if name not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"{self.graph.name!r} has no strategy {name!r}; it has {listed}.")
        strategy = known[name]
        self._unpinned = self.measurer.state.arms = arms
        candidate = self.candidates.get(strategy) or self._make(strategy)
        self.measurer.keep_one(arms[strategy])
        self._chosen, self._under_way, self._agreement = candidate, None, None

    @property
    def choice(self) -> Choice:
        """The strategy that runs now, among all that were predicted or measured; `dt.save` writes it.

        Example:
            >>> import dovetail as dt
            >>> double = dt.function(lambda x: x + x, engine="auto")
            >>> choice = double.plan(dt.ops.ones(3)).choice
            >>> dt.function(lambda x: x + x, replay=choice)(dt.ops.ones(3)).tolist()
            [2.0, 2.0, 2.0]
        """
        replayed = self._measuring.fixed
        if replayed is not None:
            return Choice(self.chosen.strategy, replayed.rows)
        state = State(self._unpinned) if self._unpinned else self.measurer.state
        return Choice(self.chosen.strategy, tuple(row._replace(gain=0.0, cost=0.0) for row in rows(state)))

    @property
    def _report(self) -> Report:
        """The report of this process; of a replayed choice, the times of the process that chose."""
        replayed = self._measuring.fixed
        return Report(replayed.rows) if replayed is not None and replayed.rows else self.measurer.report

    def __str__(self) -> str:
        lines = [self.choice.summary, *str(self._report).splitlines()]
        return "\n  ".join([*lines, *str(self.chosen.plan).splitlines()])

    def go_on_in_child(self) -> None:
        """Go on in a forked child, where some engines cannot run, and times differ."""
        self.measurer.__dict__.pop("key", None)
        self._under_way, self._forward, self.measurer.state.duel = None, None, None
        for strategy, candidate in list(self.candidates.items()):
            if not candidate.plan.can_run:
                del self.candidates[strategy]
                self.measurer.state.arms[strategy].is_ready = False
        if self._chosen is not None and self._chosen.strategy not in self.candidates:
            self._make_last_resort()


class _Open(threading.local):
    """A weak reference to the plan whose call lasts until the next call of this thread."""

    plan: Callable[[], MeasuredPlan | None] | None = None

    def end(self) -> None:
        """End that call, if its plan still lives."""
        open_plan, self.plan = self.plan, None
        plan = None if open_plan is None else open_plan()
        if plan is not None:
            plan.end_call()


_open = _Open()


def _make_ready(candidate: Candidate, arguments: Sequence[Any]) -> None:
    """Do the long part of a candidate's first call."""
    candidate.plan.prepare()


def _nothing(seconds: float) -> None:
    """Take no account of the cost of a first candidate: any engine would have it."""


_plans: weakref.WeakSet[MeasuredPlan] = weakref.WeakSet()


def _go_on_in_child() -> None:
    for plan in list(_plans):
        plan.go_on_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
