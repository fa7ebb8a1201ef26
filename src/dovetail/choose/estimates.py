"""Estimates: the strategies of a graph, their expected times, and the promise of trying one.

It is pure data and arithmetic, as the policy is, which decides by them.

Source: the expected improvement of Jones, Schonlau and Welch 1998, "Efficient global optimization of expensive
black-box functions".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.execute.choice import Strategy

SAMPLES = 60  # the number of times that are kept of a strategy
NOISE = 0.06  # the least deviation of the logarithm of a time
FEW = 0.8  # the same for one time, which something may have disturbed; for n times, an n-th of it
WARM = 1  # calls of a turn that do not count: arrays move, caches fill
TURN, TURN_SECONDS = 5, 0.25  # counted calls of a turn, at most; and about how long it takes
HOPELESS = 1.5  # times the champion's time: a challenger that takes longer in its first turn gets no other turn.
# A challenger whose first call takes longer than the square of that gets no second call.
WIDE = 0.3  # the spread of guesses, and of estimates after the machine has changed
SHARED = math.log(3.0)  # of a processor's time other programs take at most so much; one thread waits for no other one
OFTEN = 0.5  # visits a step: above this, the median of times includes the moves of variables


class Estimate(NamedTuple):
    """The expected time of a strategy.

    Attributes:
        mean: the mean of the logarithm of the seconds of a step.
        spread: the standard deviation of this logarithm.
    """

    mean: float
    spread: float

    @property
    def seconds(self) -> float:
        """The expected seconds of a step."""
        return math.exp(self.mean + self.spread**2 / 2)


UNPREDICTED = Estimate(math.log(1e-3), 5.0)  # the first measured time outweighs it


@dataclass
class Arm:
    """A strategy with its prediction and its times.

    Attributes:
        strategy: the way to run the graph.
        predicted: the estimate before any measurement.
        rated: the logarithm of the time by the engine's rates alone, which says how strategies compare before any
            measurement on this machine; None if the estimate is that.
        start: the seconds of preparing it: importing, compiling; of a group, after its single step.
        is_ready: whether it can run now.
        waits: whether it can run here, and other ranks prepare it.
        problem: the reason why it cannot run; "" if none is known.
        times: the latest times that count, in seconds a step, under the present pressure of other programs.
        aside: the latest ones without that pressure; if there is none now, the latest ones under pressure.
        disturbed: the latest times that do not count, since a candidate was prepared at the same time.
        calls: the number of its calls.
        occasions: the number of trials in which it was the challenger.
        again: the number of the graph's steps from which the next of them may begin.
        doubt: the least spread of its estimate, after a surprise.
        cost: the seconds that preparing and trying it has cost.
        instead: the strategy that ran before it was prepared.
        regret: the seconds that this one had lost by then.
        is_bare: whether the prediction leaves out the program's own work between two calls, which times include.
        belief: the estimate until the next time comes, and before it whether spreads were widened.
    """

    strategy: Strategy
    predicted: Estimate
    start: float = 0.0
    is_ready: bool = False
    waits: bool = False
    problem: str = ""
    times: list[float] = field(default_factory=list)
    aside: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    calls: int = 0
    occasions: int = 0
    again: int = 0
    doubt: float = 0.0
    cost: float = 0.0
    instead: Strategy | None = None
    regret: float = 0.0
    is_bare: bool = False
    belief: tuple[bool, Estimate] | None = None
    rated: float | None = None

    @property
    def foreseen(self) -> float:
        """The logarithm of the time before any measurement on this machine."""
        return self.predicted.mean if self.rated is None else self.rated

    def saw(self, times: Sequence[float]) -> None:
        """Take in times, the latest last."""
        self.times = [*self.times, *times][-SAMPLES:]
        self.belief = None


@dataclass
class Duel:
    """A trial that is going on.

    Attributes:
        challenger, champion: the two strategies, which take turns, the challenger first.
        turn: the number of counted calls in a turn.
        room: the seconds that it may lose; they are at most twice what was foreseen.
        calls: the number of calls so far; less than 0 while calls end that were decided before it.
        lost: the seconds that it has lost.
        mine, theirs: the times of the challenger, and of the champion.
    """

    challenger: Strategy
    champion: Strategy
    turn: int
    room: float = math.inf
    calls: int = 0
    lost: float = 0.0
    mine: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)


@dataclass
class State:
    """The strategies and the steps of a graph.

    Attributes:
        arms: its strategies.
        done: the number of steps that were run.
        ahead: the number of steps that are to come, as the program said.
        before: the number of steps that were run before the program said so.
        earlier: the number of steps that earlier processes ran.
        duel: the trial that is going on.
        current: the strategy that runs, except in trials; None while another one bridges the start of the first one.
        widened: whether times have drifted since they were measured.
        move: the seconds to move its variables from one engine to another.
        place: the engine of the last graph before this one that has some of its variables; "" if there is none.
        visits: the number of times that this graph ran after another one that has some of its variables.
        between: the least seconds of the program's own work between two steps.
        lag: the number of calls that are decided before the time of the latest one is known.
        is_pressed: whether other programs take processor time from this one.
        slowed: the logarithm of the champion's time now, relative to its time with more or less pressure.
    """

    arms: dict[Strategy, Arm]
    done: int = 0
    ahead: int = 0
    before: int = 0
    earlier: int = 0
    duel: Duel | None = None
    current: Strategy | None = None
    widened: bool = False
    move: float = 0.0
    place: str = ""
    visits: int = 0
    between: float = 0.0
    lag: int = 0
    is_pressed: bool = False
    slowed: float = 0.0


# -- estimates -------------------------------------------------------------------------------------------------


def estimate(arm: Arm, widened: bool = False) -> Estimate:
    """Combine the prediction with the times; with those set aside if there are no others."""
    if not arm.times and not arm.aside:
        return arm.predicted
    if arm.belief is None or arm.belief[0] != widened:
        arm.belief = widened, _combined(arm, widened)
    return arm.belief[1]


def _combined(arm: Arm, widened: bool) -> Estimate:
    logs = sorted(map(math.log, arm.times or arm.aside))
    middle = statistics.median(logs)
    noise = max(NOISE, FEW / len(logs), 1.5 * statistics.median(abs(x - middle) for x in logs))
    error = max(1.25 * noise / math.sqrt(len(logs)), WIDE if widened or not arm.times else 0.0)
    before, now = arm.predicted.spread**-2, error**-2
    mean = (arm.predicted.mean * before + middle * now) / (before + now)
    return Estimate(mean, max((before + now) ** -0.5, arm.doubt))


def expected(state: State, arm: Arm) -> Estimate:
    """The estimate of a strategy in this graph, with all that its times or its prediction do not show.

    A bare prediction gets the program's own work between two calls.  If a graph takes turns with others, it finds its
    variables on their engine, and they find theirs on its engine, so moves of variables are added.
    """
    known = estimate(arm, state.widened)
    if not arm.times:
        known = known if arm.aside else whole(state, arm, known)
        slowed = min(state.slowed, SHARED) if arm.strategy.threads == 1 else state.slowed
        known = known._replace(mean=known.mean + slowed)
    rate = state.visits / max(state.done, 1)
    if not state.place or arm.strategy.engine == state.place or (arm.times and rate > OFTEN):
        return known
    return known._replace(mean=math.log(math.exp(known.mean) + 2 * state.move * rate))


def whole(state: State, arm: Arm, known: Estimate) -> Estimate:
    """A prediction with the program's own work between two calls, if it leaves that out."""
    if not arm.is_bare:
        return known
    alone = math.exp(known.mean)
    together = alone + state.between
    return Estimate(math.log(together), known.spread * alone / together)  # only its own part is uncertain


