"""Agreement: the ranks of a program run a graph with collectives by the same strategy, in the same call.

One rank leads: the first one that chooses its engine.  The others follow.  Their notes travel with the collectives of
the program, so no rank waits for another one without need.  A rank whose engine is named has no note.

The leader's note says the strategy of the next call, and the ones that it prepares.  A follower prepares them, too.  A
follower's note says the ones that it can run.  The leader tries none before all followers have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.choose import estimates, policy
from dovetail.choose.estimates import UNPREDICTED, Arm
from dovetail.choose.jobs import job
from dovetail.choose.measurer import ledger
from dovetail.core.base.locks import holding
from dovetail.core.engines.collectives import COLLECTIVES, NOTE, WORLD
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Strategy

if TYPE_CHECKING:
    from dovetail.choose.candidate import Candidate
    from dovetail.choose.measured_plan import MeasuredPlan

NAME = 32  # characters of a graph's name in a note, in ASCII: JSON writes any other as 6 bytes or 12
Note = dict[str, Any]


def is_shared(graph: Graph) -> bool:
    """Whether all ranks meet in each call of a graph."""
    meeting = graph.of_types(COLLECTIVES) if WORLD.size > 1 else ()
    return any(len(WORLD.members(op.attr("ranks"))) == WORLD.size for op in meeting)


class Agreement:
    """The decisions that ranks share about a graph.

    Args:
        plan: this rank's plan of the graph.

    Attributes:
        follows: whether another rank leads.
        is_settled: whether the leader has said that no trial pays any more.
    """

    def __init__(self, plan: MeasuredPlan) -> None:
        self._plan, self._name = plan, plan.graph.name.encode("ascii", "replace").decode()[:NAME]
        self.follows = self.is_settled = False
        self._next: tuple[Strategy, bool] | None = None  # of the next call, and whether its time counts
        self._proposed: tuple[Strategy, bool] | None = None
        self._latest: Strategy | None = None
        self._wanted: list[Strategy] = []  # by a follower's leader
        self._followers: set[int] = set()

    # before a call

    def next(self, chosen: Candidate) -> tuple[Candidate, bool]:
        """The candidate of the next call, and whether its time counts; the call's collective takes this rank's note."""
        plan = self._plan
        strategy, counts = self._next or (chosen.strategy, False)
        candidate = plan.candidates.get(strategy)
        if candidate is None or not self._can_run(strategy):
            candidate, counts = chosen, False
        if self.follows:
            self._prepare()
            note = self._of_follower()
            counts, self._latest = candidate.strategy == self._latest, candidate.strategy
        else:
            self._proposed = plan.decided(chosen)
            note = self._of_leader()
        WORLD.note = self._written(note)
        return candidate, counts

    def _written(self, note: Note) -> bytes:
        """A note that fits: the last strategies to prepare wait for a later one."""
        while len(text := json.dumps({"of": self._name, **note}, separators=(",", ":")).encode()) > NOTE:
            if not note.get("prepare"):
                return b""
            note["prepare"].pop()
        return text

    def _can_run(self, strategy: Strategy) -> bool:
        arm = self._plan.measurer.state.arms.get(strategy)
        return arm is not None and not arm.problem

    def _prepare(self) -> None:
        """Begin to prepare the next strategy that the leader wants."""
        for strategy in self._wanted:
            if strategy not in self._plan.candidates and self._can_run(strategy) and not job.is_running:
                job.begin(self._plan, strategy, ledger.lose)

    def _of_follower(self) -> Note:
        return {
            "ready": [s for s in self._wanted if s in self._plan.candidates and self._can_run(s)],
            "failed": [s for s in self._wanted if not self._can_run(s)],
        }

    def _of_leader(self) -> Note:
        assert self._proposed is not None
        state = self._plan.measurer.state
        best, under_way = estimates.champion(state), job.strategy if job.plan() is self._plan else None
        return {
            "next": self._proposed[0],
            "best": self._proposed[0] if best is None else best.strategy,
            "prepare": [*self._held(), *([] if under_way is None else [under_way])],
            "settled": policy.is_settled(state),
        }

    # a call

    @contextmanager
    def telling(self) -> Iterator[None]:
        """A scope for a call, whose collective takes and brings notes."""
        WORLD.heard = ()
        try:
            yield
            holding(self._plan.lock, self._take_in, WORLD.heard)
        finally:
            WORLD.note, WORLD.heard = b"", ()

    def _take_in(self, heard: Sequence[bytes]) -> None:
        notes = {rank: json.loads(note) for rank, note in enumerate(heard) if note}
        notes = {rank: note for rank, note in notes.items() if note["of"] == self._name}
        leader = next((rank for rank, note in notes.items() if "next" in note), None)
        if leader is None:
            return
        if leader == WORLD.rank:
            self._next = self._proposed
            self._lead({rank: note for rank, note in notes.items() if rank != leader})
        else:
            self._follow(notes[leader])

    def _lead(self, notes: dict[int, Note]) -> None:
        """Take in the notes of the followers."""
        self._followers |= notes.keys()
        measurer = self._plan.measurer
        for rank, note in notes.items():
            for strategy in map(_strategy, note.get("failed", ())):
                if self._can_run(strategy):
                    policy.fail(measurer.state, strategy, f"rank {rank} cannot run it")
        for strategy in self._held():
            ready = {rank for rank, note in notes.items() if strategy in map(_strategy, note.get("ready", ()))}
            if self._followers <= ready:
                measurer.prepared(strategy)

    def _follow(self, note: Note) -> None:
        """Take in the leader's decision."""
        plan, following, best = self._plan, _strategy(note["next"]), _strategy(note["best"])
        self._next, self.is_settled = (following, False), note["settled"]
        self._wanted = list(dict.fromkeys([following, best, *map(_strategy, note["prepare"])]))
        plan.measurer.add([Arm(strategy, UNPREDICTED) for strategy in self._wanted])
        if not self.follows:
            self.follows = True
            plan.measurer.follow()
        if best in plan.candidates and self._can_run(best):
            plan.measurer.prepared(best)
            plan.measurer.state.current = best

    # between calls

    def holds(self, strategy: Strategy) -> bool:
        """Whether a strategy that can run here has to wait for the followers."""
        if self.follows or (self._next is not None and not self._followers):
            return False
        self._plan.measurer.state.arms[strategy].waits = True
        return True

    def _held(self) -> list[Strategy]:
        """The strategies that the leader can run, until the followers have them, too."""
        arms = self._plan.measurer.state.arms
        return [strategy for strategy, arm in arms.items() if arm.waits and not arm.problem]

    def may_pause(self, chosen: Strategy) -> bool:
        """Whether the next calls may run untimed: the leader's, by the strategy that it said."""
        return not self.follows and self._next is not None and self._next[0] == chosen and not self._held()


def _strategy(given: Any) -> Strategy:
    return Strategy(*given)
