"""RNNCell: the base of recurrent cells, and of programs' own ones."""

from __future__ import annotations

import re
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.core import is_nested, nest_flatten, nest_map_structure
from dovetail.compat.tensorflow.names.variable_scope import get_variable, variable_scope
from dovetail.compat.tensorflow.table import V1, value
from dovetail.core.errors import op_error
from dovetail.core.tensor_shape import TensorShape
from dovetail.core.value_kinds import dtype_of, static_shape


class Layer:
    """A layer: variables in a scope of their own."""

    built = False
    _scope: Any = None
    _reuse: Any = None
    _name: Any = None
    _dtype: Any = None

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, _reuse: Any = None) -> None:
        self.trainable, self._name, self._dtype, self._reuse = trainable, name, dtype, _reuse

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        base = self._name or re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=.)([A-Z][a-z])", r"_\1\2", type(self).__name__).lower()
        given = variable_scope(base if scope is None else scope) if self._reuse else variable_scope(scope, base)
        with given as self._scope:
            pass

    def add_weight(self, name: str, shape: Any, initializer: Any = None, trainable: bool = True) -> Any:
        with variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False):
            return get_variable(name, shape, self._dtype, initializer, trainable=trainable and self.trainable)

    add_variable = add_weight

    def build(self, input_shape: Any) -> None:
        self.built = input_shape is not self

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must compute a step in `call`; got {inputs}, {args}, {kwargs}."
        )

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._set_scope(kwargs.pop("scope", None))
        with (
            variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as opened,
            graph_mode.name_scope(f"{opened.original_name_scope.rstrip('/')}/"),
        ):
            if not self.built:
                if self._dtype is None:
                    self._dtype = dtype_of(nest_flatten(inputs)[0])
                self.build(None if is_nested(inputs) else static_shape(inputs))
                self.built = True
            return self.call(inputs, *args, **kwargs)


class RNNCell(Layer):
    """The base of recurrent cells: a subclass says its `state_size` and `output_size`, and computes one step in `call`.

    A subclass of 2016 computes the step in `__call__(inputs, state, scope=None)`.

    Source: `tf.compat.v1.nn.rnn_cell.RNNCell`.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **options: Any) -> Any:
        return super().__call__(inputs, state, scope=scope, **options)

    @property
    def state_size(self) -> Any:
        """The size of its state, or a nest of them."""
        raise NotImplementedError(f"{type(self).__name__} must say its state_size.")

    @property
    def output_size(self) -> Any:
        """The size of its output, or a nest of them."""
        raise NotImplementedError(f"{type(self).__name__} must say its output_size.")

    @property
    def is_whole(self) -> bool:
        """Whether it computes all steps of a sequence by one op, if it is called with `lengths`."""
        return False

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step: zeros."""
        with graph_mode.name_scope(f"{type(self).__name__}ZeroState"):
            return nest_map_structure(lambda size: V1["zeros"](of_batch(batch_size, size), dtype), self.state_size)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The state before the first step, for the batch and the dtype of inputs, or for given ones."""
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], dtype_of(inputs)
        if batch_size is None or dtype is None:
            raise op_error(ValueError, "tf.nn.rnn_cell.RNNCell", "a first state needs inputs, or batch_size and dtype.")
        return self.zero_state(batch_size, dtype)


def of_batch(batch_size: Any, size: Any) -> list[Any]:
    """The shape of a batch of values of a size."""
    return [batch_size, *(size if isinstance(size, TensorShape) or is_nested(size) else [size])]


value("nn.rnn_cell.RNNCell contrib.rnn.RNNCell contrib.rnn.LayerRNNCell", RNNCell, "v1")
