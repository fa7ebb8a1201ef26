"""Summaries of Dovetail's own files and of safetensors files: all parts, and as many operations as the graphs have."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.formats import safetensors
from dovetail.formats.saved import APART
from dovetail.formats.summary.kinds import summarize
from tests.formats.mutations import WAYS, values


def tables(found):
    return {table.title: table for table in found.tables}


@pytest.fixture
def saved(tmp_path):
    """A function that saves a value and summarises the file."""

    def run(value):
        dt.save(value, tmp_path / "file")
        return summarize(tmp_path / "file")

    return run


def test_the_parts_of_a_value(saved):
    w = dt.Variable(np.ones((3, 2), "float32"), name="w")

    @dt.function
    def predict(x):
        return ops.tanh(x @ w)

    predict.concrete(dt.spec((None, 3)))
    tensor = ops.constant([1.0, 2.0])
    found = saved({"f": predict, "layers": [{"kernel": w}, tensor], "steps": 7, "who": "x" * 200, 3: (None, 1.5)})
    assert found.kind == "Dovetail's own file" and found.facts == {"written by": "Dovetail 0.1.0", "values": 7}
    parts = tables(found)
    assert dict(parts["values"].rows) == {
        "f": "function with 1 trace",
        "layers.0.kernel": "variable float32[3,2]",
        "layers.1": "tensor float32[2]",
        "steps": "7",
        "who": "'" + "x" * 56 + "...",
        "3.0": "None",
        "3.1": "1.5",
    }
    assert parts["inputs and outputs"].rows == [
        ("f", "input", "arg0", "float32", (None, 3)),
        ("f", "output", "Tanh", "float32", (None, 2)),
    ]
    assert parts["variables"].rows == [("layers.0.kernel", "float32", (3, 2), 6, 24)]
    assert parts["variables"].total == ("1 variable", "", "", 6, 24)
    assert parts["other tensors"].rows == [("layers.1", "float32", (2,), 2, 8)]


def test_operations_are_counted_in_subgraphs_too(saved):
    graph = values()["flow"].graph(dt.spec((2, 3)))
    counts = Counter(op.type for part in (graph, *graph.subgraphs()) for op in part.operations)
    assert counts["Mul"] > 1
    found = tables(saved({"a": graph, "b": graph}))["operations"]
    assert dict(found.rows) == counts  # the graph is one part of the file, at two places
    assert found.total == (f"{len(counts)} types", counts.total())
    assert found.rows == sorted(found.rows, key=lambda row: (-row[1], row[0]))


class State(NamedTuple):
    plan: Any
    rate: float


def test_a_named_tuple_with_a_plan(saved):
    plan = dt.function(lambda x: ops.tanh(x) * 2.0).plan(np.ones(3, "float32"))
    parts = tables(saved(State(plan, 0.5)))
    assert parts["values"].rows == [("plan", f"plan with {len(plan.graph.operations)} operations"), ("rate", "0.5")]
    assert ("Tanh", 1) in parts["operations"].rows


@pytest.mark.parametrize("name", values())
def test_each_kind_of_value(saved, name):
    assert saved(values()[name]).kind == "Dovetail's own file"


def test_a_document_that_is_a_tensor(saved, monkeypatch):
    monkeypatch.setattr("dovetail.formats.saved.LONGEST", 10)
    found = saved({"a": ops.constant([1.0])})
    assert dict(tables(found)["values"].rows) == {"a": "tensor float32[1]"}
    assert APART not in str(found)


def test_other_safetensors_files(tmp_path):
    arrays = {"a": np.zeros((2, 3), "float32"), "b": np.zeros(10, "complex64"), "c": np.zeros((), "int8")}
    safetensors.write(tmp_path / "x", arrays, {"format": "pt", "long": "x" * 1000})
    found = summarize(tmp_path / "x")
    assert (found.kind, found.facts) == ("safetensors", {"format": "pt"})
    (part,) = found.tables
    assert part.rows == [("b", "complex64", (10,), 10, 80), ("a", "float32", (2, 3), 6, 24), ("c", "int8", (), 1, 1)]
    assert part.total == ("3 tensors", "", "", 17, 105)


def test_changed_files_are_shown_or_refused(tmp_path):
    draw, counts = random.Random(0), Counter()
    for name, value in values().items():
        dt.save(value, tmp_path / name)
    files = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    for _ in range(500):
        path = tmp_path / f"{draw.random()}.safetensors"
        path.write_bytes(draw.choice(WAYS)(draw.choice(files), draw))
        try:
            summarize(path)
            counts["shown"] += 1
        except FormatError as error:
            assert str(error).startswith(f"'{path}' cannot be read: ")
            counts["refused"] += 1
    assert counts["shown"] > 50 and counts["refused"] > 100
