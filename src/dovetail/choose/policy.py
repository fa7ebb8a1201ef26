"""Policy: the choice of the strategy for the next call of a graph, and of the one to prepare next.

It is pure: it has no clock, thread, lock or engine.  A `State` is all knowledge of a graph, as plain data.  Some
functions decide the next step, others take in observations.  So an interrupt loses one observation, a simulation of a
thousand sets of strategies takes seconds, and one process can decide for several.

A strategy has a predicted time and a spread.  The strategy with the least expected time runs.  Another one is prepared,
and tried, if its expected gain over the remaining steps is more than its cost, and the ledger has room for the cost.
The room is a share of the time so far.  For a candidate that the process has missed, it is the regret: the expected
gain that it would have had over the steps so far.
A trial is a duel: challenger and champion take turns, since the load of the machine changes with time.

Sources: the expected improvement of Jones, Schonlau and Welch 1998, "Efficient global optimization of expensive
black-box functions"; for bridges, Purohit, Svitkina and Kumar 2018, "Improving online algorithms via ML predictions".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.choose.ledger import Room
from dovetail.execute.choice import Strategy

SAMPLES = 60  # the number of times that are kept of a strategy
NOISE = 0.06  # the least deviation of the logarithm of a time
FEW = 0.8  # the same for one time, which something may have disturbed; for n times, an n-th of it
WARM = 1  # calls of a turn that do not count: arrays move, caches fill
TURN, TURN_SECONDS = 5, 0.25  # counted calls of a turn, at most; and about how long it takes
TURNS = 4  # turns of each strategy in a duel, at most
CLEAR = 3.0  # standard errors by which a duel is decided early
HOPELESS = 1.5  # times the champion's time: a challenger that takes longer in its first turn gets no other turn.
# A challenger whose first call takes longer than the square of that gets no second call.
LEAD = 0.97  # another strategy replaces the current one if it takes less than this part of its time
TINY = 1e-3  # seconds: a job that costs less counts as if it cost that
GUESS, GUESS_SECONDS = 30, 4.0  # the least work that is expected of a graph: steps, seconds of its fastest strategy
LONG, BRIDGED = 0.5, 3  # seconds of a start that another strategy bridges, and the steps that it must make meanwhile
EARLY = 0.5  # of a start: a bridge ends when the first strategy saves this much, since the program may go on for longer
FAITH = 2  # times the steps so far: no more of the steps to come end a bridge, since this process may be shorter
CHANGED = 0.15  # of the logarithm of the champion's time: after a larger change, the machine is not as before the trial
DRIFT = 1.5  # times its earlier time: if a settled strategy takes longer, its estimate is no longer sure
WIDE = 0.3  # the spread of estimates after such a drift, and of guesses
# A time this far from its prediction, relative to the champion's, is doubted until it was seen on so many occasions.
# The next occasion begins when the graph has made twice as many steps.
SURPRISE, OCCASIONS = math.log(3.0), 3
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
        start: the seconds of preparing it: importing, compiling.
        is_ready: whether it can run now.
        waits: whether it can run here, and other ranks prepare it.
        problem: the reason why it cannot run; "" if none is known.
        times: the latest times that count, in seconds a step.
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
        room: the seconds that it may lose.
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
        earlier: the number of steps that earlier processes ran.
        duel: the trial that is going on.
        current: the strategy that runs, except in trials; None while another one bridges the start of the first one.
        widened: whether times have drifted since they were measured.
        move: the seconds to move its variables from one engine to another.
        place: the engine of the last graph before this one that has some of its variables; "" if there is none.
        visits: the number of times that this graph ran after another one that has some of its variables.
        between: the least seconds of the program's own work between two steps.
        lag: the number of calls that are decided before the time of the latest one is known.
    """

    arms: dict[Strategy, Arm]
    done: int = 0
    ahead: int = 0
    earlier: int = 0
    duel: Duel | None = None
    current: Strategy | None = None
    widened: bool = False
    move: float = 0.0
    place: str = ""
    visits: int = 0
    between: float = 0.0
    lag: int = 0


# -- estimates -------------------------------------------------------------------------------------------------


def estimate(arm: Arm, widened: bool = False) -> Estimate:
    """Combine the prediction with the times."""
    if not arm.times:
        return arm.predicted
    if arm.belief is None or arm.belief[0] != widened:
        arm.belief = widened, _combined(arm, widened)
    return arm.belief[1]


def _combined(arm: Arm, widened: bool) -> Estimate:
    logs = sorted(map(math.log, arm.times))
    middle = statistics.median(logs)
    noise = max(NOISE, FEW / len(logs), 1.5 * statistics.median(abs(x - middle) for x in logs))
    error = max(1.25 * noise / math.sqrt(len(logs)), WIDE if widened else 0.0)
    before, now = arm.predicted.spread**-2, error**-2
    mean = (arm.predicted.mean * before + middle * now) / (before + now)
    return Estimate(mean, max((before + now) ** -0.5, arm.doubt))


