"""Compare the results of programs on Dovetail with the results on Keras' own backends."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.keras_backends import told

RUN = "tests.keras_dovetail.random_models.keras3_run"
Outcome = dict[str, Any]  # from `keras3_run.outcome`
ROUNDING = {"float32": 1e-5, "mixed_bfloat16": 2e-2, "mixed_float16": 3e-3}  # for one step, by dtype policy


class Verdict(NamedTuple):
    """The end of a program.

    Attributes:
        kind: "agreed", "open" if Keras' own backends disagree, "refused" if all raise the same error, or "wrong".
        problems: for each way of running that is wrong, the first difference.
        differences: the first difference between Keras' own backends, "" if there is none.
    """

    kind: str
    problems: dict[str, str]
    differences: str


def outcomes(made: dict[str, Any], backend: str, *ways: str) -> dict[str, Outcome]:
    """Run a program on a backend of Keras, and return its outcomes by way; raise an error if the process ends early."""
    try:
        return told(RUN, backend, json.dumps(made), *ways)
    except AssertionError as problem:
        return {way: {"records": [], "error": "AssertionError", "trace": str(problem)} for way in ways}


def verdict_on(made: dict[str, Any], oracles: Sequence[str], ways: Sequence[str]) -> Verdict:
    """Run a program on Dovetail and on Keras' own backends, and judge it.

    Args:
        made: the program.
        oracles: Keras' own backends. Each runs the program only if Dovetail differs from those before it.
        ways: engines of Dovetail, or "turns".
    """
    if "steps_per_execution" in str(made):  # Keras on torch refuses this
        oracles = [oracle for oracle in oracles if oracle != "torch"]
    found, wanted = outcomes(made, "dovetail", *ways), dict[str, Outcome]()
    for oracle in oracles:
        wanted |= outcomes(made, oracle, oracle)
        verdict = judge(made, wanted, found)
        if verdict.kind != "wrong":
            break
    return verdict


def judge(made: dict[str, Any], wanted: dict[str, Outcome], found: dict[str, Outcome]) -> Verdict:
    """Compare outcomes with Keras' own backends: each number must be between theirs, up to their rounding.

    Args:
        made: the program; its dtypes determine how they round.
        wanted: the outcomes of Keras' own backends by their names.
        found: the outcomes to judge.
    """
    rounding = max(part for dtype, part in ROUNDING.items() if dtype in json.dumps(made))
    whole = {name: run for name, run in wanted.items() if not run["error"]}
    errors = {run["error"] for run in wanted.values()} - {""}
    if not whole:
        last = {run["trace"].strip().rpartition("\n")[2] for run in wanted.values()}
        if len(last) > 1:  # the errors have different causes
            return Verdict("open", {}, "; ".join(sorted(last)))
        allowed = errors | {"TypeError", "ValueError"}
        problems = {who: run["trace"] or "no error" for who, run in found.items() if run["error"] not in allowed}
        return Verdict("wrong" if problems else "refused", problems, next(iter(wanted.values()))["trace"])
    differences = "; ".join(f"{name} raises {run['error']}" for name, run in wanted.items() if run["error"])
    runs = list(whole.values())
    first = next(iter(whole))
    for name, run in list(whole.items())[1:]:
        if not differences and (difference := _difference([runs[0]], run, rounding)):
            differences = f"{name} unlike {first}, {difference}"
    problems = {}
    for who, run in found.items():
        if problem := _difference(runs, run, 2 * rounding):
            problems[who] = problem
    kind = "wrong" if problems else "open" if differences else "agreed"
    return Verdict(kind, problems, differences)


def _difference(wanted: list[Outcome], found: Outcome, rounding: float) -> str:
    """The first difference of a run from several runs, or ""."""
    for number, (name, steps, values) in enumerate(found["records"]):
        records = [run["records"][number] if number < len(run["records"]) else ("nothing",) for run in wanted]
        if {record[0] for record in records} != {name}:
            return f"{name}: others have {[record[0] for record in records]}"
        if problem := _outside([record[2] for record in records], values, rounding * (1 + steps)):
            return f"{name}: {problem}"
    if found["error"]:
        return found["trace"]
    if len(found["records"]) < len(wanted[0]["records"]):
        return f"ends before {wanted[0]['records'][len(found['records'])][0]}"
    return ""


def _outside(wanted: list[list[float]], found: list[float], tolerance: float) -> str:
    """The first value that is not between the wanted ones, or "".

    Each may be off by a part of itself and of the mean.
    """
    if any(len(values) != len(found) for values in wanted):
        return f"{len(found)} values, not {len(wanted[0])}"
    if not found:
        return ""
    of, values = np.array(wanted), np.array(found)
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(of), np.fmax.reduce(of)  # they ignore NaN
        size = np.abs(of[np.isfinite(of)])
        room = tolerance * (np.maximum(abs(low), abs(high)) + (size.mean() if len(size) else 0.0) + 0.01)
        is_equal = (values == of).any(0) | (np.isnan(values) & np.isnan(of).any(0))
        wrong = ~((low - room <= values) & (values <= high + room) | is_equal)
    if not wrong.any():
        return ""
    place = int(np.argmax(wrong))
    shown = " and ".join(f"{value:.7g}" for value in sorted({low[place], high[place]}) if not math.isnan(value))
    return f"[{place}] is {values[place]:.7g}, not {shown or 'nan'} ± {room[place]:.1g} ({wrong.sum()} of {len(found)})"
