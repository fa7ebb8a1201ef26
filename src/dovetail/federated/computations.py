"""Federated computations: one trace, cut into the part of a client and the two parts of the server around it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import FormatError, describe, op_error
from dovetail.core.infer import fits
from dovetail.core.spec import TensorSpec
from dovetail.core.structure import flatten, flatten_like, unflatten
from dovetail.edit.graph import Graph
from dovetail.federated.placement import (
    CLIENTS,
    SERVER,
    TRACING,
    FederatedType,
    Placed,
    Placement,
    Tracing,
    free,
    names_of,
)
from dovetail.formats import safetensors, saved
from dovetail.graph.reach import reach
from dovetail.onnx.saving import write as write_onnx
from dovetail.plan.function import function

Arrays = dict[str, np.ndarray]
DOVETAIL, ONNX = "client.dovetail", "client.onnx"  # tensors of bytes in a package


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


class Client:
    """The part that a client computes: weights of the server and data of its own → an update.

    Attributes:
        graph: takes the weights, then the data; gives the updates.
        weights, data, updates: the names of its inputs and outputs, with their specs.
    """

    def __init__(self, graph: Graph, weights: Sequence[str], data: Sequence[str], updates: Sequence[Update]) -> None:
        specs = [tensor.spec for tensor in graph.inputs]
        self.graph, self.updates = graph, tuple(updates)
        self.weights = dict(zip(weights, specs, strict=False))
        self.data = dict(zip(data, specs[len(weights) :], strict=True))
        self._run = function(graph)

    def __call__(self, weights: Mapping[str, Any], data: Mapping[str, Any]) -> Arrays:
        """The update for some weights and data, computed on the current engine.

        Raises:
            KeyError: an array is missing.
            TypeError, ValueError: an array has another dtype or shape.
        """
        given, needed = {**data, **weights}, {**self.weights, **self.data}
        if missing := [name for name in needed if name not in given]:
            problem = f"the client needs the arrays {', '.join(needed)}: {', '.join(missing)} are missing."
            raise op_error(KeyError, "federated", problem)
        values = [fitted(given[name], spec, name) for name, spec in needed.items()]
        found = map(np.asarray, run(self._run, values))
        return {one.name: array for one, array in zip(self.updates, found, strict=True)}

    def parts(self) -> dict[str, Any]:
        """Its parts, for a file; the inverse of `of`."""
        updates = [[*one] for one in self.updates]
        return {"graph": self.graph, "weights": [*self.weights], "data": [*self.data], "updates": updates}

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> Client:
        """Make it of its parts."""
        return cls(parts["graph"], parts["weights"], parts["data"], [Update(*one) for one in parts["updates"]])

    def package(self) -> bytes:
        """A safetensors file for workers: Dovetail's file, the same as an ONNX model, and a manifest in JSON.

        The inputs and outputs of the model have the names of the manifest.  If ONNX cannot compute an operation, the
        manifest has the reason as `no_onnx`, and the model is missing.
        """
        manifest: dict[str, Any] = {
            "weights": {name: _plain(spec) for name, spec in self.weights.items()},
            "data": {name: _plain(spec) for name, spec in self.data.items()},
            "updates": {one.name: _plain(one.spec) for one in self.updates},
        }
        tensors = {}
        with TemporaryDirectory() as folder:
            file = Path(folder) / "client"
            saved.save(self.parts(), file)
            tensors[DOVETAIL] = np.frombuffer(file.read_bytes(), np.uint8)
            try:
                write_onnx(*self._ends(), file)
                tensors[ONNX] = np.frombuffer(file.read_bytes(), np.uint8)
            except (ImportError, NotImplementedError, TypeError, ValueError) as error:
                manifest["no_onnx"] = str(error)
        return safetensors.to_bytes(tensors, {"manifest": json.dumps(manifest)})

    def _ends(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The inputs and outputs of the graph by their names in ONNX."""
        inputs = dict(zip([*self.weights, *self.data], self.graph.inputs, strict=True))
        return inputs, {f"{one.name}.new": tensor for one, tensor in zip(self.updates, self.graph.outputs, strict=True)}


