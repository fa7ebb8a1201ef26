"""Graph mode: whether what programs of TensorFlow 1 make is recorded in a graph, and in which."""

from __future__ import annotations

from typing import Any

from dovetail.core.recording import building


def graph() -> Any:
    """The default graph, if it is open; else None."""
    return building.default


def recorded(result: Any, name: str) -> Any:
    """A structure of results, in graph mode with constants of the graph for the values among them."""
    return result
