"""Cells around other cells: stacks, dropout, sums, devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.core import is_nested, nest_flatten, nest_map_structure, pack_sequence_as
from dovetail.compat.tensorflow.names.devices import device as device_scope
from dovetail.compat.tensorflow.names.rnn.base import RNNCell, of_batch
from dovetail.compat.tensorflow.names.rnn.cells import LSTMStateTuple
from dovetail.compat.tensorflow.names.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import V1, value
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import is_tensor


class MultiRNNCell(RNNCell):
    """Cells in a stack: the output of each is the input of the next.

    Args:
        cells: the cells; the first one gets the inputs.
        state_is_tuple: whether the state is the tuple of the cells' states, and not one tensor of them all.

    Raises:
        TypeError: `cells` is no list or tuple.
        ValueError: there are none; or a state is a tuple that cannot be part of one tensor.

    Source: `tf.compat.v1.nn.rnn_cell.MultiRNNCell`.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True, **options: Any) -> None:
        super().__init__(**options)
        if not is_nested(cells):
            raise op_error(TypeError, "tf.nn.rnn_cell.MultiRNNCell", f"cells must be a list, not {cells!r}.")
        if not cells:
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", "it needs a cell.")
        if not state_is_tuple and any(is_nested(cell.state_size) for cell in cells):
            problem = "the state of a cell is a tuple: give state_is_tuple=False to the cells, too."
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", problem)
        self._cells, self._state_is_tuple = cells, state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def is_whole(self) -> bool:
        return self._state_is_tuple and all(getattr(cell, "is_whole", False) for cell in self._cells)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with graph_mode.name_scope("MultiRNNCellZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any, **options: Any) -> Any:
        """One step: the output of the last cell, and the next states."""
        if not self._state_is_tuple:
            sizes = [cell.state_size for cell in self._cells]
            state = ops.split(state, [sum(sizes[:i]) for i in range(1, len(sizes))], axis=1)
        if not is_nested(state) or len(state) != len(self._cells):
            problem = f"the state must be a tuple of {len(self._cells)} states, not {state!r}."
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", problem)
        after = []
        for i, (cell, before) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, before, **options)
            after.append(new)
        return inputs, tuple(after) if self._state_is_tuple else ops.concatenate(after, 1)