def expected(state: State, arm: Arm) -> Estimate:
    """The estimate of a strategy in this graph, with all that its times or its prediction do not show.

    A bare prediction gets the program's own work between two calls.  If a graph takes turns with others, it finds its
    variables on their engine, and they find theirs on its engine, so moves of variables are added.
    """
    known = estimate(arm, state.widened)
    known = known if arm.times else _whole(state, arm, known)
    rate = state.visits / max(state.done, 1)
    if not state.place or arm.strategy.engine == state.place or (arm.times and rate > OFTEN):
        return known
    return known._replace(mean=math.log(math.exp(known.mean) + 2 * state.move * rate))


def _whole(state: State, arm: Arm, known: Estimate) -> Estimate:
    """A prediction with the program's own work between two calls, if it leaves that out."""
    if not arm.is_bare:
        return known
    alone = math.exp(known.mean)
    whole = alone + state.between
    return Estimate(math.log(whole), known.spread * alone / whole)  # only its own part is uncertain


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
        regret: the expected loss so far by not having it.
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
    opened = [] if arm.is_ready else _groups(state, arm)
    mine = min((expected(state, each) for each in (arm, *opened)), key=lambda known: known.seconds)
    seconds = math.exp(expected(state, best).mean)
    counted = 1 if mine.seconds > HOPELESS**2 * seconds else _turn(seconds)
    moves = 2 * state.move if arm.strategy.engine != best.strategy.engine else 0.0
    trial = (WARM + counted) * arm.strategy.group * max(0.0, mine.seconds - seconds) + moves
    saved = improvement(mine, seconds)
    return Prospect(remaining(state) * saved, trial + (0.0 if arm.is_ready else arm.start), state.done * saved)


def _turn(seconds: float) -> int:
    return max(2, min(TURN, round(TURN_SECONDS / max(seconds, 1e-9))))


# -- decisions -------------------------------------------------------------------------------------------------------


def first(state: State, arms: Iterable[Arm]) -> Strategy:
    """The strategy to begin with: the least sum of start cost, move of variables, and time of all steps.

    Args:
        state: the state of the graph.
        arms: one or more of its strategies that can be prepared.
    """
    arms = list(arms)
    fastest = min(expected(state, arm).seconds for arm in arms)
    count = max(remaining(state), GUESS, int(GUESS_SECONDS / fastest))  # more calls may follow a short first one
    return min(arms, key=lambda arm: _seconds_until(state, arm, count)).strategy


def _seconds_until(state: State, arm: Arm, steps: int) -> float:
    """The expected seconds until a strategy has started, has the variables, and has made some steps, also in groups."""
    move = state.move if state.place and arm.strategy.engine != state.place else 0.0
    return arm.start + move + steps * min(expected(state, each).seconds for each in (arm, *_groups(state, arm)))


def _groups(state: State, arm: Arm) -> list[Arm]:
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


def bridge(state: State, strategy: Strategy, arms: Iterable[Arm], load: float = 0.0) -> Strategy | None:
    """Return the strategy that runs until the first one is ready; None if waiting for the first one is quicker.

    It is None, too, if the program said so many steps that the bridge would end after one, unless it can go on while
    the first one's program is made.

    Args:
        state: the state of the graph.
        strategy: the one to begin with.
        arms: the strategies that can be prepared.
        load: the seconds of the first one's start that import its library.
    """
    wait = state.arms[strategy].start
    others = [(_seconds_until(state, arm, BRIDGED), arm.strategy) for arm in arms if arm.strategy != strategy]
    seconds, bridging = min(others, default=(math.inf, strategy))
    ends_at_once = wait - load <= LONG and state.ahead * _saved(state, strategy, state.arms[bridging]) > EARLY * wait
    return bridging if LONG < wait > seconds and not ends_at_once else None


def is_over(state: State, strategy: Strategy, load: float = 0.0, others: Iterable[State] = ()) -> bool:
    """Whether the first strategy saves enough over the steps to come, so that a bridge to it should end.

    Other graphs that wait for it need the same library.  If they save more than their own programs cost, the rest
    helps to pay for the import.

    Args:
        state: the state of the graph.
        strategy: the first one.
        load: the seconds of its start that import its library.
        others: the states of other graphs with a bridge to it.
    """
    own = _surplus(state, strategy, load)
    shared = sum(max(0.0, _surplus(other, strategy, load)) for other in others)
    return own >= 0 and own + shared >= EARLY * load


