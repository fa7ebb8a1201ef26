"""Policy: the choice of the strategy for the next call of a graph, and of the one to prepare next.

It is pure: it has no clock, thread, lock or engine.  A `State` is all knowledge of a graph, as plain data.  Some
functions decide the next step, others take in observations.  So an interrupt loses one observation, a simulation of a
thousand sets of strategies takes seconds, and one process can decide for several.

A strategy has a predicted time and a spread.  The strategy with the least expected time runs.  Another one is prepared,
and tried, if its expected gain over the remaining steps is more than its cost, and the ledger has room for the cost.
The room is a share of the time so far.  A candidate that the process has missed may cost its regret.  That is
the gain that it would have had over the steps so far, less what other engines' starts have cost for the same loss.
A trial is a duel: challenger and champion take turns, since the load of the machine changes with time.

Sources: the expected improvement of Jones, Schonlau and Welch 1998, "Efficient global optimization of expensive
black-box functions"; for bridges, Purohit, Svitkina and Kumar 2018, "Improving online algorithms via ML predictions".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dovetail.choose.estimates import (
    HOPELESS,
    NOISE,
    TURN,
    WARM,
    Arm,
    Duel,
    Prospect,
    State,
    calls_of_turn,
    champion,
    estimate,
    expected,
    groups_of,
    prospect,
    remaining,
    whole,
)
from dovetail.choose.ledger import Room
from dovetail.execute.choice import Strategy

TURNS = 4  # turns of each strategy in a duel, at most
CLEAR = 3.0  # standard errors by which a duel is decided early
LEAD = 0.97  # another strategy replaces the current one if it takes less than this part of its time
TINY = 1e-3  # seconds: a job that costs less counts as if it cost that
GUESS, GUESS_SECONDS = 30, 4.0  # the least work that is expected of a graph: steps, seconds of its fastest strategy
LONG, BRIDGED = 0.5, 3  # seconds of a start that another strategy bridges, and the steps that it must make meanwhile
EARLY = 0.5  # of a start: a bridge ends when the first strategy saves this much, since the program may go on for longer
FAITH = 2  # times the steps so far: no more of the steps to come end a bridge, since this process may be shorter
CHANGED = 0.15  # of the logarithm of the champion's time: after a larger change, the machine is not as before the trial
DRIFT = 1.5  # times its earlier time: if a settled strategy takes longer, its estimate is no longer sure
# A time this far from its prediction, relative to the champion's, is doubted until it was seen on so many occasions.
SURPRISE, OCCASIONS = math.log(3.0), 3


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
    return arm.start + move + steps * min(expected(state, each).seconds for each in (arm, *groups_of(state, arm)))


def bridge(state: State, strategy: Strategy, arms: Iterable[Arm], load: float = 0.0) -> Strategy | None:
    """Return the strategy that runs until the first one is ready; None if waiting for the first one is quicker.

    It is None, too, if the program said so many steps that the bridge would end after one.  A bridge that can go on
    while the first one's program is made is kept.

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
    them count than of an earlier process.  A program that has said more steps again and again may go on to do so, and
    one that did so in an earlier process may do it again.
    """
    best = champion(state)
    said = max(EARLY * state.ahead, state.before)
    steps = min(max(said or state.done, state.earlier - state.done), FAITH * state.done)
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
    able = [(p.worth, arm.strategy, p) for p, arm in ready if p.cost <= max(room.of(p.regret), 0.0)]
    if not able:
        return None
    _, challenger, p = max(able)
    seconds = math.exp(estimate(best).mean)
    turn = calls_of_turn(seconds)
    foreseen = p.cost + TURNS * (WARM + turn) * challenger.group * seconds  # so that only a surprise ends it
    return Duel(challenger, best.strategy, turn, max(0.0, min(room.of(p.regret), 2 * foreseen)), calls=-state.lag)


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
    is_quiet = state.duel is None  # a trial learns nothing while something is prepared
    return is_quiet and not (arm.is_ready or arm.waits) and (single is arm or single.is_ready)


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


def announce(state: State, steps: int) -> None:
    """Take in that the program says how many steps are to come."""
    state.ahead, state.before = steps, state.done


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
        if arm.aside and arm is champion(state):
            state.slowed = math.log(statistics.median(arm.times) / statistics.median(arm.aside))
    elif is_disturbed:
        arm.disturbed = [*arm.disturbed, seconds][-TURN:]
    if duel is not None and counts:
        _decide(state, duel)
    elif duel is not None and duel.lost > duel.room and not duel.mine:
        _postpone(state, duel, seconds)
    return lost


def _postpone(state: State, duel: Duel, seconds: float) -> None:
    """End a trial that costs too much before its first time counts; the last occasion believes the times as they are.

    Args:
        state: the state of the graph.
        duel: the trial.
        seconds: the latest time of a step.
    """
    arm, state.duel = state.arms[duel.challenger], None
    arm.occasions, arm.again = arm.occasions + 1, 2 * state.done
    if arm.occasions >= OCCASIONS:
        arm.saw([seconds] * OCCASIONS)  # each occasion took about as long


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
    challenger.again = 2 * state.done  # one that lost would lose again, unless the graph runs for much longer
    ahead = expected(state, challenger).mean - expected(state, champion_arm).mean
    has_won = not is_hopeless and ratio < 1 and ahead < math.log(LEAD)
    state.current = duel.challenger if has_won else duel.champion
    if has_won:
        challenger.doubt, challenger.again, challenger.belief = 0.0, 0, None  # it runs, so its times are seen again


def _doubt(state: State, duel: Duel, ratio: float) -> None:
    """Doubt the challenger's times if they are a surprise, since something may have disturbed the trial.

    A machine that is slower than foreseen is no surprise, so the ratio of the two times is compared with its
    prediction.
    """
    arm, other = state.arms[duel.challenger], state.arms[duel.champion]
    foreseen = [whole(state, each, each.predicted._replace(mean=each.foreseen)).mean for each in (arm, other)]
    error = abs(math.log(ratio) - foreseen[0] + foreseen[1])
    arm.occasions += 1
    is_surprise = error > SURPRISE and arm.occasions < OCCASIONS
    if arm.doubt and error <= SURPRISE:
        arm.times = []  # they are not confirmed
        arm.saw(duel.mine)
    arm.doubt, arm.belief = error / 2 if is_surprise else 0.0, None


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


LEARNT = ("times", "aside", "disturbed", "calls", "occasions", "again", "doubt", "cost", "instead", "regret")


def go_on(state: State, before: State) -> None:
    """Continue with the steps and the times of an equal graph, which this process ran before.

    Args:
        state: the state of the new graph, whose strategies must be prepared again.
        before: the state of the earlier one.
    """
    for strategy, arm in before.arms.items():
        if strategy in state.arms:
            learn_from(state.arms[strategy], arm)
        elif strategy.group == 1 and not arm.problem:
            state.arms[strategy] = replace(arm, is_ready=False, waits=False)
    state.done, state.before = before.done, before.done
    state.widened, state.slowed = before.widened, before.slowed
    if state.is_pressed != before.is_pressed:
        is_pressed, state.is_pressed = state.is_pressed, before.is_pressed
        press(state, is_pressed)


def learn_from(arm: Arm, before: Arm) -> None:
    """Continue with the times of the same strategy of an equal graph."""
    for name in LEARNT:
        setattr(arm, name, getattr(before, name))


def press(state: State, is_pressed: bool) -> None:
    """Exchange the times for those set aside, since other programs begin or stop to press this one.

    A time under pressure is never compared with one without.  Until a strategy has a new time, its
    estimate changes as the champion's does.

    Args:
        state: the state of the graph.
        is_pressed: whether they press it now.
    """
    state.is_pressed, state.duel, state.slowed = is_pressed, None, 0.0
    for arm in state.arms.values():
        arm.times, arm.aside, arm.belief = arm.aside, arm.times, None


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
    for arm in state.arms.values():
        arm.again = 0
    return True
