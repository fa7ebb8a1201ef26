"""TensorFlow 1's loops over the steps of sequences, as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.array.indexing import reverse_sequence
from dovetail.compat.tensorflow.names.array.structures import (
    assert_same_structure,
    nest_flatten,
    nest_map_structure,
    pack_sequence_as,
)
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.graph.control import while_loop
from dovetail.compat.tensorflow.names.rnn.base import zeros_of
from dovetail.compat.tensorflow.names.rnn.cells import ALL
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import function, takes
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of

_HINTS = "parallel_iterations swap_memory"
_FREE = "parallel_iterations=None swap_memory=False"
_BOTH_WAYS = "cell_fw cell_bw inputs"
_STATES = "initial_state_fw=None initial_state_bw=None dtype=None"
_LAYERS = "cells_fw cells_bw inputs initial_states_fw=None initial_states_bw=None dtype=None sequence_length=None"

# -- one direction ----------------------------------------------------------------------------------------------------


@function("nn.dynamic_rnn", "v1")
@takes(
    f"cell inputs sequence_length=None initial_state=None dtype=None {_FREE} time_major=False scope=None",
    ignores=_HINTS,
)
def dynamic_rnn(given: Any) -> tuple[Any, Any]:
    """The outputs of a cell for all steps of sequences, and its last state.

    Args:
        inputs: tensors (batch, time, ...), or with `time_major` (time, batch, ...), in any nest.
        sequence_length: how many steps of each sequence count.  After them outputs are zeros, and the state stays.
        initial_state: the state before the first step; by default zeros of `dtype`.

    Raises:
        TypeError: `cell` is no cell.
        ValueError: there are neither an initial state nor a dtype; or the sizes of inputs do not fit together.

    Source: `tf.compat.v1.nn.dynamic_rnn`.
    """
    _check_cells(given.cell)
    with variable_scope(given.scope or "rnn"):
        inputs = nest_map_structure(lambda x: graph_mode.recorded(ops.convert(x), "inputs"), given.inputs)
        batch = dims_of(nest_flatten(inputs)[0])[1 if given.time_major else 0]
        state = _first_state(given.cell, batch, given.initial_state, given.dtype)
        return over_steps(given.cell, inputs, state, given.sequence_length, given.time_major)


def over_steps(
    cell: Any, inputs: Any, state: Any, lengths: Any, time_major: bool, scope: Any = None
) -> tuple[Any, Any]:
    """The outputs of all steps, and the last state; by one op if the cell has one."""
    lengths, options = _lengths(lengths), {} if scope is None else {"scope": scope}
    if getattr(cell, "is_whole", False):
        counting = ALL if lengths is None else lengths
        outputs, state = cell(swapped(inputs) if time_major else inputs, state, lengths=counting, **options)
        if lengths is not None:
            past = ops.arange(dims_of(outputs)[1], dtype="int32") >= ops.expand_dims(lengths, 1)
            outputs = ops.where(ops.expand_dims(past, 2), 0, outputs)
        return swapped(outputs) if time_major else outputs, state

    def step(x: Any, states: Any) -> Any:
        output, after = cell(x, states[0], **options)
        assert_same_structure(states[0], after)
        return output, (after,)

    _, outputs, (state,) = ops.rnn(
        graph_mode.body(step),
        inputs,
        (state,),
        input_length=lengths,
        time_major=time_major,
        zero_output_for_mask=True,
    )
    return outputs, state


@function("nn.static_rnn nn.rnn contrib.rnn.static_rnn", "v1")
@takes("cell inputs initial_state=None dtype=None sequence_length=None scope=None")
def static_rnn(given: Any) -> tuple[list[Any], Any]:
    """The outputs of a cell for each input of a list, and its last state; see `dynamic_rnn`.

    Raises:
        TypeError: `cell` is no cell, or `inputs` no list.
        ValueError: there are no inputs, or neither an initial state nor a dtype.

    Source: `tf.compat.v1.nn.static_rnn`.
    """
    cell, inputs = given.cell, given.inputs
    _check_cells(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list, not {inputs!r}; see tf.unstack.")
    if not inputs:
        raise ValueError("there are no inputs.")
    with variable_scope(given.scope or "rnn") as opened:
        batch = dims_of(ops.convert(nest_flatten(inputs)[0]))[0]
        state = _first_state(cell, batch, given.initial_state, given.dtype)
        if getattr(cell, "is_whole", False):
            outputs, state = over_steps(cell, ops.stack(inputs, 1), state, given.sequence_length, time_major=False)
            return ops.unstack(outputs, axis=1), state
        lengths, by_step = _lengths(given.sequence_length), []
        for i, x in enumerate(inputs):
            if i:
                opened.reuse_variables()
            output, after = cell(x, state)
            if lengths is not None:
                output = nest_map_structure(lambda y, counts=lengths > i: where_of(counts, y, 0), output)
                after = nest_map_structure(
                    lambda new, old, counts=lengths > i: where_of(counts, new, old), after, state
                )
            by_step.append(output)
            state = after
        return by_step, state


# -- both directions --------------------------------------------------------------------------------------------------


@function("nn.bidirectional_dynamic_rnn", "v1")
@takes(f"{_BOTH_WAYS} sequence_length=None {_STATES} {_FREE} time_major=False scope=None", ignores=_HINTS)
def bidirectional_dynamic_rnn(given: Any) -> tuple[Any, Any]:
    """The outputs of two cells, of which one goes from the last step to the first, and their last states.

    Source: `tf.compat.v1.nn.bidirectional_dynamic_rnn`.
    """
    lengths, time_major = _lengths(given.sequence_length), given.time_major

    def run(cell: Any, x: Any, state: Any, scope: Any) -> Any:
        return dynamic_rnn(cell, x, lengths, state, given.dtype, time_major=time_major, scope=scope)

    (y_fw, fw), (y_bw, bw) = _both(run, lambda values: reversed_steps(values, lengths, time_major), given)
    return (y_fw, y_bw), (fw, bw)


@function("nn.static_bidirectional_rnn nn.bidirectional_rnn contrib.rnn.static_bidirectional_rnn", "v1")
@takes(f"{_BOTH_WAYS} {_STATES} sequence_length=None scope=None")
def static_bidirectional_rnn(given: Any) -> tuple[list[Any], Any, Any]:
    """The joined outputs of two cells, of which one goes from the last input to the first, and their last states.

    Source: `tf.compat.v1.nn.static_bidirectional_rnn`.
    """
    lengths = _lengths(given.sequence_length)

    def run(cell: Any, x: Any, state: Any, scope: Any) -> Any:
        return static_rnn(cell, x, state, given.dtype, lengths, scope)

    (y_fw, fw), (y_bw, bw) = _both(run, lambda values: _reversed_list(values, lengths), given)
    joined = [nest_map_structure(lambda *y: ops.concatenate(y, 1), *pair) for pair in zip(y_fw, y_bw, strict=True)]
    return joined, fw, bw


def _both(run: Any, turn: Any, given: Any) -> list[Any]:
    """The outputs and the last states of a loop with two cells; the second gets its inputs from the end.

    Args:
        run: (cell, inputs, first state, scope) → (outputs, last state).
        turn: inputs or outputs → the same from the last step to the first.
    """
    _check_cells(given.cell_fw, given.cell_bw)
    with variable_scope(given.scope or "bidirectional_rnn"):
        with variable_scope("fw") as own:
            forward = run(given.cell_fw, given.inputs, given.initial_state_fw, own)
        with variable_scope("bw") as own:
            outputs, state = run(given.cell_bw, turn(given.inputs), given.initial_state_bw, own)
    return [forward, (turn(outputs), state)]


def reversed_steps(values: Any, lengths: Any, time_major: bool) -> Any:
    """Sequences from the last step that counts to the first; the steps after it stay."""
    time, batch = (0, 1) if time_major else (1, 0)
    if lengths is None:
        return nest_map_structure(lambda x: ops.flip(x, time), values)
    return nest_map_structure(lambda x: reverse_sequence(x, lengths, time, batch), values)


def _reversed_list(values: Sequence[Any], lengths: Any) -> list[Any]:
    """`reversed_steps` for the list of the steps."""
    if lengths is None:
        return list(reversed(values))
    stacks = [ops.stack(steps) for steps in zip(*map(nest_flatten, values), strict=True)]
    steps = zip(*(ops.unstack(x) for x in reversed_steps(stacks, lengths, time_major=True)), strict=True)
    return [pack_sequence_as(values[0], leaves) for leaves in steps]


def _stacked(layer: Callable[..., Any], given: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The outputs of layers of cells in two directions, and the last states of both directions.

    Args:
        layer: (cells, inputs, first states) → (outputs, last states).
    """
    fw, bw = given.cells_fw, given.cells_bw
    if not isinstance(fw, list) or len(fw) != len(bw) or not fw:
        raise ValueError("cells_fw and cells_bw must be lists of as many cells, and of one at least.")
    x, after, none = given.inputs, [], [None] * len(fw)
    states = given.initial_states_fw or none, given.initial_states_bw or none
    with variable_scope(given.scope or "stack_bidirectional_rnn"):
        for i, (*cells, first_fw, first_bw) in enumerate(zip(fw, bw, *states, strict=True)):
            with variable_scope(f"cell_{i}"):
                x, last = layer(cells, x, (first_fw, first_bw))
            after.append(last)
    last_fw, last_bw = zip(*after, strict=True)
    return x, last_fw, last_bw


