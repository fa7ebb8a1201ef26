"""A model of ONNX: its message, and the graphs that are read from it."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import reading
from dovetail.core.base.scopes import record_on
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.variable import Variable
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.expansion import TRACE, Expansion, Part
from dovetail.formats.nodes.waiting import FOR_ALL
from dovetail.formats.onnx import ops as ops  # it fills the tables
from dovetail.formats.onnx.declared import Type, type_of, versions_of
from dovetail.formats.onnx.nodes import (
    EMPTY,
    Body,
    Foreign,
    Later,
    Narrow,
    Parts,
    Pending,
    Weight,
    parts_of,
    subgraphs,
    weights_in,
)
from dovetail.formats.onnx.reading import Reader, tensors_in
from dovetail.formats.onnx.table import NEWEST
from dovetail.formats.onnx.tensors import CARRIERS, Tensors
from dovetail.formats.wire.messages import LONGEST, ONNX, parsed
from dovetail.graph.naming import unique_name
from dovetail.ops.random.generator import Generator

GUESSES = (2, 64)  # sizes of unknown first and other dimensions, with which nodes that wait are tried
TIMES = {"Loop": 2}  # types → how often their graphs are read


@dataclass
class Read:
    """A model as a graph of Dovetail.

    Attributes:
        graph: without the inputs that are constants of it.
        inputs: their names.
        results: the values of the model's outputs: outputs of the graph, what the host makes of one, or
            values of the host.
        opaque: names of operations that Dovetail does not compute → the reason.
        needed: names of inputs whose values must be known, so that all nodes can be read.
        reader: it read the nodes.
    """

    graph: Any
    inputs: list[str]
    results: list[Any]
    opaque: dict[str, str]
    needed: set[str]
    reader: Reader


@dataclass
class Model:
    """A message of ONNX, checked.

    Attributes:
        file: the path, or a name for errors.
        proto: the message `ModelProto`.
        folder: the folder with external data, or None.
        variables: name of a weight → the variable that was made of it.
        generators: name of a node → the generator of its random numbers.
        size: bytes of the file.
        has_shapes: whether its inputs have other shapes than in the file.
    """

    file: str | os.PathLike[str]
    proto: Any
    folder: Path | None = None
    variables: dict[str, Variable] = field(default_factory=dict)
    generators: dict[str, Generator] = field(default_factory=dict)
    size: int = 0
    has_shapes: bool = False

    def __post_init__(self) -> None:
        if not self.proto.HasField("graph"):
            raise FormatError(self.file, "the model", "no graph", "a ModelProto with one")
        version = self.versions.get("", 1)
        if version > NEWEST:
            raise FormatError(self.file, "its opset", f"{version}", f"at most {NEWEST}")
        names = [name for node in self.proto.graph.node for name in node.output if name]
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(self.file, "the graph", f"two nodes with the result {twice!r}", "names that differ")

    @cached_property
    def versions(self) -> dict[str, int]:
        """Domain → version."""
        return versions_of(self.proto)

    @cached_property
    def functions(self) -> dict[tuple[str, str, str], Any]:
        """The functions of the model by domain, name and overload."""
        return {(one.domain, one.name, one.overload): one for one in self.proto.functions}

    @cached_property
    def inputs(self) -> dict[str, Type]:
        """The inputs that have no value in the file."""
        graph = self.proto.graph
        known = {tensor.name for tensor in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
        return {one.name: type_of(one.type) for one in graph.input if one.name not in known}

    @cached_property
    def defaults(self) -> dict[str, Type]:
        """The inputs that have a value in the file, and may be given another one; before version 4 there are none."""
        graph = self.proto.graph
        known = {tensor.name for tensor in graph.initializer} if self.proto.ir_version >= 4 else set()
        return {one.name: type_of(one.type) for one in graph.input if one.name in known}

    @cached_property
    def outputs(self) -> dict[str, Type]:
        """The outputs."""
        return {one.name: type_of(one.type) for one in self.proto.graph.output}

    @cached_property
    def _types(self) -> dict[str, Any]:
        """Name of a value → its spec, as the file declares it."""
        declared = {one.name: type_of(one.type) for one in self.proto.graph.value_info} | self.outputs
        return {name: one.spec for name, one in declared.items() if one.spec is not None}

    @cached_property
    def repeated(self) -> set[str]:
        """The names that weights of several graphs have."""
        names = Counter(name for _, graph in parts_of(self.proto.graph) for name in weights_in(graph))
        return {name for name, count in names.items() if count > 1}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count what the file asks for in the block.

        Raises:
            FormatError: it asks for too much.
        """
        with reading(self.file, "the graph"):  # its functions may be nested too deeply to be counted
            expansion = self._expansion
        with reading(self.file, "the graph", expansion.listed, self.size):
            expansion.need(expansion.count())
            yield

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion(self.file, self.proto.graph.node, self._parts)

    def _parts(self, node: Any) -> Iterator[Part]:
        """The graphs of a node, and the function that it calls."""
        yield from (Part(None, graph.node, TIMES.get(node.op_type, 1), TRACE) for graph in subgraphs(node))
        key = node.domain, node.op_type, node.overload
        if key in self.functions:
            yield Part(key, self.functions[key].node)

    def read(self, shapes: Mapping[str, Any], values: Mapping[str, Any]) -> Read:
        """The model as a graph of Dovetail.

        Args:
            shapes: names of inputs → the shapes that they have in place of the declared ones.
            values: names of inputs → arrays that they have, or values of the host.

        Raises:
            FormatError: the file is damaged.
        """
        graph = hooks.new_graph(self.proto.graph.name or "onnx")
        weights = Tensors(self.file, self.folder)
        with graph.as_default(), self.reading():
            guessed: list[Mapping[str, Any]] = []

            def guess() -> Mapping[str, Any]:
                if not guessed:
                    guessed.append(self._guessed(weights, shapes, values))
                return guessed[0]

            reader = self._reader(weights, guess)
            reader.records.begin(graph)
            placed, read_values = self._values(reader, shapes, values)
            results: list[Any] = []
            outputs: list[Any] = []
            for value in read_values:
                results.append(result_of(reader, value, outputs))
        reader.records.end()
        graph.outputs = outputs
        needed = {placed[tensor] for tensor in reader.needed if tensor in placed}
        return Read(graph, list(placed.values()), results, reader.opaque, needed, reader)

    def _reader(self, weights: Tensors, guess: Any = None) -> Reader:
        return Reader(
            self.file, weights, self.functions, self.variables, self.generators, self._types, self.repeated, guess
        )

    def _values(self, reader: Reader, shapes: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[Any, list[Any]]:
        """The placeholders of the inputs with their names, and the values of the outputs."""
        message, graph = self.proto.graph, reader.graph
        given = reader.weights(message)
        placed: dict[Any, str] = {}
        for name, type in self.inputs.items():
            if name in values:
                given[name] = of_host(values[name])
            elif type.spec is None:
                given[name] = Pending.of(name, f"{name!r} is a {type.kind} input that is no tensor of numbers")
            else:
                spec = TensorSpec(shapes.get(name, type.spec.shape), type.spec.dtype)
                tensor = graph.placeholder(spec, f"{unique_name(graph, name.rstrip('/') or 'input')}/")
                placed[tensor] = name
                given[name] = Narrow(tensor, type.number) if type.number in CARRIERS else tensor
        given |= {name: of_host(values[name]) for name in self.defaults if name in values}
        body = Body("the graph", message.node, self.versions, given, graph=message)
        reader.records.bodies[graph] = body
        return placed, reader.read(body, list(self.outputs))

    def _guessed(self, weights: Tensors, shapes: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is read of a batch of two, and of other unknown sizes that suit most models."""
        known: dict[str, int] = {}
        sizes: dict[str, Any] = {}
        for name, type in self.inputs.items():
            shape = shapes.get(name, type.shape)
            if shape is not None:
                symbols = enumerate((*self._symbols[name], *[""] * len(shape))[: len(shape)])
                guesses = [known.setdefault(symbol or f"{name}:{axis}", GUESSES[axis > 0]) for axis, symbol in symbols]
                sizes[name] = tuple(b if a is None else a for a, b in zip(shape, guesses, strict=True))
        graph = hooks.new_graph("guess")
        with record_on(()), graph.as_default(), FOR_ALL.scope(True):
            reader = self._reader(weights, dict)
            self._values(reader, sizes, values)
        return reader.seen

    @cached_property
    def _symbols(self) -> dict[str, list[str]]:
        """Name of an input → the names of its dimensions."""
        return {one.name: [d.dim_param for d in one.type.tensor_type.shape.dim] for one in self.proto.graph.input}


class Output(NamedTuple):
    """An output of a graph: its place among them, and the function that makes a value of the host of it, if any."""

    place: int
    make: Callable[[np.ndarray], Any] | None = None


class Unread(NamedTuple):
    """A result that is no tensor and not known yet, and the places of the graph's outputs that it is made of."""

    value: Pending
    places: dict[Any, int]


def of_host(value: Any) -> Any:
    """A value that is given while the model is read: an array, a list of them, or None for an empty optional one."""
    if isinstance(value, list):
        return [of_host(item) for item in value]
    return EMPTY if value is None else Weight("", value)


def result_of(reader: Reader, value: Any, outputs: list[Any]) -> Any:
    """A result of a model, whose tensors are added to the outputs of the graph."""
    if isinstance(value, list):
        return [result_of(reader, item, outputs) for item in value]
    if isinstance(value, Parts):
        return Foreign(value.name, value.reason)
    if isinstance(value, Pending):
        places = dict(zip(dict.fromkeys(tensors_in(value)), itertools.count(len(outputs))))
        outputs += places
        return Unread(value, places)
    make = value.make if isinstance(value, Later) else None
    value = value.tensor if isinstance(value, (Later, Narrow)) else value
    if isinstance(value, Weight) and not value.array.dtype.hasobject:
        value = reader.weight(value)
    if not is_tensor(value):
        return value
    outputs.append(value)
    return Output(len(outputs) - 1, make)


def read_model(source: Any) -> Model:
    """The model in a file, in bytes, in a message of `onnx`, or in a model of `onnx_ir`.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is no model of ONNX, or damaged.
        TypeError: the source is of another kind.
    """
    if isinstance(source, (str, os.PathLike)):
        file = Path(source)
        if (size := file.stat().st_size) > LONGEST:
            needed = f"at most {LONGEST}, which protobuf can read: write the weights as external data, in a second file"
            raise FormatError(file, "the file", f"{size} bytes", needed)
        return Model(file, parsed(ONNX.ModelProto, file.read_bytes(), file), file.parent, size=size)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Model("the model", parsed(ONNX.ModelProto, bytes(source), "the model"), size=len(source))
    if getattr(getattr(source, "DESCRIPTOR", None), "full_name", "") == "onnx.ModelProto":
        return read_model(source.SerializeToString())
    if type(source).__module__.partition(".")[0] == "onnx_ir":
        import onnx_ir

        return read_model(onnx_ir.to_proto(source))
    raise TypeError(f"a path, bytes, an onnx.ModelProto or an onnx_ir.Model is needed, not {type(source).__name__}")


__all__ = ["Model", "Output", "Read", "Type", "Unread", "of_host", "read_model", "result_of"]
