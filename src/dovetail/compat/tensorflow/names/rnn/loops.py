"""TensorFlow 1's loops over the steps of sequences, as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.control import while_loop
from dovetail.compat.tensorflow.names.rnn.base import zeros_of
from dovetail.compat.tensorflow.names.rnn.cells import ALL
from dovetail.compat.tensorflow.names.structures import (
    assert_same_structure,
    nest_flatten,
    nest_map_structure,
    pack_sequence_as,
)
from dovetail.compat.tensorflow.names.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import V1, function
from dovetail.core.tensor_shape import shape_of
from dovetail.core.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of

# -- one direction ----------------------------------------------------------------------------------------------------


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
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
    _check_cells(cell)
    with variable_scope(scope or "rnn"):
        inputs = nest_map_structure(lambda x: graph_mode.recorded(ops.convert(x), "inputs"), inputs)
        batch = dims_of(nest_flatten(inputs)[0])[1 if time_major else 0]
        state = _first_state(cell, batch, initial_state, dtype)
        return over_steps(cell, inputs, state, sequence_length, time_major)


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


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """The outputs of a cell for each input of a list, and its last state; see `dynamic_rnn`.

    Raises:
        TypeError: `cell` is no cell, or `inputs` no list.
        ValueError: there are no inputs, or neither an initial state nor a dtype.

    Source: `tf.compat.v1.nn.static_rnn`.
    """
    _check_cells(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list, not {inputs!r}; see tf.unstack.")
    if not inputs:
        raise ValueError("there are no inputs.")
    with variable_scope(scope or "rnn") as opened:
        batch = dims_of(ops.convert(nest_flatten(inputs)[0]))[0]
        state = _first_state(cell, batch, initial_state, dtype)
        if getattr(cell, "is_whole", False):
            outputs, state = over_steps(cell, ops.stack(inputs, 1), state, sequence_length, time_major=False)
            return ops.unstack(outputs, axis=1), state
        lengths, found = _lengths(sequence_length), []
        for i, x in enumerate(inputs):
            if i:
                opened.reuse_variables()
            output, after = cell(x, state)
            if lengths is not None:
                output = nest_map_structure(lambda y, counts=lengths > i: where_of(counts, y, 0), output)
                after = nest_map_structure(
                    lambda new, old, counts=lengths > i: where_of(counts, new, old), after, state
                )
            found.append(output)
            state = after
        return found, state


# -- both directions --------------------------------------------------------------------------------------------------


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs of two cells, of which one goes from the last step to the first, and their last states.

    Source: `tf.compat.v1.nn.bidirectional_dynamic_rnn`.
    """
    lengths = _lengths(sequence_length)

    def run(cell: Any, inputs: Any, state: Any, scope: Any) -> Any:
        return dynamic_rnn(cell, inputs, lengths, state, dtype, time_major, scope)

    def turn(values: Any) -> Any:
        return reversed_steps(values, lengths, time_major)

    (y_fw, fw), (y_bw, bw) = _both(run, turn, (cell_fw, cell_bw), inputs, (initial_state_fw, initial_state_bw), scope)
    return (y_fw, y_bw), (fw, bw)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """The joined outputs of two cells, of which one goes from the last input to the first, and their last states.

    Source: `tf.compat.v1.nn.static_bidirectional_rnn`.
    """
    lengths = _lengths(sequence_length)

    def run(cell: Any, inputs: Any, state: Any, scope: Any) -> Any:
        return static_rnn(cell, inputs, state, dtype, lengths, scope)

    def turn(values: Any) -> Any:
        return _reversed_list(values, lengths)

    (y_fw, fw), (y_bw, bw) = _both(run, turn, (cell_fw, cell_bw), inputs, (initial_state_fw, initial_state_bw), scope)
    joined = [nest_map_structure(lambda *y: ops.concatenate(y, 1), *pair) for pair in zip(y_fw, y_bw, strict=True)]
    return joined, fw, bw