def unpack(package: bytes) -> Client:
    """The client of a package; the inverse of `Client.package`.

    Raises:
        FormatError: it is damaged.
    """
    tensors, _ = safetensors.of_bytes(package, "the computation")
    if DOVETAIL not in tensors:
        raise FormatError("the computation", "its tensors", ", ".join(tensors) or "none", DOVETAIL)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "client"
        file.write_bytes(tensors[DOVETAIL].tobytes())
        with _reading(file):
            return Client.of(saved.load(file))


class Computation:
    """A federated computation; made by `computation`.

    Attributes:
        name: the function's name.
        arguments: name → federated type.
        client: the part that each client computes.
        before, after: the parts of the server: the values at SERVER → the weights; these values and the aggregates →
            the result.
        result: the structure of the result, with specs.
    """

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, FederatedType],
        before: Graph,
        client: Client,
        after: Graph,
        result: Any,
    ) -> None:
        self.name, self.arguments = name, dict(arguments)
        self.before, self.client, self.after, self.result = before, client, after, result
        self._before, self._after = function(before), function(after)

    def __call__(self, *args: Any) -> Any:
        """One round in this process, on the current engine: the result for the server's and the clients' values.

        Args:
            args: for an argument at SERVER its value; for one at CLIENTS a list of each client's value.

        Raises:
            TypeError, ValueError: a value has another structure, shape or dtype than its type says.
        """
        if len(args) != len(self.arguments):
            problem = f"it takes {', '.join(self.arguments)}, not {len(args)} values."
            raise op_error(TypeError, self.name, problem)
        given = dict(zip(self.arguments, args, strict=True))
        lists = {name: given[name] for name, kind in self.arguments.items() if kind.placement is CLIENTS}
        counts = {name: len(value) if isinstance(value, (list, tuple)) else None for name, value in lists.items()}
        if None in counts.values() or len({*counts.values()}) != 1 or 0 in counts.values():
            problem = "a value at CLIENTS is a list with one value for each client, of at least one. Given: "
            raise op_error(
                ValueError, self.name, problem + ", ".join(f"{n}: {c}" for n, c in counts.items()) + " values."
            )
        state = self.server_values(*(given[name] for name in given if name not in lists))
        weights = self.weights(state)
        each = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
        return self.finish(state, [self.client(weights, self.client_data(values)) for values in each])

    def server_values(self, *values: Any) -> list[np.ndarray]:
        """The leaves of values for the arguments at SERVER, as arrays."""
        kinds = {name: kind for name, kind in self.arguments.items() if kind.placement is SERVER}
        return [*self._leaves(kinds, values).values()]

    def client_data(self, values: Mapping[str, Any]) -> Arrays:
        """The arrays of one client, by their names, for its values of the arguments at CLIENTS."""
        kinds = {name: self.arguments[name] for name in values}
        return dict(zip(self.client.data, self._leaves(kinds, values.values()).values(), strict=True))

    def _leaves(self, kinds: Mapping[str, FederatedType], values: Iterable[Any]) -> Arrays:
        found = {}
        for (name, kind), value in zip(kinds.items(), values, strict=True):
            specs, structure = flatten(kind.member)
            try:
                parts = flatten_like(structure, value)
            except ValueError as error:
                raise op_error(ValueError, self.name, f"{name}: {error}") from None
            for step, part, spec in zip(names_of(kind.member, ""), parts, specs, strict=True):
                place = f"{name}.{step}" if step else name
                found[place] = fitted(part, spec, place)
        return found

    def weights(self, state: Sequence[np.ndarray]) -> Arrays:
        """The tensors that the server sends to the clients."""
        return dict(zip(self.client.weights, map(np.asarray, run(self._before, state)), strict=True))

    def finish(self, state: Sequence[np.ndarray], updates: Sequence[Mapping[str, np.ndarray]]) -> Any:
        """The result for the updates of the clients of a round.

        Raises:
            ValueError: all weights of a mean are 0.
        """
        found = iter(run(self._after, [*state, *aggregate(self.client.updates, updates)]))
        parts, structure = flatten(self.result)
        return unflatten(structure, [next(found) for _ in parts])

    def save(self, path: str | Path) -> None:
        """Write it to a file of Dovetail's, from which `load` makes it again.

        Raises:
            OSError: the file cannot be written.
        """
        kinds = [[name, kind.placement.value, kind.member] for name, kind in self.arguments.items()]
        parts = {"before": self.before, "client": self.client.parts(), "after": self.after}
        saved.save({"name": self.name, "arguments": kinds, "result": self.result, **parts}, path)

    @classmethod
    def load(cls, path: str | Path) -> Computation:
        """Read a computation that `save` wrote.

        Raises:
            FormatError: the file is damaged, or has something else.
            OSError: the file cannot be read.

        Example:
            >>> import dovetail as dt
            >>> import tempfile
            >>> average = computation(FederatedType(dt.spec(()), CLIENTS))(lambda x: dt.federated.federated_mean(x))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     average.save(f"{folder}/average")
            ...     float(Computation.load(f"{folder}/average")([1.0, 2.0]))
            1.5
        """
        with _reading(path):
            kept = saved.load(path)
            kinds = {name: FederatedType(member, Placement(place)) for name, place, member in kept["arguments"]}
            client = Client.of(kept["client"])
            return cls(kept["name"], kinds, kept["before"], client, kept["after"], kept["result"])

    def __repr__(self) -> str:
        places = ", ".join(f"{name}@{kind.placement.name}" for name, kind in self.arguments.items())
        return f"<federated computation {self.name}({places})>"


