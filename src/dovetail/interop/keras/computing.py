"""The interface to Keras' own values, for operations in functional models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Computing:
    """Operations on the values that Keras computes with."""

    def result(self, value: Any) -> Any:
        """A result of an op in the form that Keras takes."""
        raise NotImplementedError

    def control_rule(self, op: str, values: Sequence[Any]) -> Callable[..., Any]:
        """The function that runs a branch or a loop.

        Args:
            op: "If", "While" or "Scan".
            values: its tensors.
        """
        raise NotImplementedError

    def carries_states(self, values: Sequence[Any]) -> bool:
        """Whether a branch or a loop must carry the values of variables that it assigns."""
        raise NotImplementedError

    def gradients(self, loss: Callable[..., Any], sources: Sequence[Any]) -> Sequence[Any]:
        """The gradients of a scalar function by all of its arguments; None for arguments that it does not depend on."""
        raise NotImplementedError


_used: list[Computing] = []


def use(computing: Computing) -> None:
    """Set the interface to Keras' values."""
    _used[:] = [computing]


def current() -> Computing:
    """The interface to Keras' values."""
    return _used[0]
