"""Recorder: the list of nodes that watched tensors go through; the base of a gradient tape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from dovetail import ops
from dovetail.core.base.scopes import enter, leave, scopes
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.recording import Record, tensors_in
from dovetail.core.values.variable import Variable


class _Link:
    """A node from a variable to a value read from it, or from a Tensor to its moved copy or its constant in a graph."""

    __slots__ = ("inputs", "outputs")
    op = ops.identity
    where = None
    overrides: ClassVar[dict[str, str]] = {}

    def __init__(self, source: Any, value: Any) -> None:
        self.inputs = [source]
        self.outputs = [value]

    @staticmethod
    def gradient_function(node: Any, gradient: Any) -> Any:
        """The same gradient, moved to the engine and the device of the source if both are Tensors."""
        source = node.inputs[0]
        if type(source) is Tensor and type(gradient) is Tensor:
            return arguments.move_like(gradient, source)
        return gradient


class Recorder:
    """A recorder that follows tensors through ops while its `with` block runs, and keeps the nodes.

    It holds each object that it knows by id, so that no other object can get the same id.

    Attributes:
        nodes: the recorded nodes, in program order; `reverse` says what attributes a node has.
    """

    def __init__(self, watch_variables: bool = False) -> None:
        self.nodes: list[Any] = []
        self._watch_variables = watch_variables
        self._watched: dict[int, Any] = {}

    def __enter__(self) -> Any:
        enter({"tapes": (*scopes().tapes, self)}, self)
        return self

    def __exit__(self, error: type[BaseException] | None = None, *_: Any) -> None:
        leave(self, error)

    def eager_only(self) -> Any:
        """The recorder for use while a subgraph is traced: it records eager ops, not the subgraph's operations."""
        return _EagerOnly(self)

    @property
    def origin(self) -> Recorder:
        return self

    def follow(self, tensor: Any) -> None:
        """Record the ops that this tensor or variable goes through from here on."""
        self._watched[id(tensor)] = tensor

    def follows(self, tensor: Any) -> bool:
        """Whether a tensor is watched or depends on a watched one."""
        return id(tensor) in self._watched

    def watches(self, op: Any, args: list[Any]) -> bool:
        return True in self._followed(tensors_in(args))

    def _followed(self, tensors: Iterable[Any]) -> list[bool]:
        """Whether each of these tensors is watched or depends on a watched one."""
        watched = self._watched
        return [id(t) in watched for t in tensors]

    def record(self, op: Any, args: list[Any], outputs: list[Any]) -> None:
        """Record an op that was computed, if it takes a tensor that is followed."""
        inputs = tensors_in(args)
        followed = self._followed(inputs)
        if True in followed:
            self.add(Record(op, args, outputs, None, inputs, followed))

    def record_operation(self, operation: Any) -> None:
        """Record an operation that was added to a graph, if it takes a tensor that is followed."""
        self.record_nodes([operation])

    def record_nodes(self, nodes: Iterable[Any]) -> None:
        """Record the nodes, given in order, that depend on a watched tensor and are not recorded yet."""
        for node in nodes:
            if True in self._followed(node.inputs) and True not in self._followed(node.outputs):
                self.add(node)

    def add(self, node: Any) -> None:
        """Record a node, one of whose inputs is watched."""
        self.nodes.append(node)
        for output in node.outputs:
            if output.is_differentiable:
                self._watched[id(output)] = output

    def record_read(self, variable: Variable, value: Any) -> None:
        if id(variable) not in self._watched:
            if not (self._watch_variables and variable.trainable and variable.dtype.is_differentiable):
                return
            self._watched[id(variable)] = variable
        if id(value) not in self._watched:
            self.add(_Link(variable, value))

    def record_move(self, source: Any, moved: Any) -> None:
        if id(source) in self._watched and id(moved) not in self._watched:
            self.add(_Link(source, moved))


def others(recorder: Recorder) -> tuple[Any, ...]:
    """The recorders that record here, without this one."""
    return tuple(t for t in scopes().tapes if t.origin is not recorder)


class _EagerOnly:
    """A recorder that sees eager calls alone."""

    def __init__(self, origin: Recorder) -> None:
        self.origin = origin
        self.watches, self.follows, self.follow = origin.watches, origin.follows, origin.follow
        self.record, self.record_nodes, self.add = origin.record, origin.record_nodes, origin.add

    def eager_only(self) -> Any:
        return self

    def record_operation(self, operation: Any) -> None:
        pass

    def record_read(self, variable: Variable, value: Any) -> None:
        if type(value) is Tensor:
            self.origin.record_read(variable, value)

    def record_move(self, source: Any, moved: Any) -> None:
        if type(moved) is Tensor:
            self.origin.record_move(source, moved)


class ClosureRecorder(Recorder):
    """A recorder of all ops on eager Tensors while a function is traced.

    The results become constants of the function's graph.  Through these nodes, a tape around a call of the function
    finds the way back from the constants, as if each call computed them.
    """

    def _followed(self, tensors: Iterable[Any]) -> list[bool]:
        return [type(t) is Tensor and t.is_differentiable for t in tensors]

    def follows(self, tensor: Any) -> bool:
        return False

    def record(self, op: Any, args: list[Any], outputs: list[Any]) -> None:
        if type(outputs[0]) is Tensor:
            super().record(op, args, outputs)

    def record_operation(self, operation: Any) -> None:
        pass

    def record_nodes(self, nodes: Iterable[Any]) -> None:
        self.nodes.extend(nodes)

    def record_read(self, variable: Variable, value: Any) -> None:
        pass

    def record_move(self, source: Any, moved: Any) -> None:
        self.add(_Link(source, moved))

    def leading_to(self, tensors: Iterable[Any]) -> list[Any]:
        """The nodes that compute these tensors, in order."""
        needed = {id(t) for t in tensors}
        nodes: list[Any] = []
        for node in reversed(self.nodes):
            if any(id(t) in needed for t in node.outputs):
                needed.update(id(t) for t in node.inputs)
                nodes.append(node)
        return nodes[::-1]
