"""Dovetail's own file: values, functions, and a graph with each op."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from tests.formats.releases import KERNEL, Results, X, Y, released
from tests.ops.table import draw, leaves

OF_THE_PROGRAM = "DeferredCall", "SymbolicGradient", "Print", "Iota"  # of functions, or not in graphs of constants
PLAIN = (
    "é",
    b"\0",
    None,
    2.5,
    1 + 2j,
    float("inf"),
    np.float32(0.1),
    frozenset([1]),
    OrderedDict([("b", [slice(2)]), ("a", {3: ()})]),
)


def run_values(found: Any) -> Results:
    w = found["layers"][0]["kernel"]
    assert w is found["layers"][1] and w.name == "w" and not w.trainable
    assert found["plain"] == PLAIN
    return {"kernel": w, "array": found["array"], **found["tensors"]}


@released("values.safetensors", lambda path: run_values(dt.load(path)))
def values(path: Path) -> Results:
    """Values of all dtypes, and a variable at two places."""
    w = dt.Variable(KERNEL, name="w", trainable=False)
    found = {name: ops.cast(ops.constant([0.0, 1.0, 1.0]), name) for name in dt.dtypes.ALL}
    value = {"tensors": found, "layers": [{"kernel": w}, w], "array": X, "plain": PLAIN}
    dt.save(value, path)
    return run_values(value)


def run_functions(found: Mapping[str, Any]) -> Results:
    """The results of the functions, in the order in which they change variables."""
    doubled = found["dense"](X, scale=2.0)
    with dt.GradientTape() as tape:
        total = ops.sum(found["dense"](X, scale=2.0)["y"][0])
    results = {
        "plain": found["plain"](X),
        "plain of another dtype": found["plain"](np.float64([0.5])),
        "graph": dt.function(found["graph"])(X),
        "of a graph": found["of a graph"](X),
        "dense": doubled["y"][0],
        "numbers of rows": doubled["rows"],
        "scale": doubled["scale"],
        "count": found["dense"](X, scale=2.0)["y"][1],
        "gradient": tape.gradient(total, found["w"]),
        "drawn": found["drawn"](X),
        "placed": found["placed"](X),
        "slope": found["slope"](X),
    }
    parts = ("rows", "total", "sums", "largest")
    results |= dict(zip(parts, found["control"](X), strict=True))
    losses = [found["step"](X, Y) for _ in range(3)]
    return results | {"loss": losses[-1][0], "sum": losses[-1][1], "w": found["w"]}


@released("functions.safetensors", lambda path: run_functions(dt.load(path)))
def functions(path: Path) -> Results:
    """Functions with several traces, keywords, variables, a training step, control flow, random numbers and places."""
    w, count = dt.Variable(KERNEL, name="w"), dt.Variable(0, name="count", trainable=False)

    @dt.function
    def plain(x: Any) -> Any:
        return ops.tanh(x) * 2.0

    @dt.function
    def dense(x: Any, *, scale: float = 1.0) -> Any:
        count.assign_add(1)
        return {"y": (x @ w * scale, count), "rows": ops.arange(ops.shape(x)[0]), "scale": scale}

    @dt.function(input_signature=[dt.spec((None, 3)), dt.spec((None, 1))])
    def step(x: Any, y: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = ops.mean((ops.sum(x @ w, -1, True) - y) ** 2.0)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss, ops.sum(w)

    @dt.function
    def control(x: Any) -> Any:
        y = ops.cond(ops.sum(x) > 0, lambda: x @ w, lambda: -x[:, :2])
        _, y = ops.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, ops.cond(i > 1, lambda: v + 1.0, lambda: v * v)), (0, y)
        )
        total, sums = ops.scan(lambda carry, row: (carry + row, ops.sum(carry)), ops.zeros((2,)), y)
        return y, total, sums, ops.map_fn(lambda row: ops.max(row), y)

    @dt.function
    def drawn(x: Any) -> Any:
        return x + ops.random.normal(ops.random.key(7), (2, 3))

    @dt.function
    def placed(x: Any) -> Any:
        with dt.place("numpy", "cpu:0"):
            return ops.exp(x)

    def slope(x: Any) -> Any:
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = dt.recompute_grad(lambda v: ops.sum(ops.sigmoid(v @ w)))(x)
        return tape.gradient(y, x)

    sloped = dt.function(slope, engine="numpy", input_signature=[dt.spec((None, 3))])
    for function in (plain, control, drawn, placed):
        function.concrete(dt.spec((2, 3)))
    plain.concrete(dt.spec((None,), "float64"))
    dense.concrete(dt.spec((None, 3)), scale=2.0)
    step.concrete(dt.spec((None, 3)), dt.spec((None, 1)))
    sloped.concrete(dt.spec((None, 3)))
    graph = plain.graph(dt.spec((2, 3)))
    traced = {"plain": plain, "dense": dense, "step": step, "control": control, "drawn": drawn, "placed": placed}
    value = {**traced, "slope": sloped, "w": w, "graph": graph, "of a graph": dt.function(graph)}
    dt.save(value, path)
    return run_functions(value)


def run_ops(found: Any) -> Results:
    """The mean size of the numbers of each result, behind its shape."""
    pairs = zip(found["names"], map(np.asarray, dt.function(found["graph"])()), strict=True)
    return {name: [*array.shape, np.abs(array.astype("complex128")).mean()] for name, array in pairs}


@released("ops.safetensors", lambda path: run_ops(dt.load(path)))
def all_ops(path: Path) -> Results:
    """A sample of each op on constants, in one graph: the names of ops and of their static arguments."""
    graph, names, known = dt.Graph("ops"), [], {}

    def constant(value: Any) -> Any:
        array = np.asarray(value)
        key = array.dtype.name, array.shape, array.tobytes()
        if key not in known:
            known[key] = graph.constant(value)
        return known[key]

    with graph.as_default():
        for op in OPS.values():
            if not op.samples or op.name in OF_THE_PROGRAM:
                continue
            args, kwargs = draw(op.samples[0], np.random.default_rng(0))
            given = list(op.bind(args, kwargs))
            for index, kind in op.tensor_positions:
                if given[index] is not None:
                    many = getattr(kind, "many", False)
                    given[index] = list(map(constant, given[index])) if many else constant(given[index])
            found = leaves(op(*given))
            graph.outputs += found
            names += [f"{op.name} {number}" for number in range(len(found))]
    value = {"graph": graph, "names": names}
    dt.save(value, path)
    return run_ops(value)
