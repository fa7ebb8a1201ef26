"""What Keras computes with, as far as operations in functional models must know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Computing:
    """The values that Keras computes with."""

    def result(self, value: Any) -> Any:
        """A result of an op as Keras takes it."""
        raise NotImplementedError

    def control_rule(self, op: str, values: Sequence[Any]) -> Callable[..., Any]:
        """What runs a branch or a loop.

        Args:
            op: "If", "While" or "Scan".
            values: what it is given.
        """
        raise NotImplementedError

    def carries_states(self, values: Sequence[Any]) -> bool:
        """Whether variables that a branch or a loop assigns must be among what it carries."""
        raise NotImplementedError

    def gradients(self, loss: Callable[..., Any], sources: Sequence[Any]) -> Sequence[Any]:
        """The gradients of a scalar function by all of its arguments; None for those that it does not depend on."""
        raise NotImplementedError


_used: list[Computing] = []


def use(computing: Computing) -> None:
    """Says what Keras computes with."""
    _used[:] = [computing]


def current() -> Computing:
    """What Keras computes with."""
    return _used[0]
