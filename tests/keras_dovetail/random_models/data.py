"""The form of random programs: dictionaries, lists, strings and numbers, so a program is JSON."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Draw = random.Random
Shape = tuple[int, ...]
Data = dict[str, Any]


def new(kind: str, **options: Any) -> Data:
    """An object of Keras or of `keras3_own`, as data.

    Args:
        kind: where it is found: "layers.Dense", "own.Counter".
        options: its arguments; a value may be data of this form too.
    """
    return {"new": kind, "with": options}


def named(kind: str) -> Data:
    """A function or class of `keras3_own` itself, as data."""
    return {"named": kind}


def some(draw: Draw, probability: float, **options: Any) -> Data:
    """Options that are drawn with a probability, else none. A sequence of values is a choice."""
    if draw.random() >= probability:
        return {}
    return {
        name: draw.choice(v) if isinstance(v, Sequence) and not isinstance(v, str) else v for name, v in options.items()
    }
