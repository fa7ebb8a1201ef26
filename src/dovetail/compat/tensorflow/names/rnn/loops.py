"""TensorFlow 1's loops over the steps of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.control import while_loop
from dovetail.compat.tensorflow.names.core import (
    assert_same_structure,
    nest_flatten,
    nest_map_structure,
    pack_sequence_as,
)
from dovetail.compat.tensorflow.names.rnn.base import of_batch
from dovetail.compat.tensorflow.names.rnn.cells import ALL
from dovetail.compat.tensorflow.names.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import V1, function
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of


@function("nn.dynamic_rnn", "v1")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs of a cell for all steps of sequences, and its last state.

    Args:
        cell: called once for each step.
        inputs: tensors (batch, time, ...), in any nest.
        sequence_length: how many steps of each sequence count.  After them outputs are zeros, and the state stays.
        initial_state: the state before the first step; by default zeros of `dtype`.
        time_major: whether inputs and outputs are (time, batch, ...).
        scope: the scope of the variables.

    Raises:
        TypeError: `cell` is no cell.
        ValueError: there are neither an initial state nor a dtype; or the sizes of inputs do not fit together.

    Source: `tf.compat.v1.nn.dynamic_rnn`.
    """
    _check_cell("dynamic_rnn", cell)
    with variable_scope(scope or "rnn"):
        inputs = nest_map_structure(lambda x: graph_mode.recorded(ops.convert(x), "inputs"), inputs)
        batch = dims_of(nest_flatten(inputs)[0])[1 if time_major else 0]
        state = _first_state("dynamic_rnn", cell, batch, initial_state, dtype)
        return _over_steps(cell, inputs, state, _lengths(sequence_length), time_major)


def _over_steps(cell: Any, inputs: Any, state: Any, lengths: Any, time_major: bool) -> tuple[Any, Any]:
    """The outputs of all steps, and the last state; by one op if the cell has one."""
    if getattr(cell, "is_whole", False):
        counting = ALL if lengths is None else lengths
        outputs, state = cell(_swapped(inputs) if time_major else inputs, state, lengths=counting)
        if lengths is not None:
            past = ops.arange(dims_of(outputs)[1], dtype="int32") >= ops.expand_dims(lengths, 1)
            outputs = ops.where(ops.expand_dims(past, 2), 0, outputs)
        return _swapped(outputs) if time_major else outputs, state

    def step(x: Any, states: Any) -> Any:
        output, after = cell(x, states[0])
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
def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """The outputs of a cell for each input of a list, and its last state.

    Args:
        inputs: the input of each step (batch, ...), in any nest.
        cell, initial_state, dtype, sequence_length, scope: as in `dynamic_rnn`.

    Raises:
        TypeError: `cell` is no cell, or `inputs` no list.
        ValueError: there are no inputs, or neither an initial state nor a dtype.

    Source: `tf.compat.v1.nn.static_rnn`.
    """
    _check_cell("static_rnn", cell)
    if not isinstance(inputs, (list, tuple)):
        raise op_error(TypeError, "tf.nn.static_rnn", f"inputs must be a list, not {inputs!r}; see tf.unstack.")
    if not inputs:
        raise op_error(ValueError, "tf.nn.static_rnn", "there are no inputs.")
    with variable_scope(scope or "rnn") as opened:
        batch = dims_of(ops.convert(nest_flatten(inputs)[0]))[0]
        state = _first_state("static_rnn", cell, batch, initial_state, dtype)
        lengths = _lengths(sequence_length)
        if getattr(cell, "is_whole", False):
            whole, state = _over_steps(cell, ops.stack(inputs, 1), state, lengths, time_major=False)
            return ops.unstack(whole, axis=1), state
        outputs = []
        for i, x in enumerate(inputs):
            if i:
                opened.reuse_variables()
            output, after = cell(x, state)
            if lengths is not None:
                output = nest_map_structure(lambda y, counts=lengths > i: _where(counts, y, 0), output)
                after = nest_map_structure(lambda new, old, counts=lengths > i: _where(counts, new, old), after, state)
            outputs.append(output)
            state = after
        return outputs, state


# -- both directions --------------------------------------------------------------------------------------------------


