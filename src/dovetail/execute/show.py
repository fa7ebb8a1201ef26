"""Show: the picture of a plan: the segments of its engines, and the transfers between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.execute.exchanges import exchange_text, exchanges_of
from dovetail.execute.placement import place_of
from dovetail.execute.schedule import SegmentCall, Transfer
from dovetail.execute.segment import Segment
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.execute.plan import Plan
    from dovetail.formats.pictures.picture import Data, Picture

MOVE = "Move"  # the type of nodes that stand for transfers


def plan_picture(plan: Plan, data: Data | None = None) -> Picture:
    """The picture of a plan."""
    from dovetail.formats.pictures.picture import Painter

    return _Plan(plan, Painter(plan.graph.name, data)).picture()


class _Plan:
    """A plan while it is painted; `known` has the nodes of values, by the schedule's numbers."""

    def __init__(self, plan: Plan, painter: Any) -> None:
        self.plan, self.painter = plan, painter
        self.known: dict[int, tuple[int, int]] = {}

    def picture(self) -> Picture:
        segments = 0
        for step in self.plan.schedule.steps:
            if isinstance(step, Transfer):
                self._move(step)
            else:
                segments += 1
                self._segment(step, segments)
        self._results()
        return self.painter.picture

    def _value(self, number: int, tensor: GraphTensor) -> tuple[int, int]:
        """The node of a value; one of the plan's arguments or variables is added when it is first taken."""
        if number not in self.known:
            variable = number - self.plan.argument_count
            if variable < 0:
                self.known[number] = self.painter.add(tensor.op), 0
            else:
                name = self.plan.variables[variable].name
                self.known[number] = self._node(name, "ReadVariableOp", name, repr(tensor.spec)), 0
                self.painter.picture.nodes[self.known[number][0]].outputs = [repr(tensor.spec)]
        return self.known[number]

    def _node(self, name: str, kind: str, title: str, subtitle: str, **more: Any) -> int:
        from dovetail.formats.pictures.picture import Node

        return self.painter.add_node(Node(name, kind, title, subtitle, **more))

    def _move(self, step: Transfer) -> None:
        facts = {"bytes": step.size, "time": step.seconds[0] * 1e6 if step.seconds else None}
        known = {key: value for key, value in facts.items() if value is not None}
        path = f"{step.sender.engine.name} → {step.receiver.engine.name}"
        taken = [self._value(step.takes[0], step.tensor)]
        spec = [repr(step.tensor.spec)]
        self.known[step.target] = self._node("move", MOVE, MOVE, path, inputs=taken, outputs=spec, facts=known), 0

    def _segment(self, step: SegmentCall, number: int) -> None:
        segment = step.segment
        given = dict(zip(segment.inputs, step.takes, strict=False))  # spare arrays follow
        for tensor, value in given.items():
            self.painter.values[tensor] = self._value(value, tensor)
        exchanges = {op: {"exchange": exchange_text(op)} for op in exchanges_of(segment.graph)}

        def facts(op: Operation) -> dict[str, Any]:
            return _facts(op, segment, number) | exchanges.get(op, {})

        for op in segment.graph.operations:
            if not (op.outputs and op.outputs[0] in given):
                self.painter.add(op, facts)
        for offset, tensor in enumerate(segment.outputs):
            self.known[step.first + offset] = self.painter.values[tensor]

    def _results(self) -> None:
        """Add the results, and the variables that are assigned."""
        from dovetail.formats.pictures.picture import OUTPUT

        numbers, nodes = self.plan.schedule.returned, self.painter.picture.nodes
        count = len(numbers) - len(self.plan.assigned)
        for place, value in enumerate(numbers):
            if value not in self.known:  # an argument that no segment takes
                continue
            node, output = self.known[value]
            spec, taken = nodes[node].outputs[output], [self.known[value]]
            if place < count:
                self._node("output" if count == 1 else f"output_{place}", OUTPUT, OUTPUT, spec, inputs=taken)
            else:
                name = self.plan.assigned[place - count].name
                self._node(name, "AssignVariableOp", f"{name} :=", spec, inputs=taken)


def _facts(op: Operation, segment: Segment, number: int) -> dict[str, Any]:
    engine, device, _ = place_of(op, segment.place)
    facts = {"engine": engine.name, "device": device or engine.devices()[0]}
    return facts | {"segment": f"{number} {segment.engine.name}"}
