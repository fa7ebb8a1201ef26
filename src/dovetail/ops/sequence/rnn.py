"""Recurrent loops over the time axis, with masks, built on `scan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.values.shapes import fits
from dovetail.core.values.structure import alike, flatten, map_structure, show, unflatten
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.control.flow import check_functions, scan
from dovetail.ops.math.compare import where
from dovetail.ops.math.reduce import max
from dovetail.ops.shapes.create import arange, zeros_like
from dovetail.ops.shapes.join import stack
from dovetail.ops.shapes.rearrange import flip
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims, shaped, transpose
from dovetail.ops.shapes.subscript import getitem


@checked
def rnn(
    step_function: Callable[[Any, Any], Any],
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """Apply a function to each step of sequences, with states that go from step to step.

    At a masked step the states stay as they are, and the output is the output of the step before (zeros at first).

    Args:
        step_function: (the inputs of a step, states and constants in one tuple) → (output, new states).
        inputs: a tensor (batch, time, ...), or a structure of them.
        initial_states: the states before the first step, each (batch, ...).
        go_backwards: whether to go from the last step to the first; the outputs are in the order of computation.
        mask: (batch, time) or (batch, time, 1): which steps count; all, if not given.
        constants: further tensors that each step gets.
        unroll: whether to repeat the step's operations for each time instead of a loop; the length must be known.
        input_length: an integer tensor (batch,) or scalar: how many steps count, if there is no mask and no `unroll`; a
            Python int has no effect.  With `go_backwards`, the longest counts as having all steps.
        time_major: whether inputs, mask and outputs are (time, batch, ...).
        zero_output_for_mask: whether the output of a masked step is zeros.
        return_all_outputs: whether to return the outputs of all steps, not of the last one alone.

    Returns:
        The last output; the outputs (batch, time, ...), of time length 1 without `return_all_outputs`; the last states.

    Raises:
        TypeError: `step_function` is not callable, or `initial_states` is not a sequence.
        ValueError: `unroll` with a length that is not known, no steps, lengths that differ, or states that change their
            structure or (without `unroll`) their shape.

    Source: `keras.backend.rnn`.

    Example:
        >>> import numpy as np
        >>> x, start = np.ones((1, 3, 2), "float32"), np.zeros((1, 2), "float32")
        >>> last, sums, states = rnn(lambda x, states: (x + states[0], [x + states[0]]), x, [start])
        >>> sums.numpy()[0, :, 0]
        array([1., 2., 3.], dtype=float32)
    """
    check_functions("RNN", step_function=step_function)
    if not isinstance(initial_states, (list, tuple)):
        raise op_error(TypeError, "RNN", f"initial_states must be a list or tuple, not {describe(initial_states)}.")
    if not time_major:
        inputs, mask = map_structure(_swap_batch_and_time, (inputs, mask))
    steps = _number_of_steps(flatten((inputs, mask))[0], unroll)
    constants = tuple(constants or ())
    if mask is None and not (input_length is None or isinstance(input_length, (int, np.integer)) or unroll):
        mask = _mask_of_lengths(input_length, steps, go_backwards)
    mask = None if mask is None else cast(mask, "bool")
    repeats = mask is not None and not zero_output_for_mask
    position: int | None = None  # of the state that is the output; the last output then needs no stack

    def step(carry: Any, slices: Any) -> Any:
        nonlocal position
        (previous, states), (x, counts) = carry, slices
        output, new_states = step_function(x, (*states, *constants))
        position = next((i for i, state in enumerate(flatten(new_states)[0]) if state is output), None)
        if counts is not None or not unroll:
            _check_states(states, new_states, shapes=not unroll)
        if counts is not None:
            new_states = _where(counts, new_states, states)
            output = _where(counts, output, previous)
        stacked = return_all_outputs or (position is None and not repeats)
        return (output if repeats else None, new_states), output if stacked else None

    previous = None
    if repeats:
        output, _ = step_function(map_structure(lambda x: getitem(x, 0), inputs), (*initial_states, *constants))
        previous = map_structure(zeros_like, output)
    loop = _unrolled if unroll else scan
    (last, states), outputs = loop(step, (previous, initial_states), (inputs, mask), reverse=go_backwards)
    end = 0 if go_backwards else -1
    if not repeats and position is not None:
        last = flatten(states)[0][position]
        last = last if mask is None else _where(getitem(mask, end), last, None)
    elif not repeats:
        last = map_structure(lambda y: getitem(y, end), outputs)
    if not return_all_outputs:
        outputs = map_structure(lambda y: expand_dims(y, 0), last)
    elif go_backwards:
        outputs = map_structure(lambda y: flip(y, 0), outputs)
    return last, outputs if time_major else map_structure(_swap_batch_and_time, outputs), states


def _swap_batch_and_time(x: Any) -> Any:
    return transpose(x, (1, 0, *range(2, _sequence_rank(x))))


def _sequence_rank(x: Any) -> int:
    """Return the rank of a tensor; raise ValueError if it lacks the axes of batch and time."""
    shape = static_shape(shaped(x))
    if shape is not None and len(shape) < 2:
        raise ValueError(f"inputs and mask must have a batch axis and a time axis, but a tensor has the shape {shape}.")
    return len(shape)


def _number_of_steps(tensors: list[Any], known: bool) -> Any:
    """The size of the first axis that tensors share: an int, or a scalar tensor.

    Args:
        known: whether it must be an int.

    Raises:
        ValueError: the sizes differ, the size is unknown though it must be known, or it is 0.
    """
    steps = {dim for x in tensors for dim in static_shape(x)[:1]} - {None}
    if len(steps) > 1:
        raise op_error(ValueError, "RNN", f"inputs and mask must have one number of steps, but it is {sorted(steps)}.")
    if known and not steps:
        raise op_error(ValueError, "RNN", "to unroll, the number of time steps must be known.")
    if 0 in steps:
        raise op_error(ValueError, "RNN", "there must be at least one time step, to have a last output.")
    return steps.pop() if steps else dims_of(tensors[0])[0]


def _mask_of_lengths(lengths: Any, steps: Any, go_backwards: bool) -> Any:
    """The mask (time, batch) of the steps that count."""
    lengths = shaped(lengths)
    if len(static_shape(lengths)) > 1:
        raise op_error(ValueError, "RNN", f"input_length must be one number for each sample, not {describe(lengths)}.")
    if go_backwards:
        lengths = lengths + (steps - max(lengths))
    return expand_dims(arange(steps), 1) < lengths


def _check_states(before: Any, after: Any, shapes: bool) -> None:
    """Refuse new states that cannot replace the old ones."""
    (old, old_structure), (new, new_structure) = flatten(before), flatten(after)
    if not alike(old_structure, new_structure):
        problem = f"the states must keep their structure, but {show(old_structure)} becomes {show(new_structure)}."
        raise op_error(ValueError, "RNN", problem)
    for i, (a, b) in enumerate(zip(map(shaped, old), map(shaped, new), strict=True)):
        if shapes and not fits(static_shape(b), static_shape(a)):
            problem = f"state {i} must keep its shape, but {describe(a)} becomes {describe(b)}."
            raise op_error(ValueError, "RNN", problem)


def _where(mask: Any, new: Any, old: Any) -> Any:
    """New values where a mask (batch,) or (batch, 1) holds; elsewhere the old ones, or zeros without old ones."""
    leaves, structure = flatten(new)
    others = [0] * len(leaves) if old is None else flatten(old)[0]
    return unflatten(structure, [where(_to_rank(mask, a), a, b) for a, b in zip(leaves, others, strict=True)])


def _to_rank(mask: Any, like: Any) -> Any:
    like = shaped(like)
    missing = len(static_shape(like)) - len(static_shape(mask))
    if missing >= 0:
        return expand_dims(mask, tuple(range(-missing, 0))) if missing else mask
    if not static_shape(like):
        raise op_error(ValueError, "RNN", f"with a mask, states and outputs need a batch axis, not {describe(like)}.")
    return getitem(mask, (slice(None), 0))


def _unrolled(step: Callable[[Any, Any], Any], carry: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """`scan` with the operations of each step repeated."""
    leaves, structure = flatten(xs)
    length = leaves[0].shape[0]
    ys: list[Any] = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = step(carry, unflatten(structure, [x[i] for x in leaves]))
    return carry, map_structure(lambda *y: stack(y), *ys)
