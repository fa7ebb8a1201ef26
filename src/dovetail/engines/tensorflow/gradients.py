"""Gradients from the table of ops, for rules that TensorFlow cannot differentiate."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine, on_engine
from dovetail.core.rules import Rule
from dovetail.core.tensor import Tensor
from dovetail.core.values.recording import Record


def with_gradient_of_table(name: str, rule: Rule) -> Rule:
    """The rule of an op of one tensor, which TensorFlow differentiates by the op's gradient in the table."""
    op = OPS[name]
    table: Any = op.gradient_function

    def differentiable(x: Any, *static: Any) -> Any:
        engine = get_engine("tensorflow").native

        def function(x: Any) -> Any:
            results = rule(x, *static)

            def gradient(*arriving: Any) -> list[Any]:
                given, outputs = [Tensor(x, engine), *static], [Tensor(y, engine) for y in results]
                gradients = [None if g is None else Tensor(g, engine) for g in arriving]
                with on_engine(engine):
                    return [table(Record(op, given, outputs), *gradients)._value]

            return results, gradient

        return engine.custom_gradient(function, [x])

    return differentiable
