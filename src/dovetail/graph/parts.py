"""Parts: the methods of Graph that take a part of it out, and put another graph in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

from dovetail.graph.edit import Editing
from dovetail.graph.inference import infer_from, set_shape
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import GraphTensor
from dovetail.graph.partial import known_ints
from dovetail.graph.reach import reach
from dovetail.graph.transplant import Variables, transplant
from dovetail.ops.control.plumbing import EFFECTS

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph


class Parts(Editing):
    """The methods of `Graph` that take parts out and put graphs in."""

    def subgraph(self, outputs: Sequence[GraphTensor], inputs: Sequence[GraphTensor] = ()) -> Graph:
        """The part that computes some tensors from others, as a graph of its own.

        Args:
            outputs: what the new graph returns.
            inputs: tensors that become its inputs, in this order; any tensor can be one.

        Raises:
            ValueError: the outputs need an input of this graph that is not among the inputs given, or a tensor is of
                another graph or was removed.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> h = dt.ops.tanh(x)
            >>> len(graph.subgraph([h + 1], [h]))
            3
        """
        part = cast("type[Graph]", type(self))(f"{self.name}_part")
        for tensor in (*outputs, *inputs):
            self.check_tensor(tensor)
        needed = reach(outputs, given=inputs)
        missing = [op.name for op in needed if op.type == "Placeholder"]
        if missing:
            raise ValueError(f"the outputs need {', '.join(map(repr, missing))}: add what they need to the inputs.")
        part.outputs = transplant(needed, part, inputs=inputs, own=True).of(outputs)
        return part

    def import_graph(
        self, graph: Graph, input_map: Mapping[Any, GraphTensor] | None = None, name: str = ""
    ) -> list[GraphTensor]:
        """Copies another graph's program, with its assignments of variables, into this one.

        A gradient override map around the call applies to the copies, before the one that they were made under.

        Args:
            graph: is not changed.
            input_map: tensors of `graph`, or their names → tensors of this graph that stand for them.  Inputs of
                `graph` that are not named become inputs of this graph.
            name: a name scope for the copies.

        Returns:
            This graph's tensors for the outputs of `graph`.

        Raises:
            KeyError: there is no tensor of a name.
            TypeError, ValueError, IndexError: a dtype or shape does not fit, or a tensor is of another graph than is
                needed, or was removed; then this graph is as it was.

        Example:
            >>> import dovetail as dt
            >>> scale, graph = dt.Graph("scale"), dt.Graph()
            >>> scale.outputs = [scale.placeholder(dt.spec((None,)), "x") * 2.0]
            >>> graph.import_graph(scale, {"x": graph.placeholder(dt.spec((3,)), "y")}, name="scaled")
            [<graph tensor scaled/Mul:0 float32[3]>]
        """
        given = self._input_map(graph, input_map or {})
        effects = [t for op in graph.operations if op.type in EFFECTS for t in op.outputs]
        open_inputs = [t for t in graph.inputs if t not in given]
        part = graph.subgraph([*graph.outputs, *effects], [*given, *open_inputs])
        for own, tensor in zip(part.inputs, given.values(), strict=False):
            set_shape(own, tensor.shape)
        infer_from([op for tensor in part.inputs[: len(given)] for op in tensor.consumers()])
        target = cast("Graph", self)
        with all_or_nothing(), self.name_scope(name) if name else nullcontext():
            target.state.keep_for_undo()
            new = (self.placeholder(t.spec, t.op.name, known=known_ints(t)) for t in open_inputs)
            inputs = [*given.values(), *new]
            mapped = dict(zip(part.inputs, inputs, strict=True))
            copies = transplant(part.operations, target, mapped, variables=Variables.READ, own=True)
            return copies.of(part.outputs[: len(graph.outputs)])

    def _input_map(self, graph: Graph, input_map: Mapping[Any, GraphTensor]) -> dict[GraphTensor, GraphTensor]:
        given = {graph.get_tensor(k) if isinstance(k, str) else k: tensor for k, tensor in input_map.items()}
        for old, tensor in given.items():
            try:
                graph.check_tensor(old)
                self.check_tensor(tensor)
            except ValueError as error:
                problem = f"input_map must map tensors of {graph.name!r} to tensors of {self.name!r}"
                raise ValueError(f"{problem}, not {old!r} to {tensor!r}: {error}") from None
            if old.dtype != tensor.dtype:
                raise TypeError(f"{tensor!r} cannot stand for {old!r}: the dtypes differ; cast it first.")
        return given