@function("nn.bidirectional_dynamic_rnn", "v1")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs of two cells, of which one goes from the last step to the first, and their last states.

    Args:
        cell_fw, cell_bw: the cells of the two directions.
        initial_state_fw, initial_state_bw: their states before their first steps.
        inputs, sequence_length, dtype, time_major, scope: as in `dynamic_rnn`.

    Source: `tf.compat.v1.nn.bidirectional_dynamic_rnn`.
    """
    _check_cell("bidirectional_dynamic_rnn", cell_fw, cell_bw)
    lengths, common = _lengths(sequence_length), {"dtype": dtype, "time_major": time_major}
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            y_fw, fw = dynamic_rnn(cell_fw, inputs, lengths, initial_state_fw, scope=forward, **common)
        with variable_scope("bw") as backward:
            y_bw, bw = dynamic_rnn(
                cell_bw, _reversed(inputs, lengths, time_major), lengths, initial_state_bw, scope=backward, **common
            )
    return (y_fw, _reversed(y_bw, lengths, time_major)), (fw, bw)


@function("nn.static_bidirectional_rnn nn.bidirectional_rnn contrib.rnn.static_bidirectional_rnn", "v1")
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
    _check_cell("static_bidirectional_rnn", cell_fw, cell_bw)
    lengths = _lengths(sequence_length)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            y_fw, fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, lengths, forward)
        with variable_scope("bw") as backward:
            y_bw, bw = static_rnn(cell_bw, _reversed_list(inputs, lengths), initial_state_bw, dtype, lengths, backward)
    pairs = zip(y_fw, _reversed_list(y_bw, lengths), strict=True)
    return [nest_map_structure(lambda a, b: ops.concatenate([a, b], 1), *pair) for pair in pairs], fw, bw


def _reversed(values: Any, lengths: Any, time_major: bool) -> Any:
    """Sequences from the last step that counts to the first; the steps after it stay."""
    time, batch = (0, 1) if time_major else (1, 0)
    if lengths is None:
        return nest_map_structure(lambda x: ops.flip(x, time), values)
    return nest_map_structure(lambda x: V1["reverse_sequence"](x, lengths, time, batch), values)


def _reversed_list(values: Sequence[Any], lengths: Any) -> list[Any]:
    """`_reversed` for the list of the steps."""
    if lengths is None:
        return list(reversed(values))
    stacks = [ops.stack(steps) for steps in zip(*map(nest_flatten, values), strict=True)]
    steps = zip(*(ops.unstack(x) for x in _reversed(stacks, lengths, time_major=True)), strict=True)
    return [pack_sequence_as(values[0], leaves) for leaves in steps]


def _stacked(run: Callable[..., Any], joins: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function for layers of cells in two directions, of the function for one layer.

    Args:
        run: (cells, inputs, states before, dtype, lengths, options) → (outputs, the last state of each direction).
        joins: the outputs of a layer → the inputs of the next.
    """

    def stack(
        cells_fw: Sequence[Any],
        cells_bw: Sequence[Any],
        inputs: Any,
        initial_states_fw: Any = None,
        initial_states_bw: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
        **options: Any,
    ) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
        if not isinstance(cells_fw, list) or len(cells_fw) != len(cells_bw) or not cells_fw:
            problem = "cells_fw and cells_bw must be lists of as many cells, and of one at least."
            raise op_error(ValueError, "tf.contrib.rnn.stack_bidirectional_rnn", problem)
        none, after = [None] * len(cells_fw), []
        firsts = zip(initial_states_fw or none, initial_states_bw or none, strict=True)
        with variable_scope(scope or "stack_bidirectional_rnn"):
            for i, (cells, first) in enumerate(zip(zip(cells_fw, cells_bw, strict=True), firsts, strict=True)):
                with variable_scope(f"cell_{i}"):
                    outputs, states = run(cells, inputs, first, dtype, sequence_length, options)
                inputs = joins(outputs)
                after.append(states)
        fw, bw = zip(*after, strict=True)
        return inputs, fw, bw

    return stack


def _dynamic_layer(cells: Any, inputs: Any, first: Any, dtype: Any, lengths: Any, options: Any) -> Any:
    return bidirectional_dynamic_rnn(cells[0], cells[1], inputs, lengths, first[0], first[1], dtype, **options)


def _static_layer(cells: Any, inputs: Any, first: Any, dtype: Any, lengths: Any, options: Any) -> Any:
    outputs, *after = static_bidirectional_rnn(
        cells[0], cells[1], inputs, first[0], first[1], dtype, lengths, **options
    )
    return outputs, after


_LAYERS = "cells_fw cells_bw inputs initial_states_fw initial_states_bw dtype sequence_length"
for _name, _function in {
    "contrib.rnn.stack_bidirectional_dynamic_rnn": _stacked(_dynamic_layer, lambda pair: ops.concatenate(pair, 2)),
    "contrib.rnn.stack_bidirectional_rnn": _stacked(_static_layer, list),
}.items():
    function(_name, "v1")(_function)


