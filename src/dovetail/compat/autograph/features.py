"""The optional parts of AutoGraph, by TensorFlow's names."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any


class Options:
    """The optional parts of AutoGraph that a program asks for.

    Args:
        names: "BUILTIN_FUNCTIONS", "ASSERT_STATEMENTS", "LISTS", "ALL" and others of TensorFlow.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)

    def has(self, name: str) -> bool:
        """Whether the program asks for a part."""
        return not self.names.isdisjoint({name, "ALL"})


class Feature(enum.Enum):
    """An optional part of AutoGraph.

    Source: `tf.autograph.experimental.Feature`.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All parts."""
        return (cls.ALL,)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """All parts but some."""
        left_out = exclude if isinstance(exclude, (list, tuple, set, frozenset)) else (exclude,)
        return tuple(part for part in cls if part not in {*left_out, cls.ALL})


def features(given: Any) -> Options:
    """The options for one feature, several, or None."""
    parts = given if isinstance(given, (list, tuple, set, frozenset)) else () if given is None else (given,)
    return Options(part.name for part in parts)