def _both(run: Any, turn: Any, cells: Any, inputs: Any, states: Any, scope: Any) -> list[Any]:
    """The outputs and the last states of a loop with two cells; the second gets its inputs from the end.

    Args:
        run: (cell, inputs, first state, scope) → (outputs, last state).
        turn: inputs or outputs → the same from the last step to the first.
    """
    _check_cells(*cells)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as own:
            forward = run(cells[0], inputs, states[0], own)
        with variable_scope("bw") as own:
            outputs, state = run(cells[1], turn(inputs), states[1], own)
    return [forward, (turn(outputs), state)]


def reversed_steps(values: Any, lengths: Any, time_major: bool) -> Any:
    """Sequences from the last step that counts to the first; the steps after it stay."""
    time, batch = (0, 1) if time_major else (1, 0)
    if lengths is None:
        return nest_map_structure(lambda x: ops.flip(x, time), values)
    return nest_map_structure(lambda x: V1["reverse_sequence"](x, lengths, time, batch), values)


def _reversed_list(values: Sequence[Any], lengths: Any) -> list[Any]:
    """`reversed_steps` for the list of the steps."""
    if lengths is None:
        return list(reversed(values))
    stacks = [ops.stack(steps) for steps in zip(*map(nest_flatten, values), strict=True)]
    steps = zip(*(ops.unstack(x) for x in reversed_steps(stacks, lengths, time_major=True)), strict=True)
    return [pack_sequence_as(values[0], leaves) for leaves in steps]


def stack_bidirectional(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The outputs of layers of cells in two directions, and the last states of both directions.

    Source: `tf.contrib.rnn.stack_bidirectional_rnn`, `tf.contrib.rnn.stack_bidirectional_dynamic_rnn`.
    """
    if not isinstance(cells_fw, list) or len(cells_fw) != len(cells_bw) or not cells_fw:
        raise ValueError("cells_fw and cells_bw must be lists of as many cells, and of one at least.")
    none, after = [None] * len(cells_fw), []
    layers = zip(cells_fw, cells_bw, initial_states_fw or none, initial_states_bw or none, strict=True)
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw, first_fw, first_bw) in enumerate(layers):
            last: Any
            with variable_scope(f"cell_{i}"):
                if isinstance(inputs, (list, tuple)):
                    inputs, *last = static_bidirectional_rnn(fw, bw, inputs, first_fw, first_bw, dtype, sequence_length)
                else:
                    outputs, last = bidirectional_dynamic_rnn(
                        fw, bw, inputs, sequence_length, first_fw, first_bw, dtype, time_major
                    )
                    inputs = ops.concatenate(outputs, 2)
            after.append(last)
    last_fw, last_bw = zip(*after, strict=True)
    return inputs, last_fw, last_bw


def raw_rnn(cell: Any, loop_fn: Callable[..., Any], scope: Any = None) -> tuple[Any, Any, Any]:
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


_BOTH_WAYS = "cell_fw cell_bw inputs"
_LAYERS = "cells_fw cells_bw inputs initial_states_fw initial_states_bw dtype sequence_length"
_HINTS = "parallel_iterations swap_memory"
for _names, _words, _function in (
    (
        "nn.dynamic_rnn",
        f"cell inputs sequence_length initial_state dtype {_HINTS} time_major scope",
        dynamic_rnn,
    ),
    (
        "nn.static_rnn nn.rnn contrib.rnn.static_rnn",
        "cell inputs initial_state dtype sequence_length scope",
        static_rnn,
    ),
    (
        "nn.bidirectional_dynamic_rnn",
        f"{_BOTH_WAYS} sequence_length initial_state_fw initial_state_bw dtype {_HINTS} time_major scope",
        bidirectional_dynamic_rnn,
    ),
    (
        "nn.static_bidirectional_rnn nn.bidirectional_rnn contrib.rnn.static_bidirectional_rnn",
        f"{_BOTH_WAYS} initial_state_fw initial_state_bw dtype sequence_length scope",
        static_bidirectional_rnn,
    ),
    (
        "contrib.rnn.stack_bidirectional_dynamic_rnn",
        f"{_LAYERS} parallel_iterations time_major scope swap_memory",
        stack_bidirectional,
    ),
    ("contrib.rnn.stack_bidirectional_rnn", f"{_LAYERS} scope", stack_bidirectional),
    ("nn.raw_rnn", f"cell loop_fn {_HINTS} scope", raw_rnn),
):
    function(_names, "v1", v1=_words)(_function)
