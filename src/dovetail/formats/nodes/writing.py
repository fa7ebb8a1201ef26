"""Writing: what writers of all formats share: the ways to write an operation, and its place among the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from dovetail import ops
from dovetail.core.base.errors import CONVENTIONAL, UnknownRank, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import record_on
from dovetail.core.values.spec import TensorSpec
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.shapes.shape import known_dims

When = Callable[[Operation], bool]
Table = dict[str, list[tuple[When, Callable[..., Any]]]]  # op type → functions, and the operations that each is for
Added = TypeVar("Added", bound=Callable[..., Any])


class Shapes(Sequence[Any]):
    """The shapes of tensors; asking for one of unknown rank raises `UnknownRank`."""

    def __init__(self, tensors: Sequence[GraphTensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return known_dims(self._tensors[index])

    def __len__(self) -> int:
        return len(self._tensors)


def unique(name: str, names: set[str]) -> str:
    """A name that is not among some names, to which it is added."""
    number, free = 0, name
    while free in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free)
    return free


def always(operation: Operation) -> bool:
    """Whether a function is for an operation: it is for all."""
    return True


def adder(table: Table) -> Callable[..., Callable[[Added], Added]]:
    """Make a decorator, (types, when), that adds functions to a table."""

    def decorator(types: str, when: When = always) -> Callable[[Added], Added]:
        def add(function: Added) -> Added:
            for type in types.split():
                table.setdefault(type, []).append((when, function))
            return function

        return add

    return decorator


def way(table: Table, operation: Operation) -> Any:
    """The first function of a table that is for an operation; None if none is."""
    return next((function for when, function in table.get(operation.type, ()) if when(operation)), None)


def traced(name: str, function: Callable[..., Any], specs: Sequence[TensorSpec]) -> Any:
    """The graph of a function that calls ops on values of some specs."""
    graph = hooks.new_graph(name)
    tensors = [graph.placeholder(spec, "input") for spec in specs]
    with record_on(()), graph.as_default():
        result = function(*tensors)
        listed = result if isinstance(result, (list, tuple)) else [result]
        graph.outputs = [t if type(t) is GraphTensor else graph.constant(ops.convert(t).numpy()) for t in listed]
    return graph


class Place:
    """The place of an operation among the nodes that are written.

    Attributes:
        nodes: the nodes.
        operation: the operation.
        name: its name; the names of nodes that help are below it.
        inputs: the values of its inputs.
    """

    def __init__(self, nodes: Any, operation: Operation, name: str, inputs: list[Any]) -> None:
        self.nodes, self.operation, self.name, self.inputs = nodes, operation, name, inputs

    @property
    def shapes(self) -> Shapes:
        """The shapes of the operation's inputs."""
        return Shapes(self.operation.inputs)

    def results(self, values: list[Any]) -> list[Any]:
        """The values of the operation's results, for those that other nodes give."""
        return values

    def by(self, function: Callable[..., Any]) -> list[Any]:
        """Add the nodes of a function of the operation's arguments, such as its body, and return its results."""
        given = zip(self.inputs, (tensor.spec for tensor in self.operation.inputs), strict=True)
        return self.results(self.computed(lambda *tensors: function(*self.operation.arguments(tensors)), *given))

    def by_body(self) -> list[Any]:
        """Add the nodes of the operation's body, and return its results.

        Raises:
            UnknownRank: the body cannot be traced, and the rank of an input is not known.
        """
        body: Any = self.operation.op.body
        try:
            return self.by(body)
        except CONVENTIONAL as error:
            if all(tensor.shape is not None for tensor in self.operation.inputs):
                raise
            raise UnknownRank(f"{self.operation.type} needs a rank that is not known: {error}") from error

    def computed(self, function: Callable[..., Any], *given: tuple[Any, TensorSpec]) -> list[Any]:
        """Add the nodes of a function, which calls ops on values of some specs, and return its results."""
        graph = traced(self.operation.type, function, [spec for _, spec in given])
        refs = dict(zip(graph.inputs, (ref for ref, _ in given), strict=True))
        return self.nodes.part(graph, refs, graph.outputs, f"{self.name}/")

    def refused(self, kind: type[Exception], reason: str) -> Exception:
        """The error for the operation, which names it and the user's line."""
        return op_error(kind, self.operation.type, f"{self.operation.name!r}: {reason}", where=self.operation.where)


class Writer:
    """A writer of operations as nodes of a format.

    An operation is written by a body of other ops, by a function, by a row, or by the body of its own op.

    Attributes:
        format: its name, for errors.
        bodies: Dovetail's type → bodies, (op, *its arguments) → results.
        functions: Dovetail's type → functions, (place, *arguments of the op, with values for tensors) → results.
        no_way: Dovetail's type → the reason why the format cannot compute it.
    """

    format: ClassVar[str]
    bodies: ClassVar[Table]
    functions: ClassVar[Table]
    no_way: ClassVar[Mapping[str, str]]

    def by_row(self, place: Any) -> list[Any] | None:
        """Add the nodes that a row says, and return the values of the results; None if no row is for the operation."""
        raise NotImplementedError

    def written(self, place: Any) -> list[Any]:
        """Add the nodes of an operation, and return the values of its results.

        Raises:
            NotImplementedError: the format has no way to compute it.
            ValueError: the rank of an input must be known.
        """
        try:
            return self.add_nodes(place)
        except UnknownRank as error:
            unknown = next((tensor.name for tensor in place.operation.inputs if tensor.shape is None), None)
            if unknown is None:
                raise
            advice = f"the rank of {unknown!r} must be known; give it with the_result.set_shape(shape)."
            raise place.refused(ValueError, advice) from error

    def add_nodes(self, place: Any) -> list[Any]:
        """The same, without advice about ranks."""
        operation = place.operation
        computed, write = way(self.bodies, operation), way(self.functions, operation)
        if computed is not None:
            return place.by(partial(computed, operation.op))
        if write is not None:
            values = write(place, *operation.arguments(place.inputs))
            return list(values) if type(values) in (list, tuple) else [values]
        if (refs := self.by_row(place)) is not None:
            return refs
        if operation.type in self.no_way or operation.op.body is None:
            reason = self.no_way.get(operation.type, "it has neither a row nor a body")
            advice = f"{self.format} has no way to compute it: {reason}. Cut the graph before it."
            raise place.refused(NotImplementedError, advice)
        return place.by_body()
