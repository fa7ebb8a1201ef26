"""The instructions of XLA that an operation becomes, by the lines of the program in their stack frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from dovetail.core.engine import FILE, Segment
from dovetail.core.routines import Routine, Routines, operations_of
from dovetail.engines.hlo import Frames, instructions
from dovetail.engines.jax import executable


def routines(segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
    before = jax.config.jax_compilation_cache_include_metadata_in_key
    jax.config.update("jax_compilation_cache_include_metadata_in_key", True)  # else a file may give other lines
    try:
        text, lines = executable.Executable(segment).source(), operations_of(segment.function)
    finally:
        jax.config.update("jax_compilation_cache_include_metadata_in_key", before)
    frames = Frames(text)
    found: dict[Any, dict[Routine, None]] = {}
    for made in instructions(text):
        operation = lines.get(_outermost(list(frames.lines(made.frame))))
        if operation is not None:
            found.setdefault(operation, {})[Routine(made.text, made.routine)] = None
    return {operation: list(each) for operation, each in found.items()}


def _outermost(frames: list[tuple[str, int]]) -> int:
    """The line of the whole program, in which an operation that is a loop has programs of its own; 0 if it is unknown.

    JAX keeps the innermost frames of a deep stack; if it has dropped the caller of the program, the line is unknown.
    """
    around = next((n for n, (file, _) in enumerate(frames) if file == executable.__file__), 0)
    return next((line for file, line in reversed(frames[:around]) if file == FILE), 0)
