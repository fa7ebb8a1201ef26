"""Calibration: corrections of the shipped rates, kept on disk for a machine.

Measurements of a program's own graphs correct the rates.  `dovetail tune` measures them all; see `samples`.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

from dovetail.choose import costs, records
from dovetail.core.base.files import replacing
from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import get_engine

FORMAT = 1
FURTHEST = 7.0  # the largest logarithm of a correction: a factor of a thousand


def load(engine: str, known: costs.Corrections) -> Engine:
    """Import the library of an engine, and take in the seconds that this takes."""
    predicted, start = known.load_seconds(engine), time.perf_counter()
    loaded = get_engine(engine)
    known.learn_load(engine, predicted, time.perf_counter() - start)
    return loaded


def _path() -> Path | None:
    where = records.folder()
    return None if where is None else where / f"rates-{records.digest(['rates'])}.json"


def recall() -> None:
    """Take in the corrections that earlier processes kept, once a process; ignore any other file."""
    if _recalled:
        return
    _recalled.append({})
    path = _path()
    try:
        factors = {} if path is None else _checked(json.loads(records.content(path)))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return
    costs.known.factors = {**factors, **costs.known.factors}
    _recalled[0] = factors


_recalled: list[dict[tuple[str, str], float]] = []


def _checked(given: Any) -> dict[tuple[str, str], float]:
    """The corrections of a file.

    Raises:
        ValueError, TypeError, KeyError: it is not a file of corrections.
    """
    if given["format"] != FORMAT:
        raise ValueError("it is of another version")
    factors = {(engine, family): error for engine, family, error in given["factors"]}
    kinds = {(type(engine), type(family), type(error)) for (engine, family), error in factors.items()}
    if kinds - {(str, str, float)} or not all(math.isfinite(error) for error in factors.values()):
        raise ValueError("its numbers are none")
    return {key: max(-FURTHEST, min(FURTHEST, error)) for key, error in factors.items()}


def keep() -> None:
    """Write the corrections, together with the ones that earlier processes kept, if there are new ones."""
    if not costs.known.factors:
        return
    recall()
    factors = costs.known.factors
    path = None if factors == _recalled[0] else _path()
    if path is None:
        return
    rows = [[engine, family, error] for (engine, family), error in sorted(factors.items())]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(json.dumps({"format": FORMAT, "factors": rows}).encode())
    except OSError:
        return  # `records` logs it once
