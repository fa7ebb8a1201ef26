"""Choice: the strategy that runs a graph, with the times by which it was chosen, as data that files hold.

A strategy is one way to run it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dovetail.core.base.texts import count_text, time_text
from dovetail.graph.attributes import Beside, Form, register

SPLIT = "convolutions on "  # begins the words for a plan of two engines; in older files, they are a variant


class Strategy(NamedTuple):
    """One way to run a graph.

    Attributes:
        engine: the name of the engine.
        variant: the variant of its rules; "" for the first one.
        threads: the number of threads; 0 for the engine's own number.
        group: the number of steps in one call.
        split: the name of the engine that computes convolutions and pools; "" if it is the one of the rest.

    Example:
        >>> Strategy("jax", "patches", group=32).name
        'jax patches, 32 steps a call'
        >>> Strategy("jax", split="torch").name
        'jax convolutions on torch'
    """

    engine: str
    variant: str = ""
    threads: int = 0
    group: int = 1
    split: str = ""

    @property
    def name(self) -> str:
        """The strategy in words."""
        parts = [" ".join(filter(None, (self.engine, self.variant, self.split and f"{SPLIT}{self.split}")))]
        if self.threads:
            parts.append(count_text(self.threads, "thread"))
        if self.group > 1:
            parts.append(f"{self.group} steps a call")
        return ", ".join(parts)


class Row(NamedTuple):
    """A strategy with the numbers that decide about it; times are seconds of a step.

    Attributes:
        strategy: the way to run the graph.
        predicted: the time before any measurement; 0 if it was not predicted.
        measured: the median time; 0 if it was not measured.
        calls: the number of measured calls.
        gain, cost: the expected gain and cost of a trial, in seconds; 0 for the strategy that runs.
        problem: the reason why it cannot run; "" if none is known.

    Example:
        >>> print(Row(Strategy("jax"), predicted=0.002, gain=3.0, cost=12.0))
        jax: predicted 2 ms, not measured, gain 3 s < cost 12 s
        >>> print(Row(Strategy("torch"), measured=0.004, calls=9))
        torch: not predicted, measured 4 ms in 9 calls
    """

    strategy: Strategy
    predicted: float = 0.0
    measured: float = 0.0
    calls: int = 0
    gain: float = 0.0
    cost: float = 0.0
    problem: str = ""

    def __str__(self) -> str:
        predicted = f"predicted {time_text(self.predicted)}" if self.predicted else "not predicted"
        measured = (
            f"measured {time_text(self.measured)} in {count_text(self.calls, 'call')}"
            if self.measured
            else "not measured"
        )
        parts = [f"{self.strategy.name}: {predicted}", measured]
        if self.problem:
            parts.append(f"left out, {self.problem}")
        elif self.cost or self.gain:
            parts.append(f"gain {self.gain:.2g} s {'>' if self.gain > self.cost else '<'} cost {self.cost:.2g} s")
        return ", ".join(parts)


class Choice(NamedTuple):
    """The strategy that runs a graph, and the strategies among which it was chosen.

    Attributes:
        strategy: the way to run the graph.
        rows: all strategies with their predicted and measured times; empty if none was measured.

    Example:
        >>> print(Choice(Strategy("torch"), (Row(Strategy("torch"), measured=0.004, calls=9),)))
        torch
          torch: not predicted, measured 4 ms in 9 calls
    """

    strategy: Strategy
    rows: tuple[Row, ...] = ()

    @property
    def summary(self) -> str:
        """A line with the strategy that runs, and its lead over the next one; "" if none was measured."""
        if not self.rows:
            return ""
        line = f"now: {self.strategy.name}, of {len(self.rows)} strategies"
        times = {row.strategy: row.measured for row in self.rows if row.measured}
        mine = times.pop(self.strategy, None)
        if mine is None or not times:
            return line
        rival = min(times, key=lambda strategy: times[strategy])
        return f"{line}, {times[rival] / mine:.2f} times as fast as {rival.name}"

    def __str__(self) -> str:
        return "\n  ".join([self.strategy.name, *map(str, self.rows)])


def _data(choice: Choice, beside: Beside) -> Any:
    rows = [[list(r.strategy), r.predicted, r.measured, r.calls, r.problem] for r in choice.rows]
    return {"strategy": list(choice.strategy), "rows": rows}


def _choice(data: Any, beside: Beside) -> Choice:
    return Choice(strategy_of(data["strategy"]), tuple(map(_row, data["rows"])))


def _row(data: Any) -> Row:
    strategy, predicted, measured, calls, problem = data
    if (type(predicted), type(measured), type(calls), type(problem)) != (float, float, int, str):
        raise ValueError("a strategy has times of other types")
    if not all(math.isfinite(seconds) and seconds >= 0 for seconds in (predicted, measured)):
        raise ValueError("a time of a strategy is none")
    return Row(strategy_of(strategy), predicted, measured, calls, problem=problem)


TYPES = [str, str, int, int, str]  # of the fields of a strategy; older files lack the last one


def strategy_of(given: Any) -> Strategy:
    """The strategy that a list in JSON says.

    Raises:
        ValueError: it says none.
    """
    if type(given) is not list or list(map(type, given)) not in (TYPES[:-1], TYPES):
        raise ValueError("it is no strategy")
    strategy = Strategy(*given)
    if strategy.threads < 0 or strategy.group < 1:
        raise ValueError("it is no strategy")
    is_older = len(given) < len(TYPES) and strategy.variant.startswith(SPLIT)
    return strategy._replace(variant="", split=strategy.variant.removeprefix(SPLIT)) if is_older else strategy


register(Choice, Form("choice", _data, _choice))
