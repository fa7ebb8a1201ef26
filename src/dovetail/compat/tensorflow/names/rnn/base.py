"""RNNCell: the base of recurrent cells, of programs' own ones, and of rows.

    class GRUCell(Cell, places="nn.rnn_cell contrib.rnn", takes="num_units activation=None reuse=None"):

A row says the modules in which the class is offered, and the arguments that it takes: a word is a name, or a name, `=`,
and its default.  Arguments become attributes with an underscore in front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.creation import zeros
from dovetail.compat.tensorflow.names.array.structures import is_nested, nest_map_structure
from dovetail.compat.tensorflow.names.layers.base import Layer
from dovetail.compat.tensorflow.names.math.arithmetic import tanh
from dovetail.compat.tensorflow.names.variables.partitions import variables_of
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable_scope, variable_scope
from dovetail.compat.tensorflow.table import constructor, in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.value_kinds import dtype_of

BOTH = "nn.rnn_cell contrib.rnn"
_OF_LAYERS = {"name": "name", "dtype": "dtype", "reuse": "_reuse"}
_OTHER_NAMES = {"use_peephole": "use_peepholes", "kernel_initializer": "initializer"}


class RNNCell(Layer):
    """The base of recurrent cells: a subclass says its `state_size` and `output_size`, and computes one step in `call`.

    A subclass of 2016 computes the step in `__call__(inputs, state, scope=None)`.

    Attributes:
        is_row: whether the class is a row itself, and not a program's own.
        no_activation: the activation of a row that is given none.
        is_whole: whether a call with `lengths` computes all steps of sequences (batch, steps, ...) by one op.

    Source: `tf.compat.v1.nn.rnn_cell.RNNCell`.
    """

    is_row = False
    is_whole: Any = False
    no_activation = staticmethod(ops.tanh)

    if TYPE_CHECKING:

        def __getattr__(self, argument: str) -> Any:
            return argument

    def __init_subclass__(cls, places: str = "", takes: str = "") -> None:
        cls.is_row = bool(places)
        if places:
            cls.__init__ = constructor(takes, RNNCell._begin, "options")  # type: ignore[method-assign]
            value(" ".join(f"{place}.{cls.__name__}" for place in places.split()), cls, "v1")

    def _begin(self, given: dict[str, Any], **options: Any) -> None:
        """Take the arguments of a row."""
        of_layer = {mine: given.pop(theirs) for theirs, mine in _OF_LAYERS.items() if theirs in given}
        RNNCell.__init__(self, **of_layer, **options)
        for name, one in given.items():
            setting = activation_of(one, self.no_activation) if name == "activation" else one
            setattr(self, f"_{_OTHER_NAMES.get(name, name)}", setting)
        self.begin()

    def begin(self) -> None:
        """Check the arguments of a row."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **options: Any) -> Any:
        with variable_scope(scope or get_variable_scope(), custom_getter=self._tracked) as opened:
            return super().__call__(inputs, state, scope=scope and opened, **options)

    def _tracked(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A variable of the scope, which becomes one of the cell's weights."""
        made = getter(*args, **kwargs)
        for part in variables_of(made):
            weights = self._trainable_weights if part.trainable else self._non_trainable_weights
            if not any(part is known for known in weights):
                weights.append(part)
        return made

    @property
    def state_size(self) -> Any:
        """The size of its state, or a nest of them."""
        raise NotImplementedError(f"{type(self).__name__} must say its state_size.")

    @property
    def output_size(self) -> Any:
        """The size of its output, or a nest of them."""
        raise NotImplementedError(f"{type(self).__name__} must say its output_size.")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step: zeros."""
        with graph_mode.name_scope(f"{type(self).__name__}ZeroState"):
            return zeros_of(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The state before the first step, for the batch and the dtype of inputs, or for given ones."""
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], dtype_of(inputs)
        if batch_size is None or dtype is None:
            raise op_error(ValueError, "tf.nn.rnn_cell.RNNCell", "a first state needs inputs, or batch_size and dtype.")
        return self.zero_state(batch_size, dtype)


def parts_of(state: Any, sizes: list[int]) -> Any:
    """The parts, of these sizes, of a state that is one tensor."""
    return ops.split(state, [sum(sizes[:i]) for i in range(1, len(sizes))], axis=1)


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for a batch of values of a nest of sizes."""
    return nest_map_structure(lambda size: in_v1(zeros)([batch_size, *dims_of_size(size)], dtype), sizes)


def dims_of_size(size: Any) -> list[Any]:
    """The dimensions of a value of a size, which may be a shape."""
    return list(size) if isinstance(size, TensorShape) or is_nested(size) else [size]


def activation_of(given: Any, default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An activation: a function, or the name of one, or the default."""
    activation = named(f"nn.{given}") if isinstance(given, str) else given or default
    return ops.tanh if activation is tanh else activation


value("nn.rnn_cell.RNNCell contrib.rnn.RNNCell contrib.rnn.LayerRNNCell", RNNCell, "v1")