@function("contrib.rnn.stack_bidirectional_rnn", "v1")
@takes(f"{_LAYERS} scope=None")
def stack_bidirectional_rnn(given: Any) -> Any:
    """The outputs of layers of cells for a list of inputs, in two directions, and the last states of both.

    Source: `tf.contrib.rnn.stack_bidirectional_rnn`.
    """

    def layer(cells: Any, x: Any, states: Any) -> Any:
        y, *last = static_bidirectional_rnn(*cells, x, *states, given.dtype, given.sequence_length)
        return y, last

    return _stacked(layer, given)


@function("contrib.rnn.stack_bidirectional_dynamic_rnn", "v1")
@takes(
    f"{_LAYERS} parallel_iterations=None time_major=False scope=None swap_memory=False",
    ignores=_HINTS,
)
def stack_bidirectional_dynamic_rnn(given: Any) -> Any:
    """The outputs of layers of cells for sequences in one tensor, in two directions, and the last states of both.

    Source: `tf.contrib.rnn.stack_bidirectional_dynamic_rnn`.
    """

    def layer(cells: Any, x: Any, states: Any) -> Any:
        options = {"dtype": given.dtype, "time_major": given.time_major}
        y, last = bidirectional_dynamic_rnn(*cells, x, given.sequence_length, *states, **options)
        return ops.concatenate(y, 2), last

    return _stacked(layer, given)


