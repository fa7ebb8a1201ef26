"""Control flow in TensorFlow's graphs; outside a trace, Python's control flow runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dovetail.core.engines.control_flow import Control, HostControl, Values
from dovetail.core.rules import Rule
from dovetail.engines.tensorflow.tables import dims


class TensorFlowControl(HostControl):
    """`tf.cond` and `tf.while_loop`."""

    def rules(self) -> dict[str, Rule]:
        return Control.rules(self)  # no list of states in a graph: the body of WhileGrad keeps them in a tensor

    def cond(self, condition: Any, then_branch: Rule, else_branch: Rule) -> Values:
        if tf.executing_eagerly():
            return super().cond(condition, then_branch, else_branch)
        return tf.cond(condition, lambda: tuple(then_branch()), lambda: tuple(else_branch()))

    def while_loop(self, condition: Rule, body: Rule, state: Values, limit: int | None) -> Values:
        if tf.executing_eagerly():
            return super().while_loop(condition, body, state, limit)

        made: list[Any] = []  # the shapes of the body's results

        def step(count: Any, state: Any) -> Any:
            after = tuple(body(*state))
            made[:] = [tf.convert_to_tensor(x).shape for x in after]
            return count + 1, after

        start = tf.constant(0), tuple(map(tf.convert_to_tensor, state))  # a count, since the loop needs a state
        shapes = [x.shape for x in start[1]]
        while True:
            try:
                return tf.while_loop(
                    lambda _, state: condition(*state),
                    step,
                    start,
                    shape_invariants=(tf.TensorShape(()), tuple(shapes)),
                    maximum_iterations=limit,
                )[1]
            except ValueError:
                wider = [a.most_specific_compatible_shape(b) for a, b in zip(shapes, made, strict=False)]
                if len(wider) < len(shapes) or wider == shapes:
                    raise
                shapes = wider  # the body changes the shape of its state

    def scan(self, body: Rule, init: Values, xs: Values, length: int | None, reverse: bool) -> tuple[Values, Values]:
        if tf.executing_eagerly():
            return super().scan(body, init, xs, length, reverse)
        count: Any = dims(xs[0])[0] if xs else length
        init = tuple(map(tf.convert_to_tensor, init))
        step = _traced(body, init, xs)
        carried, stacked = step.structured_outputs
        slices = [tf.TensorArray(x.dtype, count, element_shape=x.shape[1:]).unstack(x) for x in xs]
        rows = tuple(tf.TensorArray(y.dtype, count, element_shape=y.shape) for y in stacked)

        def turn(number: Any, carry: Any, rows: Any) -> Any:
            at = count - 1 - number if reverse else number
            carry, ys = step(carry, tuple(s.read(at) for s in slices))
            return number + 1, carry, tuple(row.write(at, y) for row, y in zip(rows, ys, strict=True))

        start = tf.constant(0), init, rows
        shapes = tuple(a.shape.most_specific_compatible_shape(b.shape) for a, b in zip(init, carried, strict=True))
        _, carry, rows = tf.while_loop(
            lambda number, *_: number < count,
            turn,
            start,
            shape_invariants=(tf.TensorShape(()), shapes, tuple(tf.TensorShape(None) for _ in rows)),
            maximum_iterations=count,
        )

        def of_zeros() -> Values:
            return step(init, tuple(tf.zeros(tf.shape(x)[1:], x.dtype) for x in xs))[1]

        return carry, _stack(rows, stacked, count, of_zeros)


def _traced(body: Rule, init: Values, xs: Values) -> Any:
    """One step of a scan as a concrete function, which knows the shapes and dtypes of the stacked results."""

    def step(carry: Values, slices: Values) -> tuple[Values, Values]:
        carry, ys = body(carry, slices)
        return tuple(carry), tuple(ys)

    carried = tuple(tf.TensorSpec(c.shape, c.dtype) for c in init)
    sliced = tuple(tf.TensorSpec(x.shape[1:], x.dtype) for x in xs)
    return tf.function(step, autograph=False).get_concrete_function(carried, sliced)


def _stack(rows: Values, stacked: Values, count: Any, of_zeros: Callable[[], Values]) -> Values:
    """The stacked results of a scan's steps; without steps, a step on zeros gives the unknown shapes."""
    if all(y.shape.is_fully_defined() for y in stacked):
        return [row.stack() for row in rows]
    known = [-1 if y.shape.rank is None else [-1 if n is None else n for n in y.shape] for y in stacked]
    shapes = tf.cond(
        tf.greater(count, 0),
        lambda: [tf.constant(k, tf.int32) for k in known],
        lambda: [tf.shape(y) for y in of_zeros()],
    )
    return [
        tf.raw_ops.TensorListStack(input_handle=row.flow, element_shape=shape, element_dtype=row.dtype)
        for row, shape in zip(rows, shapes, strict=True)
    ]
