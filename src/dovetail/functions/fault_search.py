"""Search for faults: a graph computed operation by operation, to find those whose bad numbers reach a result."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.core.base.scopes import unseen
from dovetail.core.calls import dispatch
from dovetail.core.engine import Engine
from dovetail.core.engines.control_flow import HostControl
from dovetail.core.engines.engine_registry import on_engine
from dovetail.core.tensor import Tensor
from dovetail.edit.graph import Graph, Operation
from dovetail.functions.faults import Fault, named_inputs, statistics_of
from dovetail.functions.statistics import Statistics, bad_numbers

Faults = dict[Any, Fault]  # the operation, or the value, that made bad numbers → the first time that it did
CHOICES = ("SelectV2", "Select")


@dataclass(slots=True)
class Value:
    """A value, with the faults whose bad numbers it has; without faults it is finite."""

    tensor: Tensor
    faults: Faults = field(default_factory=dict)


class Replay:
    """A run of a graph without a plan, operation by operation, on one engine.

    Args:
        engine: the engine that computes.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._steps: list[tuple[str, int]] = []  # the loops around the operation that runs
        self._count = 0

    def given(self, kind: str, name: str, value: Any, where: Any = None) -> Value:
        """A value that no operation makes.

        Args:
            kind: "argument", "variable" or "constant".
            name: its name for users.
            value: a native array.
            where: the user's line, if there is one.
        """
        tensor = Tensor(value, self._engine)
        array = bad_numbers(tensor)
        if array is None:
            return Value(tensor)
        return Value(tensor, {(kind, name): self._numbered(Fault(kind, name, where, Statistics.of(array)))})

    def run(self, graph: Graph, given: Sequence[Value]) -> list[Value]:
        """The outputs of a graph; nothing is recorded, and no probe looks."""
        with unseen(), on_engine(self._engine):
            return self._outputs(graph, given)

    def _outputs(self, graph: Graph, given: Sequence[Value]) -> list[Value]:
        values = dict(zip(graph.inputs, given, strict=True))
        for operation in graph.operations:
            if not operation.outputs or operation.outputs[0] not in values:
                results = self._computed(operation, [values[t] for t in operation.inputs])
                values.update(zip(operation.outputs, results, strict=True))
        return [values[t] for t in graph.outputs]

    def _computed(self, operation: Operation, inputs: list[Value]) -> Iterable[Value]:
        if operation.type == "Const":
            array = self._engine.asarray(operation.attrs["value"], operation.outputs[0].dtype)
            return [self.given("constant", operation.name, array, operation.where)]
        if any(isinstance(value, Graph) for value in operation.attrs.values()):
            return self._controlled(operation, inputs)
        if not operation.outputs:
            return []
        arguments = operation.arguments([value.tensor for value in inputs])
        result = dispatch.run(operation.op, arguments, self._engine)
        results = result if operation.op.returns_tuple else (result,)
        return [self._judged(operation, arguments, inputs, tensor) for tensor in results]

    # faults

    def _judged(self, operation: Operation, arguments: list[Any], inputs: list[Value], tensor: Tensor) -> Value:
        """A result of an operation, with the faults that its bad numbers come from."""
        array = bad_numbers(tensor)
        if array is None:
            return Value(tensor)
        reaching = [v for i, v in enumerate(inputs) if v.faults and self._reaches(operation, arguments, i)]
        carried = _union(value.faults for value in reaching)
        result = Statistics.of(array)
        is_new = not carried or (result.nans and all(fault.is_meant for fault in carried.values()))
        return Value(tensor, {operation: self._fault(operation, arguments, result)} if is_new else carried)

    def _reaches(self, operation: Operation, arguments: list[Any], number: int) -> bool:
        """Whether bad numbers of an input are in the result of a choice; other operations pass them on."""
        if operation.type not in CHOICES or number == 0:
            return True
        others = [ops.zeros_like(value) if i not in (0, number) else value for i, value in enumerate(arguments)]
        return bad_numbers(dispatch.run(operation.op, others, self._engine)) is not None

    def _fault(self, operation: Operation, arguments: list[Any], result: Statistics) -> Fault:
        inputs, origin = statistics_of(named_inputs(operation.op, arguments)), operation.origin
        is_gradient = origin.name != operation.name
        where, part_of = (origin.where, origin.type) if is_gradient else (operation.where, "")
        steps = tuple(self._steps)
        return self._numbered(Fault(operation.type, operation.name, where, result, inputs, part_of, steps))

    def _numbered(self, fault: Fault) -> Fault:
        self._count += 1
        return fault._replace(number=self._count)

    # branches and loops

    def _controlled(self, operation: Operation, inputs: list[Value]) -> Iterable[Value]:
        control = HostControl(self._slices, self._stacked, partial(self._nothing, operation), _truth)
        given = operation.arguments(inputs)
        arguments: list[Any] = [
            self._part(operation, v, _step_numbers(operation, given)) if isinstance(v, Graph) else v for v in given
        ]
        if operation.type == "Call":
            return arguments[1](*arguments[0])
        return control.rules()[operation.type](*arguments)

    def _part(self, operation: Operation, graph: Graph, steps: Iterator[int]) -> Callable[..., list[Value]]:
        """A branch, or the condition or the body of a loop, as a function of values."""
        loop = operation.origin.name

        def run(*given: Value) -> list[Value]:
            if operation.type in ("If", "Call"):
                return self._outputs(graph, given)
            self._steps.append((loop, next(steps)))
            try:
                return self._outputs(graph, given)
            finally:
                self._steps.pop()

        return run

    def _slices(self, value: Value) -> list[Value]:
        slices: Any = ops.unstack(value.tensor)
        return [Value(t, {} if bad_numbers(t) is None else value.faults) for t in slices]

    def _stacked(self, values: Sequence[Value]) -> Value:
        return Value(ops.stack([value.tensor for value in values]), _union(value.faults for value in values))

    def _nothing(self, operation: Operation, body: Any, init: Sequence[Value], xs: Any) -> list[Value]:
        specs = [t.spec for t in operation.attrs["body"].outputs[len(init) :]]
        return [Value(ops.zeros((0, *(dim or 0 for dim in spec.shape or ())), spec.dtype)) for spec in specs]


def _step_numbers(operation: Operation, arguments: Sequence[Any]) -> Iterator[int]:
    """The numbers of a loop's steps, in the order in which they run."""
    if not operation.attrs.get("reverse"):
        return itertools.count()
    _, xs, _, _, length, _ = arguments
    return reversed(range(xs[0].tensor.shape[0] if xs else length))


def _truth(value: Value) -> bool:
    return bool(value.tensor)


def _union(many: Iterable[Faults]) -> Faults:
    """All faults; of one operation, the first time."""
    union: Faults = {}
    for faults in many:
        for key, fault in faults.items():
            known = union.get(key)
            union[key] = fault if known is None or fault.number < known.number else known
    return union
