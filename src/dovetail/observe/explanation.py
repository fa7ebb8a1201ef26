"""Explanation: where a function is executed, as data that prints as a text; `explain` makes it."""

from __future__ import annotations

import html
from typing import NamedTuple

from dovetail.execute.choice import Row
from dovetail.observe.algorithms import Algorithm


class Line(NamedTuple):
    """A line of an explanation.

    Attributes:
        kind: "call", "op", "body", "pass", "predicted", "runs as", "rule", "library", "routine" or "exchange".
        text: what it is.
        where: the file and line of its code, as `dovetail/backend/convolution.py:60`; "" if there is none.
    """

    kind: str
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind:<9} {self.text}{f' ({self.where})' if self.where else ''}"


class Explained(NamedTuple):
    """An operation of the user's program, with the lines from the call to the routine.

    Attributes:
        type, name: of the operation.
        result: its results, as `float32[8,30,30,16]`.
        where: the user's line, as `train.py:12`.
        within: the loop or branch that holds it; "" if none does.
        lines: the chain, in order.
    """

    type: str
    name: str
    result: str
    where: str
    within: str
    lines: tuple[Line, ...]

    def of(self, kind: str) -> list[str]:
        """The texts of the lines of a kind."""
        return [line.text for line in self.lines if line.kind == kind]

    def __str__(self) -> str:
        within = f", in {self.within}" if self.within else ""
        first = f"{self.type} {self.name!r}: {self.result}, at {self.where}{within}"
        return "\n".join([first, *(f"  {line}" for line in self.lines)])


class Explanation(NamedTuple):
    """The execution of a function, from calls to routines; `explain` makes it, `print` shows it.

    Attributes:
        name: of the function.
        plan: the first line of the plan.
        operations: the operations of the user's program, in order.
        choice: the strategy that an automatic choice runs now, and by how much it wins; "" if the engine is named.
        candidates: the strategies that the choice compares, with predicted and measured times.
        algorithms: the ways to compute its convolutions, with their times, if they were asked for.
    """

    name: str
    plan: str
    operations: tuple[Explained, ...]
    choice: str = ""
    candidates: tuple[Row, ...] = ()
    algorithms: tuple[Algorithm, ...] = ()

    def of(self, kind: str) -> list[Explained]:
        """The operations of a type."""
        return [operation for operation in self.operations if operation.type == kind]

    def __str__(self) -> str:
        chosen = [self.choice, *(f"  {row}" for row in self.candidates)] if self.choice else []
        timed = ["", *map(str, self.algorithms)] if self.algorithms else []
        return "\n".join([self.plan, *chosen, "", *map(str, self.operations), *timed])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
