"""A process that runs one graph on a virtual clock, by the real policy and the real ledger."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.choose import estimates, policy
from dovetail.choose.costs import SPREAD
from dovetail.choose.estimates import Arm, Estimate, State
from dovetail.choose.ledger import MOST, Ledger
from dovetail.execute.choice import Strategy

SLOWED = 1.3  # a call takes this many times as long while something is prepared
GROUP = 32  # steps in a call, of models that were recorded in groups, too
JUMP = 1 / 40  # if nothing is decided, this share of the steps so far runs at once


@dataclass
class Machine:
    """The true times of strategies, and the noise of the machine.

    Attributes:
        seconds, starts: by strategy, the seconds of a step, and of preparing it.
        before: seconds of a process before it prepares its first strategy.
        noise: the standard deviation of a time's logarithm.
        disturbed: the share of calls that take three times as long.
        drift: the relative size of slow changes of times.
        fails: strategy → the number of its calls after which it fails.
    """

    seconds: Mapping[Strategy, float]
    starts: Mapping[Strategy, float]
    before: float = 0.0
    noise: float = 0.05
    disturbed: float = 0.0
    drift: float = 0.0
    fails: Mapping[Strategy, int] = field(default_factory=dict)

    @property
    def best(self) -> float:
        return min(self.seconds.values())

    def alone(self, steps: int) -> float:
        """Seconds of a process that makes these steps by the best single strategy for their number."""
        return self.before + min(self.start(s) + steps * seconds for s, seconds in self.seconds.items())

    def start(self, strategy: Strategy) -> float:
        """Seconds of preparing a strategy first; groups of steps need their single step, too."""
        return sum(self.starts[s] for s in {strategy, strategy._replace(group=1)})

    @property
    def cost_of_all(self) -> float:
        """Seconds to prepare all strategies, and to try each once."""
        return sum(self.starts.values()) + sum(7 * (t - self.best) for t in self.seconds.values())


class Process:
    """A process that runs steps until it is stopped.

    Attributes:
        now: the clock.
        curve: pairs of a number of finished steps and a time.
        overrun: the most by which learning has cost more than half of the time.
        prepared: all strategies that were prepared for learning.
    """

    def __init__(self, machine: Machine, state: State, seed: int) -> None:
        self.machine, self.state, self.rng = machine, state, random.Random(seed)
        self.ledger = Ledger(started=machine.before)
        self.job: tuple[Strategy, float] | None = None
        self.overrun, self.prepared = 0.0, list[Strategy]()
        self.decided: list[tuple[Strategy, bool]] = []  # of calls to come, if decisions are made ahead
        single = [arm for arm in state.arms.values() if arm.strategy.group == 1]
        self.first = policy.first(state, single)
        bridge = policy.bridge(state, self.first, single)
        self.now = machine.before + machine.starts[bridge or self.first]
        state.arms[bridge or self.first].is_ready = True
        state.current = None if bridge else self.first
        self.curve = [(0, self.now)]

    def run(self, seconds: float = math.inf, steps: float = math.inf) -> None:
        while self.now < seconds and self.state.done < steps:
            self.call()

    def call(self) -> None:
        """Make one call, and as many more as run in the same way until something may be decided."""
        self._cross()
        self._begin_job()
        decided = policy.next_call(self.state, self.ledger.room(self.now))
        self.decided.append(decided)
        strategy, counts = self.decided.pop(0) if len(self.decided) > self.state.lag else decided
        if self.state.arms[strategy].problem:
            strategy, counts = decided
        arm = self.state.arms[strategy]
        if arm.calls >= self.machine.fails.get(strategy, 1 << 60):
            policy.fail(self.state, strategy, "it fails")
            return
        level = 1 + self.machine.drift * math.sin(self.now / 7)
        taken = self.machine.seconds[strategy] * level * math.exp(self.rng.gauss(0, self.machine.noise))
        taken *= 3 if self.rng.random() < self.machine.disturbed else 1
        if self.job is not None:
            self._slowed(taken * strategy.group)
            self._skip(int(self.job[1] / 20 / taken) if self.state.duel is None else 0, SLOWED * taken)
        elif self.state.duel is None and len(arm.times) >= 5:
            self._skip(int(JUMP * self.state.done), taken)
        self.now += taken * strategy.group
        self.ledger.lose(policy.observe(self.state, strategy, taken, counts and self.job is None))
        self._go_on_with_job(taken * strategy.group)
        self.overrun = max(self.overrun, self.ledger.lost - MOST * (self.now - self.machine.before))
        self.curve.append((self.state.done, self.now))

    def _cross(self) -> None:
        if self.state.current is None and self.state.done and policy.is_over(self.state, self.first):
            self.now += self.machine.starts[self.first]
            self.state.arms[self.first].is_ready, self.state.current = True, self.first

    def _slowed(self, taken: float) -> None:
        self.now += (SLOWED - 1) * taken
        self.ledger.lose((SLOWED - 1) * taken)

    def _skip(self, steps: int, seconds: float) -> None:
        self.state.done += steps
        self.state.ahead = max(0, self.state.ahead - steps)
        self.now += steps * seconds
        if self.job is not None:
            self.ledger.lose(steps * seconds * (1 - 1 / SLOWED))
            self._go_on_with_job(steps * seconds)

    def _begin_job(self) -> None:
        if self.job is None and (found := policy.next_jobs([self.state], self.ledger.room(self.now))):
            _, strategy = found[0]
            self.job = strategy, self.machine.starts[strategy]
            self.prepared.append(strategy)
            policy.begin(self.state, strategy)

    def _go_on_with_job(self, seconds: float) -> None:
        if self.job is None:
            return
        strategy, left = self.job
        self.ledger.lose(min(seconds, left))
        self.state.arms[strategy].cost += min(seconds, left)
        self.job = (strategy, left - seconds) if left > seconds else None
        if self.job is None:
            self.state.arms[strategy].is_ready = True
            self.state.current = self.state.current or strategy


def random_set(seed: int, error: float, ahead: int = 0, count: int = 6, **machine: float) -> Process:
    """A process with random strategies.

    Args:
        seed: the seed of the random numbers.
        error: the standard deviation of the logarithm of predictions.
        ahead: the number of steps that the program announces.
        count: the number of strategies.
        **machine: fields of `Machine`.
    """
    rng = random.Random(seed)
    strategies = [Strategy(f"engine{i}") for i in range(count)]
    base = 10 ** rng.uniform(-3.5, 0)
    seconds = {s: base * math.exp(abs(rng.gauss(0, 0.7))) for s in strategies}
    starts = {s: rng.choice([0, 0.3, 1, 2, 4, 12]) for s in strategies}
    errors = {s: rng.gauss(0, error) for s in strategies}
    arms = {s: Arm(s, Estimate(math.log(seconds[s]) + errors[s], 1.0), start=starts[s]) for s in strategies}
    return Process(Machine(seconds, starts, **machine), State(arms, ahead=ahead), seed)  # type: ignore[arg-type]


def recorded(rows: Mapping[str, Mapping[str, float]], ahead: int, within: float = math.inf) -> Process:
    """A process with the strategies of a model that ran on a machine.

    Args:
        rows: engine → its seconds, measured and predicted, as `benchmarks/first_minute.py --simulation` writes them.
        ahead: the number of steps that the program announces.
        within: the factor by which a prediction may differ from the measurement; one that differs more is moved there.
    """
    before = min(row["start"] for row in rows.values())  # all engines have these imports of Python and Keras
    seconds = {Strategy(engine): row["step"] for engine, row in rows.items()}
    starts = {Strategy(engine): row["start"] - before for engine, row in rows.items()}
    arms, groups = {}, {}
    for strategy, row in zip(seconds, rows.values(), strict=True):
        step = _near(row["predicted step"], seconds[strategy], within)
        start = _near(row["predicted start"], starts[strategy], within)
        arms[strategy] = Arm(strategy, Estimate(math.log(step), SPREAD), start=start)
        if "group step" in row:
            group, call = strategy._replace(group=GROUP), row["predicted call"] * (1 - 1 / GROUP)
            arms[group] = Arm(
                group,
                estimates.in_groups(arms[strategy].predicted, call, row["predicted least"]),
                start=row["predicted group start"],
            )
            groups[group], starts[group] = row["group step"], row["group start"]
    seconds |= groups
    return Process(Machine(seconds, starts, before, noise=0.02), State(arms, ahead=ahead), seed=0)


def _near(predicted: float, measured: float, factor: float) -> float:
    return min(max(predicted, measured / factor), measured * factor)
