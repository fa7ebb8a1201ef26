"""What TensorFlow's operations have beside Dovetail's own words: private setters that programs use, definitions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from traceback import FrameSummary
from typing import Any

from dovetail.core.errors import describe, op_error


@dataclass
class OpDef:
    """What an op is, without an operation of it.

    Attributes:
        name: its type.
        input_arg: the parameters that are tensors.
        attr: the parameters that are static.

    Source: `tf.compat.v1.OpDef`.
    """

    name: str
    input_arg: list[str] = field(default_factory=list)
    attr: list[str] = field(default_factory=list)


class TensorFlowOperation:
    """Methods that TensorFlow's `Operation` has under these names."""

    __slots__ = ()

    def values(self: Any) -> tuple[Any, ...]:
        """The tensors that it makes.

        Source: `tf.Operation.values`.
        """
        return tuple(self.outputs)

    @property
    def op_def(self: Any) -> OpDef:
        """What its op is.

        Source: `tf.Operation.op_def`.

        Example:
            >>> import dovetail as dt
            >>> dt.ops.sum(dt.Graph().placeholder(dt.spec((2, 3)), "x"), axis=1).op.op_def
            OpDef(name='Sum', input_arg=['x'], attr=['axis', 'keepdims'])
        """
        params = list(zip(self.op.params, self.layout, strict=True))
        taken = [param.name for param, count in params if count is not None]
        return OpDef(self.type, taken, [param.name for param, count in params if count is None])

    @property
    def traceback(self: Any) -> list[FrameSummary]:
        """The user's line that made it, as a list of frames.

        Source: `tf.Operation.traceback`.
        """
        return [] if self.where is None else [FrameSummary(os.fspath(self.where[0]), self.where[1], self.name)]

    def _set_attr(self: Any, name: str, value: Any) -> None:
        """`set_attr` of a `tf.AttrValue`; "_gradient_op_type" names the gradient that the operation has.

        Raises:
            LookupError, TypeError, ValueError: as of `set_attr` and `override_gradients`.
        """
        kind = value.WhichOneof("value") if hasattr(value, "WhichOneof") else None
        if hasattr(value, "WhichOneof") and kind not in ("b", "i", "f", "s"):
            problem = (
                f"an attribute is a truth (b), a number (i or f) or a word (s), not {describe(value)}; use set_attr."
            )
            raise op_error(TypeError, self.type, problem, where=self.where)
        content = value if kind is None else getattr(value, kind)
        content = content.decode() if isinstance(content, bytes) else content
        if name == "_gradient_op_type":
            self.graph.override_gradients({self.type: content}, within=[self])
        else:
            self.set_attr(name, content)

    def _set_device(self: Any, device: Any) -> None:
        """`device = …`, of a string or a `tf.DeviceSpec`."""
        self.device = device.to_string() if hasattr(device, "to_string") else device
