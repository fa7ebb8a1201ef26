"""Edits of graphs: µs of processor time per edit on graphs of two sizes, and seconds of work on whole graphs.

    python benchmarks/edits.py

The time of an edit must depend on the operations that it touches, not on the size of the graph or the number of earlier
edits.  The larger graph, with ten times the edits, may take at most three times as long for each: sorting and memory
grow a little.  Work on a whole graph must be linear.  Per operation, a graph of 100,000 may take at most twice as long
as one of 10,000, and in all 15 seconds.  The first call of a function may take 30.
"""

from __future__ import annotations

import copy
import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import table

import dovetail as dt
from dovetail import ops

SIZES = (2_000, 20_000)
TARGET = 3.0  # an edit of the larger graph may take this multiple of the time

Edit = Callable[[], object]


def graph_of(nodes: int) -> tuple[dt.Graph, Any, list[Any]]:
    """A chain, its input, and the results of its operations."""
    graph = dt.Graph("chain")
    tensors = [graph.placeholder(dt.spec((4,)), "x")]
    for _ in range(nodes):
        tensors.append(ops.tanh(tensors[-1]))
    graph.outputs = tensors[-1:]
    return graph, tensors[0], tensors[1:]


def insert_after_one(nodes: int) -> Edit:
    graph, x, _ = graph_of(nodes)

    def edit() -> None:
        for _ in range(nodes):
            with graph.insert_after(x.op):
                ops.exp(x)

    return edit


def insert_before_one(nodes: int) -> Edit:
    graph, x, tensors = graph_of(nodes)

    def edit() -> None:
        for _ in range(nodes):
            with graph.insert_before(tensors[0].op):
                ops.exp(x)

    return edit


def replace_inputs(nodes: int) -> Edit:
    _, x, tensors = graph_of(nodes)

    def edit() -> None:
        for tensor in tensors:
            tensor.op.replace_input(0, x)

    return edit


def put_behind_each(nodes: int) -> Edit:
    graph, _, tensors = graph_of(nodes)

    def edit() -> None:
        for tensor in tensors:
            with graph.insert_after(tensor.op):
                new = tensor * 2.0
            graph.replace_all_uses(tensor, new)

    return edit


def put_functions_behind_each(nodes: int) -> Edit:
    graph, _, tensors = graph_of(nodes)

    def edit() -> None:
        for tensor in tensors:
            graph.insert_after(tensor, lambda t: t * 2.0)

    return edit


def change_operations(nodes: int) -> Edit:
    _, _, tensors = graph_of(nodes)

    def edit() -> None:
        for number, tensor in enumerate(tensors):
            tensor.op.change(op="Exp", name=f"e{number}")

    return edit


def freeze_one_by_one(nodes: int) -> Edit:
    graph = graph_of(0)[0]
    variables = [dt.Variable(0.0) for _ in range(nodes)]
    with graph.as_default():
        for variable in variables:
            variable * 2.0
    return graph.freeze


def copy_parts(nodes: int) -> Edit:
    graph, x, tensors = graph_of(nodes)

    def edit() -> None:
        for tensor in tensors:
            graph.copy_part([tensor.op], {tensor.op.inputs[0]: x})

    return edit


def replace_outputs(nodes: int) -> Edit:
    graph, x, tensors = graph_of(nodes)
    graph.outputs = tensors

    def edit() -> None:
        for tensor in tensors:
            graph.replace_all_uses(tensor, x)

    return edit


def change_shapes(nodes: int) -> Edit:
    graph, x, tensors = graph_of(0)
    wide = graph.placeholder(dt.spec((7,)), "wide")
    tensors = [ops.exp(ops.tanh(x)) for _ in range(nodes)]

    def edit() -> None:
        for tensor in tensors:
            tensor.op.inputs[0].op.replace_input(0, wide)

    return edit


def rewrite(nodes: int) -> Edit:
    graph, _, _ = graph_of(nodes)
    x = dt.wildcards("x")
    return lambda: graph.rewrite(ops.tanh(x), 2.0 * ops.sigmoid(2.0 * x) - 1.0)


def import_graphs(nodes: int) -> Edit:
    graph, x, _ = graph_of(nodes)
    part = graph_of(2)[0]

    def edit() -> None:
        for _ in range(nodes):
            graph.import_graph(part, {"x": x}, name="part")

    return edit


def prune_waiting(nodes: int) -> Edit:
    graph, x, tensors = graph_of(1)
    with graph.control_dependencies([tensors[0].op]):
        for _ in range(nodes):
            ops.exp(x)
    return graph.prune


def remove_one_by_one(nodes: int) -> Edit:
    graph, _, tensors = graph_of(nodes)
    graph.outputs = []

    def edit() -> None:
        for tensor in reversed(tensors):
            graph.remove(tensor.op)

    return edit