@function("nn.raw_rnn", "v1")
@takes(f"cell loop_fn {_FREE} scope=None")
def raw_rnn(cell: Any, loop_fn: Callable[..., Any], scope: Any) -> tuple[Any, Any, Any]:
    """Run a cell until a function says that all sequences are finished.

    Args:
        loop_fn: (time, the cell's output, its state, the state of the loop) → (which sequences are finished, the next
            input, the next state of the cell, what to collect, the next state of the loop).  First it is called with
            None for all but the time.

    Returns:
        The collected tensors as arrays, the cell's last state, and the last state of the loop.

    Raises:
        TypeError: `cell` is no cell, or `loop_fn` no function.

    Source: `tf.compat.v1.nn.raw_rnn`.
    """
    _check_cells(cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn must be a function, not {loop_fn!r}.")
    with variable_scope(scope or "rnn"):
        time = graph_mode.recorded(ops.convert(0, "int32"), "time")
        finished, x, state, emitted, first = loop_fn(time, None, None, None)
        batch = dims_of(nest_flatten(x)[0])[0]
        if emitted is None:
            zeros = zeros_of(cell.output_size, batch, dtype_of(nest_flatten(state)[0]))
        else:
            zeros = nest_map_structure(lambda one: zeros_of(shape_of(one.shape), batch, one.dtype), emitted)
        arrays = nest_map_structure(
            lambda zero: TensorArray(zero.dtype, 0, dynamic_size=True, element_shape=dims_of(zero)), zeros
        )

        def body(time: Any, finished: Any, x: Any, arrays: Any, state: Any, own: Any) -> tuple[Any, ...]:
            output, after = cell(x, state)
            now_finished, x, after, emit, next_own = loop_fn(time + 1, output, after, own)
            emit = nest_map_structure(lambda zero, new: where_of(finished, zero, new), zeros, emit)
            arrays = nest_map_structure(lambda array, one: array.write(time, one), arrays, emit)
            after = nest_map_structure(lambda old, new: where_of(finished, old, new), state, after)
            return (
                *(time + 1, ops.logical_or(finished, now_finished), x, arrays, after),
                own if next_own is None else next_own,
            )

        start = (time, finished, x, arrays, state, time if first is None else first)
        last = while_loop(lambda _, finished, *others: ops.logical_not(ops.all(finished)), body, start)
        return last[3], last[4], None if first is None else last[5]


def where_of(condition: Any, x: Any, y: Any) -> Any:
    """Sequences of one tensor where a condition (batch,) holds, of the other elsewhere; a number has no sequences."""
    rank = max(len(static_shape(ops.convert(one))) for one in (x, y))
    return ops.where(ops.reshape(condition, [-1, *[1] * (rank - 1)]), x, y) if rank else y


def _check_cells(*cells: Any) -> None:
    """Refuse values that are not cells."""
    for cell in cells:
        if isinstance(cell, type) or not (callable(cell) and hasattr(cell, "state_size")):
            raise TypeError(f"{cell!r} is not a cell: make one of tf.nn.rnn_cell.")


def _first_state(cell: Any, batch: Any, initial_state: Any, dtype: Any) -> Any:
    """The state before the first step."""
    if initial_state is not None:
        return nest_map_structure(lambda x: graph_mode.recorded(ops.convert(x), "state"), initial_state)
    if dtype is None:
        raise ValueError("it needs the dtype of the first state, or initial_state.")
    return cell.zero_state(batch, dtype)


def _lengths(given: Any) -> Any:
    if given is None:
        return None
    lengths = ops.cast(graph_mode.recorded(ops.convert(given), "sequence_length"), "int32")
    if static_shape(lengths) is not None and len(static_shape(lengths)) != 1:
        raise ValueError(f"sequence_length must be one number for each sequence, not {lengths}.")
    return lengths


def swapped(x: Any) -> Any:
    return ops.transpose(x, (1, 0, *range(2, len(static_shape(x)))))
