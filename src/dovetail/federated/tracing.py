"""Tracing a federated computation: one graph, cut into the part of a client and the two parts of the server."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, map_structure, unflatten
from dovetail.edit.graph import Graph
from dovetail.federated.computations import Client, Computation
from dovetail.federated.placement import CLIENTS, SERVER, TRACING, FederatedType, Placed, Tracing, named
from dovetail.graph.reach import reach


def computation(*types: FederatedType) -> Callable[[Callable[..., Any]], Computation]:
    """Decorate a function as a federated computation: it is traced once, then the server and the clients compute it.

    Between `federated_broadcast` and `federated_mean` or `federated_sum` is the part of the clients; the rest is the
    part of the server.  A round has one exchange: the clients get values, and send others.

    Args:
        types: the federated type of each parameter; at least one is at CLIENTS.

    Returns:
        A `Computation`: call it with the server's values, and lists of the clients', or serve it to workers.

    Raises:
        TypeError: a type is missing, the result is not at SERVER, or the function uses a variable.
        ValueError: a broadcast needs a value that the clients send in the same round.

    Source: `tff.federated_computation`.

    Example:
        >>> import dovetail as dt
        >>> @computation(FederatedType(dt.spec((None, 2)), CLIENTS))
        ... def mean_of_rows(rows):
        ...     found = dt.federated.federated_map(lambda x: (dt.ops.mean(x, axis=0), dt.ops.shape(x)[0]), rows)
        ...     mean, count = found
        ...     return dt.federated.federated_mean(mean, count)
        >>> mean_of_rows([[[1., 2.]], [[3., 4.], [5., 6.]]]).numpy()
        array([3., 4.], dtype=float32)
    """
    for kind in types:
        if not isinstance(kind, FederatedType) or kind.placement not in (SERVER, CLIENTS) or not _has_specs(kind):
            problem = "it takes FederatedType(spec, SERVER) or FederatedType(spec, CLIENTS), where a spec is dt.spec("
            raise op_error(TypeError, "computation", f"{problem}shape), or a structure of such, not {describe(kind)}.")

    def decorate(python: Callable[..., Any]) -> Computation:
        names = [*inspect.signature(python).parameters]
        if len(names) != len(types) or all(kind.placement == SERVER for kind in types):
            needed = f"{python.__name__!r} has the parameters {', '.join(names)}"
            raise op_error(TypeError, "computation", f"{needed}: give each a type, one of them at CLIENTS.")
        return _traced(python, dict(zip(names, types, strict=True)))

    return decorate


def _has_specs(kind: FederatedType) -> bool:
    return all(isinstance(part, TensorSpec) for part in flatten(kind.member)[0])


def _traced(python: Callable[..., Any], kinds: dict[str, FederatedType]) -> Computation:
    graph, args = Graph(python.__name__), []
    tracing = Tracing(graph)
    for name, (member, placement) in kinds.items():
        value = map_structure(lambda spec, name=name: graph.placeholder(spec, name), member)
        tracing.inputs[placement] |= named(value, name, tracing.inputs[placement])
        args.append(Placed(value, placement))
    with TRACING.scope(tracing), graph.as_default():
        result = python(*args)
    parts, structure = flatten(result)
    for part in parts:
        if not isinstance(part, Placed) or part.placement != SERVER:
            problem = f"it returns {describe(part)}; it must return values at SERVER, as federated_mean gives."
            raise op_error(TypeError, python.__name__, problem)
    if used := graph.find(["ReadVariableOp", "AssignVariableOp"]):
        name = used[0].attrs["variable"].name
        advice = "pass values as arguments, return new ones, and give functions of ops.random a seed."
        raise op_error(TypeError, python.__name__, f"it uses the variable {name!r}: {advice}", where=used[0].where)
    return _cut(python.__name__, kinds, tracing, unflatten(structure, [part.value for part in parts]))


def _cut(name: str, kinds: dict[str, FederatedType], tracing: Tracing, result: Any) -> Computation:
    """The parts of a traced graph, for the tensors of its result."""
    graph, server, data = tracing.graph, tracing.inputs[SERVER], tracing.inputs[CLIENTS]
    sources = [source for source, _ in tracing.sent.values()]
    received = {name: tensor for name, (_, tensor) in tracing.sent.items()}
    collected = [result for _, _, result in tracing.updates.values() if result is not None]
    if later := {tensor.op for tensor in collected}.intersection(reach(sources, given=server.values())):
        problem = "it depends on what the clients send in the same round: return it, and broadcast it in the next one."
        raise op_error(ValueError, "federated_broadcast", problem, where=later.pop().where)
    try:
        inputs, sends = [*received.values(), *data.values()], [tensor for _, tensor, _ in tracing.updates.values()]
        part, before = graph.subgraph(sends, inputs), graph.subgraph(sources, [*server.values()])
        after = graph.subgraph(flatten(result)[0], [*server.values(), *collected])
    except ValueError as error:
        problem = f"a function of federated_map kept a tensor of another place: {error} Pass it as an argument."
        raise op_error(ValueError, name, problem) from None
    state, weights, own = ({name: t.spec for name, t in tensors.items()} for tensors in (server, received, data))
    client = Client(part, weights, own, [one for one, _, _ in tracing.updates.values()])
    return Computation(name, kinds, state, before, client, after, map_structure(lambda tensor: tensor.spec, result))
