"""Rules made of bodies: a composite as one rule, which an engine compiles as a whole."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.hooks import hooks
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import Rule
from dovetail.core.tensor import Tensor

# Engines whose kernels start slowly, or that compile each loop, run eager calls of these as programs.
DECODERS = ("CTCGreedyDecoder", "CTCBeamSearchDecoder")


def body_rule(name: str, engine_name: str) -> Rule:
    """The body of a composite as a function of native arrays, to be traced by the engine's library.

    Args:
        name: the composite; the engine has no rule for it.
        engine_name: the engine whose library traces it.
    """
    op = OPS[name]

    def rule(*args: Any) -> Any:
        engine = get_engine(engine_name).native
        values = [Tensor(value, engine) if engine.owns_type(type(value)) else value for value in args]
        results = hooks.run_body(op, engine, *values)
        return tuple(t._value for t in results) if op.returns_tuple else results._value

    return rule
