"""The verdict on each function that a program uses, per engine, from the parity suite and K's docstrings."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from dovetail import backend as K
from dovetail.backend import docstring
from dovetail.backend.table import FUNCTIONS
from dovetail.compat.run.imports import Imports
from dovetail.compat.run.missing import problem_of
from dovetail.compat.source.uses import Use
from dovetail.interop.privates import PRIVATES

# modules with other functions than K's, which `dovetail run` gives, too
OF_KERAS_3 = ("keras.backend", PRIVATES["own_backend"])
NAMES_OF_TENSORFLOW = "tf"  # a module, which `dovetail audit --only tf` reports on
WORKS, DIFFERS, FAILS, UNTESTED = STATES = ("works", "differs", "fails", "untested")


@dataclass(frozen=True)
class Verdict:
    """The verdict on one function.

    Attributes:
        states: engine → one of `STATES`.
        notes: how it differs, or why it does not work and what to do, in sentences.
    """

    states: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> str:
        """The state of the engine that fares worst."""
        return max(self.states.values(), key=(UNTESTED, *STATES).index)


@functools.cache
def support() -> dict[str, Any]:
    """The counts that docs/k_support.py wrote when the parity suite ran."""
    return json.loads(files("dovetail.backend").joinpath("support.json").read_text())


def tested_engines() -> list[str]:
    """The engines that the suite ran on."""
    ways = [entry for entry in support()["functions"].values() if "absent" not in entry and "uncompared" not in entry]
    run_on = {engine for entry in ways for engines in entry.values() for engine in engines}
    return [name for name in support()["versions"] if name in run_on]


def judge(uses: Iterable[Use], engines: Sequence[str]) -> dict[str, Verdict]:
    """The verdict on each function.

    Args:
        uses: the uses of all functions.
        engines: the engines to judge for.
    """
    own, by_name = set(), defaultdict(list)
    for use in uses:
        by_name[use.name].append(use)
        if use.how == "replaced":
            own.add(use.name)
    return {name: _judge(name, by_name[name], engines, name in own) for name in sorted(by_name)}


def _judge(name: str, uses: Iterable[Use], engines: Sequence[str], own: bool) -> Verdict:
    entry = support()["functions"].get(name, {})
    if name not in FUNCTIONS:
        if (
            own
            or name == NAMES_OF_TENSORFLOW
            or callable(getattr(K, name, None))
            or (not entry and _is_of_keras_3(name))
        ):
            return Verdict(dict.fromkeys(engines, WORKS))
        return Verdict(dict.fromkeys(engines, FAILS), (_absence(name, entry),))
    misfits = [] if own else _misfits(name, uses)
    if misfits:
        return Verdict(dict.fromkeys(engines, FAILS), tuple(misfits))
    texts = docstring.read(FUNCTIONS[name]).differences if FUNCTIONS[name].__doc__ else []
    differences = tuple(text for text in texts if not docstring.takes_more(text))
    states = {engine: _state(entry, engine, bool(differences)) for engine in engines}
    failed = tuple(f"Cases of the parity suite fail on {engine}." for engine in engines if states[engine] == FAILS)
    return Verdict(states, failed + differences)


def _is_of_keras_3(name: str) -> bool:
    return any(problem_of(f"{module}.{name}", Imports("keras3")) is None for module in OF_KERAS_3)


def _misfits(name: str, uses: Iterable[Use]) -> list[str]:
    """The calls that the function does not accept, such as calls with Keras 1's parameter names."""
    signature, misfits = inspect.signature(FUNCTIONS[name]), []
    for use in uses:
        if use.arguments is not None:
            count, names = use.arguments
            try:
                signature.bind(*[None] * count, **dict.fromkeys(names))
            except TypeError as error:
                takes = ", ".join(signature.parameters) or "no arguments"
                misfits.append(f"{use.place}: {error}; it takes {takes}.")
    return misfits


def _state(entry: dict[str, Any], engine: str, differs: bool) -> str:
    if "uncompared" not in entry:
        runs = [engines[engine] for engines in entry.values() if engine in engines]
        if not runs:
            return UNTESTED
        if any(fails for _, _, fails in runs):
            return FAILS
    return DIFFERS if differs else WORKS


def _absence(name: str, entry: dict[str, Any]) -> str:
    if "absent" in entry:
        return entry["absent"]
    if name.startswith("_"):
        return "It is private to the Keras that had it."
    close = difflib.get_close_matches(name, FUNCTIONS, n=1, cutoff=0.75)
    return "K has no function of this name" + (f"; did you mean K.{close[0]}?" if close else ".")
