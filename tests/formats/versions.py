"""A value of all kinds, for the file of a version; as a program, it writes the value to a file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.execute.choice import Choice, Row, Strategy

DTYPES = ("bool", "int8", "uint64", "float16", "bfloat16", "float8_e5m2", "float32", "complex64", "complex128")
CHOICE = Choice(Strategy("numpy"), (Row(Strategy("numpy"), 0.5, 0.25, 3), Row(Strategy("torch", "", 1), problem="no")))
X = np.arange(6, dtype="float32").reshape(2, 3)


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Layer:
    kernel: Any


def value() -> dict[str, Any]:
    """The value."""
    w, c = dt.Variable(np.ones((3, 2), "float32"), name="w"), ops.constant([1.0, 2.0])

    @dt.function
    def step(x: Any, *, scale: float = 1.0) -> Any:
        y = ops.cond(ops.sum(x) > 0, lambda: x @ w + c, lambda: x[:, :2] * 2.0)
        w.assign_add(ops.ones((3, 2)))
        return {"y": ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * scale), (0, y))[1], "scale": scale}

    step.concrete(dt.spec((None, 3)), scale=2.0)
    doubled = dt.function(lambda x: x * 2.0)
    graph = dt.SessionGraph()
    with graph.as_default():
        total = dt.Variable(graph.constant(np.float32(1.0)), name="total")
        graph.add_to_collections(["ends"], total.assign_add(graph.placeholder(dt.spec(()), "x")))
    return {
        "dtypes": {kind: ops.cast(np.ones(3), kind) for kind in DTYPES},
        "plain": [1, 2.5, float("inf"), 1 + 2j, None, "é", b"\0", (slice(1, None), dt.spec((None, 2)))],
        "fields": [Point(1.0, 2.0), Layer(w)],
        "w": w,
        "step": step,
        "graph": doubled.graph(dt.spec((2,))),
        "plan": dt.function(lambda x: x * 2.0, replay=CHOICE).plan(np.ones(2, "float32")),
        "session": graph,
    }


def check(found: dict[str, Any]) -> None:
    """Check that a value is the one of `value`, with the classes Point and Layer."""
    for kind, tensor in found["dtypes"].items():
        assert tensor.dtype == kind and np.asarray(tensor).astype("complex128").tolist() == [1.0] * 3
    assert list(found["dtypes"]) == list(DTYPES)
    assert repr(found["plain"]) == repr(value()["plain"])
    point, layer = found["fields"]
    assert (
        point == Point(1.0, 2.0)
        and type(layer) is Layer
        and layer.kernel is found["w"]
        and found["w"].numpy().tolist() == [[1.0] * 2] * 3
    )
    result = found["step"](X, scale=2.0)
    np.testing.assert_allclose(result["y"], 8 * (X @ np.ones((3, 2)) + [1.0, 2.0]))
    assert result["scale"] == 2.0 and found["w"].numpy().tolist() == [[2.0] * 2] * 3
    assert dt.function(found["graph"])(ops.ones(2)).tolist() == [2.0, 2.0]
    assert found["plan"].choice == CHOICE
    assert dt.function(found["graph"], replay=found["plan"])(ops.ones(2)).tolist() == [2.0, 2.0]
    graph = found["session"]
    assert dt.Session(graph).run(graph.get_collection("ends"), {"x:0": 2.0}) == [3.0]
    assert [v.name for v in graph.get_collection("variables")] == ["total"]


if __name__ == "__main__":
    dt.set_engine("numpy")
    dt.save(value(), sys.argv[1])
