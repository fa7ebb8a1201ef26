"""Control flow: the ways to run branches and loops whose bodies are Python functions of values.

Each way is a `Control`: Python itself (`HostControl`, for eager Tensors and for engines without control flow of their
own), an engine's own (`lax`), or recording operations that hold the bodies as subgraphs (`trace.control`).
Values come as flat tuples; the user functions in `ops.control` handle nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.dtypes import DType

Values = Sequence[Any]
Body = Callable[..., Values]


class Control:
    """A way to run branches and loops.

    Attributes:
        host: Python's way, on the same engine.
    """

    host: HostControl

    def cond(self, condition: Any, then_branch: Body, else_branch: Body) -> Values:
        """The results of one of two branches, which take no arguments."""
        raise NotImplementedError

    def while_loop(self, condition: Callable[..., Any], body: Body, state: Values, limit: int | None) -> Values:
        """The state after `state = body(*state)` while `condition(*state)` holds, at most `limit` times."""
        raise NotImplementedError

    def scan(
        self, body: Callable[[Values, Values], Any], init: Values, xs: Values, length: int | None, reverse: bool
    ) -> tuple[Values, Values]:
        """Run `carry, ys = body(carry, slices)` over the slices of `xs` along their first axis.

        Args:
            body: returns the new carry, and the values to stack.
            init: the first carry.
            xs: the values to slice; there may be none.
            length: the number of steps; needed only if there are no `xs`.
            reverse: whether to go from the last slice to the first; stacked values stand at the places of their slices.

        Returns:
            The last carry, and the stacked ys.
        """
        raise NotImplementedError

    def rules(self) -> dict[str, Callable[..., Any]]:
        """The rules of the ops If, While and Scan; they get subgraphs as functions of native arrays."""
        return {"If": self._if_rule, "While": self._while_rule, "Scan": self._scan_rule}

    def _if_rule(self, condition: Any, inputs: Values, then_branch: Body, else_branch: Body) -> Values:
        return self.cond(condition, lambda: then_branch(*inputs), lambda: else_branch(*inputs))

    def _while_rule(self, init: Values, constants: Values, condition: Body, body: Body, limit: int | None) -> Values:
        return self.while_loop(
            lambda *state: condition(*state, *constants)[0], lambda *state: body(*state, *constants), init, limit
        )

    def _scan_rule(
        self, init: Values, xs: Values, constants: Values, body: Body, length: int | None, reverse: bool
    ) -> Values:
        count = len(init)

        def step(carry: Values, slices: Values) -> tuple[Values, Values]:
            results = body(*carry, *slices, *constants)
            return results[:count], results[count:]

        carry, ys = self.scan(step, init, xs, length, reverse)
        return (*carry, *ys)


class HostControl(Control):
    """Python's own control flow.

    Args:
        unstack: the slices of a value along its first axis.
        stack: values stacked along a new first axis.
        stack_nothing: (body, init, xs) → the stacked ys of a scan without steps, from the shapes alone.
        truth: a scalar as a bool.
    """

    def __init__(
        self,
        unstack: Callable[[Any], Values],
        stack: Callable[[Values], Any],
        stack_nothing: Callable[[Callable[..., Any], Values, Values], Values],
        truth: Callable[[Any], bool] = bool,
    ) -> None:
        self._unstack = unstack
        self._stack = stack
        self._stack_nothing = stack_nothing
        self._truth = truth

    def cond(self, condition: Any, then_branch: Body, else_branch: Body) -> Values:
        return then_branch() if self._truth(condition) else else_branch()

    def while_loop(self, condition: Callable[..., Any], body: Body, state: Values, limit: int | None) -> Values:
        count, truth = 0, self._truth
        while (limit is None or count < limit) and truth(condition(*state)):
            state = body(*state)
            count += 1
        return state

    def scan(
        self, body: Callable[[Values, Values], Any], init: Values, xs: Values, length: int | None, reverse: bool
    ) -> tuple[Values, Values]:
        steps = list(zip(*map(self._unstack, xs), strict=True)) if xs else [()] * (length or 0)
        if not steps:
            return init, self._stack_nothing(body, init, xs)
        carry, rows = init, []
        for slices in reversed(steps) if reverse else steps:
            carry, ys = body(carry, slices)
            rows.append(ys)
        if reverse:
            rows.reverse()
        return carry, [self._stack(column) for column in zip(*rows, strict=True)]

    def rules(self) -> dict[str, Callable[..., Any]]:
        return {**super().rules(), "WhileGrad": self._while_gradient}

    def _while_gradient(
        self,
        init: Values,
        constants: Values,
        carry: Values,
        condition: Body,
        body: Body,
        backward: Body,
        limit: int | None,
    ) -> Values:
        """Keep the states of the loop in a list, and walk back over it."""
        states = [init]
        while (limit is None or len(states) <= limit) and self._truth(condition(*states[-1], *constants)[0]):
            states.append(body(*states[-1], *constants))
        for state in states[-2::-1]:
            carry = backward(*carry, *state, *constants)
        return carry


class Branches:
    """The part of an engine that runs branches and loops."""

    def _make_control(self) -> Control:
        """Make the engine's control flow: Python's, unless the library has control flow of its own."""
        return self._host_control()

    def _host_control(self) -> HostControl:
        """Python's control flow on its arrays."""
        return HostControl(self.unstack, self.stack, self._stack_nothing, self._truth)

    def unstack(self: Any, value: Any) -> Values:
        """The slices along the first axis."""
        take = self.rules["StridedSlice"]
        return [take(value, (i,), (i + 1,), (1,), 0, 0, 1) for i in range(self.shape(value)[0])]

    def _truth(self: Any, value: Any) -> bool:
        """A scalar as a bool."""
        return bool(self.to_numpy(value))

    def stack(self: Any, values: Values) -> Any:
        """Arrays of one shape along a new first axis."""
        return self.rules["Pack"](values, 0)

    def _stack_nothing(self: Any, body: Callable[..., Any], init: Values, xs: Values) -> Values:
        slices = [self._zeros(self.shape(x)[1:], self.dtype(x)) for x in xs]
        return [self._zeros((0, *self.shape(y)), self.dtype(y)) for y in body(init, slices)[1]]

    def _zeros(self: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        return self.asarray(np.zeros(shape, dtype.numpy), dtype)
