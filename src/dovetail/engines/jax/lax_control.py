"""XLA's control flow."""

from __future__ import annotations

from typing import Any

from jax import lax

from dovetail.core.engines.control_flow import Control, Values
from dovetail.core.rules import Rule


class LaxControl(Control):
    """XLA's control flow."""

    def cond(self, condition: Any, then_branch: Rule, else_branch: Rule) -> Values:
        return lax.cond(condition, lambda: tuple(then_branch()), lambda: tuple(else_branch()))

    def while_loop(self, condition: Rule, body: Rule, state: Values, limit: int | None) -> Values:
        def goes_on(counted: Any) -> Any:
            count, state = counted
            held = condition(*state)
            return held if limit is None else (count < limit) & held

        def step(counted: Any) -> Any:
            return counted[0] + 1, tuple(body(*counted[1]))

        return lax.while_loop(goes_on, step, (0, tuple(state)))[1]

    def scan(self, body: Rule, init: Values, xs: Values, length: int | None, reverse: bool) -> tuple[Values, Values]:
        def step(carry: Values, slices: Values) -> tuple[Values, Values]:
            carry, ys = body(carry, slices)
            return tuple(carry), tuple(ys)

        # JAX may not know the length of slices yet, but it must know a length that is given.
        return lax.scan(step, tuple(init), tuple(xs), None if xs else length, reverse)
