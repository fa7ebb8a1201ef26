"""Edits of graphs: µs of processor time per edit, on graphs of two sizes.

    python benchmarks/edits.py

What an edit takes must depend on what it touches, not on the size of the graph or on how often it was done: the larger
graph, with ten times as many edits, may take at most three times as long for each (sorting, and memory, grow a little).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from timing import table

import dovetail as dt
from dovetail import ops

SIZES = (2_000, 20_000)
TARGET = 3.0  # how many times as long an edit of the larger graph may take

Edit = Callable[[], object]


def graph_of(nodes: int) -> tuple[dt.Graph, Any, list[Any]]:
    """A chain; its input and the results of its operations."""
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
    insert_after_one, insert_before_one, replace_inputs, put_behind_each, replace_outputs, change_shapes, rewrite,
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


def main() -> None:
    rows = []
    for build in EDITS:
        small, large = (min(measure(build, nodes) for _ in range(2)) for nodes in SIZES)
        verdict = "yes" if large <= TARGET * small else "no"
        rows.append([build.__name__.replace("_", " "), f"{small:.1f}", f"{large:.1f}", f"{large / small:.2f}", verdict])
    head = ["edit", *(f"{nodes:,} of them, µs each" for nodes in SIZES), "ratio", f"≤ {TARGET:.0f}"]
    print(table("Edits of graphs", head, rows))


if __name__ == "__main__":
    main()
