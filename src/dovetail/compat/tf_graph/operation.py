"""TensorFlowOperation: the names of TensorFlow's operations, the private setters that programs use among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from traceback import FrameSummary
from typing import Any

from dovetail.compat.tf_graph.device_spec import as_device
from dovetail.compat.tf_graph.type_attributes import attributes
from dovetail.core.base.errors import describe, did_you_mean, op_error
from dovetail.formats.tensorflow.attributes import value_of
from dovetail.formats.tensorflow.op_defs import op_def
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.graph.journal import note
from dovetail.graph.operation import Operation


class TensorFlowOperation(Operation):
    """An operation of a `TensorFlowGraph`, with the methods that TensorFlow's `Operation` has.

    Source: `tf.Operation`.
    """

    __slots__ = ()

    def get_attr(self, name: str) -> Any:
        """A static argument, a dtype under the name of TensorFlow's type attribute, or a note, by name.

        Raises:
            ValueError: the operation has none of this name.

        Source: `tf.Operation.get_attr`.

        Example:
            >>> import dovetail as dt
            >>> from dovetail.compat.tf_graph.graph import TensorFlowGraph
            >>> y = dt.ops.sum(TensorFlowGraph().placeholder(dt.spec((2, 3)), "x"), axis=1)
            >>> y.op.get_attr("T"), y.op.get_attr("axis")
            ('float32', 1)
        """
        if name in self.attrs:
            return self.attrs[name]
        attrs = {**self.attrs, **attributes(self)}
        if name not in attrs:
            known = ", ".join(attrs) or "none"
            problem = f"{self.name!r} has no attribute {name!r}. {did_you_mean(name, attrs)}There are: {known}."
            raise op_error(ValueError, self.type, problem, where=self.where)
        return attrs[name]

    @property
    def node_def(self) -> Any:
        """The operation as a message `NodeDef`: its node in `as_graph_def()` of its graph.

        Source: `tf.Operation.node_def`.
        """
        from dovetail.compat.tf_graph.definition import node_def_of  # as in `graph`

        return node_def_of(self)

    def values(self) -> tuple[Any, ...]:
        """The tensors that it makes.

        Source: `tf.Operation.values`.
        """
        return tuple(self.outputs)

    @property
    def op_def(self) -> Any:
        """The definition of its op, a message `OpDef`: TensorFlow's, if it has one of this type.

        Source: `tf.Operation.op_def`.

        Example:
            >>> import dovetail as dt
            >>> from dovetail.compat.tf_graph.graph import TensorFlowGraph
            >>> found = dt.ops.sum(TensorFlowGraph().placeholder(dt.spec((2, 3)), "x"), axis=1).op.op_def
            >>> found.name, [one.name for one in found.input_arg], [one.name for one in found.attr]
            ('Sum', ['input', 'reduction_indices'], ['keep_dims', 'T', 'Tidx'])
        """
        definition = op_def(self.type)
        if definition is None:
            params = list(zip(self.op.params, self.layout, strict=True))
            taken = [TENSORFLOW.OpDef.ArgDef(name=param.name) for param, count in params if count is not None]
            static = [TENSORFLOW.OpDef.AttrDef(name=param.name) for param, count in params if count is None]
            definition = TENSORFLOW.OpDef(name=self.type, input_arg=taken, attr=static)
        return definition

    @property
    def traceback(self) -> list[FrameSummary]:
        """The user's line that made it, as a list of frames.

        Source: `tf.Operation.traceback`.
        """
        return [] if self.where is None else [FrameSummary(os.fspath(self.where[0]), self.where[1], self.name)]

    def _set_attr(self, name: str, value: Any) -> None:
        """Give an attribute the value of a `tf.AttrValue`, or a value itself.

        Args:
            name: "_gradient_op_type" for the gradient that the operation has.  Another name with an underscore, such as
                "_class", makes a note, which `get_attr` and `node_def` return.  Any other name means a static argument.

        Raises:
            LookupError, TypeError, ValueError: as for `set_attr` and `override_gradients`.
        """
        content = _content(self, value)
        if name == "_gradient_op_type":
            self.graph.override_gradients({self.type: _word(content)}, within=[self])
        elif name.startswith("_"):
            _note(self, {**self.notes, name: content})
        else:
            self.set_attr(name, _word(content))

    def _clear_attr(self, name: str) -> None:
        """Remove a note that `_set_attr` made."""
        _note(self, {other: value for other, value in self.notes.items() if other != name})

    def colocation_groups(self) -> list[bytes]:
        """The names of the operations whose device it shares, from the attribute "_class"; else its own name.

        Source: `tf.Operation.colocation_groups`.
        """
        given = [name for name in self.notes.get("_class", ()) if name.startswith(b"loc:@")]
        return given or [f"loc:@{self.name}".encode()]

    @property
    def device(self) -> str:
        """The device that computes it, as a `Wish` if it was given in TensorFlow's form; empty if the plan chooses.

        Source: `tf.Operation.device`.
        """
        return self._pin.device or ""

    @device.setter
    def device(self, name: str | None) -> None:
        self.pin = self._pin._replace(device=as_device(name))

    update_input = _update_input = Operation.replace_input
    _add_control_input = Operation.add_control_input

    def _add_control_inputs(self, ops: Iterable[Any]) -> None:
        """Make operations run before this one.

        Raises:
            ValueError: as for `add_control_input`; then it waits for none of them.
        """
        ops = list(ops)
        with self.graph.edit():
            for operation in ops:
                self.add_control_input(operation)

    def _remove_all_control_inputs(self) -> None:
        """Let the operation wait for no other one, except for its inputs."""
        with self.graph.edit():
            for operation in self.control_inputs:
                self.remove_control_input(operation)

    def _set_device(self, device: Any) -> None:
        """Set its device to a string or a `tf.DeviceSpec`."""
        self.device = device.to_string() if hasattr(device, "to_string") else device


def _content(operation: Any, value: Any) -> Any:
    """The value of a `tf.AttrValue`, TensorFlow's or Dovetail's; any other value as it is."""
    if not hasattr(value, "WhichOneof"):
        return value
    kind = value.WhichOneof("value")
    if kind not in ("b", "i", "f", "s", "type", "list"):
        problem = f"an attribute is a truth (b), a number (i or f), a word (s), a type or a list, not {describe(value)}"
        raise op_error(TypeError, operation.type, f"{problem}; use set_attr.", where=operation.where)
    return content_of(value)


def content_of(value: Any) -> Any:
    """The value of an attribute, with strings as bytes."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return next((list(elements) for elements in (value.list.s, value.list.i) if elements), value_of(value))
    return value.s if kind == "s" else value_of(value)


def _word(content: Any) -> Any:
    return content.decode() if isinstance(content, bytes) else content


def _note(operation: Any, notes: dict[str, Any]) -> None:
    operation.graph.check_changeable()
    before, operation.notes = operation.notes, notes
    note(lambda: setattr(operation, "notes", before))
