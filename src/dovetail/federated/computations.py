"""Federated computations: the part of a client, and the two parts of the server around it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from dovetail.core.base.errors import FormatError, describe, op_error
from dovetail.core.values.places import engine as engine_scope
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, flatten_like, unflatten
from dovetail.edit.graph import Graph
from dovetail.federated.placement import CLIENTS, SERVER, FederatedType, Update
from dovetail.formats import safetensors, saved
from dovetail.functions.function import function
from dovetail.onnx.saving import write as write_onnx

Arrays = dict[str, np.ndarray]
Specs = dict[str, TensorSpec]
Kind = TypeVar("Kind")
DOVETAIL, ONNX = "client.dovetail", "client.onnx"  # tensors of bytes in a package


@dataclass(frozen=True, eq=False)
class Client:
    """The part that a client computes: weights of the server and data of its own → an update.

    Attributes:
        graph: takes the weights, then the data; gives the updates.
        weights, data: the names of its inputs, with their specs.
        updates: its outputs.
    """

    graph: Graph
    weights: Specs
    data: Specs
    updates: Sequence[Update]

    def __call__(self, weights: Mapping[str, Any], data: Mapping[str, Any], engine: str | None = None) -> Arrays:
        """The update for some weights and data, computed on an engine; the current one, if not given.

        Raises:
            KeyError: an array is missing.
            TypeError, ValueError: an array has another dtype or shape.
        """
        given = [*fitted(weights, self.weights).values(), *fitted(data, self.data).values()]
        with nullcontext() if engine is None else engine_scope(engine):
            arrays = map(np.asarray, run(self.graph, given))
            return {one.name: array for one, array in zip(self.updates, arrays, strict=True)}

    def package(self) -> bytes:
        """A safetensors file for workers: Dovetail's file, the same as an ONNX model, and a manifest in JSON.

        The inputs and outputs of the model have the names of the manifest.  If ONNX cannot compute an operation, the
        manifest has the reason as `no_onnx`, and the model is missing.
        """
        tables = {"weights": self.weights, "data": self.data, "updates": {one.name: one.spec for one in self.updates}}
        manifest: dict[str, Any] = {
            table: {name: {"dtype": spec.dtype.name, "shape": spec.shape} for name, spec in specs.items()}
            for table, specs in tables.items()
        }
        inputs = dict(zip([*self.weights, *self.data], self.graph.inputs, strict=True))
        outputs = {f"{one.name}.new": made for one, made in zip(self.updates, self.graph.outputs, strict=True)}
        tensors = {}
        with TemporaryDirectory() as folder:
            file = Path(folder) / "client"
            saved.save(self, file)
            tensors[DOVETAIL] = np.frombuffer(file.read_bytes(), np.uint8)
            try:
                write_onnx(inputs, outputs, file)
                tensors[ONNX] = np.frombuffer(file.read_bytes(), np.uint8)
            except (ImportError, NotImplementedError, TypeError, ValueError) as error:
                manifest["no_onnx"] = str(error)
        return safetensors.to_bytes(tensors, {"manifest": json.dumps(manifest)})


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
        return _read(file, Client)


@dataclass(frozen=True, eq=False, repr=False)
class Computation:
    """A federated computation; made by `computation`.

    Attributes:
        name: the function's name.
        arguments: name → federated type.
        state: the names of the arrays at SERVER, with their specs.
        client: the part that each client computes.
        before, after: the parts of the server: the state → the weights; the state and the aggregates → the result.
        result: the structure of the result, with specs.
    """

    name: str
    arguments: dict[str, FederatedType]
    state: Specs
    before: Graph
    client: Client
    after: Graph
    result: Any

    def __call__(self, *args: Any) -> Any:
        """One round in this process, on the current engine: the result for the server's and the clients' values.

        Args:
            args: for an argument at SERVER its value; for one at CLIENTS a list of each client's value.

        Raises:
            TypeError, ValueError: a value has another structure, shape or dtype than its type says.
        """
        if len(args) != len(self.arguments):
            raise op_error(TypeError, self.name, f"it takes {', '.join(self.arguments)}, not {len(args)} values.")
        pairs = [*zip(args, self.arguments.values(), strict=True)]
        server, clients = ([arg for arg, kind in pairs if kind.placement == place] for place in (SERVER, CLIENTS))
        if not all(isinstance(arg, (list, tuple)) and arg for arg in clients) or len({*map(len, clients)}) != 1:
            problem = "a value at CLIENTS is a list with one value for each client, of at least one. Given: "
            raise op_error(ValueError, self.name, f"{problem}{', '.join(map(describe, clients))}.")
        state = self.state_of(*server)
        weights = self.weights(state)
        data = [self._leaves(CLIENTS, values, self.client.data) for values in zip(*clients, strict=True)]
        return self.finish(state, [self.client(weights, own) for own in data])

    def state_of(self, *values: Any) -> Arrays:
        """The arrays at SERVER by their names, for the values of the arguments there.

        Raises:
            TypeError, ValueError: a value has another structure, shape or dtype than its type says.
        """
        return fitted(self._leaves(SERVER, values, self.state), self.state)

    def _leaves(self, placement: str, values: Iterable[Any], names: Iterable[str]) -> dict[str, Any]:
        kinds = {name: kind.member for name, kind in self.arguments.items() if kind.placement == placement}
        flat = []
        for (name, member), value in zip(kinds.items(), values, strict=True):
            try:
                flat += flatten_like(flatten(member)[1], value)
            except ValueError as error:
                raise op_error(ValueError, self.name, f"{name}: {error}") from None
        return dict(zip(names, flat, strict=True))

    def weights(self, state: Arrays) -> Arrays:
        """The arrays that the server sends to the clients."""
        return dict(zip(self.client.weights, map(np.asarray, run(self.before, state.values())), strict=True))

    def finish(self, state: Arrays, updates: Sequence[Arrays]) -> Any:
        """The result for the updates of the clients of a round.

        Raises:
            ValueError: all weights of a mean are 0.
        """
        results = run(self.after, [*state.values(), *aggregate(self.client.updates, updates)])
        return unflatten(flatten(self.result)[1], results)

    def save(self, path: str | Path) -> None:
        """Write it to a file of Dovetail's, from which `load` makes it again.

        Raises:
            OSError: the file cannot be written.
        """
        saved.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Computation:
        """Read a computation that `save` wrote.

        Raises:
            FormatError: the file is damaged, or has something else.
            OSError: the file cannot be read.

        Example:
            >>> import dovetail as dt
            >>> import tempfile
            >>> number = FederatedType(dt.spec(()), CLIENTS)
            >>> average = dt.federated.computation(number)(lambda x: dt.federated.federated_mean(x))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     average.save(f"{folder}/average")
            ...     float(Computation.load(f"{folder}/average")([1.0, 2.0]))
            1.5
        """
        return _read(path, cls)

    def __repr__(self) -> str:
        places = ", ".join(f"{name}@{kind.placement}" for name, kind in self.arguments.items())
        return f"<federated computation {self.name}({places})>"


def _read(path: str | Path, kind: type[Kind]) -> Kind:
    content = saved.load(path, (Client, Computation, FederatedType, Update))
    if not isinstance(content, kind):
        raise FormatError(path, "the document", describe(content), "a federated computation")
    return content


_compiled = lru_cache(64)(function)  # graph → function: computations are plain values, which files hold


def run(graph: Graph, values: Iterable[Any]) -> list[Any]:
    """The outputs of a graph for some inputs, on the current engine."""
    return flatten(_compiled(graph)(*values))[0]


def fitted(given: Mapping[str, Any], specs: Specs) -> Arrays:
    """The arrays that some specs name, with these shapes and dtypes.

    Raises:
        KeyError: an array is missing.
        TypeError, ValueError: an array has another dtype or shape.
    """
    if not specs.keys() <= given.keys():
        problem = f"it needs the arrays {', '.join(specs)}. Given: {', '.join(given) or 'none'}."
        raise op_error(KeyError, "federated", problem)
    fitting = {}
    for name, spec in specs.items():
        array = np.asarray(given[name])
        can_cast = np.can_cast(array.dtype, spec.dtype.numpy, "same_kind")
        if not can_cast or not fits(array.shape, spec.shape):
            problem = f"{name!r} must be {spec}, not {describe(array)}."
            raise op_error(ValueError if can_cast else TypeError, "federated", problem)
        fitting[name] = array.astype(spec.dtype.numpy, copy=False)
    return fitting


def aggregate(expected: Sequence[Update], updates: Sequence[Arrays]) -> list[np.ndarray]:
    """The sums and means of the clients' tensors, in the order of `expected`, computed in float64 or int64.

    A client with the weight 0 has no part in a mean, whatever its value.

    Raises:
        ValueError: all weights of a mean are 0, or one is below.
    """
    totals = []
    for one in expected:
        if one.how == "weight":
            continue
        wide, mean = "float64" if one.spec.dtype.is_floating else "int64", one.how == "mean"
        shares = [1 if one.weight is None else float(update[one.weight]) for update in updates]
        if not sum(shares) > 0 or min(shares) < 0:
            problem = f"the weights of {one.name!r} are {shares}, but each must be 0 or more, and one must be above 0."
            raise op_error(ValueError, "federated_mean", f"{problem} A client without examples has the weight 0.")
        counted = [(share, update) for share, update in zip(shares, updates, strict=True) if share]
        total = sum(share * update[one.name].astype(wide) for share, update in counted)
        totals.append(np.asarray(total / sum(shares) if mean else total, one.spec.dtype.numpy))
    return totals