def edit_body(nodes: int) -> Edit:
    graph = dt.Graph("loop")
    x = graph.placeholder(dt.spec((4,)), "x")

    def step(state: Any, _: Any) -> Any:
        for _ in range(nodes):
            state = ops.tanh(state)
        return state, None

    body = ops.scan(step, x, length=3)[0].op.attr("body")

    def edit() -> None:
        for op in [op for op in body.operations if op.type == "Tanh"]:
            op.replace_input(0, body.inputs[0])

    return edit


EDITS = [
    insert_after_one, insert_before_one, replace_inputs, put_behind_each, put_functions_behind_each, change_operations,
    copy_parts, freeze_one_by_one, replace_outputs, change_shapes, rewrite,
    import_graphs, prune_waiting, remove_one_by_one, edit_body,
]  # fmt: skip


def measure(build: Callable[[int], Edit], nodes: int) -> float:
    """µs of processor time per edit."""
    edit = build(nodes)
    gc.collect()
    gc.disable()
    start = time.process_time()
    edit()
    taken = time.process_time() - start
    gc.enable()
    return taken / nodes * 1e6


# -- whole graphs -----------------------------------------------------------------------------------------------------

WHOLE = (10_000, 100_000)
LINEAR = 2.0  # an operation of the larger graph may take this multiple of the time
SECONDS = {"first call": 30.0}  # limits of work on the larger graph, other than 15


def mixed_graph(nodes: int) -> dt.Graph:
    """A graph of four kinds of operations, in which each result is used twice."""
    graph = dt.Graph("mixed")
    first = second = graph.placeholder(dt.spec((4,)), "x")
    for _ in range(nodes // 4):
        tanh = ops.tanh(first)
        first, second = (tanh + second) * 0.5, ops.maximum(second, tanh)
    graph.outputs = [first, second]
    return graph


def imported(graph: dt.Graph) -> dt.Graph:
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph, {"x": target.placeholder(dt.spec((4,)), "x")}, name="part")
    return target


def search(graph: dt.Graph) -> None:
    graph.find("Tanh", name="_1.*7$")
    dt.walk.backward(graph.outputs)
    dt.walk.forward(graph.inputs)


X, Y = dt.wildcards("x y")
ON_WHOLE: dict[str, Callable[[dt.Graph], object]] = {
    "copy": copy.copy,
    "search": search,
    "match": lambda graph: sum(1 for _ in graph.match((ops.tanh(X) + Y) * 0.5)),
    "import": imported,
    "rename a scope": lambda graph: graph.rename_scope("", "all"),
    "validate": lambda graph: graph.validate(),
    "rewrite": lambda graph: graph.rewrite(ops.maximum(X, Y), X + Y),
    "all or nothing": lambda graph: graph.apply(lambda graph: graph.rewrite(X + Y, X - Y)),
    "prune": lambda graph: graph.prune([graph.outputs[0].op.inputs[0]]),
    "first call": lambda graph: dt.function(mixed_graph(len(graph)))(np.ones(4, "float32")),
}


def seconds_on(nodes: int) -> dict[str, float]:
    """Seconds of processor time of each kind of work, one after the other, on one graph."""
    found = {}
    graph = None
    for name, work in {"build": lambda _: mixed_graph(nodes), **ON_WHOLE}.items():
        gc.collect()
        start = time.process_time()
        made = work(graph)  # type: ignore[arg-type]
        found[name] = time.process_time() - start
        graph = graph or made
    return found


def whole_graphs() -> str:
    small, large = map(seconds_on, WHOLE)
    rows = []
    for name in large:
        ratio = large[name] / small[name] / (WHOLE[1] / WHOLE[0])
        verdict = "yes" if ratio <= LINEAR and large[name] <= SECONDS.get(name, 15.0) else "no"
        rows.append([name, f"{small[name]:.2f}", f"{large[name]:.2f}", f"{ratio:.2f}", verdict])
    head = ["of a graph", *(f"{nodes:,} operations, s" for nodes in WHOLE), "ratio per operation", "target"]
    return table("Whole graphs", head, rows)


def main() -> None:
    rows = []
    for build in EDITS:
        small, large = (min(measure(build, nodes) for _ in range(2)) for nodes in SIZES)
        verdict = "yes" if large <= TARGET * small else "no"
        rows.append([build.__name__.replace("_", " "), f"{small:.1f}", f"{large:.1f}", f"{large / small:.2f}", verdict])
    head = ["edit", *(f"{nodes:,} of them, µs each" for nodes in SIZES), "ratio", f"≤ {TARGET:.0f}"]
    print(table("Edits of graphs", head, rows))
    print(whole_graphs())


if __name__ == "__main__":
    main()
