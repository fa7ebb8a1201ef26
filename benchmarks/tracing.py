"""From Python to a program: µs of processor time per node for tracing, passes and lowering, up to 100,000 nodes.

    python benchmarks/tracing.py [engine]

All three must grow linearly; tracing and passes together should take at most 50 µs a node.  Of a small program's first
call it prints the frames of Python functions, and those that take most: a count that is the same in each run.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from timing import frames, table

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.graph import Graph
from dovetail.execute.lower import lower
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place

SIZES = (1_000, 10_000, 100_000)
TARGET = 50.0  # µs per node


def chain(x: Any, nodes: int) -> Any:
    """Elementwise, each node on the one before."""
    for _ in range(nodes // 2):
        x = ops.tanh(x) + x
    return x


def mixed(x: Any, nodes: int) -> Any:
    """Layers in which passes find work: constants, shapes, common subexpressions, composites, transposes."""
    w = ops.convert(np.eye(4, dtype="float32"))
    for _ in range(nodes // 10):
        y = ops.tanh(x @ ops.transpose(w) + 0.5) * 1.0
        z = ops.square(ops.tanh(x @ ops.transpose(w) + 0.5))
        x = ops.reshape(y + z, ops.shape(x))
    return x


def measure(build: Callable[[Any, int], Any], nodes: int, engine: Any) -> list[str]:
    gc.collect()  # graphs of before
    graph = Graph(build.__name__)
    x = graph.placeholder(dt.spec((None, 4)), "x")
    times = [time.process_time()]
    with graph.as_default():
        graph.outputs = [build(x, nodes)]
    times.append(time.process_time())
    optimized = optimized_copy(graph, engine)
    times.append(time.process_time())
    program = lower(optimized, Place(engine))
    times.append(time.process_time())
    program.function(engine.asarray(np.full((2, 4), 0.1), dt.spec(()).dtype))
    trace, passes, lowering = ((b - a) / len(graph) * 1e6 for a, b in pairwise(times))
    verdict = "yes" if trace + passes <= TARGET else "no"
    numbers = [f"{n:.1f}" for n in (trace, passes, trace + passes, lowering)]
    return [build.__name__, f"{len(graph):,}", f"{len(optimized):,}", *numbers, verdict]


# -- first calls ------------------------------------------------------------------------------------------------------

FIRST = {"tanh(x)": ops.tanh, "exp(x) + x": lambda x: ops.exp(x) + x, "softmax(x)": ops.softmax}
MOST = 12  # functions that are listed


def first_calls() -> list[Counter[CodeType]]:
    """The frames of the first call of each function on the current engine; its ops were called before."""
    x = ops.convert(np.ones((4, 4), "float32"))
    found = []
    for function in FIRST.values():
        function(x)
        compiled = dt.function(lambda x, function=function: function(x))
        found.append(frames(lambda compiled=compiled: compiled(x)))
    return found


def name_of(code: CodeType) -> str:
    return f"{Path(code.co_filename).stem}: {code.co_qualname}"


def main() -> None:
    with dt.engine(sys.argv[1] if len(sys.argv) > 1 else "numpy"):
        counts = first_calls()
    totals = [[call, f"{found.total():,}"] for call, found in zip(FIRST, counts, strict=True)]
    print(table("Frames of a first call", ["call", "frames"], totals))
    most = [[name_of(code), str(count)] for code, count in sum(counts, Counter()).most_common(MOST)]
    print(table("Functions that take most of them", ["function", "frames"], most))
    engine = get_engine(sys.argv[1] if len(sys.argv) > 1 else "numpy")
    rows = [measure(build, nodes, engine) for build in (chain, mixed) for nodes in SIZES]
    head = ["graph", "nodes", "after passes", "trace µs", "passes µs", "both µs", "lower µs", f"≤ {TARGET:.0f}"]
    print(table(f"Building programs for {engine.name}, per traced node", head, rows))


if __name__ == "__main__":
    main()
