"""Reading: nodes of ONNX become operations of the graph that is being built, one after the other.

A reader goes from the wanted results back to the nodes that they need, and calls Dovetail's ops in this order.  A node
that needs shapes or values which are not known becomes a waiting operation, and is read again when they are.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import reading
from dovetail.core.values import arguments
from dovetail.core.values.variable import Variable
from dovetail.formats.nodes import reading as nodes_reading
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import OpaqueOp, Unreadable, is_refusal, opaque_outputs
from dovetail.formats.nodes.waiting import FOR_ALL, WaitingOp, Waits
from dovetail.formats.onnx.attributes import attributes_of
from dovetail.formats.onnx.by_values import read_by_values
from dovetail.formats.onnx.calls import by_row, listed
from dovetail.formats.onnx.declared import versions_of
from dovetail.formats.onnx.nodes import (
    Body,
    Foreign,
    Later,
    Narrow,
    Node,
    Part,
    Pending,
    Weight,
    named_parts,
    needs,
    subgraphs,
)
from dovetail.formats.onnx.records import Records
from dovetail.formats.onnx.table import SPECIAL, row_of
from dovetail.formats.onnx.tensors import Tensors, carried, dtype_of
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.naming import unique_name
from dovetail.graph.operation import GraphTensor
from dovetail.ops.random.generator import Generator

FLOATS = ("float16", "bfloat16", "float32", "float64")  # dtypes of weights that become variables
OTHER_RANKS = ("If", "Loop", "Scan", "Squeeze")  # types of nodes whose results have ranks that depend on sizes
OWN_RANK = [
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "LpPool",
    "LRN",
    "Resize",
    "Upsample",
    "Pad",
    "CenterCropPad",
    "Slice",
    "Split",
]


class _Absent(Unreadable):
    """No op of Dovetail computes a node, whatever its inputs are."""


class Reader(nodes_reading.Reader):
    """A reader of nodes into the graph that is being built.

    Args:
        file: the file, for errors.
        tensors: reads arrays.
        functions: (domain, name, overload) → message `FunctionProto`.
        variables: name of a weight → the variable that was made of it; the reader adds those it makes.
        generators: name of a node → the generator of its random numbers; the reader adds those it makes.
        types: name of a value → the type that the file declares.
        repeated: the names that weights of several graphs have.
        guess: gives what would be read of some sizes of the inputs, as `seen`.

    Attributes:
        top: the graph that it reads into; nodes of branches and bodies are in graphs inside it.
        opaque: names of operations that Dovetail does not compute → the reason.
        needed: placeholders of the graph whose values must be known, for some node to be read.
        seen: name of a value, with the scope in which it was read → the value.
        records: of the nodes that are written as they were.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        tensors: Tensors,
        functions: Mapping[tuple[str, str, str], Any],
        variables: dict[str, Variable],
        generators: dict[str, Generator],
        types: Mapping[str, Any],
        repeated: Collection[str],
        guess: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(file)
        self.tensors, self.functions, self.types = tensors, functions, types
        self.variables, self.generators, self._guess = variables, generators, guess
        self.repeated, self.records = repeated, Records()
        self._begin()

    def _begin(self) -> None:
        self.top = self.graph
        self.opaque: dict[str, str] = {}
        self.needed: set[Any] = set()
        self.seen: dict[str, Any] = {}
        self._behind: dict[bool, dict[Any, frozenset[Any]]] = {True: {}, False: {}}  # by `by_shapes`: op → its sources
        self._inner = 0  # the number of nodes in graphs inside the top one that could not be read

    # bodies

    def read(self, body: Body, wanted: Sequence[str]) -> list[Any]:
        """The values of some names; all nodes that they need are read.

        Raises:
            FormatError: a value is made by no node, or needs itself.
        """
        for proto in self.in_order(body, wanted):
            node = Node(self, body, proto)
            with self.counted(node), self.records.reading(node) as results:
                results += self._results(node)
            for name, value in zip(proto.output, results, strict=False):
                body.values[name] = self.seen[self.graph.scope + name] = value
            for name in proto.output[len(results) :]:
                body.values[name] = Foreign(name, f"{node.type} gives {len(results)} results here")
        return [body.find(name) for name in wanted]

    def subgraph(self, node: Node, graph: Any, values: Sequence[Any]) -> list[Any]:
        """The results of a subgraph of a node, whose nodes become part of the graph that is being built.

        Args:
            node: the node.
            graph: the message `GraphProto`.
            values: of its inputs.

        Raises:
            Unreadable: it is no graph.
        """
        if not hasattr(graph, "initializer"):
            raise Unreadable("it has a number or a text in place of a graph")
        path = next((path for path, one in named_parts(node.proto) if one == graph), "")
        prefix = f"{node.body.prefix}{path}"
        given = self.weights(graph, prefix) | dict(zip((value.name for value in graph.input), values, strict=False))
        place = f"the graph {graph.name!r} of {node.name!r}"
        body = Body(
            place, graph.node, node.body.versions, given, node.body, node.body.attrs, graph=graph, prefix=prefix
        )
        return self.read(body, [value.name for value in graph.output])

    def call(self, node: Node, function: Any) -> list[Any]:
        """The results of a function of the model, whose nodes become part of the graph.

        Raises:
            FormatError: the function calls itself.
        """
        attrs = attributes_of(function.attribute_proto, self.tensors, {}) | node.attrs
        given: dict[str, Any] = dict(zip(function.input, node.inputs, strict=False))
        body = Body(f"the function {function.name!r}", function.node, versions_of(function), given, None, attrs)
        with self.calling(function.name, f"{function.domain}:{function.overload}"):
            return self.read(body, list(function.output))

    # nodes

    def _results(self, node: Node) -> list[Any]:
        """The values of a node; it waits, or is an opaque operation, if Dovetail does not compute it."""
        given = [node.body.find(name) for name in needs(node.proto)]
        pending: Any = next((value for value in given if isinstance(value, Pending)), None)
        if pending is not None:
            return self._waiting(node, pending.reason)
        opaque, inner, needed = len(self.opaque), self._inner, set(self.needed)
        try:
            with all_or_nothing():
                values = self._computed(node)
                if self.graph is self.top and self._inner > inner and (self._waits_for(given) or not FOR_ALL.get()):
                    raise Unreadable(next(reversed(self.opaque.values())))
                return values
        except FormatError:
            raise
        except _Absent as error:
            return self._opaque(node, str(error))
        except Exception as error:
            if not is_refusal(error):
                raise
            reason = str(error).rstrip(".")
        self._need_sizes(tensors_in(given))
        waits_for = self._waits_for(given) if self.graph is self.top else None
        if waits_for or (self.graph is self.top and not FOR_ALL.get()):
            for name in [*self.opaque][opaque:]:
                del self.opaque[name]
        if waits_for:
            if waits_for == "shapes":  # the values do not count before these are known
                self.needed = needed
            return self._waiting(node, reason)
        if self.graph is self.top and not FOR_ALL.get():  # no more will be known of what is inside
            self._inner = inner
            with FOR_ALL.scope(True):
                return self._results(node)
        return self._opaque(node, reason)

    def _computed(self, node: Node) -> list[Any]:
        if FOR_ALL.get():
            with self.named(node.name) as results:
                values = read_by_values(node, self._computed)
                results += map(self.recorded, values or ())
            if values is not None:
                return results
        if node.type in SPECIAL:
            return self.named_results(node.name, lambda: listed(SPECIAL[node.type](node)))
        function = self.functions.get(node.key)
        if function is not None:
            with self.named(node.name) as results:
                results += self.call(node, function)
            return results
        row = row_of(node.type, node.version, node.attrs)
        if row is None:
            raise _Absent(f"Dovetail has no rule for ONNX's op {node.type} of version {node.version}")
        if row.body is None and all(attribute.result is None for attribute in row.attributes):
            return by_row(row, node, f"{unique_name(self.graph, node.name)}/")
        return self.named_results(node.name, lambda: by_row(row, node))

    def _opaque(self, node: Node, reason: str) -> list[Any]:
        """The values of a node that Dovetail does not compute."""
        specs: list[Any] = [self.types.get(name) for name in node.proto.output]
        first: Any = next((node.tensor(i).dtype for i, value in enumerate(node.inputs) if is_tensor(value)), None)
        dtypes = [first if spec is None else spec.dtype for spec in specs]
        if None in dtypes:
            return [Foreign(node.name, reason)] * len(dtypes)
        name = unique_name(self.graph, node.name)
        self.opaque[name] = f"{node.type} {node.name!r} is an opaque operation: {reason}"
        self._inner += self.graph is not self.top
        tensors = [node.tensor(i) for i, value in enumerate(node.inputs) if is_tensor(value)]
        op = OpaqueOp(node.type, self.opaque[name])
        shapes = [None if spec is None else spec.shape for spec in specs]
        return opaque_outputs(self.graph, op, tensors, reason, dtypes, shapes, name)

    # nodes that wait

    def may_know(self, values: Sequence[Any]) -> bool:
        """Whether more may be known of some values when the node that takes them is read again."""
        return self._guess is not None and self.graph is self.top and bool(self._waits_for(values))

    def _waits_for(self, values: Sequence[Any]) -> str:
        """What may be known later of what a node takes: shapes, or values; empty if all is known."""
        sources = {source for tensor in tensors_in(values) for source in self._sources(tensor)}
        if any(not source.spec.is_static for source in sources):
            return "shapes"
        return "" if self.needed.isdisjoint(sources) else "values"

    def _waiting(self, node: Node, reason: str) -> list[Any]:
        """The values of a node that waits: tensors, if their dtypes can be told."""
        if self._guess is None or self.graph is not self.top:  # it waited already, or a guess does not help
            raise Waits(reason, self.needed)
        names = [name for name in node.proto.output if name]
        guessed: list[Any] = [self._guess().get(self.graph.scope + name) for name in names]
        values = {name: self._taken(node.body.find(name)) for name in needs(node.proto)}
        part = Part(node.proto, (node.body.place, node.body.versions, node.body.attrs), values)
        dtypes = self._dtypes(node, names, guessed)
        if None in dtypes:
            return [Pending.of(name, reason, part, index) for index, name in enumerate(node.proto.output)]
        tensors = list(dict.fromkeys(tensors_in([*values.values()])))
        reason = f"{node.type} {node.name!r} waits for shapes or values: {reason}"
        op = WaitingOp(node.type, reason, lambda given, name, host: self._again(part, tensors, given, name, host))
        has_ranks = node.type not in OTHER_RANKS
        ranks: list[Any] = [value.shape if has_ranks and is_tensor(value) else None for value in guessed]
        first: Any = node.inputs[0] if node.type in OWN_RANK else None
        if is_tensor(first):  # sizes that were guessed may not fit the weights
            ranks = [first.shape] * len(names)
        shapes = [None if shape is None else (None,) * len(shape) for shape in ranks]
        outputs = op.outputs(self.graph, tensors, dtypes, shapes, unique_name(self.graph, node.name))
        by_name = dict(zip(names, outputs, strict=True))
        return [by_name.get(name) for name in node.proto.output]

    def _taken(self, value: Any) -> Any:
        """A value that a waiting node takes; a weight is a tensor if a node has taken it for one."""
        return self.weight(value) if isinstance(value, Weight) and value.name in self.variables else value

    def _dtypes(self, node: Node, names: Sequence[str], guessed: Sequence[Any]) -> list[Any]:
        """The dtypes of the results of a node that is not read; None for one that is not known."""
        inner = [one for graph in subgraphs(node.proto) for one in graph.output if node.type in OTHER_RANKS]
        inner = inner[-len(guessed) :] if len(guessed) <= len(inner) else []
        dtypes: list[Any] = []
        for index, (name, value) in enumerate(zip(names, guessed, strict=True)):
            spec, number = self.types.get(name), inner[index].type.tensor_type.elem_type if inner else 0
            if value is not None:
                dtypes.append(value.dtype if is_tensor(value) else None)
            else:
                dtypes.append(dtype_of(number) if spec is None else spec.dtype)
        return dtypes

    def _again(
        self, part: Part, before: Sequence[Any], tensors: Sequence[Any], title: str, host: Mapping[str, Any]
    ) -> list[Any]:
        """The results of a node that waited, as tensors.

        Args:
            part: the node.
            before, tensors: the tensors that it took when it was first read, and their counterparts.
            title: its name in the graph.
            host: name of an input that is no tensor → its value.

        Raises:
            Waits: too little is known.
            Unreadable: a result is no tensor.
        """
        again = self.anew()
        known = dict(zip(before, tensors, strict=True))
        with reading(self.file, repr(title)):
            values = again.results_of(part, known, host, {}, title)
        values = [value for name, value in zip(part.proto.output, values, strict=True) if name]
        as_tensors = again.tensors_of(
            [value.tensor if isinstance(value, (Narrow, Later)) else value for value in values]
        )
        if not all(map(is_tensor, as_tensors)):
            raise Unreadable(f"{title!r} gives values that are no tensors")
        return [self.recorded(value) for value in as_tensors]

    def anew(self) -> Reader:
        """A reader of nodes that waited, into the graph that is being built now."""
        again = copy.copy(self)
        again._guess, again.records = None, Records()
        again._begin()
        return again

    def results_of(
        self, part: Part, known: Mapping[Any, Any], host: Mapping[str, Any], read: dict[int, Any], title: str = ""
    ) -> list[Any]:
        """The values that a node gives; `read` has those of others, by their ids."""
        if id(part.proto) not in read:
            place, versions, attrs = part.body
            given = {name: self.filled(value, known, host, read) for name, value in part.values.items()}
            body = Body(place, [part.proto], versions, given, None, attrs, title)
            read[id(part.proto)] = self.read(body, list(part.proto.output))
        return read[id(part.proto)]

    def filled(self, value: Any, known: Mapping[Any, Any], host: Mapping[str, Any], read: dict[int, Any]) -> Any:
        """A value with the tensors and values that are known now."""
        if isinstance(value, list):
            return [self.filled(one, known, host, read) for one in value]
        if isinstance(value, Pending):
            if value.part is None:
                return host.get(value.name, value)
            return self.results_of(value.part, known, host, read)[value.number]
        if isinstance(value, (Narrow, Later)):
            return value._replace(tensor=known.get(value.tensor, value.tensor))
        return known.get(value, value) if isinstance(value, GraphTensor) else value

    # weights

    def weights(self, graph: Any, prefix: str = "") -> dict[str, Any]:
        """The initializers of a graph by name; `prefix` is the path of the graph."""
        arrays = {proto.name: self.tensors.array(proto) for proto in graph.initializer}
        arrays |= {proto.values.name: self.tensors.dense(proto) for proto in graph.sparse_initializer}
        return {name: Weight(self.title(name, prefix), array) for name, array in arrays.items()}

    def title(self, name: str, prefix: str) -> str:
        """The name of a weight in the whole model; a function, whose nodes are in many places, has no weights."""
        if self.is_in_function:
            return ""
        return f"{prefix}{name}" if name in self.repeated else name

    def weight(self, weight: Weight, is_trainable: bool = True) -> Any:
        """A weight as a tensor: floats of the file with axes are variables, others are constants."""
        array = carried(weight.array)
        if array.dtype.name not in FLOATS or not array.ndim or not weight.name:
            if array.dtype.hasobject:
                raise Unreadable(f"{weight.name!r} has strings")
            return self.graph.constant(array, weight.name or "Const")
        if weight.name not in self.variables:
            value = arguments.in_place(array)
            self.variables[weight.name] = Variable(value, name=weight.name, trainable=is_trainable)
        return hooks.read(self.graph, self.variables[weight.name])

    def tensors_of(self, values: Sequence[Any]) -> list[Any]:
        """The values with tensors in place of weights."""
        return [self.weight(value) if isinstance(value, Weight) else value for value in values]

    def need(self, tensor: Any) -> None:
        """Note the inputs of the graph whose values decide on a tensor, since a node needs its value."""
        self.needed |= self._sources(tensor, by_shapes=False)

    @contextmanager
    def decided_by(self, tensor: Any) -> Iterator[None]:
        """Note the inputs that decide on a tensor instead of others that the block needs, if these are numbers alone.

        A branch may need much only since it is not known whether it runs.
        """
        before = set(self.needed)
        try:
            yield
        finally:
            sources = self._sources(tensor, by_shapes=False)
            if sources and before != self.needed and all(source.shape == () for source in sources):
                self.needed = before | sources

    def _need_sizes(self, tensors: Iterable[Any]) -> None:
        """Note the integers among the inputs that decide on unknown dimensions, if nothing else is unknown of them."""
        unknown = [tensor for tensor in tensors if None in (tensor.shape or (None,))]
        sources = {source for tensor in unknown for source in self._sources(tensor)}
        if all(source.spec.is_static for source in sources):
            self.needed |= {source for source in sources if source.dtype.is_integer}

    def _sources(self, tensor: Any, by_shapes: bool = True) -> frozenset[Any]:
        """The inputs of the graph that a tensor is computed from, also those of which the shape alone counts."""
        known = self._behind[by_shapes]
        stack = [tensor] if isinstance(tensor, GraphTensor) else []
        while stack:
            one, behind, own = stack[-1], list[Any](), frozenset[Any]()
            if one.op.type == "Placeholder":
                outer = [key for key, value in getattr(one.op.graph, "captures", {}).items() if value is one]
                behind, own = [key for key in outer if isinstance(key, GraphTensor)], frozenset([] if outer else [one])
            elif by_shapes or one.op.type != "Shape" or self._depends_on_values(one.op.inputs[0]):
                behind = [*one.op.inputs]
            ahead = [other for other in behind if other.op not in known]
            stack += ahead
            if not ahead:
                known[stack.pop().op] = own.union(*(known[other.op] for other in behind))
        return known[tensor.op] if isinstance(tensor, GraphTensor) else frozenset()

    def _depends_on_values(self, tensor: Any) -> bool:
        """Whether the shape of a tensor is not known although all inputs have known shapes."""
        return not tensor.spec.is_static and all(source.spec.is_static for source in self._sources(tensor))


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of the graph in a value, or that a pending one is made of."""
    if isinstance(value, Pending):
        value = [] if value.part is None else [*value.part.values.values()]
    if isinstance(value, (Narrow, Later)):
        value = value.tensor
    if isinstance(value, GraphTensor):
        yield value
    elif isinstance(value, (list, tuple)) and not isinstance(value, (Weight, Foreign)):
        for one in value:
            yield from tensors_in(one)


__all__ = ["Reader", "tensors_in"]
