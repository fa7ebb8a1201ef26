"""Layouts: Transposes around operators whose channels come first move on, and cancel out.

A Transpose moves behind an operator whose other inputs are constants, or moved by the same order.  One that meets
another becomes one with it, or nothing.  Operators that only order constants are computed, so kernels need none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dovetail.formats.nodes.writing import unique
from dovetail.formats.onnx.encoding import attribute
from dovetail.formats.onnx.nodes import subgraphs
from dovetail.formats.wire.messages import ONNX

UNARY = (
    "Abs Cast Ceil Celu Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish Neg Not Reciprocal Relu Round"
)
UNARY += " Selu Sigmoid Sign Softplus Softsign Sqrt Swish Tanh ThresholdedRelu"
BINARY = "Add Sub Mul Div Pow Max Min Equal Greater Less GreaterOrEqual LessOrEqual And Or Where Clip"
EACH = {*UNARY.split(), *BINARY.split()}  # they compute each element by itself
REDUCED = {f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min", "Prod", "L2", "LogSumExp")}

Order = tuple[int, ...]


def attrs_of(node: Any) -> dict[str, Any]:
    """The numbers and lists among the attributes of a node."""
    kinds = ONNX.AttributeProto
    return {
        one.name: list(one.ints) if one.type == kinds.INTS else one.i
        for one in node.attribute
        if one.type in (kinds.INTS, kinds.INT)
    }


def _ordered(array: np.ndarray, order: Order) -> np.ndarray | None:
    """A constant for an operator before a Transpose, in place of one behind it; None if its rank is too large."""
    if array.size == 1 or array.ndim > len(order):
        return array if array.size == 1 else None
    return np.transpose(array.reshape((1,) * (len(order) - array.ndim) + array.shape), np.argsort(order))


COMPUTED: Mapping[str, Callable[..., Any]] = {  # operators of constants: (attributes, *arrays) → results
    "Transpose": lambda attrs, x: [np.transpose(x, attrs.get("perm"))],
    "Unsqueeze": lambda attrs, x, axes: [np.expand_dims(x, tuple(axes))],
    "Reshape": lambda attrs, x, shape: [x.reshape(shape)],
    "Concat": lambda attrs, *xs: [np.concatenate(xs, attrs["axis"])],
    "Split": lambda attrs, x, sizes=None: np.split(
        x, attrs["outputs"] if sizes is None else np.cumsum(sizes)[:-1], attrs["axis"]
    ),
}


class Layouts:
    """The nodes of a graph, whose Transposes move.

    Args:
        graph: the message, which is edited.
        initializers: name → array, if it may be changed; new ones are added.
        outputs: the names of values that stay.
        names: the names of values that are taken.
        nodes: the names of nodes that are taken.
    """

    def __init__(
        self, graph: Any, initializers: dict[str, np.ndarray], outputs: set[str], names: set[str], nodes: set[str]
    ) -> None:
        self._graph, self._arrays, self._outputs, self._names, self._nodes = graph, initializers, outputs, names, nodes
        self._moved: dict[str, tuple[str, Order]] = {}  # result of a Transpose → its input and its order
        self._same: dict[str, str] = {}  # value → the value that it is
        self._uses = Counter(_texts(graph))

    def arrange(self) -> None:
        """Move and cancel Transposes, and drop nodes without users."""
        nodes = []
        for node in self._graph.node:
            node.input[:] = [self._same.get(text, text) for text in node.input]
            nodes += self._arranged(node)
        for node in nodes:
            for inner in subgraphs(node):
                rename(inner, self._same)
        kept = []
        used = Counter(self._outputs)
        for node in reversed(nodes):
            if any(text and used[text] for text in node.output):
                kept.append(node)
                used.update(node.input)
                used.update(text for inner in subgraphs(node) for text in _texts(inner))
        for name in [name for name in self._arrays if not used[name]]:
            del self._arrays[name]
        del self._graph.node[:]
        self._graph.node.extend(reversed(kept))

    def _arranged(self, node: Any) -> list[Any]:
        if node.op_type in COMPUTED and self._compute(node):
            return []
        if node.op_type == "Transpose":
            return self._transposed(node)
        orders = {self._moved[text][1] for text in node.input if text in self._moved}
        if len(orders) != 1 or len(node.output) != 1:
            return [node]
        (order,) = orders
        moved = self._behind(node, order)
        return [node] if moved is None else moved

    def _compute(self, node: Any) -> bool:
        """Compute an operator of constants."""
        if any(text not in self._arrays for text in node.input) or self._outputs & {*node.output}:
            return False
        arrays = COMPUTED[node.op_type](
            attrs_of(node) | {"outputs": len(node.output)}, *(self._arrays[text] for text in node.input)
        )
        for text, array in zip(node.output, arrays, strict=True):
            source = node.input[0]
            is_only = len(arrays) == 1 and node.op_type == "Transpose" and self._uses[source] == 1
            name = source if is_only else text
            self._arrays[name] = np.ascontiguousarray(array)
            self._uses[name] = self._uses[text]
            self._same[text] = name
        return True

    def _transposed(self, node: Any) -> list[Any]:
        if "perm" not in attrs_of(node):
            return [node]
        source, order = node.input[0], tuple(attrs_of(node)["perm"])
        if source in self._moved:
            source, before = self._moved[source]
            order = tuple(before[axis] for axis in order)
        (text,) = node.output
        if order == tuple(range(len(order))):
            self._same[text] = source
            return [ONNX.NodeProto(op_type="Identity", name=node.name, input=[source], output=[text])]
        self._moved[text] = source, order
        return [_transpose(node.name, source, text, order)]

    def _behind(self, node: Any, order: Order) -> list[Any] | None:
        """An operator with a Transpose behind it in place of those before it; None if it cannot move."""
        inputs, new, result = list(node.input), ONNX.NodeProto(), order
        new.CopyFrom(node)
        fresh: dict[int, np.ndarray] = {}
        if node.op_type in REDUCED:
            array = self._arrays.get(inputs[1]) if len(inputs) > 1 else None
            if array is None:
                return None
            axes = [order[axis] for axis in array]
            fresh[1] = np.array(axes, np.int64)
            kept = [axis for axis in order if axis not in axes or attrs_of(node).get("keepdims", 1)]
            result = tuple(sorted(kept).index(axis) for axis in kept)
        elif node.op_type == "Concat":
            if any(text not in self._moved for text in inputs):
                return None
            axis = next(one for one in new.attribute if one.name == "axis")
            axis.i = order[axis.i]
        elif node.op_type == "Pad":
            array = self._arrays.get(inputs[1])
            if array is None or len(inputs) > 3:
                return None
            fresh[1] = array.reshape(2, -1)[:, np.argsort(order)].reshape(-1)
        elif node.op_type in EACH:
            for number, text in enumerate(inputs):
                if text and text not in self._moved:
                    array = self._arrays.get(text)
                    ordered = None if array is None else _ordered(array, order)
                    if ordered is None:
                        return None
                    if ordered is not array:
                        fresh[number] = ordered
        else:
            return None
        for number, text in enumerate(inputs):
            if text in self._moved:
                new.input[number] = self._moved[text][0]
            elif number in fresh:
                new.input[number] = self._constant(text, fresh[number])
        (text,) = node.output
        if result == tuple(range(len(result))):
            return [new]
        new.output[0] = unique(f"{text}/ordered", self._names)
        self._moved[text] = new.output[0], result
        return [new, _transpose(unique(f"{node.name}/Transpose", self._nodes), new.output[0], text, result)]

    def _constant(self, text: str, array: np.ndarray) -> str:
        """The name of a constant in another order; it keeps its name if nothing else takes it."""
        name = text if self._uses[text] == 1 else unique(f"{text}/ordered", self._names)
        self._arrays[name] = np.ascontiguousarray(array)
        self._uses[name] += 0 if name == text else 1
        return name


def _transpose(name: str, source: str, text: str, order: Order) -> Any:
    node = ONNX.NodeProto(op_type="Transpose", name=name, input=[source], output=[text])
    node.attribute.append(attribute("perm", order))
    return node


def _texts(graph: Any) -> Iterator[str]:
    """The names that nodes of a graph, and of the graphs inside, take."""
    for node in graph.node:
        yield from node.input
        for inner in subgraphs(node):
            yield from _texts(inner)
    yield from (one.name for one in graph.output)


def rename(graph: Any, names: Mapping[str, str]) -> None:
    """Rename values of a graph, and of the graphs inside."""
    for node in graph.node:
        for texts in (node.input, node.output):
            if any(text in names for text in texts):
                texts[:] = [names.get(text, text) for text in texts]
        for inner in subgraphs(node):
            rename(inner, names)
            for one in (*inner.input, *inner.output):
                one.name = names.get(one.name, one.name)
