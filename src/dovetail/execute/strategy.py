"""Strategy: one way to run a graph."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.core.texts import count_text


class Strategy(NamedTuple):
    """One way to run a graph.

    Attributes:
        engine: the name of the engine.
        variant: the variant of its rules, or of a plan of two engines; "" for the first one.
        threads: the number of threads; 0 for the engine's own number.
        group: the number of steps in one call.

    Example:
        >>> Strategy("jax", "patches", group=32).name
        'jax patches, 32 steps a call'
    """

    engine: str
    variant: str = ""
    threads: int = 0
    group: int = 1

    @property
    def name(self) -> str:
        """The strategy in words."""
        parts = [f"{self.engine} {self.variant}".rstrip()]
        if self.threads:
            parts.append(count_text(self.threads, "thread"))
        if self.group > 1:
            parts.append(f"{self.group} steps a call")
        return ", ".join(parts)
