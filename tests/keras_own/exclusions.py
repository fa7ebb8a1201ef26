"""The list of Keras' tests that do not pass: `excluded.toml` has one reason beside each.

[[excluded]]
reason = "…"
tests = ["layers/core/dense_test.py::DenseTest::test_*"]  # as pytest names them
engines = ["numpy"]  # if it differs between engines
stock = true  # if they fail on Keras' own backend here too
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("excluded.toml")


@dataclass(frozen=True)
class Exclusion:
    """Tests that do not pass, and the reason."""

    reason: str
    tests: tuple[str, ...]
    engines: tuple[str, ...] = ()
    stock: bool = False

    def __post_init__(self) -> None:
        if not self.reason or not self.tests:
            raise ValueError(f"an exclusion needs a reason and tests, not {self.reason!r} and {self.tests}")

    def covers(self, test: str) -> bool:
        """Whether this covers a test; in `tests` a star matches any text, and a bracket only itself."""
        return any(re.fullmatch(".*".join(map(re.escape, name.split("*"))), test) for name in self.tests)


def read(engine: str, path: Path = LIST) -> list[Exclusion]:
    """The exclusions of an engine."""
    entries: Iterable[dict[str, Any]] = tomllib.loads(path.read_text())["excluded"]
    found = [
        Exclusion(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})
        for entry in entries
    ]
    return [each for each in found if not each.engines or engine in each.engines]


def exclusion_of(test: str, exclusions: Iterable[Exclusion]) -> Exclusion | None:
    """The exclusion of a test, if it has one.

    Example:
        >>> known = Exclusion("numbers of jax' own generator", ("random/random_test.py::*::test_bits*",))
        >>> exclusion_of("random/random_test.py::RandomTest::test_bits_0", [known]).reason
        "numbers of jax' own generator"
    """
    return next((each for each in exclusions if each.covers(test)), None)
