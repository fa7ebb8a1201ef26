"""Exchanges: the collectives of a graph, as plans show them, and their results, from which a replay computes again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dovetail.core.base.errors import CollectiveError
from dovetail.core.base.texts import size_text
from dovetail.core.engines.collectives import COLLECTIVES, WORLD
from dovetail.edit.graph import Graph, Operation

ONE_BY_ONE = "steps run one by one, not in groups, since each one waits for other ranks"


def exchanges_of(graph: Graph) -> list[Operation]:
    """The operations of a graph, and of its branches and bodies, that wait for other ranks."""
    return [
        op
        for part in graph.everywhere()
        for op in part.of_types(COLLECTIVES)
        if len(WORLD.members(op.attr("ranks"))) > 1
    ]


def exchange_text(operation: Operation) -> str:
    """The bytes that a collective takes from this rank, and its ranks, such as "24 B, ranks 0, 1"."""
    given = operation.inputs[0].spec.nbytes
    size = [] if given is None else [size_text(given)]
    return f"{', '.join([*size, 'ranks'])} {', '.join(map(str, WORLD.members(operation.attr('ranks'))))}"


@contextmanager
def recorded() -> Iterator[list[np.ndarray]]:
    """A scope that keeps the results of this process' exchanges, in order."""
    results: list[np.ndarray] = []
    transport = WORLD.transport
    if transport is None:
        yield results
        return

    def exchange(op: str, array: np.ndarray, ranks: tuple[int, ...], *options: object) -> np.ndarray:
        results.append(transport(op, array, ranks, *options))
        return results[-1]

    WORLD.transport = exchange
    try:
        yield results
    finally:
        WORLD.transport = transport


@contextmanager
def replayed(results: Sequence[np.ndarray]) -> Iterator[None]:
    """A scope in which exchanges have known results, so that no other rank need come."""
    transport, left = WORLD.transport, iter(results)

    def exchange(op: str, *given: object) -> np.ndarray:
        for result in left:
            return result
        raise CollectiveError(f"{op}: the call that is replayed computed only {len(results)} collectives.")

    WORLD.transport = None if transport is None else exchange
    try:
        yield
    finally:
        WORLD.transport = transport
