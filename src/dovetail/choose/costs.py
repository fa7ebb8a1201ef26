"""Costs: the predicted time of a graph on an engine before it is measured there, and of its preparation.

The time of a call is the sum of work / rate over families of ops: products count floating-point operations, most
others bytes.  The rates are a shipped table.  Each graph that is measured here corrects the families that it consists
of, and each new program corrects the start costs of its engine.  A prediction orders and starts candidates;
only measurement settles.

Source: the roofline model of Williams, Waterman and Patterson 2009, with a rate for each family of ops.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.choose.estimates import Estimate
from dovetail.choose.rates import rates
from dovetail.core.base.table import GRADIENTS
from dovetail.core.engines.engine_registry import BUILT_IN
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.reach import reach
from dovetail.passes.composites import body_of

Work = Mapping[str, float]  # by family

SPREAD = 1.0  # the standard deviation of the logarithm of a predicted time
LEARNED = 0.3  # the same, if all families of a graph were corrected here
RATE = 0.5  # the part of its error by which a measurement corrects the families of its graph
UNKNOWN = 32  # the size of an unknown dimension, as a guess
TURNS = 50  # iterations of a loop whose number is unknown, as a guess
OTHER = "map"  # the family of ops that have no other; data that moves takes its time
LOAD, BUILD = "load", "build"  # the families of start costs
THIN = 8  # channels, of the input or the output, below which a convolution is slower
TICK = 1e-4  # seconds: shorter start costs count as if they took that long

FREE = frozenset(["Const", "Placeholder", "ReadVariableOp", "AssignVariableOp", "NoOp", "Identity", "Reshape"])


# -- the work of a graph -----------------------------------------------------------------------------------------


def work_of(*graphs: Graph) -> dict[str, float]:
    """The work of graphs by families, with the number of their ops, and of ops in iterations of loops.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.tanh(x @ x)).graph(dt.spec((10, 10)))
        >>> sorted(work_of(graph).items())
        [('map', 800.0), ('ops', 2.0), ('product', 2000.0)]
    """
    work: defaultdict[str, float] = defaultdict(float)
    for graph in graphs:
        _add(work, graph, 1.0, "ops")
    return work


def _add(found: dict[str, float], graph: Graph, times: float, kind: str) -> None:
    for op in reach([*graph.outputs, *(op for op in graph.operations if op.is_kept)]):  # others are pruned
        if op.type in FREE:
            continue
        parts = op.subgraphs()
        if not parts:
            for family, amount in _work_of(op):
                found[family] += times * amount
            found[kind] += times
        turns = times * _turns(op) if parts and _is_loop(op) else times
        for part in parts:
            _add(found, part, turns, "turns" if turns > times else kind)


def _work_of(op: Operation) -> Iterator[tuple[str, float]]:
    family = OTHER if op.op.cost == "move" else op.op.cost
    if family == "convolution":
        yield "launches", 1.0
        yield _convolution(op)
    elif family == "recurrent":
        yield from _recurrent(op)
    elif family == "product":
        yield family, _product(op)
    elif op.type in PARTS:
        yield family, 2.0 * PARTS[op.type](op)
    else:
        yield family, float(sum(map(_bytes, [*op.inputs, *op.outputs])))  # bytes that it reads and writes


def _bytes_of_last(op: Operation) -> int:
    return _bytes(op.inputs[-1])


def _bytes_made(op: Operation) -> int:
    return sum(map(_bytes, op.outputs))


# Ops that read or write a part of a tensor → the bytes of the part.
PARTS: dict[str, Callable[[Operation], int]] = {
    **dict.fromkeys(["GatherV2", "GatherNd", "Slice", "StridedSlice", "XlaDynamicSlice"], _bytes_made),
    **dict.fromkeys(["XlaDynamicUpdateSlice", "TensorScatterUpdate", "TensorScatterAdd"], _bytes_of_last),
}


def _product(op: Operation) -> float:
    """Floating-point operations of a product of matrices: two for each term of each element of the result."""
    tensors = [t for t in op.inputs if t.shape]
    result = op.outputs[0]
    if len(tensors) < 2 or not _size(result):
        return float(2 * sum(map(_size, tensors)))
    terms = _size(tensors[0]) * (_shape(result) or (1,))[-1] / _size(result)
    return 2.0 * _size(result) * terms


def _recurrent(op: Operation) -> Iterator[tuple[str, float]]:
    """The time steps of a recurrent layer; and two operations for each row of its input and element of its kernels.

    A gradient has two products for each of the layer's.
    """
    products = 2.0 if op.type in GRADIENTS else 1.0
    *batch, steps, _ = (1, 1, *_shape(max(op.inputs, key=lambda t: len(t.shape or ()))))
    yield "steps", products * steps
    kernels = sum(_size(t) for t in op.inputs if len(t.shape or ()) == 2)
    yield "recurrent", 2.0 * products * math.prod(batch) * steps * kernels


def flops_of(op: Operation) -> float:
    """The floating-point operations of an operation: two for each term of a product, and none for data that moves.

    A composite counts as its body, a branch as its largest part, and a loop as often as its length says.  If the
    length is unknown, `TURNS` iterations count.
    """
    if parts := op.subgraphs():
        amounts = [sum(map(flops_of, reach([*part.outputs]))) for part in parts]
        return sum(amounts) * _turns(op) if _is_loop(op) else max(amounts, default=0.0)
    family = op.op.cost
    if op.type in FREE or family == "move":
        return 0.0
    if family == "convolution":
        return _convolution(op)[1]
    if family == "recurrent":
        return dict(_recurrent(op))["recurrent"]
    if family in ("window", "unpool"):
        pooled = min(map(_size, [*op.inputs, *op.outputs]))
        return float(pooled * math.prod(op.attr("size"))) if "Pool" in op.type else 0.0
    if op.type in EACH:
        return EACH[op.type] * _size(op.outputs[0])
    if op.op.body is not None:
        return sum(map(flops_of, reach([*body_of(op).outputs])))
    if family == "product":
        return _product(op)
    if family == "reduction" and "keepdims" in op.op.positions:
        return float(_size(op.inputs[0]) - _size(op.outputs[0]))
    return float(max(map(_size, op.outputs), default=0))


EACH = {"Softmax": 5.0, "LogSoftmax": 5.0}  # for each element, as TensorFlow's profiler counts
CONVOLUTIONS = "convolution", "strided", "thin", "unit", "depthwise"
OPERATIONS = frozenset(["product", "recurrent", "filter", *CONVOLUTIONS])  # families of floating-point operations
TIMES = frozenset(["steps", "launches"])  # families of times that something is done, whatever its size


def _convolution(op: Operation) -> tuple[str, float]:
    """The family of a convolution by its kernel, and the floating-point operations of it or of one of its gradients."""
    kernel = op.args[1] if op.type.endswith("BackpropFilter") else _shape(op.args[1])
    kernel = tuple(kernel) if isinstance(kernel, (tuple, list)) else _shape(op.outputs[0])
    *windows, inner, filters = kernel
    is_gradient = "Backprop" in op.type
    small, strides = (op.args[2], op.args[3]) if is_gradient else (op.outputs[0], op.args[2])
    image = _shape(op.outputs[0] if op.type.endswith("BackpropInput") else op.args[0])
    channels = image[1] if op.args[-1] == "channels_first" else image[-1]
    amount = 2.0 * _size(small) * math.prod(windows) * inner
    if math.prod(windows) == 1:
        return "unit", amount
    if inner == 1 < channels:
        return "depthwise", amount
    if op.type.endswith("BackpropFilter"):
        return "filter", amount
    if max(strides) > 1:
        return "strided", amount
    return "thin" if min(inner, filters) < THIN else "convolution", amount


def _is_loop(op: Operation) -> bool:
    return op.type not in ("If", "Cond", "Call", "Case")


def _turns(op: Operation) -> float:
    """The iterations of a loop: its length, or that of the longest input that the body takes in slices, or a guess."""
    if op.type == "Scan" and op.attr("length") is not None:
        return float(op.attr("length"))
    inner = {shape for part in op.subgraphs() for t in part.inputs if (shape := _shape(t))}
    lengths = [shape[0] for t in op.inputs if (shape := _shape(t)) and shape[1:] in inner and shape not in inner]
    return float(max(lengths, default=TURNS))


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(UNKNOWN if n is None else n for n in tensor.shape or ())


def _size(tensor: GraphTensor) -> int:
    return math.prod(_shape(tensor))


def _bytes(tensor: GraphTensor) -> int:
    return _size(tensor) * tensor.dtype.itemsize


# -- predictions -------------------------------------------------------------------------------------------------


@dataclass
class Corrections:
    """The corrections of the shipped rates by measurements.

    Attributes:
        factors: (engine, family) → the logarithm of measured time / time by the shipped rates; "load" and "build" are
            families, too.
    """

    factors: dict[tuple[str, str], float] = field(default_factory=dict)

    def _correct(self, engine: str, family: str, error: float) -> None:
        """Take in the logarithm by which a measurement differs from its prediction; the first one counts in full."""
        key = engine, family
        self.factors[key] = self.factors.get(key, 0.0) + (1.0 if key not in self.factors else RATE) * error

    def predict(self, engine: str, work: Work) -> Estimate:
        """The predicted seconds of a call on an engine."""
        parts = list(_parts(engine, work))
        seconds = sum(t * math.exp(self.factors.get((engine, family), 0.0)) for family, t in parts)
        known = sum(t for family, t in parts if (engine, family) in self.factors)
        share = known / max(sum(t for _, t in parts), 1e-12)
        return Estimate(math.log(max(seconds, 1e-7)), SPREAD + share * (LEARNED - SPREAD))

    def call_seconds(self, engine: str) -> float:
        """The predicted seconds of a call of a program, without its work."""
        return rates(engine).a_call * math.exp(self.factors.get((engine, "calls"), 0.0))

    def seconds_of(self, engine: str, op: Operation) -> float:
        """The predicted seconds of an operation's work on an engine, without the cost of the call."""
        if op.type in FREE or op.subgraphs():
            return 0.0
        _, *parts = _parts(engine, dict(_work_of(op)))
        return sum(t * math.exp(self.factors.get((engine, family), 0.0)) for family, t in parts)

    def learn(self, engine: str, work: Work, seconds: float) -> None:
        """Take in the seconds that a call of a graph took."""
        parts = list(_parts(engine, work))
        whole = sum(t for _, t in parts)
        error = math.log(max(seconds, 1e-7)) - self.predict(engine, work).mean
        for family, t in parts:
            if t > 0.1 * whole:
                self._correct(engine, family, error)

    def load_seconds(self, engine: str) -> float:
        """The seconds to import an engine's library; 0 if it is imported."""
        if engine in BUILT_IN and BUILT_IN[engine].library in sys.modules:
            return 0.0
        return rates(engine).load * math.exp(self.factors.get((engine, LOAD), 0.0))

    def build_seconds(self, engine: str, work: Work) -> float:
        """The seconds to make a program of a graph."""
        of_engine = rates(engine)
        seconds = of_engine.build + work.get("ops", 0.0) * of_engine.an_op_built
        return seconds * math.exp(self.factors.get((engine, BUILD), 0.0))

    def start_seconds(self, engine: str, work: Work) -> float:
        """The seconds until a graph can run on an engine."""
        return self.load_seconds(engine) + self.build_seconds(engine, work)

    def learn_load(self, engine: str, predicted: float, seconds: float) -> None:
        """Take in the seconds that importing a library took, and the prediction before it."""
        if predicted > 0:
            self._correct(engine, LOAD, math.log(max(seconds, TICK) / predicted))

    def learn_build(self, engine: str, work: Work, seconds: float) -> None:
        """Take in the seconds that making a program took."""
        self._correct(engine, BUILD, math.log(max(seconds, TICK) / self.build_seconds(engine, work)))


known = Corrections()


def _parts(engine: str, work: Work) -> Iterator[tuple[str, float]]:
    """The families of a graph, each with its seconds by the shipped rates."""
    of_engine = rates(engine)
    yield "calls", of_engine.a_call + work.get("ops", 0.0) * of_engine.an_op + work.get("turns", 0.0) * of_engine.a_turn
    for family, amount in work.items():
        if family not in ("ops", "turns"):
            yield family, amount / of_engine.work.get(family, of_engine.work[OTHER])


def moving_seconds(sizes: Sequence[int]) -> float:
    """The seconds to move variables of these sizes, in bytes, from one engine to another."""
    return sum(sizes) / 2e9 + 5e-6 * len(sizes)
