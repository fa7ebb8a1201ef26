"""Algorithms: the ways in which each engine can compute a convolution, with their measured times."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dovetail.choose.candidate import Candidate
from dovetail.core.base.texts import time_text
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import get_engine, list_engines
from dovetail.core.engines.routines import NOT_REPORTED
from dovetail.core.values.spec import TensorSpec
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.execute.choice import Strategy
from dovetail.observe.engine_routines import reported, segments_of

TYPES = frozenset(name for names in CONVOLUTIONS.values() for name in names)
CALLS = 7  # calls of which the median is taken, after two that are not timed
MOST_NAMED = 3  # routines that are printed
LAYOUTS = ("channels_last", "channels_first")


class Algorithm(NamedTuple):
    """A way to compute a convolution.

    Attributes:
        operation: the name of the user's operation.
        engine: the engine.
        name: the layout of the images, and the variant of the engine's rules or the setting of its library.
        seconds: the median time of a call; None if it cannot be computed so.
        routines: the routines that the library reports; its calls, where it reports none.

    Example:
        >>> print(Algorithm("Conv2D", "numpy", "channels_last", 0.00042, ("openblas 0.3.31 (Haswell)",)))
        Conv2D on numpy, channels_last: 420 µs, openblas 0.3.31 (Haswell)
    """

    operation: str
    engine: str
    name: str
    seconds: float | None
    routines: tuple[str, ...] = ()

    def __str__(self) -> str:
        left = len(self.routines) - MOST_NAMED
        named = [*self.routines[:MOST_NAMED], *([f"{left} more"] if left > 0 else [])] or [NOT_REPORTED]
        told = "cannot compute it" if self.seconds is None else f"{time_text(self.seconds)}, {'; '.join(named)}"
        return f"{self.operation} on {self.engine}, {self.name}: {told}"


def algorithms_of(operation: Operation) -> list[Algorithm]:
    """The ways to compute an operation on the installed engines, the fastest first; none if it is no convolution.

    Images of another layout are given in that layout, so the time has no transposes.
    """
    if operation.type not in TYPES or not all(t.is_static for t in operation.inputs):
        return []
    ways = [way for name in list_engines() for way in _on(get_engine(name), operation)]
    return sorted(ways, key=lambda way: (way.seconds is None, way.seconds or 0.0))


def _on(engine: Engine, operation: Operation) -> Iterator[Algorithm]:
    for layout in LAYOUTS if operation.type in CONVOLUTIONS[""] else (operation.attrs["data_format"],):
        graph = _alone(operation, layout)
        way = Algorithm(operation.name, engine.name, layout, None)
        usual = _measured(way, engine, graph)
        yield usual
        if usual.seconds is not None:
            for variant in _candidate(engine, graph).further_variants():
                yield _measured(way._replace(name=f"{layout}, {variant}"), engine, graph, variant)
            for name, setting in engine.settings().items():
                with warnings.catch_warnings(action="ignore"), setting():  # torch warns of settings of other devices
                    yield _measured(way._replace(name=f"{layout}, {name}"), engine, graph)


def _alone(operation: Operation, layout: str) -> Graph:
    """A graph of an operation alone, with its images in a layout."""
    graph = Graph(operation.name)
    is_other = layout != operation.attrs["data_format"]

    def given(value: Any, number: int) -> Any:
        if not isinstance(value, GraphTensor) or (value.op.type == "Const" and value.dtype.is_integer):
            return value.op.attrs["value"] if isinstance(value, GraphTensor) else value
        batch, *rest = value.shape or ()
        moved = [*rest[1:], rest[0]] if layout == LAYOUTS[0] else [rest[-1], *rest[:-1]]
        return graph.placeholder(TensorSpec((batch, *moved), value.dtype) if is_other and number == 0 else value.spec)

    with graph.as_default():
        values = [given(value, number) for number, value in enumerate(operation.args)]
        values[-1] = layout
        graph.outputs = [operation.op(*values)]
    return graph


def _candidate(engine: Engine, graph: Graph, variant: str = "") -> Candidate:
    return Candidate(Strategy(engine.name, variant), graph, engine, [t.shape for t in graph.inputs])


def _measured(way: Algorithm, engine: Engine, graph: Graph, variant: str = "") -> Algorithm:
    """The way with the median time of its calls on random numbers, and its routines, if the engine can compute it."""
    random = np.random.default_rng(0)
    holder = engine.holder
    shapes = [tuple(size or 0 for size in t.shape or ()) for t in graph.inputs]  # they are known
    arrays = [holder.asarray(random.random(s), t.dtype) for s, t in zip(shapes, graph.inputs, strict=True)]
    try:
        candidate = _candidate(engine, graph, variant)
        times = [_timed(candidate, arrays) for _ in range(CALLS + 2)][2:]
    except Exception as error:
        if not isinstance(error, (*engine.errors, NotImplementedError)):
            raise
        return way
    told = [r for s in segments_of(candidate.plan.schedule) for each in reported(s)[0].values() for r in each]
    named = dict.fromkeys(r.call if r.routine == NOT_REPORTED else r.routine for r in told)
    return way._replace(seconds=statistics.median(times), routines=tuple(named))


def _timed(candidate: Candidate, arrays: list[Any]) -> float:
    start = time.perf_counter()
    candidate.wait(candidate.tensors(arrays))
    return time.perf_counter() - start
