"""Node definitions: operations as plain data that prints like TensorFlow's `NodeDef`s.

Attributes are the values themselves, as programs read them from `node_def.attr`, so nothing here encodes them.  A
`GraphDef` is copied and pickled with its graph, by the codec of `graph.attributes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.compat.tf_graph.device_spec import written
from dovetail.compat.tf_graph.type_attributes import type_attributes
from dovetail.core.variable import Variable

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation


@dataclass
class NodeDef:
    """The definition of an operation, without its graph.

    Attributes:
        name, op: its name and type.
        input: names of its inputs: a variable, `x` for a first output, `x:1` for a second, `^x` for a control input.
        device: the device that computes it, such as "/device:GPU:0"; empty if the plan chooses.
        attr: its static arguments by name, and the attributes of `type_attributes`.  `_gradient_op_type` is the name of
            a gradient that an override map gives it; other names with an underscore are notes that `_set_attr` made.

    Source: `tf.compat.v1.NodeDef`.

    Example:
        >>> import dovetail as dt
        >>> print(dt.ops.sum(dt.SessionGraph().placeholder(dt.spec((2, 3)), "x"), axis=1).op.node_def)
        name: "Sum"
        op: "Sum"
        input: "x"
        attr { key: "axis" value: 1 }
        attr { key: "keepdims" value: False }
        attr { key: "T" value: 'float32' }
        attr { key: "Tidx" value: 'int32' }
    """

    name: str
    op: str
    input: list[str] = field(default_factory=list)
    device: str = ""
    attr: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"', f'op: "{self.op}"', *(f'input: "{name}"' for name in self.input)]
        lines += [f'device: "{self.device}"'] if self.device else []
        lines += [f'attr {{ key: "{key}" value: {_text(value)} }}' for key, value in self.attr.items()]
        return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, separator=", ", threshold=10).replace("\n", "")
    return repr(value)


def node_def_of(operation: Operation) -> NodeDef:
    """An operation as plain data."""
    static = operation.attrs.items()
    inputs = [value.op_name for _, value in static if isinstance(value, Variable)]
    inputs += [t.op.name if t.index == 0 else t.name for t in operation.inputs]
    inputs += [f"^{other.name}" for other in operation.control_inputs]
    attrs = {name: value for name, value in static if not isinstance(value, Variable)} | attributes(operation)
    return NodeDef(operation.name, operation.type, inputs, written(operation.device), attrs)


def attributes(operation: Operation) -> dict[str, Any]:
    """The attributes of an operation that are not static arguments."""
    named = operation.overrides.get(operation.type)
    override = {} if named is None else {"_gradient_op_type": named}
    return {**type_attributes(operation), **operation.notes, **override}
