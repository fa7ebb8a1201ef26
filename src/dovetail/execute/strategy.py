"""Strategy: one way to run a graph."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.core.texts import count_text

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
