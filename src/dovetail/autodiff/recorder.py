"""Recorder: the list of nodes that watched tensors go through; what a gradient tape is made of."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import ops
from dovetail.errors import user_line
from dovetail.ops import arguments
from dovetail.tensor import Tensor, recording
from dovetail.variable import Variable


class Record:
    """One op call on a tape."""

    __slots__ = ("args", "gradient_function", "inputs", "op", "outputs", "overrides", "where")

    def __init__(self, op: Any, args: list[Any], outputs: list[Any], gradient_function: Any = None) -> None:
        self.op = op
        self.args = args
        self.inputs = tensors_in(args)
        self.outputs = outputs
        self.gradient_function = gradient_function
        self.overrides = recording.overrides
        self.where = user_line() if self.overrides else None

    @property
    def type(self) -> str:
        return self.op.name

    def attr(self, name: str) -> Any:
        return self.args[self.op.index_of(name)]


def tensors_in(args: Any) -> list[Any]:
    """The tensors of an op's arguments, flat, in order."""
    found: list[Any] = []
    for arg in args:
        if type(arg) is tuple:
            found.extend(a for a in arg if hasattr(a, "dtype") and hasattr(a, "shape"))
        elif hasattr(arg, "dtype") and hasattr(arg, "shape") and not hasattr(arg, "assign"):
            found.append(arg)
    return found


class _Link:
    """The node that links a variable to a value read from it, or a moved tensor to its origin."""

    __slots__ = ("inputs", "outputs")
    op = ops.identity
    where = None
    overrides: ClassVar[dict[str, str]] = {}

    def __init__(self, source: Any, value: Any) -> None:
        self.inputs = [source]
        self.outputs = [value]

    @staticmethod
    def gradient_function(node: Any, gradient: Any) -> Any:
        """The same gradient, on the engine of a moved tensor's origin."""
        source = node.inputs[0]
        if type(source) is Tensor and type(gradient) is Tensor:
            return arguments.move(gradient, source._engine)
        return gradient


class Recorder:
    """Follows tensors through ops while its `with` block runs, and keeps the nodes.

    Whatever is known by its id is also held, so that no other object can come by the same id.

    Attributes:
        nodes: what was recorded, in program order; see `reverse` for what a node is.
    """

    def __init__(self, watch_variables: bool = False) -> None:
        self.nodes: list[Any] = []
        self._watch_variables = watch_variables
        self._watched: dict[int, Any] = {}

    def __enter__(self) -> Any:
        recording.tapes = (*recording.tapes, self)
        return self

    def __exit__(self, *exception: Any) -> None:
        recording.tapes = tuple(t for t in recording.tapes if t is not self)

    def follow(self, tensor: Any) -> None:
        """Records the ops that this tensor or variable goes through from here on."""
        self._watched[id(tensor)] = tensor

    def follows(self, tensor: Any) -> bool:
        """Whether it is watched or depends on what is."""
        return id(tensor) in self._watched

    def watches(self, op: Any, args: list[Any]) -> bool:
        return any(id(t) in self._watched for t in tensors_in(args))

    def record(self, op: Any, args: list[Any], outputs: list[Any], node: Any = None) -> None:
        if self.watches(op, args):
            self.add(node or Record(op, args, outputs))

    def add(self, node: Any) -> None:
        """Records a node, one of whose inputs is watched."""
        self.nodes.append(node)
        for output in node.outputs:
            if output.dtype.is_differentiable:
                self._watched[id(output)] = output

    def record_read(self, variable: Variable, value: Any) -> None:
        if id(variable) not in self._watched:
            if not (self._watch_variables and variable.trainable and variable.dtype.is_differentiable):
                return
            self._watched[id(variable)] = variable
        if id(value) not in self._watched:
            self.add(_Link(variable, value))

    def record_move(self, source: Any, moved: Any) -> None:
        if id(source) in self._watched:
            self.add(_Link(source, moved))
