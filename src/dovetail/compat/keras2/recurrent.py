"""Recurrent layers up to Keras 2.1: a class of `Recurrent`, or of `LSTM`, defines `step`, and K loops over it."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.interop.privates import tree


class _Kind(type(keras.layers.Layer)):  # type: ignore[misc]  # mypy takes no computed class
    """The class of `Recurrent`, of which Keras' own recurrent layers count as instances, as they were."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            cls.__module__ == __name__ and isinstance(instance, keras.layers.RNN)
        )


class Recurrent(keras.layers.Layer, metaclass=_Kind):
    """A recurrent layer whose class defines `step(inputs, states)`, which returns an output and the next states.

    A class sets `units`, or `output_dim`, and in `build` a list `states`, with None for each state.  It may define
    `preprocess_input`, `get_constants` and `get_initial_state`, with the name of Keras 1 or 2.

    Args:
        return_sequences: whether the layer returns the outputs of all steps.
        return_state: whether the last states follow the output.
        go_backwards: whether the last step comes first.
        stateful: whether a batch begins with the states of the batch before.
        unroll: whether each step is recorded by itself.
        options: arguments that any layer takes; `consume_less` and `implementation` have no effect.

    Source: `keras.layers.Recurrent` of Keras 2.1.
    """

    states: list[Any]  # which the class sets

    def __init__(
        self,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**{name: options[name] for name in options.keys() - {"consume_less", "implementation"}})
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll = go_backwards, stateful, unroll
        self.supports_masking = True
        self.dropout, self.recurrent_dropout = getattr(self, "dropout", 0), getattr(self, "recurrent_dropout", 0)

    def _units(self) -> int:
        return int(self.units if hasattr(self, "units") else self.output_dim)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the output and of the states behind it."""
        batch, steps = (input_shape[0] if isinstance(input_shape, list) else input_shape)[:2]
        state = (batch, self._units())
        output = (batch, steps, self._units()) if self.return_sequences else state
        return [output, *(state for _ in self.states)] if self.return_state else output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output, and none for states."""
        mask = mask[0] if isinstance(mask, list) else mask
        output = mask if self.return_sequences else None
        return [output, *(None for _ in self.states)] if self.return_state else output

    def preprocess_input(self, inputs: Any, training: Any = None) -> Any:
        """The inputs of all steps, as `step` takes them."""
        return inputs

    def get_constants(self, inputs: Any, training: Any = None) -> list[Any]:
        """Tensors that follow the states in each step."""
        return []

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states before the first step, zeros."""
        if hasattr(self, "get_initial_states"):  # Keras 1's name
            return list(self.get_initial_states(inputs))
        zeros = K.tile(K.expand_dims(K.sum(K.zeros_like(inputs), axis=(1, 2))), [1, self._units()])
        return [zeros for _ in self.states]

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        """Loop over the steps."""
        if isinstance(inputs, list):
            inputs, *initial_state = inputs
        if initial_state is None or initial_state == []:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        last, outputs, states = K.rnn(
            self.step,
            _of_phase(self.preprocess_input, inputs, training),
            list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state],
            go_backwards=self.go_backwards,
            mask=mask[0] if isinstance(mask, list) else mask,
            constants=_of_phase(self.get_constants, inputs, training),
            unroll=self.unroll,
            input_length=K.int_shape(inputs)[1],
        )
        if self.stateful:
            self.add_update(list(zip(self.states, states, strict=True)), inputs)
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def reset_states(self, states: Any = None) -> None:
        """Set the states that a stateful layer keeps; they are zeros if not given.

        Raises:
            ValueError: the layer does not know the size of a batch.
        """
        spec = self.input_spec[0] if isinstance(self.input_spec, (list, tuple)) else self.input_spec
        if spec is None or not spec.shape or not spec.shape[0]:
            problem = "a stateful layer needs the size of a batch: give batch_input_shape to the first layer."
            raise ValueError(f"{self.name}.reset_states: {problem}")
        zeros = np.zeros((spec.shape[0], self._units()), K.floatx())
        if self.states[0] is None:
            self.states = [K.variable(zeros) for _ in self.states]
        given = [zeros for _ in self.states] if states is None else states
        for state, value in zip(self.states, given if isinstance(given, (list, tuple)) else [given], strict=True):
            K.set_value(state, value)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the layer."""
        names = "return_sequences", "return_state", "go_backwards", "stateful", "unroll"
        return super().get_config() | {name: getattr(self, name) for name in names}


