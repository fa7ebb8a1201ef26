"""Reading: nodes of ONNX become operations of the graph that is being built, one after the other.

A reader goes from the wanted results back to the nodes that they need, and calls Dovetail's ops in this order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dovetail.core import arguments
from dovetail.core.errors import FormatError
from dovetail.core.hooks import hooks
from dovetail.core.variable import Variable
from dovetail.formats.building import Building
from dovetail.formats.constants import is_tensor
from dovetail.formats.onnx.attributes import attributes_of
from dovetail.formats.onnx.calls import by_row, listed
from dovetail.formats.onnx.nodes import DEFAULT_DOMAINS, Body, Foreign, Node, Weight, needs
from dovetail.formats.onnx.rows import row_of
from dovetail.formats.onnx.tensors import Tensors, carried
from dovetail.formats.opaque import REFUSALS, OpaqueOp, Unreadable, opaque_outputs
from dovetail.graph.base import unique_name
from dovetail.graph.operation import GraphTensor
from dovetail.ops.random.generator import Generator

DEEPEST = 50  # functions that call each other
FLOATS = ("float16", "bfloat16", "float32", "float64")  # dtypes of weights that become variables
Special = Callable[["Node"], Any]
SPECIAL: dict[str, Special] = {}  # ONNX's type → a function that reads a node


def special(types: str) -> Callable[[Special], Special]:
    """Decorator of a function that reads the nodes of some types that no row can say."""

    def add(function: Special) -> Special:
        SPECIAL.update(dict.fromkeys(types.split(), function))
        return function

    return add


class Reader(Building):
    """A reader of nodes into the graph that is being built.

    Args:
        file: the file, for errors.
        tensors: reads arrays.
        functions: (domain, name, overload) → message `FunctionProto`.
        variables: name of a weight → the variable that was made of it; the reader adds those it makes.
        generators: name of a node → the generator of its random numbers; the reader adds those it makes.
        types: name of a value → the type that the file declares.

    Attributes:
        opaque: names of operations that Dovetail does not compute → the reason.
        needed: placeholders of the graph whose values must be known, for some node to be read.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        tensors: Tensors,
        functions: Mapping[tuple[str, str, str], Any],
        variables: dict[str, Variable],
        generators: dict[str, Generator],
        types: Mapping[str, Any],
    ) -> None:
        self.file, self.tensors, self.functions, self.types = file, tensors, functions, types
        self.variables, self.generators = variables, generators
        self.opaque: dict[str, str] = {}
        self.needed: set[Any] = set()
        self._calling: list[Any] = []

    # bodies

    def read(self, body: Body, wanted: Sequence[str]) -> list[Any]:
        """The values of some names; all nodes that they need are read.

        Raises:
            FormatError: a value is made by no node, or needs itself.
        """
        for proto in self._order(body, wanted):
            node = Node(self, body, proto)
            results = self._results(node)
            for name, value in zip(proto.output, results, strict=False):
                body.values[name] = value
            for name in proto.output[len(results) :]:
                body.values[name] = Foreign(name, f"{node.type} gives {len(results)} results here")
        return [body.find(name) for name in wanted]

    def _order(self, body: Body, wanted: Sequence[str]) -> Iterator[Any]:
        """The nodes that are needed and not read yet, each behind its inputs."""
        open_nodes: set[int] = set()
        stack: list[tuple[str, bool]] = [(name, False) for name in reversed(wanted) if name]
        while stack:
            name, is_ready = stack.pop()
            node = body.maker.get(name)
            if is_ready:
                open_nodes.discard(id(node))
                if name not in body.values:
                    yield node
            elif name not in body.values and (node is not None or body.find(name) is None):
                if node is None:
                    raise FormatError(self.file, body.place, f"a value {name!r}", "the name of a result or an input")
                if id(node) in open_nodes:
                    raise FormatError(self.file, body.place, f"{name!r} among its own inputs", "nodes without circles")
                open_nodes.add(id(node))
                stack.append((name, True))
                stack += [(text, False) for text in reversed(needs(node))]

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
        given = self.weights(graph) | dict(zip((value.name for value in graph.input), values, strict=False))
        place = f"the graph {graph.name!r} of {node.name!r}"
        body = Body(place, graph.node, node.body.versions, given, node.body, node.body.attrs)
        return self.read(body, [value.name for value in graph.output])

    def call(self, node: Node, function: Any) -> list[Any]:
        """The results of a function of the model, whose nodes become part of the graph.

        Raises:
            FormatError: the function calls itself.
        """
        if function in self._calling or len(self._calling) == DEEPEST:
            raise FormatError(self.file, f"the function {function.name!r}", "a function that calls itself", "none")
        attrs = attributes_of(function.attribute_proto, self.tensors, {}) | node.attrs
        given: dict[str, Any] = dict(zip(function.input, node.inputs, strict=False))
        body = Body(f"the function {function.name!r}", function.node, versions_of(function), given, None, attrs)
        self._calling.append(function)
        try:
            return self.read(body, list(function.output))
        finally:
            self._calling.pop()

    # nodes

    def _results(self, node: Node) -> list[Any]:
        """The values of a node, which is an opaque operation if Dovetail does not compute it."""
        try:
            return self._computed(node)
        except FormatError:
            raise
        except REFUSALS as error:
            return self._opaque(node, str(error).rstrip("."))

    def _computed(self, node: Node) -> list[Any]:
        if node.type in SPECIAL:
            with self.named(node) as results:
                results += map(self.recorded, listed(SPECIAL[node.type](node)))
            return results
        function = self.functions.get((node.proto.domain, node.proto.op_type, node.proto.overload))
        if function is not None:
            with self.named(node) as results:
                results += self.call(node, function)
            return results
        row = row_of(node.type, node.version, node.attrs)
        if row is None:
            raise Unreadable(f"Dovetail has no rule for ONNX's op {node.type} of version {node.version}")
        if row.body is None and all(attribute.result is None for attribute in row.attributes):
            return by_row(row, node, f"{unique_name(self.graph, node.name)}/")
        with self.named(node) as results:
            results += map(self.recorded, by_row(row, node))
        return results

    def _opaque(self, node: Node, reason: str) -> list[Any]:
        """The values of a node that Dovetail does not compute."""
        specs: list[Any] = [self.types.get(name) for name in node.proto.output]
        first: Any = next((node.tensor(i).dtype for i, value in enumerate(node.inputs) if is_tensor(value)), None)
        dtypes = [first if spec is None else spec.dtype for spec in specs]
        if None in dtypes:
            return [Foreign(node.name, reason)] * len(dtypes)
        name = unique_name(self.graph, node.name)
        self.opaque[name] = f"{node.type} {node.name!r} is an opaque operation: {reason}"
        tensors = [node.tensor(i) for i, value in enumerate(node.inputs) if is_tensor(value)]
        self._need_sizes(tensors)
        op = OpaqueOp(node.type, self.opaque[name])
        shapes = [None if spec is None else spec.shape for spec in specs]
        return opaque_outputs(self.graph, op, tensors, reason, dtypes, shapes, name)

    # weights

    def weights(self, graph: Any) -> dict[str, Any]:
        """The initializers of a graph by name."""
        return {proto.name: Weight(proto.name, self.tensors.array(proto)) for proto in graph.initializer}

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
        """Note the inputs of the graph that a tensor is computed from, since a node needs its value."""
        self.needed |= self._sources(tensor)

    def _need_sizes(self, tensors: Sequence[Any]) -> None:
        """Note the integers among the inputs that decide on unknown dimensions, if nothing else is unknown of them."""
        unknown = [tensor for tensor in tensors if None in (tensor.shape or (None,))]
        sources = {source for tensor in unknown for source in self._sources(tensor)}
        if all(source.spec.is_static for source in sources):
            self.needed |= {source for source in sources if source.dtype.is_integer}

    def _sources(self, tensor: Any) -> set[Any]:
        """The inputs of the graph that a tensor is computed from."""
        stack, seen, found = [tensor], set[Any](), set[Any]()
        while stack:
            one = stack.pop()
            if not isinstance(one, GraphTensor) or one.op in seen:
                continue
            seen.add(one.op)
            if one.op.type == "Placeholder":
                outer = [key for key, value in getattr(one.op.graph, "captures", {}).items() if value is one]
                found.update([] if outer else [one])
                stack += outer
            stack += one.op.inputs
        return found


def versions_of(owner: Any) -> dict[str, int]:
    """Domain → version, from the imports of a model or a function."""
    return {"" if one.domain in DEFAULT_DOMAINS else one.domain: one.version for one in owner.opset_import}


__all__ = ["SPECIAL", "Reader", "special", "versions_of"]