def _surplus(state: State, strategy: Strategy, load: float) -> float:
    """The seconds that a strategy saves over the steps to come, less what must be saved to make its program.

    Steps that the program said are sure, but predictions are not.  So they must save the whole start, and no more of
    them count than of an earlier process.
    """
    best = champion(state)
    steps = min(EARLY * state.ahead or remaining(state), FAITH * state.done)
    saved = 0.0 if best is None else steps * _saved(state, strategy, best)
    return saved - EARLY * (state.arms[strategy].start - load)


def _saved(state: State, strategy: Strategy, other: Arm) -> float:
    """The seconds a step that a strategy saves, compared with another one."""
    return math.exp(expected(state, other).mean) - math.exp(expected(state, state.arms[strategy]).mean)


def next_call(state: State, room: Room) -> tuple[Strategy, bool]:
    """The strategy of the next call, and whether its time counts.

    Args:
        state: the state of the graph; at least one strategy is ready.
        room: the seconds that learning may cost now.
    """
    best = champion(state)
    assert best is not None
    if state.duel is not None and not (room.is_open and _can_go_on(state, state.duel)):
        state.duel = None
    if state.duel is None and room.is_open:
        state.duel = _new_duel(state, best, room)
    if state.duel is None:
        return best.strategy, best.calls >= WARM
    duel = state.duel
    turn, number = divmod(duel.calls + state.lag, WARM + duel.turn)
    is_mine = turn % 2 == 0
    return duel.challenger if is_mine else duel.champion, number >= WARM


def _can_go_on(state: State, duel: Duel) -> bool:
    arms = [state.arms.get(strategy) for strategy in (duel.challenger, duel.champion)]
    return all(arm is not None and arm.is_ready and not arm.problem for arm in arms)


def _promising(state: State) -> list[tuple[Prospect, Arm]]:
    """The strategies that are worth their cost, with their prospects.

    If one of another engine is, strategies of the champion's engine wait if their predictions are like its own.
    """
    best = champion(state)
    promising = [(p, arm) for arm in state.arms.values() if (p := prospect(state, arm)).worth > 0]
    if best is None or all(arm.strategy.engine == best.strategy.engine for _, arm in promising):
        return promising
    return [(p, a) for p, a in promising if a.strategy.engine != best.strategy.engine or _differs(state, a, best)]


def _differs(state: State, arm: Arm, best: Arm) -> bool:
    mine, theirs = expected(state, arm), expected(state, best)
    return abs(mine.mean - theirs.mean) >= max(mine.spread, theirs.spread)


def _new_duel(state: State, best: Arm, room: Room) -> Duel | None:
    ready = [(p, arm) for p, arm in _promising(state) if arm.is_ready and arm.again <= state.done]
    limits = [(max(room.of(p.regret), 0.0), p, arm.strategy) for p, arm in ready]
    able = [(p.worth, strategy, limit) for limit, p, strategy in limits if p.cost <= limit]
    if not able:
        return None
    _, challenger, limit = max(able)
    return Duel(challenger, best.strategy, _turn(math.exp(estimate(best).mean)), limit, calls=-state.lag)


def next_jobs(states: Sequence[State], room: Room) -> list[tuple[State, Strategy]]:
    """The strategies that are worth preparing now, of all graphs of a process, the greatest gain for its cost first.

    A strategy without room waits; a cheaper one may go first.  Groups of steps wait for their single step.
    """
    jobs = [
        (p.gain / max(p.cost, TINY), p.cost, number, arm.strategy)
        for number, state in enumerate(states)
        for p, arm in _promising(state)
        if _can_begin(state, arm) and p.cost <= room.of(p.regret)
    ]
    return [(states[number], strategy) for _, _, number, strategy in sorted(jobs, reverse=True)]


def _can_begin(state: State, arm: Arm) -> bool:
    single = state.arms.get(arm.strategy._replace(group=1), arm)
    return not (arm.is_ready or arm.waits) and (single is arm or single.is_ready)


def begin(state: State, strategy: Strategy) -> None:
    """Take in that a strategy is prepared now, and why."""
    arm, best = state.arms[strategy], champion(state)
    arm.instead, arm.regret = None if best is None else best.strategy, prospect(state, arm).regret


def visit(state: State, place: str) -> None:
    """Take in that the graph runs after another one that has some of its variables.

    Args:
        state: the state of the graph.
        place: the engine of the other graph.
    """
    state.visits += 1
    state.place = place


def is_settled(state: State) -> bool:
    """Whether no trial pays over the remaining steps, which are at least as many as have run."""
    return state.duel is None and all(prospect(state, arm).worth <= 0 for arm in state.arms.values())


# -- observations ------------------------------------------------------------------------------------------------


