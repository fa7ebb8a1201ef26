"""`tf.contrib.cudnn_rnn`: layers of cells whose variables are those that cuDNN's have in checkpoints."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.core.base.errors import op_error


class _CudnnRNN:
    """Layers of cells, in one direction or in both.

    Args:
        num_layers, num_units: the number of layers, and of the units of each.
        direction: "unidirectional" or "bidirectional".
        dropout: the part of what a layer gives that the next one does not get, in training.
        seed: starts the sequence of draws.
        kernel_initializer: makes the first values of matrices; biases begin with zeros.
        name: the scope of the variables.
    """

    _cell = ""  # the name of its cell

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = "float32",
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        if input_mode == "skip_input" or bias_initializer is not None:
            problem = (
                "the first layer has a matrix, and biases begin with zeros: leave input_mode and bias_initializer out"
            )
            raise op_error(NotImplementedError, f"tf.contrib.cudnn_rnn.{type(self).__name__}", f"{problem}.")
        self.num_layers, self.num_units, self.direction = num_layers, num_units, direction
        self.num_dirs = 2 if direction == "bidirectional" else 1
        self.dtype, self._dropout, self._seed, self._first = dtype, dropout, seed, kernel_initializer
        self._name = name
        self._scope: Any = None

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """The outputs, and the last states, each (layers and directions, batch, units).

        Args:
            inputs: (steps, batch, channels); (batch, steps, channels) without `time_major`.
            initial_state: as the last states.
        """
        default = "cudnn_" + type(self).__name__.removeprefix("Cudnn").lower()
        if self._scope is None:
            opened = variable_scope(self._name, default, initializer=self._first)
        else:
            opened = variable_scope(self._scope, reuse=True)
        options = {"dtype": self.dtype, "sequence_length": sequence_lengths, "time_major": time_major}
        with opened as self._scope:
            firsts = self._states(initial_state)
            if self.num_dirs == 1:
                cell = named("nn.rnn_cell.MultiRNNCell")(self._cells(training))
                outputs, states = named("nn.dynamic_rnn")(
                    cell, inputs, initial_state=None if firsts is None else tuple(firsts), **options
                )
            else:
                pairs = (None, None) if firsts is None else (firsts[::2], firsts[1::2])
                outputs, ahead, back = named("contrib.rnn.stack_bidirectional_dynamic_rnn")(
                    self._cells(training), self._cells(training), inputs, *pairs, **options
                )
                states = [state for pair in zip(ahead, back, strict=True) for state in pair]
        return outputs, self._stacked(states)

    def _cells(self, training: bool) -> list[Any]:
        cells = [named(f"contrib.cudnn_rnn.{self._cell}")(self.num_units) for _ in range(self.num_layers)]
        for cell in cells:
            cell.first = dict.fromkeys(cell.first, 0.0)
        if not training or not self._dropout:
            return cells
        wrap, kept = named("nn.rnn_cell.DropoutWrapper"), 1 - self._dropout
        return [*(wrap(cell, output_keep_prob=kept, seed=self._seed) for cell in cells[:-1]), cells[-1]]

    def _states(self, given: Any) -> list[Any] | None:
        """The state of each layer and direction."""
        return None if given is None else list(ops.unstack(given[0], axis=0))

    def _stacked(self, states: Any) -> tuple[Any, ...]:
        return (ops.stack(list(states)),)

    @property
    def variables(self) -> list[Any]:
        """Its variables, once it was called."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its variables that are trained."""
        return [] if self._scope is None else self._scope.trainable_variables()

    trainable_weights = trainable_variables

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """The shape of each state."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],)


class CudnnGRU(_CudnnRNN):
    """Layers of `CudnnCompatibleGRUCell`.

    Source: `tf.contrib.cudnn_rnn.CudnnGRU`.
    """

    _cell = "CudnnCompatibleGRUCell"


class CudnnLSTM(_CudnnRNN):
    """Layers of `CudnnCompatibleLSTMCell`; the states are h and c.

    Source: `tf.contrib.cudnn_rnn.CudnnLSTM`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     layer = tf.contrib.cudnn_rnn.CudnnLSTM(2, 4, direction="bidirectional")
        ...     outputs, (h, c) = layer(tf.zeros([5, 3, 7]))
        >>> outputs.shape.as_list(), h.shape.as_list(), c.shape.as_list()
        ([5, 3, 8], [4, 3, 4], [4, 3, 4])
    """

    _cell = "CudnnCompatibleLSTMCell"

    def _states(self, given: Any) -> list[Any] | None:
        if given is None:
            return None
        hs, cs = (ops.unstack(part, axis=0) for part in given)
        return [named("nn.rnn_cell.LSTMStateTuple")(c, h) for h, c in zip(hs, cs, strict=True)]

    def _stacked(self, states: Any) -> tuple[Any, ...]:
        return ops.stack([state.h for state in states]), ops.stack([state.c for state in states])

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """The shape of each state."""
        return super().state_shape(batch_size) * 2


class RNNParamsSaveable:
    """What turns cuDNN's parameters into variables of checkpoints; here the layers have such variables themselves.

    Source: `tf.contrib.cudnn_rnn.RNNParamsSaveable`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


for _class in (CudnnGRU, CudnnLSTM, RNNParamsSaveable):
    value(f"contrib.cudnn_rnn.{_class.__name__}", _class, "v1")
value("contrib.cudnn_rnn.CudnnGRUSaveable contrib.cudnn_rnn.CudnnLSTMSaveable", RNNParamsSaveable, "v1")