class Wrapper(RNNCell):
    """A cell around another, which has the variables and the state.

    Args:
        cell: the other cell.
    """

    def __init__(self, cell: Any, **options: Any) -> None:
        super().__init__(**options)
        self._cell = self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The other cell."""
        return self._cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def is_whole(self) -> bool:
        return getattr(self._cell, "is_whole", False)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with graph_mode.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **options: Any) -> Any:
        return self.around(partial(self._cell, scope=scope, **options), inputs, state)

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        """One step: the output and the next state, by one step of the other cell."""
        raise NotImplementedError


def _dropped_by_default(substate: Any) -> Any:
    """Which parts of a state are dropped: not the cell of an LSTM."""
    return LSTMStateTuple(False, True) if isinstance(substate, LSTMStateTuple) else not is_nested(substate) or None


class DropoutWrapper(Wrapper):
    """A cell whose inputs, outputs and states lose random elements; the others are scaled up.

    Args:
        cell: the cell.
        input_keep_prob, output_keep_prob, state_keep_prob: the chances that an element stays.
        variational_recurrent: whether all steps lose the same elements, as they do in all sequences.
        input_size: the size of the inputs, which `variational_recurrent` needs if they are dropped.
        dtype: the dtype of the inputs, which `variational_recurrent` needs.
        seed: a seed of the draws.
        dropout_state_filter_visitor: (a part of the state) → whether it may be dropped, or a nest of that.

    Raises:
        ValueError: a chance is not between 0 and 1; or `variational_recurrent` lacks an argument.

    Source: `tf.compat.v1.nn.rnn_cell.DropoutWrapper`.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: Any = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **options)
        self._keep = {"input": input_keep_prob, "output": output_keep_prob, "state": state_keep_prob}
        for kind, keep in self._keep.items():
            if not is_tensor(keep) and not 0 <= keep <= 1:
                problem = f"{kind}_keep_prob must be between 0 and 1, not {keep}."
                raise op_error(ValueError, "tf.nn.rnn_cell.DropoutWrapper", problem)
        self._seed, self._filter = seed, dropout_state_filter_visitor or _dropped_by_default
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            sizes = {"input": input_size, "output": cell.output_size, "state": cell.state_size}
            needed = {kind: sizes[kind] for kind in self._keep if self._drops(kind)}
            if dtype is None or None in needed.values():
                problem = (
                    "variational_recurrent needs the dtype of the inputs, and their input_size if they are dropped."
                )
                raise op_error(ValueError, "tf.nn.rnn_cell.DropoutWrapper", problem)
            for kind, size in needed.items():
                self._noise[kind] = nest_map_structure(
                    lambda s: V1["random_uniform"](of_batch(1, s), dtype=dtype, seed=seed), size
                )

    def _drops(self, kind: str) -> bool:
        return is_tensor(self._keep[kind]) or self._keep[kind] < 1

    @property
    def is_whole(self) -> bool:
        return super().is_whole and not self._noise and not self._drops("state")

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        output, after = cell(self._dropped("input", inputs), state)
        return self._dropped("output", output), self._dropped("state", after)

    def _dropped(self, kind: str, values: Any) -> Any:
        """A nest of tensors without their dropped elements."""
        if not self._drops(kind):
            return values
        leaves = nest_flatten(values)
        noises = nest_flatten(self._noise[kind]) if self._noise else [None] * len(leaves)
        chosen = _chosen(self._filter, values) if kind == "state" else [True] * len(leaves)
        pairs = zip(leaves, noises, chosen, strict=True)
        return pack_sequence_as(values, [self._drop(kind, *pair) for pair in pairs])

    def _drop(self, kind: str, x: Any, noise: Any, is_chosen: bool) -> Any:
        keep = self._keep[kind]
        if not is_chosen:
            return x
        if noise is None:
            return V1["nn.dropout"](x, keep, seed=self._seed)
        return ops.divide(x, keep) * ops.floor(noise + keep)


def _chosen(visit: Callable[[Any], Any], state: Any) -> list[bool]:
    """For each tensor of a state, whether it may be dropped."""
    found = visit(state)
    if is_nested(state) and not isinstance(found, bool):
        parts = found if is_nested(found) else [None] * len(state)
        pairs = zip(state, parts, strict=True)
        return [one for part, own in pairs for one in ([own] if isinstance(own, bool) else _chosen(visit, part))]
    return [bool(found)] * len(nest_flatten(state))


class ResidualWrapper(Wrapper):
    """A cell whose output is added to its input.

    Args:
        cell: the cell.
        residual_fn: (input, output) → the sum, or another function of them.

    Source: `tf.compat.v1.nn.rnn_cell.ResidualWrapper`.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **options: Any) -> None:
        super().__init__(cell, **options)
        self._residual_fn = residual_fn

    @property
    def is_whole(self) -> bool:
        return super().is_whole and self._residual_fn is None

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        output, after = cell(inputs, state)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), after
        return nest_map_structure(ops.add, inputs, output), after


class DeviceWrapper(Wrapper):
    """A cell whose operations are on a device.

    Args:
        cell: the cell.
        device: the device, as in `tf.device`.

    Source: `tf.compat.v1.nn.rnn_cell.DeviceWrapper`.
    """

    def __init__(self, cell: Any, device: Any, **options: Any) -> None:
        super().__init__(cell, **options)
        self._device = device

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        with device_scope(self._device):
            return cell(inputs, state)


for _cell in (MultiRNNCell, DropoutWrapper, ResidualWrapper, DeviceWrapper):
    value(f"nn.rnn_cell.{_cell.__name__} contrib.rnn.{_cell.__name__}", _cell, "v1")
