"""Gradients from the table of ops, for rules that JAX cannot differentiate."""

from __future__ import annotations

from typing import Any

import jax

from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine, on_engine
from dovetail.core.rules import Rule
from dovetail.core.tensor import Tensor
from dovetail.core.values.recording import Record


def with_gradient_of_table(name: str, rule: Rule) -> Rule:
    """The rule of an op of tensors alone, which JAX differentiates by the op's gradient in the table."""

    def forward(*xs: Any) -> tuple[Any, Any]:
        y = rule(*xs)
        return y, (xs, y)

    def backward(saved: Any, g: Any) -> tuple[Any, ...]:
        engine = get_engine("jax").native
        xs, y = ([Tensor(value, engine) for value in values] for values in (saved[0], saved[1:]))
        with on_engine(engine):
            gradients = OPS[name].gradient_function(Record(OPS[name], xs, y), Tensor(g, engine))  # type: ignore[misc]
        return tuple(None if gradient is None else gradient._value for gradient in gradients)

    differentiable = jax.custom_vjp(rule)
    differentiable.defvjp(forward, backward)
    return differentiable
