"""The table of batching rules, and the values that the rules take.

An op can have two rules.  The rule by examples takes the op, the number of examples and the op's arguments; it returns
the results of all examples.  The rule by rows takes the numbers of examples and of rows of each, and the arguments; it
returns the arguments for the rows of all examples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.ops.shapes.shape import dims_of

Rule = Callable[..., Any]


class Rules(NamedTuple):
    """The rules of an op; None for a way that it does not have."""

    examples: Rule | None = None
    rows: Rule | None = None


RULES: dict[str, Rules] = {}  # op type → its rules
REDUCTIONS = ("Sum", "Prod", "Max", "Min", "Mean", "Any", "All", "ArgMax", "ArgMin", "LogSumExp", "EuclideanNorm")
ALONG_AXES = (  # other ops whose second argument is an axis, or several
    *("Cumsum", "Cumprod", "CumulativeLogsumexp", "Sort", "ArgSort"),
    *("Softmax", "LogSoftmax", "ReverseV2", "Squeeze"),
)


def declare(way: str, *names: str) -> Callable[[Rule], Rule]:
    """Decorate a function as the rule of some ops.

    Args:
        way: "examples" or "rows".
        names: the types of the ops.
    """

    def declared(function: Rule) -> Rule:
        for name in names:
            RULES[name] = RULES.get(name, Rules())._replace(**{way: function})
        return function

    return declared


class NotBatchable(Exception):
    """An error: a rule does not know these arguments."""


class Batch:
    """The values of all examples.

    Attributes:
        value: a tensor with the examples along its first axis.
        rank: the rank of one example's value.
        each: the number of rows of an example.
        rows: the rows of all examples, one after another.
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def value(self) -> Any:
        return self._value

    @property
    def rank(self) -> int:
        return len(self._value.shape) - 1

    @property
    def each(self) -> Any:
        return dims_of(self._value)[1]

    @cached_property
    def rows(self) -> Any:
        size, each, *rest = dims_of(self._value)
        return ops.reshape(self._value, (size * each, *rest))


class Rows(Batch):
    """Values as rows, one after another; they are split into examples only if an op needs these."""

    def __init__(self, rows: Any, size: Any, each: Any) -> None:
        self.rows, self._size, self._each = rows, size, each

    @cached_property
    def value(self) -> Any:
        return ops.reshape(self.rows, (self._size, self._each, *dims_of(self.rows)[1:]))

    @property
    def rank(self) -> int:
        return len(self.rows.shape)

    @property
    def each(self) -> Any:
        return self._each


def leading_axis(x: Any, size: Any) -> Any:
    """A tensor with the axis of examples; a tensor without it is repeated for each example."""
    return x.value if isinstance(x, Batch) else ops.broadcast_to(x, (size, *dims_of(ops.identity(x))))


# -- arguments of rules -----------------------------------------------------------------------------------------------


def need(condition: bool) -> None:
    """Raise `NotBatchable` if a rule's condition does not hold."""
    if not condition:
        raise NotBatchable


def rank_of(x: Any) -> int:
    """The rank of an example's value, or of a tensor that all examples share."""
    return x.rank if isinstance(x, Batch) else len(x.shape)


def is_static(ints: Any) -> bool:
    """Whether all integers of a shape are known."""
    return isinstance(ints, (tuple, list)) and all(isinstance(i, int) for i in ints)


def is_first_only(x: Any, *others: Any) -> bool:
    """Whether the first argument alone differs between examples."""
    return isinstance(x, Batch) and not any(isinstance(other, Batch) for other in others)
