"""FLOPs: the floating-point operations and the parameters of a graph, by operation and layer, before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dovetail.choose.costs import FREE, flops_of
from dovetail.core.base.errors import op_error
from dovetail.core.base.texts import aligned
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.reach import reach

CARRYING = FREE | {"Cast", "Transpose"}  # ops whose results still are the parameter that they take


@dataclass(frozen=True)
class Cost:
    """The cost of an operation.

    Attributes:
        name: its name in the graph.
        type: its type.
        flops: the floating-point operations; a multiplication and an addition are two.
        parameters: the numbers of the variables that it is the first to use.
    """

    name: str
    type: str
    flops: int
    parameters: int

    @property
    def layer(self) -> str:
        """The name scope of the operation, which is its layer in a Keras model."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True)
class Flops:
    """The costs of a graph; `dt.flops` makes it.

    Attributes:
        rows: the costs of the operations, in their order.
    """

    rows: Sequence[Cost]

    @property
    def total(self) -> int:
        """The floating-point operations of a run."""
        return sum(row.flops for row in self.rows)

    @property
    def parameters(self) -> int:
        """The numbers of all variables."""
        return sum(row.parameters for row in self.rows)

    def by_operation(self) -> dict[str, dict[str, int]]:
        """The costs by the names of operations, as `graph.show(path, data=...)` takes them."""
        return self._by("name")

    def by_layer(self) -> dict[str, dict[str, int]]:
        """The costs by layer: by the name scopes of operations."""
        return self._by("layer")

    def by_type(self) -> dict[str, dict[str, int]]:
        """The costs by the types of operations."""
        return self._by("type")

    def _by(self, key: str) -> dict[str, dict[str, int]]:
        sums: dict[str, dict[str, int]] = {}
        for row in self.rows:
            entry = sums.setdefault(getattr(row, key), {"flops": 0, "parameters": 0})
            entry["flops"] += row.flops
            entry["parameters"] += row.parameters
        return {name: entry for name, entry in sums.items() if any(entry.values())}

    def table(self, by: str = "layer") -> str:
        """The costs as text, with their sum in the last line.

        Args:
            by: "layer", "name" or "type".

        Raises:
            ValueError: another word.
        """
        if by not in ("layer", "name", "type"):
            raise op_error(ValueError, "flops", f"a table by {by!r}: write 'layer', 'name' or 'type'.")
        entries = [*self._by(by).items(), ("total", {"flops": self.total, "parameters": self.parameters})]
        cells = [("FLOPs", "parameters", by), *((f"{e['flops']:,}", f"{e['parameters']:,}", n) for n, e in entries)]
        return "\n".join(aligned(cells, numbers=2))

    def __str__(self) -> str:
        return self.table()


def flops_of_graph(graph: Graph) -> Flops:
    """The costs of what a graph computes.

    Raises:
        ValueError: a shape is not known.
    """
    needed = reach([*graph.outputs, *(op for op in graph.operations if op.is_kept)])  # others are pruned
    for op in needed:
        _require_shapes(op)
    return Flops(costs_of(needed))


def costs_of(operations: Iterable[Operation]) -> list[Cost]:
    """The costs of operations in their order; a variable counts at the first one that computes with it.

    The count of random draws is no parameter.
    """
    costs: list[Cost] = []
    carried: dict[GraphTensor, list[Variable]] = {}
    seen: set[int] = set()
    for op in operations:
        variables = [v for t in op.inputs for v in carried.get(t, ())]
        if op.type == "ReadVariableOp":
            variables = [v for v in (op.attrs["variable"],) if not v.is_counter]
        if op.type in CARRYING:
            carried.update(dict.fromkeys(op.outputs, variables))
            continue
        new = {id(v): v for v in variables if id(v) not in seen and not v.is_counter}
        seen |= new.keys()
        parameters = sum(math.prod(v.shape) for v in new.values())
        costs.append(Cost(op.name, op.type, round(flops_of(op)), parameters))
    return costs


def _require_shapes(op: Operation) -> None:
    for tensor in op.outputs:
        if not tensor.is_static:
            problem = f"the shape of {tensor.name!r} is {tensor.shape}: give arguments whose shapes are known."
            raise op_error(ValueError, "flops", problem, where=op.where)