def observe(state: State, strategy: Strategy, seconds: float, counts: bool = True, is_disturbed: bool = False) -> float:
    """Take in the time of a call; return the seconds that it lost as a trial.

    Args:
        state: the state of the graph.
        strategy: the strategy that ran.
        seconds: the seconds of each of its steps.
        counts: whether the time counts: `next_call` said so, and nothing disturbed the call.
        is_disturbed: whether it would count if no candidate had been prepared at the same time.
    """
    arm, duel = state.arms[strategy], state.duel
    arm.calls += 1
    state.done += strategy.group
    state.ahead = max(0, state.ahead - strategy.group)
    lost = 0.0
    if duel is not None and duel.calls < 0:
        duel.calls += 1
    elif duel is not None and strategy in (duel.challenger, duel.champion):
        duel.calls += 1
        if strategy == duel.challenger:
            lost = strategy.group * max(0.0, seconds - math.exp(estimate(state.arms[duel.champion]).mean))
            duel.lost += lost
            arm.cost += lost
        if counts:
            (duel.mine if strategy == duel.challenger else duel.theirs).append(seconds)
    if counts:
        arm.saw([seconds])
    elif is_disturbed:
        arm.disturbed = [*arm.disturbed, seconds][-TURN:]
    if duel is not None and counts:
        _decide(state, duel)
    return lost


def _decide(state: State, duel: Duel) -> None:
    """End a duel that is decided, or that takes too long."""
    mine, theirs = duel.mine, duel.theirs
    champion_seconds = statistics.median(theirs) if theirs else math.exp(estimate(state.arms[duel.champion]).mean)
    if not mine:
        return
    ratio = statistics.median(mine) / champion_seconds
    limit = HOPELESS if len(mine) >= min(3, duel.turn) else HOPELESS**2
    is_costly = duel.lost > duel.room and ratio > 1 and len(mine) > 1
    is_hopeless = (ratio > limit or is_costly) and not theirs
    is_clear = min(len(mine), len(theirs)) > 1 and (is_costly or _is_clear(duel, ratio))
    if not is_hopeless and not is_clear:
        return
    state.duel = None
    challenger, champion_arm = state.arms[duel.challenger], state.arms[duel.champion]
    if theirs and abs(math.log(statistics.median(champion_arm.times) / champion_seconds)) > CHANGED:
        for arm, times in ((challenger, mine), (champion_arm, theirs)):  # earlier times say nothing any more
            arm.times = []
            arm.saw(times)
    _doubt(state, duel, ratio)
    ahead = expected(state, challenger).mean - expected(state, champion_arm).mean
    state.current = duel.challenger if not is_hopeless and ahead < math.log(LEAD) else duel.champion


def _doubt(state: State, duel: Duel, ratio: float) -> None:
    """Doubt the challenger's times if they are a surprise, since something may have disturbed the trial.

    A machine that is slower than foreseen is no surprise, so the ratio of the two times is compared with its
    prediction.
    """
    arm, other = state.arms[duel.challenger], state.arms[duel.champion]
    foreseen = _whole(state, arm, arm.predicted).mean - _whole(state, other, other.predicted).mean
    error = abs(math.log(ratio) - foreseen)
    arm.occasions += 1
    is_surprise = error > SURPRISE and arm.occasions < OCCASIONS
    if arm.doubt and error <= SURPRISE:
        arm.times = []  # they are not confirmed
        arm.saw(duel.mine)
    arm.doubt, arm.again, arm.belief = error / 2 if is_surprise else 0.0, 2 * state.done if is_surprise else 0, None


def _is_clear(duel: Duel, ratio: float) -> bool:
    if min(len(duel.mine), len(duel.theirs)) >= TURNS * duel.turn:
        return True
    noise = max(NOISE, *(_spread(times) for times in (duel.mine, duel.theirs)))
    error = 1.25 * noise * math.sqrt(1 / len(duel.mine) + 1 / len(duel.theirs))
    return abs(math.log(ratio)) > CLEAR * error


def _spread(times: Sequence[float]) -> float:
    logs = list(map(math.log, times))
    middle = statistics.median(logs)
    return 1.5 * statistics.median(abs(x - middle) for x in logs)


def fail(state: State, strategy: Strategy, problem: str) -> None:
    """Take in that a strategy cannot run."""
    state.arms[strategy].problem = problem
    state.arms[strategy].is_ready = False
    if state.duel is not None and strategy in (state.duel.challenger, state.duel.champion):
        state.duel = None


def watch(state: State, latest: Sequence[float]) -> bool:
    """Widen the spreads if the champion has become so slow that nothing is sure any more; return whether it has."""
    best = champion(state)
    if best is None or not best.times or len(latest) < 2:
        return False
    if statistics.median(latest) <= DRIFT * statistics.median(best.times):
        return False
    best.times = []
    best.saw(latest)
    state.widened = True
    return True
