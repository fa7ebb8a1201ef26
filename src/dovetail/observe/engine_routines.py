"""Routines of engines: the routines of a plan's segments, as their engines report them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.core.engines.routines import NOT_REPORTED, NotRun, Routine, Routines
from dovetail.edit.graph import GraphTensor
from dovetail.execute.schedule import Schedule
from dovetail.execute.segment import Segment
from dovetail.observe.profiler_traces import operation_of
from dovetail.ops.control.plumbing import PRINTS


def segments_of(schedule: Schedule) -> Iterator[Segment]:
    """The segments of a schedule, and of the branches and bodies that Python runs."""
    for segment in schedule.segments:
        yield segment
        if segment.bodies is not None:
            for inner in segment.bodies.schedules:  # type: ignore[attr-defined]  # it is `schedule.Bodies`
                yield from segments_of(inner)


def reported(segment: Segment) -> tuple[Routines, str]:
    """The routines of a segment, and the text for operations without one."""
    if segment.bodies is not None:
        return {}, "Python, which runs the body"
    try:
        told = segment.engine.routines(segment, lambda: _arguments(segment))
    except NotRun as reason:
        return {}, f"{NOT_REPORTED}: {reason}"
    except segment.engine.errors as error:
        return {}, f"{NOT_REPORTED}: a trial run on zeros failed, {type(error).__name__}: {error}".splitlines()[0]
    by_operation: dict[Any, dict[Routine, None]] = {}
    for key, calls in told.items():
        operation = operation_of(key, segment.lowered.scopes) if isinstance(key, str) else key
        by_operation.setdefault(operation, {}).update(dict.fromkeys(calls))
    return {operation: list(calls) for operation, calls in by_operation.items()}, NOT_REPORTED


def _arguments(segment: Segment) -> list[Any]:
    """Arrays for a trial run: for a segment's inputs, and to write into.

    Raises:
        NotRun: the segment must not run on them.
    """
    types = {op.type for part in segment.graph.everywhere() for op in part.operations}
    if "While" in types:
        raise NotRun("a loop may run without end on zeros")
    if not types.isdisjoint(PRINTS):
        raise NotRun("it would call Python")
    spares = {number: tensor for tensor, number in segment.buffers.spares.items()}
    tensors = [*segment.inputs, *(spares[number] for number in segment.buffers.spare_numbers)]
    if not all(t.is_static for t in tensors):
        raise NotRun("shapes are unknown, so give arrays or specs with known shapes")
    make = segment.engine.holder.asarray
    return [make(_trial(t), t.dtype, segment.device) for t in tensors]


def _trial(tensor: GraphTensor) -> np.ndarray:
    """Zeros; identity matrices, which have inverses, if the shape ends in a square."""
    array: np.ndarray = np.zeros(tuple(tensor.shape or ()), tensor.dtype.numpy)  # type: ignore[arg-type]  # it is known
    if tensor.dtype.is_floating and array.ndim >= 2 and array.shape[-1] == array.shape[-2]:
        array[...] = np.eye(array.shape[-1])
    return array
