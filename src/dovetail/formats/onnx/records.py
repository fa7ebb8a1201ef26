"""Records of nodes that are written as they were, unless their operations are edited: of quantized numbers, and others.

Our operations compute with wider numbers what these nodes compute with integers, so a file of them is larger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dovetail.core.scopes import scopes
from dovetail.formats.constants import is_tensor
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.states import State
from dovetail.graph.operation import Operation

KEPT = {  # types → the last opset that changed them
    **dict.fromkeys(("QLinearConv", "ConvInteger", "MatMulInteger"), 10),
    "DynamicQuantizeLinear": 11,
    "QLinearMatMul": 21,
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), 25),
}
DOMAIN = "com.microsoft"
SHARED = ("Placeholder", "ReadVariableOp")  # types of operations that belong to no node


class Record(NamedTuple):
    """A node that was read into a graph, without being a part of a function.

    Attributes:
        node: the node.
        inputs: the tensor of each of its inputs, or the weight that no operation takes; None for one that is missing.
        results: its results; None for one without a name.
        states: the operations that it became, as they were.
    """

    node: Node
    inputs: list[Any]
    results: list[Any]
    states: dict[Operation, State]

    def is_in(self, opset: int) -> bool:
        """Whether an opset has the node as it is; later ones only add to what a node takes."""
        return opset >= min(self.node.body.versions.get("", 1), KEPT.get(self.node.type, 1))

    def swapped(self, outputs: Collection[Any]) -> dict[Any, Any] | None:
        """The tensors that the node took → the ones that it takes now; None if its operations are edited.

        Args:
            outputs: of the graph.
        """
        given, results = {one for one in self.inputs if is_tensor(one)}, {*self.results}
        now = dict[Any, Any]()
        inner = [t for one in self.states for t in one.outputs if t not in results]
        if any(t in outputs or any(user not in self.states for user in t.consumers()) for t in inner):
            return None
        are_kept = (
            not one.is_removed and state.is_kept(one) and state.swapped(one, given, now)
            for one, state in self.states.items()
        )
        return now if all(are_kept) else None


class Records:
    """The records of one reading.

    Attributes:
        all: the graph itself, or one of a branch or a loop → its records, each behind those of its inputs.
    """

    def __init__(self) -> None:
        self.all: dict[Any, list[Record]] = {}
        self._graphs: list[Any] = []  # whose operations are noted

    def begin(self, graph: Any) -> None:
        """Begin to note the operations that a graph gets, and the graphs inside."""
        graph.changed_ops = []
        self._graphs.append(graph)

    def end(self) -> None:
        """End the reading."""
        for graph in self._graphs:
            graph.changed_ops = None
        self._graphs = []

    @contextmanager
    def reading(self, node: Node) -> Iterator[list[Any]]:
        """Record the node that the `with` block reads, if it may be kept; the block adds its results to the list."""
        results: list[Any] = []
        graph: Any = scopes().graph
        if self._graphs and graph.changed_ops is None:
            self.begin(graph)
        changed = graph.changed_ops if self._graphs else None
        first = len(changed or ())
        yield results
        is_plain = node.type in KEPT or node.type.startswith(f"{DOMAIN}.")
        if changed is None or not is_plain or any(one.ref_attr_name for one in node.proto.attribute):
            return
        named = [value if name else None for name, value in zip(node.proto.output, results, strict=False)]
        inputs = [_inside(graph, node.taken.get(i, value)) for i, value in enumerate(node.inputs)]
        if all(one is None or is_tensor(one) for one in named) and all(
            one is None or is_tensor(one) or isinstance(one, Weight) for one in inputs
        ):
            made = dict.fromkeys(changed[first:])
            states = {one: State.of(one) for one in made if one.type not in SHARED and not one.is_removed}
            self.all.setdefault(graph, []).append(Record(node, inputs, named, states))


def _inside(graph: Any, value: Any) -> Any:
    """A value of a graph around a branch or a loop, as its graph has it."""
    if not is_tensor(value) or value.op.graph is graph:
        return value
    return Weight(value.op.name, value.op.attrs["value"]) if value.op.type == "Const" else graph.captures.get(value, ())
