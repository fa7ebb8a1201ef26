"""The instructions of XLA that an operation becomes, by the scopes in their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from dovetail.core.engine import Segment
from dovetail.core.engines.routines import Routine, Routines
from dovetail.engines.hlo_routines import instructions
from dovetail.engines.jax.executable import Executable


def routines(segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
    before = jax.config.jax_compilation_cache_include_metadata_in_key
    jax.config.update("jax_compilation_cache_include_metadata_in_key", True)  # else a file may give other scopes
    try:
        text = Executable(segment).source()
    finally:
        jax.config.update("jax_compilation_cache_include_metadata_in_key", before)
    by_path: dict[str, list[Routine]] = {}
    for made in instructions(text):
        by_path.setdefault(made.path, []).append(Routine(made.text, made.routine))
    return by_path
