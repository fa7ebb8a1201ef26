"""Calls of ops as graphs, which other formats write; and graphs with branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import dovetail as dt
from tests.ops.table import leaves


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


def values(found: Any) -> list[np.ndarray]:
    return [np.asarray(t.numpy()) for t in (found if isinstance(found, (list, tuple)) else [found])]


def built(function: Any, *specs: Any) -> Any:
    """The graph of a function of tensors of some specs."""
    graph = dt.Graph()
    with graph.as_default():
        found = function(*(graph.placeholder(spec, f"x{number}") for number, spec in enumerate(specs)))
        graph.outputs = [*found] if isinstance(found, (list, tuple)) else [found]
    return graph


FREE = ("Qr", "SelfAdjointEigV2", "Svd", "Eig")  # the signs and the order of their vectors are free


def graph_of(op: Any, args: list[Any], kwargs: dict[str, Any], is_known: bool = True) -> tuple[Any, list[np.ndarray]]:
    """A call of an op as a graph whose arrays are placeholders, and the arrays; also sizes, if there are no others."""
    named = dict(zip((p.name for p in op.params), args, strict=False)) | kwargs
    for index, kind in op.tensor_positions:
        name = op.params[index].name
        if named.get(name) is not None:
            named[name] = [*map(as_array, named[name])] if kind.many else as_array(named[name])
    if not op.tensor_positions:
        named |= {op.params[index].name: np.array(named[op.params[index].name], "int32") for index in op.ints_positions}
    graph, arrays = dt.Graph(), []

    def given(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(given, value)]
        if not isinstance(value, np.ndarray):
            return value
        arrays.append(value)
        shape = value.shape if is_known else [None] * value.ndim
        return graph.placeholder(dt.spec(shape, value.dtype), f"x{len(arrays)}")

    with graph.as_default():
        graph.outputs = leaves(op(**{name: given(value) for name, value in named.items()}))
    return graph, arrays


def as_array(value: Any) -> np.ndarray:
    return dt.ops.convert(value, engine="numpy").numpy()


def comparable(op: Any, found: list[np.ndarray]) -> list[np.ndarray]:
    """The values in double precision, without signs and orders that are free."""
    found = [*map(wide, found)]
    return [np.sort(np.abs(x), None) for x in found] if op.name in FREE else found


def powers(x: Any, n: Any) -> Any:
    return dt.ops.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, dt.ops.ones_like(x)))


def sums(x: Any, **options: Any) -> Any:
    bias = dt.ops.sum(x)
    return dt.ops.scan(lambda total, row: (total + row, total * row + bias), dt.ops.zeros([3]), x, **options)


CONTROL = {
    "cond": lambda x, n: dt.ops.cond(n > 2, lambda: x * 2, lambda: x - dt.ops.cast(n, "float32")),
    "while": powers,
    "bounded": lambda x, n: dt.ops.while_loop(lambda y: True, lambda y: y * x, x, maximum_iterations=3),
    "scan": lambda x, n: sums(x),
    "reverse": lambda x, n: sums(x, reverse=True),
    "map": lambda x, n: dt.ops.map_fn(lambda row: dt.ops.cond(n > 2, lambda: row, lambda: -row), x),
    "fori": lambda x, n: dt.ops.fori_loop(0, n, lambda i, y: y + x, x),
    "gradient of while": lambda x, n: dt.gradients(powers(x, n)[1], x),
    "gradient of bounded": lambda x, n: dt.gradients(
        dt.ops.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x), maximum_iterations=5)[1], x
    ),
    "gradient of scan": lambda x, n: dt.gradients(sums(x)[1], x),
    "gradient of cond": lambda x, n: dt.gradients(dt.ops.cond(n > 2, lambda: x * x, lambda: dt.ops.sin(x)), x),
    "switch": lambda x, n: dt.ops.switch_case(n - 2, [lambda: x, lambda: x * 2, lambda: x * 3]),
}