# -- classes of LSTM, GRU and SimpleRNN --------------------------------------------------------------------------------

GATES = {keras.layers.LSTM: 4, keras.layers.GRU: 3, keras.layers.SimpleRNN: 1}


def loop_over_steps(cls: Any) -> None:
    """Let a program's class of one of Keras' layers loop over the `step` that it defines, as up to Keras 2.0.

    Keras 3 loops over a cell, which has no such step.  `build` makes `states`, and the weights that `step` reads.
    """
    if "step" not in vars(cls) or not issubclass(cls, tuple(GATES)):
        return
    of_the_program = itertools.takewhile(lambda base: base not in GATES, cls.__mro__)
    own = {name for base in of_the_program for name in vars(base)}
    names = "call", "compute_output_shape", "compute_mask", "get_initial_state", "reset_states", "_units"
    loop = {name: vars(Recurrent)[name] for name in names}
    loop |= {"preprocess_input": _products_of_gates, "get_constants": _masks_of_gates}
    for name in loop.keys() - own:
        setattr(cls, name, loop[name])


def _products_of_gates(self: Any, inputs: Any, training: Any = None) -> Any:
    """The products of all steps with the kernels of the gates."""
    return time_distributed_dense(inputs, self.kernel, self.bias, self.dropout, training=training)


def _masks_of_gates(self: Any, inputs: Any, training: Any = None) -> list[Any]:
    """What `step` multiplies the inputs and the state by, for each gate; dropout leaves out parts of the state."""
    gates = next(count for cls, count in GATES.items() if isinstance(self, cls))
    masks = ones = [K.cast_to_floatx(1.0)] * gates
    if 0 < self.recurrent_dropout < 1:
        full = K.ones_like(K.tile(inputs[:, 0, :1], [1, self.units]))
        parts = [K.dropout(full, self.recurrent_dropout) for _ in range(gates)]
        masks = [K.in_train_phase(part, full, training=training) for part in parts]
    return [ones, masks]


def _of_phase(method: Callable[..., Any], inputs: Any, training: Any) -> Any:
    """The result of a method for inputs, which in Keras 2 also takes `training`."""
    takes = "training" in inspect.signature(method).parameters
    return method(inputs, training=training) if takes else method(inputs)


def time_distributed_dense(
    x: Any,
    w: Any,
    b: Any = None,
    dropout: float | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    timesteps: int | None = None,
    training: Any = None,
) -> Any:
    """The product of each step with a matrix, with a bias; dropout leaves out the same numbers in all steps.

    Args:
        x: floats of shape (batch, steps, inputs).
        w: the matrix, (inputs, outputs).
        b: the bias, (outputs,); None without one.
        dropout: the share of the inputs that is left out in training.
        input_dim, output_dim, timesteps: ignored, as the shapes tell them.
        training: whether the layer trains; None is the learning phase.

    Source: `keras.layers.recurrent._time_distributed_dense` of Keras 2.0.
    """
    if dropout is not None and 0 < dropout < 1:
        kept = K.expand_dims(K.dropout(K.ones_like(x[:, 0]), dropout), 1)
        x = K.in_train_phase(x * kept, x, training=training)
    product = K.dot(x, w)
    return product if b is None else K.bias_add(product, b)


_time_distributed_dense = time_distributed_dense


# -- cells -------------------------------------------------------------------------------------------------------------


def by_rows(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the call of `GRUCell`, which takes matrices alone in Keras 3: inputs of higher rank become rows.

    Layers of graphs call a cell on the nodes of each graph, (batch, nodes, features).
    """

    @functools.wraps(call)
    def of_rows(self: Any, inputs: Any, states: Any, training: Any = False) -> Any:
        if len(inputs.shape) == 2:
            return call(self, inputs, states, training)
        leading = keras.ops.shape(inputs)[:-1]
        output, after = call(self, _rows(inputs), tree.map_structure(_rows, states), training)
        return tree.map_structure(lambda rows: keras.ops.reshape(rows, (*leading, self.units)), (output, after))

    return of_rows


def _rows(x: Any) -> Any:
    return keras.ops.reshape(x, (-1, x.shape[-1]))