# -- loops of the program's own ---------------------------------------------------------------------------------------


@function("nn.raw_rnn", "v1")
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a cell until a function says that all sequences are finished.

    Args:
        cell: called once for each step.
        loop_fn: (time, the cell's output, its state, the state of the loop) → (which sequences are finished, the next
            input, the next state of the cell, what to collect, the next state of the loop).  First it is called with
            None for all but the time.
        scope: the scope of the variables.

    Returns:
        The collected tensors as arrays, the cell's last state, and the last state of the loop.

    Raises:
        TypeError: `cell` is no cell, or `loop_fn` no function.

    Source: `tf.compat.v1.nn.raw_rnn`.
    """
    _check_cell("raw_rnn", cell)
    if not callable(loop_fn):
        raise op_error(TypeError, "tf.nn.raw_rnn", f"loop_fn must be a function, not {loop_fn!r}.")
    with variable_scope(scope or "rnn"):
        time = graph_mode.recorded(ops.convert(0, "int32"), "time")
        finished, x, state, emitted, first = loop_fn(time, None, None, None)
        batch = dims_of(nest_flatten(x)[0])[0]
        if emitted is None:
            dtype = dtype_of(nest_flatten(state)[0])
            zeros = nest_map_structure(lambda size: V1["zeros"](of_batch(batch, size), dtype), cell.output_size)
        else:
            zeros = nest_map_structure(lambda one: V1["zeros"](of_batch(batch, one.shape), one.dtype), emitted)
        arrays = nest_map_structure(
            lambda zero: TensorArray(zero.dtype, 0, dynamic_size=True, element_shape=dims_of(zero)), zeros
        )

        def body(time: Any, finished: Any, x: Any, arrays: Any, state: Any, own: Any) -> tuple[Any, ...]:
            output, after = cell(x, state)
            now_finished, x, after, emit, next_own = loop_fn(time + 1, output, after, own)
            emit = nest_map_structure(lambda zero, new: _where(finished, zero, new), zeros, emit)
            arrays = nest_map_structure(lambda array, one: array.write(time, one), arrays, emit)
            after = nest_map_structure(lambda old, new: _where(finished, old, new), state, after)
            return (
                *(time + 1, ops.logical_or(finished, now_finished), x, arrays, after),
                own if next_own is None else next_own,
            )

        start = (time, finished, x, arrays, state, time if first is None else first)
        last = while_loop(lambda _, finished, *others: ops.logical_not(ops.all(finished)), body, start)
        return last[3], last[4], None if first is None else last[5]


# -- what the loops share ---------------------------------------------------------------------------------------------


def _where(condition: Any, x: Any, y: Any) -> Any:
    """Sequences of one tensor where a condition (batch,) holds, of the other elsewhere; a number has no sequences."""
    rank = max(len(static_shape(ops.convert(one))) for one in (x, y))
    return ops.where(ops.reshape(condition, [-1, *[1] * (rank - 1)]), x, y) if rank else y


def _check_cell(title: str, *cells: Any) -> None:
    """Refuse what is no cell."""
    for cell in cells:
        is_cell = callable(cell) and not isinstance(cell, type) and hasattr(cell, "state_size")
        if not is_cell:
            raise op_error(TypeError, f"tf.nn.{title}", f"{cell!r} is not a cell: make one of tf.nn.rnn_cell.")


def _first_state(title: str, cell: Any, batch: Any, initial_state: Any, dtype: Any) -> Any:
    """The state before the first step."""
    if initial_state is not None:
        return nest_map_structure(lambda x: graph_mode.recorded(ops.convert(x), "state"), initial_state)
    if dtype is None:
        raise op_error(ValueError, f"tf.nn.{title}", "it needs the dtype of the first state, or initial_state.")
    return cell.zero_state(batch, dtype)


def _lengths(given: Any) -> Any:
    if given is None:
        return None
    lengths = ops.cast(graph_mode.recorded(ops.convert(given), "sequence_length"), "int32")
    if static_shape(lengths) is not None and len(static_shape(lengths)) != 1:
        problem = f"sequence_length must be one number for each sequence, not of the shape {static_shape(lengths)}."
        raise op_error(ValueError, "tf.nn.dynamic_rnn", problem)
    return lengths


def _swapped(x: Any) -> Any:
    return ops.transpose(x, (1, 0, *range(2, len(static_shape(x)))))
