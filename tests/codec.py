"""Graphs that go through the codec: they are written to JSON, and read again, before their plans run.

DOVETAIL_TEST_CODEC=1 does so with each graph that a plan is made of; else one graph of many is written. Graphs that
cannot be written are counted by reason, and run as they are.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter

from dovetail.execute import plan
from dovetail.graph.attributes import Beside
from dovetail.graph.document import document_of, graph_of

ALL = bool(os.environ.get("DOVETAIL_TEST_CODEC"))
ONE_IN = 16  # one graph in this number, by their text, so that each run takes the same ones
refused: Counter[str] = Counter()
count = Counter[str]()


def again(graph):
    """The graph of its own document, after JSON has written and read it."""
    beside = Beside()
    document = json.loads(json.dumps(document_of(graph, beside), allow_nan=False))
    found = graph_of(document, beside)
    keep_origins(graph, found)
    return found


def keep_origins(graph, found):
    """Give the operations of a copy the origins of their originals."""
    for before, after in zip(graph.operations, found.operations, strict=True):
        after._origin = before.origin
        for part, its_copy in zip(before.subgraphs(), after.subgraphs(), strict=True):
            keep_origins(part, its_copy)


def install():
    """Send the graphs of plans through the codec."""
    whole = plan.optimized_copy

    def optimized_copy(graph, *args, **options):
        if not ALL and zlib.crc32(",".join(op.type for op in graph.operations).encode()) % ONE_IN:
            return whole(graph, *args, **options)
        count["graphs"] += 1
        try:
            written = again(graph)
        except TypeError as error:
            refused[str(error).partition(": ")[2][:120]] += 1
            return whole(graph, *args, **options)
        return whole(written, *args, **options)

    plan.optimized_copy = optimized_copy


def summary():
    """The numbers of graphs that went through, and of graphs that were refused, by reason."""
    lines = [f"codec: {count['graphs']} graphs, {sum(refused.values())} refused"]
    return [*lines, *(f"  {number} {reason}" for reason, number in refused.most_common(8))]