def champion(state: State) -> Arm | None:
    """The strategy that runs: the winner of the last trial, else the one with the least expected time; or None."""
    current = None if state.current is None else state.arms.get(state.current)
    if current is not None and current.is_ready and not current.problem:
        return current
    able = [arm for arm in state.arms.values() if arm.is_ready and not arm.problem]
    return min(able, key=lambda arm: expected(state, arm).seconds, default=None)


def remaining(state: State) -> int:
    """The number of steps to come, as an estimate."""
    return max(state.ahead, state.done, state.earlier - state.done, 0)


def improvement(arm: Estimate, seconds: float) -> float:
    """The expected seconds a step that a strategy saves, compared with a step of `seconds`."""
    if seconds <= 0 or arm.spread <= 0:
        return max(0.0, seconds - math.exp(arm.mean))
    d = (math.log(seconds) - arm.mean) / arm.spread
    return seconds * _normal(d) - arm.seconds * _normal(d - arm.spread)


def _normal(x: float) -> float:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


class Prospect(NamedTuple):
    """The promise of trying a strategy, in seconds.

    Attributes:
        gain: the expected gain over the remaining steps.
        cost: the cost of preparing it, and of a trial.
        regret: the expected loss so far by not having it, less what others' starts have cost, down to half of the loss.
    """

    gain: float
    cost: float
    regret: float = 0.0

    @property
    def worth(self) -> float:
        return self.gain - self.cost


def prospect(state: State, arm: Arm) -> Prospect:
    """The promise of trying a strategy now."""
    best = champion(state)
    if best is None or arm is best or arm.problem:
        return Prospect(0.0, 0.0)
    opened = [] if arm.is_ready else groups_of(state, arm)
    mine = min((expected(state, each) for each in (arm, *opened)), key=lambda known: known.seconds)
    single = state.arms.get(arm.strategy._replace(group=1), arm)
    seconds = math.exp(expected(state, best).mean)
    counted = 1 if mine.seconds > HOPELESS**2 * seconds else calls_of_turn(seconds)
    moves = 2 * state.move if arm.strategy.engine != best.strategy.engine else 0.0
    trial = (WARM + counted) * arm.strategy.group * max(0.0, mine.seconds - seconds) + moves
    saved = improvement(mine, seconds)
    starts = {each.strategy: each.start for each in (single, arm) if not each.is_ready}
    others = (each for each in state.arms.values() if each.strategy.engine != arm.strategy.engine)
    started = sum(min(each.cost, each.start) for each in others)  # for the same loss
    lost = state.done * saved
    regret = max(lost / 2, lost - started)
    return Prospect(remaining(state) * saved, trial + sum(starts.values()), regret)


def calls_of_turn(seconds: float) -> int:
    """The number of counted calls of a turn, by the seconds of a step."""
    return max(2, min(TURN, round(TURN_SECONDS / max(seconds, 1e-9))))


def groups_of(state: State, arm: Arm) -> list[Arm]:
    """The strategies that run the steps of this one in groups, which its start opens up."""
    return [
        other for other in state.arms.values() if other.strategy._replace(group=1) == arm.strategy != other.strategy
    ]


def in_groups(step: Estimate, call: float, least: float) -> Estimate:
    """The estimate of a step in a group, by the estimate of a single step.

    Args:
        step: the estimate of the single step.
        call: the seconds of its call that a group saves.
        least: the predicted seconds of a step without its call.
    """
    seconds = math.exp(step.mean)
    return Estimate(math.log(max(seconds - call, min(least, seconds))), max(WIDE, step.spread))
