"""Placed values: the values of the server and of the clients, while a federated computation is traced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.core.errors import describe, op_error
from dovetail.core.scopes import Scoped
from dovetail.core.structure import flatten, leaf, unflatten
from dovetail.edit.graph import Graph
from dovetail.formats.saved import leaves
from dovetail.graph.operation import GraphTensor


class Placement(Enum):
    """The side of a federated computation that has a value."""

    SERVER = "server"
    CLIENTS = "clients"


SERVER, CLIENTS = Placement.SERVER, Placement.CLIENTS


class FederatedType(NamedTuple):
    """The type of a placed value.

    Attributes:
        member: a spec, or a structure of them; at CLIENTS, of one client's value.
        placement: SERVER or CLIENTS.

    Source: `tff.FederatedType`.
    """

    member: Any
    placement: Placement


@leaf
@dataclass(frozen=True, eq=False)
class Placed:
    """A value of a traced federated computation.

    Attributes:
        value: a structure of graph tensors; at CLIENTS, of any one client.
        placement: SERVER or CLIENTS.
    """

    value: Any
    placement: Placement

    def __repr__(self) -> str:
        return f"<a value at {self.placement.name}>"

    def _refused(self, *others: Any) -> Any:
        problem = "federated_map computes on placed values: federated_map(lambda x: x + 1, value)."
        raise op_error(TypeError, "computation", f"{self!r} has no operators; {problem}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __matmul__ = __rmatmul__ = __pow__ = __neg__ = __getitem__ = _refused


class Collected(NamedTuple):
    """A tensor that all clients send.

    Attributes:
        name: its name in an update.
        how: "mean" or "sum".
        weight: for a weighted mean, the name of the weight, which the update has, too.
        tensor, result: the graph tensors at the client, and at the server.
    """

    name: str
    how: str
    weight: str | None
    tensor: Any
    result: Any


@dataclass
class Tracing:
    """A federated computation that is being traced, as one graph of the server and a client.

    Attributes:
        graph: the graph.
        sent: name → the tensor at the server, and the one that a client receives.
        weights: name → the weights of means, at the client.
        collected: the tensors that clients send back.
    """

    graph: Graph
    sent: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    collected: list[Collected] = field(default_factory=list)


TRACING: Scoped[Tracing | None] = Scoped(None)


def names_of(value: Any, otherwise: str) -> list[str]:
    """The names of the leaves of a structure, in the order of `flatten`: the steps to each.

    Args:
        value: the structure.
        otherwise: the name of a leaf that is the whole structure.
    """
    parts, structure = flatten(value)
    numbered = {number: place for place, number in leaves(unflatten(structure, range(len(parts))))}
    return [".".join(numbered[number]) or otherwise for number in range(len(parts))]


def free(name: str, *taken: Any) -> str:
    """A name that is in none of some tables."""
    found, number = name, 0
    while any(found in names for names in taken):
        number += 1
        found = f"{name}_{number}"
    return found


def _tracing(name: str) -> Tracing:
    found = TRACING.get()
    if found is None:
        problem = "call it inside a function under @dt.federated.computation, on that function's arguments."
        raise op_error(RuntimeError, name, problem)
    return found


def _need(name: str, given: Any, placement: Placement) -> Any:
    """The value that is placed there."""
    if not isinstance(given, Placed) or given.placement is not placement:
        problem = f"it takes a value at {placement.name}, not {describe(given)}. {_ADVICE[placement]}"
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
    tracing = _tracing("federated_map")
    given = list(arg) if isinstance(arg, (tuple, list)) else [arg]
    places = {value.placement for value in given if isinstance(value, Placed)}
    if len(places) != 1 or not all(isinstance(value, Placed) for value in given):
        problem = f"it takes values at one place, not {', '.join(map(describe, given)) or 'none'}."
        raise op_error(TypeError, "federated_map", f"{problem} {_ADVICE[CLIENTS]} {_ADVICE[SERVER]}")
    with tracing.graph.as_default():
        parts, structure = flatten(function(*(value.value for value in given)), "federated_map")
        found = [part if type(part) is GraphTensor else _constant(part) for part in parts]
    return Placed(unflatten(structure, found), places.pop())


def _constant(value: Any) -> Any:
    if isinstance(value, Placed):
        problem = f"its function returns {value!r}, which belongs to the computation around it: pass it as an argument."
        raise op_error(TypeError, "federated_map", problem)
    return ops.identity(value)


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
    parts, structure = flatten(_need("federated_broadcast", value, SERVER))
    found = []
    for name, part in zip(names_of(unflatten(structure, parts), "value"), parts, strict=True):
        with tracing.graph.as_default():
            received = ops.identity(part)
        tracing.sent[free(name, tracing.sent)] = part, received
        found.append(received)
    return Placed(unflatten(structure, found), CLIENTS)


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
    return _collect("sum", value, None)


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
        ...     mean = federated_map(lambda r: r["mean"], reading)
        ...     return federated_mean(mean, federated_map(lambda r: r["count"], reading))
        >>> float(average([{"mean": 1., "count": 3.}, {"mean": 5., "count": 1.}]))
        2.0
    """
    name = None
    if weight is not None:
        tensor = _need("federated_mean", weight, CLIENTS)
        if (
            type(tensor) is not GraphTensor
            or tensor.shape != ()
            or not (tensor.dtype.is_floating or tensor.dtype.is_integer)
        ):
            raise op_error(
                ValueError, "federated_mean", f"a weight is one number of each client, not {describe(tensor)}."
            )
        tracing = _tracing("federated_mean")
        name = next((known for known, other in tracing.weights.items() if other is tensor), None)
        if name is None:
            name = free("weight", tracing.weights, [one.name for one in tracing.collected])
            tracing.weights[name] = tensor
    return _collect("mean", value, name)


def _collect(how: str, value: Any, weight: str | None) -> Placed:
    title = f"federated_{how}"
    tracing = _tracing(title)
    parts, structure = flatten(_need(title, value, CLIENTS))
    found = []
    for name, part in zip(names_of(unflatten(structure, parts), how), parts, strict=True):
        if not (part.dtype.is_floating or (how == "sum" and part.dtype.is_integer)):
            raise op_error(TypeError, title, f"it takes {_KINDS[how]}, and {name!r} is {describe(part)}: use ops.cast.")
        if part.shape is None or None in part.shape:
            problem = f"all clients send one shape, and {name!r} is {describe(part)}: reduce the unknown dimensions."
            raise op_error(ValueError, title, problem)
        with tracing.graph.as_default():
            result = ops.identity(part)
        taken = [one.name for one in tracing.collected]
        tracing.collected.append(Collected(free(name, taken, tracing.weights, ["weight"]), how, weight, part, result))
        found.append(result)
    return Placed(unflatten(structure, found), SERVER)


_KINDS = {"mean": "floats", "sum": "numbers"}
