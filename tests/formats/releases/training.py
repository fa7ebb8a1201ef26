"""The files between two runs of a program: plans, choices, measurements, and the states of training."""

# ruff: noqa: NPY002  # the random state that programs share is what checkpoints keep

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.choose import records
from dovetail.choose.report import Report
from dovetail.core.base.cache_folder import VARIABLE
from dovetail.distributed import Checkpoints
from dovetail.execute.choice import Choice, Row, Strategy
from dovetail.federated.rounds import Rounds
from tests.formats.releases import KERNEL, Results, X, Y, released

CHOICE = Choice(
    Strategy("numpy"), (Row(Strategy("numpy"), 0.5, 0.25, 3), Row(Strategy("jax", "patches", 1, 4), problem="no"))
)
KEY = "0123456789abcdef0123456789abcdef01234567"


def told(rows: Iterable[Row]) -> Results:
    """The rows of strategies as arrays."""
    names, *numbers = zip(*((row.strategy.name, row.predicted, row.measured, row.calls) for row in rows), strict=True)
    return {"strategies": names, **dict(zip(("predicted", "measured", "calls"), numbers, strict=True))}


def run_plan(found: Any) -> Results:
    return {"y": dt.function(found.graph, replay=found)(X), **told(found.choice.rows)}


@released("plan.safetensors", lambda path: run_plan(dt.load(path)))
def plan(path: Path) -> Results:
    """A plan with a variable, and with the choice that it runs."""
    w = dt.Variable(KERNEL, name="w")
    value = dt.function(lambda x: ops.softmax(x @ w), replay=CHOICE).plan(X)
    dt.save(value, path)
    return run_plan(value)


def run_choice(path: Path) -> Results:
    return {"y": dt.function(lambda x: ops.exp(x), replay=path)(X), **told(dt.load(path).rows)}


@released("choice.safetensors", run_choice)
def choice(path: Path) -> Results:
    """A choice, which another function replays."""
    dt.save(CHOICE, path)
    return {"y": np.exp(X), **told(CHOICE.rows)}


def run_records(path: Path) -> Results:
    with patch.dict(os.environ, {VARIABLE: str(path)}):
        (found,) = records.entries()
    assert (found.key, found.name, found.steps) == (KEY, "step", 9)
    names = [strategy.name for strategy in found.times]
    return {
        "times": [[t.median, t.best, t.calls, t.is_disturbed] for t in found.times.values()],
        "names": names,
        **told(found.report.rows),
    }


@released("records", run_records)
def measured(path: Path) -> Results:
    """Times of two strategies, and the report of a process."""
    slow, fast = Strategy("numpy"), Strategy("torch", "channels last", 2, 8)
    with patch.dict(os.environ, {VARIABLE: str(path)}):
        records.append(KEY, "step", slow, [0.25, 0.5, 0.75], 3)
        records.append(KEY, "step", fast, [0.125, 0.25], 9, is_disturbed=True)
        records.append_report(KEY, "step", 9, Report(CHOICE.rows, 1.5, 60.0))
    (path / "lock").unlink()
    names = [fast.name, slow.name]
    return {"times": [[0.1875, 0.125, 2, 1], [0.5, 0.25, 3, 0]], "names": names, **told(CHOICE.rows)}


def run_checkpoints(path: Path) -> Results:
    w, count = dt.Variable(np.zeros((3, 2), "float32")), dt.Variable(0)
    found = Checkpoints(path).restore({"w": w, "count": count})
    assert found is not None and found.position == {"epoch": 1, "batch": 3}
    return {"w": w, "count": count, "step": found.step, "numpy": np.random.rand(3), "python": random.random()}


@released("checkpoints", run_checkpoints)
def checkpoints(path: Path) -> Results:
    """A checkpoint with the states of random numbers."""
    w, count = dt.Variable(KERNEL), dt.Variable(7)
    found = Checkpoints(path)
    np.random.seed(0), random.seed(0)
    found.save(4, {"w": w, "count": count}, {"epoch": 1, "batch": 3})
    found.wait()
    return {"w": w, "count": count, "step": 4, "numpy": np.random.rand(3), "python": random.random()}


def squares(weights: Any, data: Any) -> Any:
    return ops.mean(ops.square(data["x"] @ weights["w"] - data["y"]))


CLIENTS = [{"x": X, "y": Y}, {"x": X[:1] + 1.0, "y": Y[:1]}]


def run_federated(path: Path) -> Results:
    computation = dt.federated.Computation.load(path / "computation")
    rounds = Rounds(computation, {"w": np.zeros((3, 1), "float32")}, rounds=9, folder=path, report=lambda line: None)
    weights, report = computation({"w": np.ones((3, 1), "float32")}, CLIENTS)
    return {"rounds": rounds.number, "w": rounds.state["w"], "next": weights["w"], "loss": report["loss"]}


@released("federated", run_federated)
def federated(path: Path) -> Results:
    """A computation, and the state of a server after two rounds."""
    types = {"w": dt.spec((3, 1))}, {"x": dt.spec((None, 3)), "y": dt.spec((None, 1))}
    computation = dt.federated.fed_avg(squares, *types, steps=2)
    rounds = Rounds(computation, {"w": np.ones((3, 1), "float32")}, rounds=2, folder=path, report=lambda line: None)
    for _ in range(2):
        given = rounds.begin()
        rounds.advance({str(n): computation.client(given, data) for n, data in enumerate(CLIENTS)}, asked=2)
    computation.save(path / "computation")
    weights, report = computation({"w": np.ones((3, 1), "float32")}, CLIENTS)
    return {"rounds": 2, "w": rounds.state["w"], "next": weights["w"], "loss": report["loss"]}
