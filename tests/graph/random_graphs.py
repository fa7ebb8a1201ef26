"""Random programs for hypothesis, and an interpreter that runs a graph operation by operation, without any pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.core.base.scopes import not_building
from dovetail.core.calls import dispatch
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.values.arguments import as_tensor, dtype_of
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.nesting import outermost_of

ROWS, COLUMNS = 2, 3


def _dims(x: Any) -> Any:
    return ops.shape(x)


# Each takes two tensors of shape [ROWS, COLUMNS] and a number, and makes one of that shape.
STEPS = [
    lambda x, y, c: x + y,
    lambda x, y, c: x - y,
    lambda x, y, c: x * y,
    lambda x, y, c: x / (2.0 + y * y),
    lambda x, y, c: x + c,
    lambda x, y, c: c - x,
    lambda x, y, c: (x * c) * 2.0,
    lambda x, y, c: x * 1,
    lambda x, y, c: x + 0,
    lambda x, y, c: ops.negative(-x),
    lambda x, y, c: x + -y,
    lambda x, y, c: ops.maximum(x, y) ** 2,
    lambda x, y, c: ops.tanh(x),
    lambda x, y, c: ops.mean(x) + y,
    lambda x, y, c: ops.sum(x, axis=0) * y,
    lambda x, y, c: ops.transpose(ops.transpose(x)),
    lambda x, y, c: ops.reshape(ops.reshape(x, (-1,)), _dims(y)),
    lambda x, y, c: ops.broadcast_to(ops.sum(x), _dims(y)) * y,
    lambda x, y, c: ops.ones_like(x) * y,
    lambda x, y, c: ops.matmul(ops.matmul(x, ops.transpose(y)), y),
    lambda x, y, c: ops.where(x > y, x, c),
    lambda x, y, c: ops.cast(ops.cast(x, "float64"), "float32") + ops.cast(ops.shape(y)[1], "float32"),
    lambda x, y, c: ops.stop_gradient(ops.identity(x)),
    lambda x, y, c: x + ops.constant(np.arange(6, dtype="float32").reshape(2, 3)) * c,
    lambda x, y, c: ops.cond(ops.sum(x) > 0, lambda: x * 1.0 + y, lambda: y + 0.0),
    lambda x, y, c: ops.softmax(x) + y,
    lambda x, y, c: ops.scan(lambda s, row: (ops.tanh(s + row), s * row + y[0]), x[0], y)[1],
    lambda x, y, c: ops.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * 0.5 + y), (0, x))[1],
]
LONGEST = 200  # steps of a loop; drawn numbers of steps are small
NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.5, -3.0]


@st.composite
def graphs(draw: Any, dtype: str = "float32") -> Graph:
    steps = draw(st.lists(st.tuples(*[st.integers(0, 99)] * 4), min_size=1, max_size=14))
    return graph_of(steps, draw(st.sampled_from([ROWS, None])), dtype)


def graph_of(steps: Iterable[Sequence[int]], rows: int | None, dtype: str = "float32") -> Graph:
    """A graph of two inputs that now and then reads and assigns variables.

    Args:
        steps: four numbers for each operation: the op, its two arguments, and a number.
        rows: the first dimension, or None if it is unknown.
        dtype: the dtype of the inputs and the variable.
    """
    variable = dt.Variable(np.full((ROWS, COLUMNS), 0.5, dtype), name="v")
    graph = Graph("random")
    tensors = [graph.placeholder(dt.spec((rows, COLUMNS), dtype), name) for name in "xy"]
    with graph.as_default():
        for which, first, second, number in steps:
            x, y = tensors[first % len(tensors)], tensors[second % len(tensors)]
            if which % 10 == 9:
                variable.assign(ops.reshape(x, (ROWS, COLUMNS)))
                tensors.append(variable.read())
            else:
                tensors.append(STEPS[which % len(STEPS)](x, y, NUMBERS[number % len(NUMBERS)]))
    graph.outputs = tensors[-2:]
    return graph


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(-2, 2, (ROWS, COLUMNS)).astype("float32") for _ in "xy"]


def interpret(graph: Graph, values: list[Any]) -> tuple[list[np.ndarray], dict[Any, np.ndarray]]:
    """The outputs of a graph, and the values assigned to its variables, computed one operation after the other."""
    engine = get_engine("numpy")
    known = {t: as_tensor(v, t.dtype, engine) for t, v in zip(graph.inputs, values, strict=True)}
    assigned: dict[Any, np.ndarray] = {}
    for op in graph.operations:
        if op.outputs and op.outputs[0] in known:
            continue
        inputs = [known[t] for t in op.inputs]
        if op.type == "Const":
            results = [as_tensor(op.attrs["value"], op.outputs[0].dtype, engine)]
        elif op.type == "ReadVariableOp":
            results = [op.attrs["variable"].read()]
        elif op.type == "AssignVariableOp":
            op.attrs["variable"].check_shape(inputs[0])  # a graph with unknown dimensions leaves this open
            assigned[op.attrs["variable"]] = inputs[0].numpy()
            results = inputs
        elif op.type in CONTROL_FLOW:
            results = [as_tensor(v, dtype_of(v), engine) for v in CONTROL_FLOW[op.type](*op.arguments(inputs))]
        else:
            with not_building():
                results = dispatch.run(op.op, op.arguments(inputs), engine)
            results = list(results) if isinstance(results, tuple) else [results]
        known.update(zip(op.outputs, results, strict=True))
    return [known[t].numpy() for t in graph.outputs], assigned


def _if(condition: Any, inputs: Any, then_branch: Graph, else_branch: Graph) -> list[np.ndarray]:
    return interpret(then_branch if bool(condition) else else_branch, inputs)[0]


def _while(init: Any, constants: Any, condition: Graph, body: Graph, limit: Any) -> list[np.ndarray]:
    state = [t.numpy() for t in init]
    for _ in range(LONGEST):
        if not interpret(condition, [*state, *constants])[0][0]:
            return state
        state = interpret(body, [*state, *constants])[0]
    return hypothesis.reject()  # an edit made an endless loop


def _scan(init: Any, xs: Any, constants: Any, body: Graph, length: Any, reverse: Any) -> list[np.ndarray]:
    state, rows = [t.numpy() for t in init], []
    numbers = range(len(xs[0]))
    for number in reversed(numbers) if reverse else numbers:
        found = interpret(body, [*state, *(x.numpy()[number] for x in xs), *constants])[0]
        state = found[: len(state)]
        rows.append(found[len(state) :])
    rows = rows[::-1] if reverse else rows
    return [*state, *(np.stack(column) for column in zip(*rows, strict=True))]


CONTROL_FLOW = {"If": _if, "While": _while, "Scan": _scan}


def everything(graph: Graph) -> list[Operation]:
    """The operations of a graph, and of the graphs inside of it."""
    return [op for part in (*graph.subgraphs(), graph) for op in part.operations]


def check_origins(made: Graph, graph: Graph) -> None:
    """Check that all operations made from a user's graph refer to operations of that graph."""
    strange = [(op, op.origin) for op in everything(made) if outermost_of(op.origin.graph) is not graph]
    assert strange == []


def check_same(found: Any, expected: Any) -> None:
    """Check that two results of `interpret` are equal up to rounding."""
    for f, e in zip(found[0], expected[0], strict=True):
        assert f.dtype == e.dtype
        np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-4)
    assert found[1].keys() <= expected[1].keys()
    for variable, value in expected[1].items():
        np.testing.assert_allclose(found[1].get(variable, variable.numpy()), value, rtol=1e-4, atol=1e-4)
