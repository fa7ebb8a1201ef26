"""Variable operations: the operation that makes a variable in TensorFlow's graphs, for programs that ask for it."""

from __future__ import annotations

import os
from traceback import FrameSummary
from typing import Any

from dovetail.compat.tf_graph.device_spec import written
from dovetail.compat.tf_graph.graph_proto import variable_proto
from dovetail.core.base.errors import did_you_mean, op_error, user_line
from dovetail.core.base.pin import Pin
from dovetail.formats.tensorflow.attributes import value_of
from dovetail.formats.tensorflow.op_defs import op_def


class VariableOperation:
    """The operation of a variable; it computes nothing, since variables are outside of graphs.

    It is of the type that resource variables have in TensorFlow.

    Attributes:
        outputs: the variable itself, instead of TensorFlow's handle.
        inputs, control_inputs: none.

    Source: the `op` of `tf.compat.v1.Variable`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     op = tf.get_variable("v", [2, 3]).op
        >>> op.name, op.type, op.get_attr("dtype"), op.run()
        ('v', 'VarHandleOp', 'float32', None)
    """

    type = "VarHandleOp"
    inputs: tuple[Any, ...] = ()
    control_inputs: tuple[Any, ...] = ()

    def __init__(self, variable: Any) -> None:
        self.outputs = [variable]
        self.name = variable.op_name
        self.pin = Pin()
        self.where = user_line()

    @property
    def graph(self) -> Any:
        return self.outputs[0].graph

    @property
    def device(self) -> str:
        """The device that `tf.device` gave when the variable was made; empty if none."""
        return written(self.pin.device)

    def record_pin(self, pin: Pin) -> None:
        """Note a pin, as `Operation.record_pin` does."""
        self.pin = pin

    def values(self) -> tuple[Any, ...]:
        """The variable, in a tuple."""
        return tuple(self.outputs)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Do nothing."""

    @property
    def node_def(self) -> Any:
        """The operation as a message `NodeDef`."""
        node = variable_proto(self.outputs[0], self.name)
        node.device = self.device
        return node

    def get_attr(self, name: str) -> Any:
        """An attribute by name: the dtype, the shape, names.

        Raises:
            ValueError: no attribute has this name.
        """
        attrs = self.node_def.attr
        if name not in attrs:
            problem = f"{self.name!r} has no attribute {name!r}. {did_you_mean(name, attrs)}There are: "
            raise op_error(ValueError, self.type, f"{problem}{', '.join(sorted(attrs))}.", where=self.where)
        return value_of(attrs[name])

    def colocation_groups(self) -> list[bytes]:
        """The names of the operations whose device it shares: its own."""
        return [f"loc:@{self.name}".encode()]

    @property
    def op_def(self) -> Any:
        """The definition of its op, a message `OpDef`."""
        return op_def(self.type)

    @property
    def traceback(self) -> list[FrameSummary]:
        """The user's line that made the variable, as a list of frames."""
        return [] if self.where is None else [FrameSummary(os.fspath(self.where[0]), self.where[1], self.name)]

    def __repr__(self) -> str:
        return f"<operation {self.name} {self.type}>"
