"""Placed values: the values of the server and of the clients, while a federated computation is traced."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.scopes import Scoped
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, leaf, map_structure, unflatten
from dovetail.edit.graph import Graph
from dovetail.formats.saved import leaves
from dovetail.graph.operation import GraphTensor

SERVER, CLIENTS = "SERVER", "CLIENTS"  # the sides of a federated computation


class FederatedType(NamedTuple):
    """The type of a placed value.

    Attributes:
        member: a spec, or a structure of them; at CLIENTS, of one client's value.
        placement: SERVER or CLIENTS.

    Source: `tff.FederatedType`.
    """

    member: Any
    placement: str


class Update(NamedTuple):
    """A tensor that each client sends.

    Attributes:
        name, spec: of the tensor.
        how: "mean" or "sum"; or "weight" of means.
        weight: the name of the weight of a weighted mean.
    """

    name: str
    spec: TensorSpec
    how: str
    weight: str | None = None


@leaf
@dataclass(frozen=True, eq=False)
class Placed:
    """A value of a traced federated computation.

    Attributes:
        value: a structure of graph tensors; at CLIENTS, of any one client.  Its parts are placed values, too.
        placement: SERVER or CLIENTS.
    """

    value: Any
    placement: str

    def __repr__(self) -> str:
        return f"<a value at {self.placement}>"

    def __getitem__(self, key: Any) -> Placed:
        return self._refused() if isinstance(self.value, GraphTensor) else Placed(self.value[key], self.placement)

    def __iter__(self) -> Iterator[Placed]:
        return (self[place] for place in range(len(self.value)))

    def _refused(self, *others: Any) -> Any:
        problem = "federated_map computes on placed values: federated_map(lambda x: x + 1, value)."
        raise op_error(TypeError, "computation", f"{self!r} has no operators; {problem}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __matmul__ = __rmatmul__ = __pow__ = __neg__ = _refused


@dataclass
class Tracing:
    """A federated computation that is being traced, as one graph of the server and a client.

    Attributes:
        graph: the graph.
        inputs: the place → name → the tensors of its arguments.
        sent: name → the tensor at the server, and the one that a client receives.
        updates: name → the tensor that a client sends: what it is, at the client, and aggregated at the server.
    """

    graph: Graph
    inputs: dict[str, dict[str, Any]] = field(default_factory=lambda: {SERVER: {}, CLIENTS: {}})
    sent: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    updates: dict[str, tuple[Update, Any, Any]] = field(default_factory=dict)


TRACING: Scoped[Tracing | None] = Scoped(None)


def named(value: Any, otherwise: str, taken: Container[str] = ()) -> dict[str, Any]:
    """The leaves of a structure by their names, which are the steps to each, in the order of `flatten`.

    Args:
        value, otherwise: the structure, and the name of a leaf that is the whole structure.
        taken: names that are not free; a leaf with such a name gets a number, too.

    Example:
        >>> named({"b": 1, "a": [2, 3]}, "value", taken=["b"])
        {'a.0': 2, 'a.1': 3, 'b_1': 1}
    """
    parts, structure = flatten(value)
    steps = {number: ".".join(place) for place, number in leaves(unflatten(structure, range(len(parts))))}
    by_name: dict[str, Any] = {}
    for number, part in enumerate(parts):
        name, again = steps[number] or otherwise, count(1)
        while name in by_name or name in taken:
            name = f"{steps[number] or otherwise}_{next(again)}"
        by_name[name] = part
    return by_name


def _tracing(name: str) -> Tracing:
    tracing = TRACING.get()
    if tracing is None:
        problem = "call it inside a function under @dt.federated.computation, on that function's arguments."
        raise op_error(RuntimeError, name, problem)
    return tracing


def _need(name: str, given: Any, placement: str) -> Any:
    """The value that is placed there."""
    if not isinstance(given, Placed) or given.placement != placement:
        problem = f"it takes a value at {placement}, not {describe(given)}. {_ADVICE[placement]}"
        raise op_error(TypeError, name, problem)
    return given.value


_ADVICE = {
    SERVER: "Values at CLIENTS come to the server by federated_mean or federated_sum.",
    CLIENTS: "Values at SERVER come to the clients by federated_broadcast.",
}


def federated_map(function: Callable[..., Any], arg: Any) -> Placed:
    """Compute a function of values at one place, there: once on the server, or on each client.

    Args:
        function: takes and returns structures of tensors.
        arg: a placed value, or a tuple or list of several, which are the arguments of the function.

    Returns:
        The result, at the same place.

    Raises:
        TypeError: the values are at both places, or one is not placed.

    Source: `tff.federated_map`.

    Example:
        >>> import dovetail as dt
        >>> @dt.federated.computation(FederatedType(dt.spec((None,)), CLIENTS))
        ... def total(numbers):
        ...     return federated_sum(federated_map(dt.ops.sum, numbers))
        >>> float(total([[1., 2.], [3.]]))
        6.0
    """
    _tracing("federated_map")
    given = list(arg) if isinstance(arg, (tuple, list)) else [arg]
    places = {value.placement if isinstance(value, Placed) else None for value in given}
    if len(places) != 1 or None in places:
        problem = f"it takes values at one place, not {', '.join(map(describe, given)) or 'none'}."
        raise op_error(TypeError, "federated_map", f"{problem} {_ADVICE[CLIENTS]} {_ADVICE[SERVER]}")
    parts, structure = flatten(function(*(value.value for value in given)), "federated_map")
    return Placed(unflatten(structure, map(_in_graph, parts)), given[0].placement)


def _in_graph(value: Any) -> Any:
    if isinstance(value, Placed):
        problem = f"its function returns {value!r}, which belongs to the computation around it: pass it as an argument."
        raise op_error(TypeError, "federated_map", problem)
    tensor = value if type(value) is GraphTensor else ops.identity(value)
    return tensor if type(tensor) is GraphTensor else _tracing("federated_map").graph.constant(tensor.numpy())


def federated_broadcast(value: Placed) -> Placed:
    """Send a value of the server to all clients.

    Args:
        value: at SERVER; it does not depend on values that the clients send in this round.

    Returns:
        The same value, at CLIENTS.

    Raises:
        TypeError: the value is not at SERVER.

    Source: `tff.federated_broadcast`.

    Example:
        >>> import dovetail as dt
        >>> @dt.federated.computation(FederatedType(dt.spec(()), SERVER), FederatedType(dt.spec(()), CLIENTS))
        ... def distance(goal, place):
        ...     return federated_mean(federated_map(dt.ops.subtract, (federated_broadcast(goal), place)))
        >>> float(distance(5., [1., 3.]))
        3.0
    """
    tracing = _tracing("federated_broadcast")
    here = _need("federated_broadcast", value, SERVER)
    there = map_structure(ops.identity, here)
    names = named(here, "value", {*tracing.sent, *tracing.inputs[CLIENTS]})
    tracing.sent |= dict(zip(names, zip(flatten(here)[0], flatten(there)[0], strict=True), strict=True))
    return Placed(there, CLIENTS)


def federated_sum(value: Placed) -> Placed:
    """The sum of the clients' values, elementwise.

    Args:
        value: at CLIENTS, numbers of known shapes.

    Returns:
        The sum, at SERVER, with the same shapes and dtypes.

    Raises:
        TypeError: the value is not at CLIENTS, or is not made of numbers.
        ValueError: a shape is not known.

    Source: `tff.federated_sum`.

    Example:
        >>> import dovetail as dt
        >>> @dt.federated.computation(FederatedType(dt.spec((), "int32"), CLIENTS))
        ... def count(rows):
        ...     return federated_sum(rows)
        >>> int(count([3, 4]))
        7
    """
    return _collect("sum", value)


def federated_mean(value: Placed, weight: Placed | None = None) -> Placed:
    """The mean of the clients' values, elementwise.

    Args:
        value: at CLIENTS, floats of known shapes.
        weight: at CLIENTS, a number of at least 0; for example, of examples.  Without it, all clients count alike.

    Returns:
        The mean, at SERVER, with the same shapes and dtypes.

    Raises:
        TypeError: a value is not at CLIENTS, or the values are not floats.
        ValueError: a shape is not known, or the weight is no scalar.

    Source: `tff.federated_mean`.

    Example:
        >>> import dovetail as dt
        >>> reading = FederatedType({"mean": dt.spec(()), "count": dt.spec(())}, CLIENTS)
        >>> @dt.federated.computation(reading)
        ... def average(reading):
        ...     return federated_mean(reading["mean"], reading["count"])
        >>> float(average([{"mean": 1., "count": 3.}, {"mean": 5., "count": 1.}]))
        2.0
    """
    return _collect("mean", value, None if weight is None else _weight(weight))


def _weight(weight: Placed) -> str:
    """The name of the weight in the updates, which have each weight once."""
    known, tensor = _tracing("federated_mean").updates, _need("federated_mean", weight, CLIENTS)
    if not isinstance(tensor, GraphTensor) or tensor.shape != () or not _is_number(tensor):
        raise op_error(ValueError, "federated_mean", f"a weight is one number of each client, not {describe(tensor)}.")
    for name, (one, other, _) in known.items():
        if one.how == "weight" and other is tensor:
            return name
    (name,) = named(tensor, "weight", known)
    known[name] = Update(name, tensor.spec, "weight"), tensor, None
    return name


def _is_number(tensor: Any) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_integer


def _collect(how: str, value: Placed, weight: str | None = None) -> Placed:
    title = f"federated_{how}"
    tracing, here = _tracing(title), _need(title, value, CLIENTS)
    names = named(here, how, tracing.updates)
    for name, part in names.items():
        if not (part.dtype.is_floating if how == "mean" else _is_number(part)):
            kinds = {"mean": "floats", "sum": "numbers"}[how]
            raise op_error(TypeError, title, f"it takes {kinds}, and {name!r} is {describe(part)}: use ops.cast.")
        if not part.spec.is_static:
            problem = f"all clients send one shape, and {name!r} is {describe(part)}: reduce the unknown dimensions."
            raise op_error(ValueError, title, problem)
    there = map_structure(ops.identity, here)
    for (name, part), result in zip(names.items(), flatten(there)[0], strict=True):
        tracing.updates[name] = Update(name, part.spec, how, weight), part, result
    return Placed(there, SERVER)