class _reading:
    """A block that reads a file; its errors become a FormatError."""

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)) and not isinstance(error, FormatError):
            raise FormatError(self._path, "the document", repr(error), "a federated computation") from error


def _plain(spec: TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": spec.shape}


def run(compiled: Any, values: Sequence[Any]) -> list[Any]:
    """The results of a compiled graph as a list."""
    if not compiled.graphs[0].outputs:
        return []
    found = compiled(*values)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def fitted(value: Any, spec: TensorSpec, name: str) -> np.ndarray:
    """A value as an array of this spec.

    Raises:
        TypeError, ValueError: it has another dtype or shape.
    """
    array = np.asarray(value)
    if not fits(array.shape, spec.shape):
        raise op_error(ValueError, "federated", f"{name!r} must be {spec}, not {describe(array)}.")
    if array.dtype != spec.dtype.numpy and not np.can_cast(array.dtype, spec.dtype.numpy, "same_kind"):
        raise op_error(TypeError, "federated", f"{name!r} must be {spec}, not {describe(array)}.")
    return array.astype(spec.dtype.numpy, copy=False)


def aggregate(expected: Sequence[Update], updates: Sequence[Mapping[str, np.ndarray]]) -> list[np.ndarray]:
    """The sums and means of the clients' tensors, in the order of `expected`, computed in float64 or int64.

    Raises:
        ValueError: all weights of a mean are 0.
    """
    found = []
    for one in expected:
        if one.how == "weight":
            continue
        shares = [1.0 if one.weight is None else float(update[one.weight]) for update in updates]
        if one.how == "mean" and sum(shares) <= 0:
            problem = f"all clients have the weight 0 for {one.name!r}: a client without examples takes no part."
            raise op_error(ValueError, "federated_mean", problem)
        wide = "float64" if one.spec.dtype.is_floating else "int64"
        terms = [update[one.name].astype(wide) for update in updates]
        if one.how == "mean":
            whole = sum(term * share for term, share in zip(terms, shares, strict=True)) / sum(shares)
        else:
            whole = sum(terms)
        found.append(np.asarray(whole, one.spec.dtype.numpy))
    return found


# -- tracing ----------------------------------------------------------------------------------------------------------


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
        ...     mean = dt.federated.federated_map(lambda rows: dt.ops.mean(rows, axis=0), rows)
        ...     count = dt.federated.federated_map(lambda rows: dt.ops.shape(rows)[0], rows)
        ...     return dt.federated.federated_mean(mean, count)
        >>> mean_of_rows([[[1., 2.]], [[3., 4.], [5., 6.]]]).numpy()
        array([3., 4.], dtype=float32)
    """
    for kind in types:
        if not isinstance(kind, FederatedType) or not isinstance(kind.placement, Placement):
            problem = f"it takes FederatedType(spec, SERVER) or FederatedType(spec, CLIENTS), not {describe(kind)}."
            raise op_error(TypeError, "computation", problem)

    def decorate(python: Callable[..., Any]) -> Computation:
        names = [*inspect.signature(python).parameters]
        if len(names) != len(types) or all(kind.placement is SERVER for kind in types):
            problem = (
                f"{python.__name__!r} has the parameters {', '.join(names)}: give each a type, one of them at CLIENTS."
            )
            raise op_error(TypeError, "computation", problem)
        return _traced(python, dict(zip(names, types, strict=True)))

    return decorate


def _traced(python: Callable[..., Any], kinds: dict[str, FederatedType]) -> Computation:
    graph = Graph(python.__name__)
    tracing = Tracing(graph)
    at: dict[Placement, dict[str, Any]] = {SERVER: {}, CLIENTS: {}}
    args = []
    for name, kind in kinds.items():
        specs, structure = flatten(kind.member)
        here, inputs = at[kind.placement], []
        for step, spec in zip(names_of(kind.member, name), specs, strict=True):
            inputs.append(graph.placeholder(spec, step))
            here[free(step, here)] = inputs[-1]
        args.append(Placed(unflatten(structure, inputs), kind.placement))
    with TRACING.scope(tracing):
        result = python(*args)
    parts, structure = flatten(result)
    for part in parts:
        if not isinstance(part, Placed) or part.placement is not SERVER:
            problem = f"it returns {describe(part)}; it must return values at SERVER, as federated_mean gives."
            raise op_error(TypeError, python.__name__, problem)
    outputs, inner = flatten(unflatten(structure, [part.value for part in parts]))
    if used := graph.find(["ReadVariableOp", "AssignVariableOp"]):
        problem = (
            f"it uses the variable {used[0].attrs['variable'].name!r}: pass values as arguments, and return new ones."
        )
        raise op_error(TypeError, python.__name__, problem, where=used[0].where)
    return _cut(python.__name__, kinds, tracing, at, outputs, unflatten(inner, [t.spec for t in outputs]))


def _cut(name: str, kinds: Any, tracing: Tracing, at: Any, outputs: Any, result: Any) -> Computation:
    """The parts of a traced graph."""
    graph, server, data = tracing.graph, [*at[SERVER].values()], at[CLIENTS]
    results = [one.result for one in tracing.collected]
    sources = [source for source, _ in tracing.sent.values()]
    later = {t.op for t in results}.intersection(reach(sources, given=server))
    if later:
        problem = (
            "it depends on what the clients send in the same round: return it, and broadcast it in the next round."
        )
        raise op_error(ValueError, "federated_broadcast", problem, where=later.pop().where)
    received = {free(step, data): tensor for step, (_, tensor) in tracing.sent.items()}
    updates = [Update(one.name, one.tensor.spec, one.how, one.weight) for one in tracing.collected]
    updates += [Update(step, tensor.spec, "weight") for step, tensor in tracing.weights.items()]
    sends = [*(one.tensor for one in tracing.collected), *tracing.weights.values()]
    try:
        part = graph.subgraph(sends, [*received.values(), *data.values()])
        before, after = graph.subgraph(sources, server), graph.subgraph(outputs, [*server, *results])
    except ValueError as error:
        problem = f"a function of federated_map kept a tensor of another place: {error} Pass it as an argument."
        raise op_error(ValueError, name, problem) from None
    return Computation(name, kinds, before, Client(part, [*received], [*data], updates), after, result)
