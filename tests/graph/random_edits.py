"""Random edits for hypothesis, and a dump of everything that an edit could change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.graph.ir import Graph

REFUSED = (ValueError, TypeError, IndexError)
x, y = dt.wildcards("x y")


def _pick(items: list[Any], number: int) -> Any:
    return items[number % len(items)]


def _tensor(graph: Graph, number: int) -> Any:
    return _pick([t for op in graph.operations for t in op.outputs], number)


def _replace_input(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    op.replace_input(number % 3, _tensor(graph, second))


def _replace_all_uses(graph: Graph, first: int, second: int, number: int) -> None:
    graph.replace_all_uses(_tensor(graph, first), _tensor(graph, second))


def _put_behind(graph: Graph, first: int, second: int, number: int) -> None:
    old = _tensor(graph, first)
    with graph.insert_after(_pick(graph.operations, second)) if number % 2 else graph.as_default():
        new = old * 0.5 - old / 3.0 if number % 3 else ops.transpose(old)
    graph.replace_all_uses(old, new)


def _insert_before(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    with graph.insert_before(op):
        op.replace_input(0, ops.tanh(_tensor(graph, second)))


def _remove(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    with graph.insert_before(op):
        graph.remove(op)
        ops.exp(_tensor(graph, second))


def _wait(graph: Graph, first: int, second: int, number: int) -> None:
    _pick(graph.operations, first).add_control_input(_pick(graph.operations, second))


def _rewrite(graph: Graph, first: int, second: int, number: int) -> None:
    pattern, replacement = _pick([(x + y, y + x), (-x, x * -1.0), (ops.tanh(x), ops.transpose(x))], number)
    graph.rewrite(pattern, replacement)


def _import(graph: Graph, first: int, second: int, number: int) -> None:
    part = Graph("part")
    a, b = (part.placeholder(dt.spec(shape), "ab"[i]) for i, shape in enumerate([(2, 3), (3,)]))
    v = dt.Variable(np.zeros((2, 3), "float32"), name="imported")
    with part.as_default():
        v.assign(ops.scan(lambda s, row: (s + row, row), a[0], b * a)[1])
    part.outputs = [a + b, v.read()] if number % 2 else [a * 2.0]
    graph.import_graph(part, {"a": _tensor(graph, first), "b": _tensor(graph, second)}, name="part")


def _set_outputs(graph: Graph, first: int, second: int, number: int) -> None:
    graph.prune([_tensor(graph, first), *graph.outputs[1:]]) if number % 4 == 0 else graph.prune()


EDITS: list[Callable[[Graph, int, int, int], None]] = [
    _replace_input, _replace_input, _replace_all_uses, _put_behind, _insert_before, _remove, _wait, _rewrite, _import,
    _set_outputs,
]  # fmt: skip
SEVERAL = [EDITS.index(f) for f in (_put_behind, _insert_before, _remove, _rewrite)]  # the first of several stay done
NUMBER = st.integers(0, 10**6)
edits = st.lists(st.tuples(st.integers(0, len(EDITS) - 1), NUMBER, NUMBER, NUMBER, NUMBER), max_size=10)


def apply(graph: Graph, edit: tuple[int, ...]) -> None:
    """Does an edit, to the graph or one inside of it."""
    which, place, *numbers = edit
    target = _pick([graph, graph, *graph.subgraphs()], place)
    EDITS[which](target, *numbers)


def dump(graph: Graph) -> Any:
    """Everything that an edit could change: names and order included, and what later names will be."""
    return (
        [
            (
                op,
                op.name,
                op.type,
                op.pin,
                list(map(id, op.inputs)),
                op.control_inputs,
                op.control_outputs,
                op.layout,
                _attrs(op),
            )
            for op in graph.operations
        ],
        [(id(t), t.shape, t.uses()) for op in graph.operations for t in op.outputs],
        list(map(id, graph.inputs)),
        list(map(id, graph.outputs)),
        dict(sorted(graph._operations.items())),
        dict(graph._counts),
        {v: id(t) for v, t in graph.state.values.items()},
        [list(graph.state.assigned), graph.state.unread, dict(graph.state.last)],
    )


def _attrs(op: Any) -> Any:
    plain = {name: value for name, value in op.attrs.items() if not isinstance(value, (Graph, np.ndarray))}
    return plain, [(id(part), dump(part)) for part in op.subgraphs()]
