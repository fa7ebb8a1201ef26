"""An engine that only compiles whole graphs, as ONNX Runtime and OpenVINO do: it has no rule for a single op.

It compiles a graph to a list of NumPy calls, made from `segment.graph` alone. Its arrays have no attributes and methods
of NumPy's, so only the engine can read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.engine import Engine, Rules

# The ops it can compile: op → a function from its arguments, in the order of its parameters, to the result.
CONVERTED = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Exp": np.exp,
    "Tanh": np.tanh,
    "Square": np.square,
    "Neg": np.negative,
    "BroadcastTo": np.broadcast_to,
    "Reshape": np.reshape,
    "Sum": lambda x, axis, keepdims: np.sum(x, axis, keepdims=keepdims),
    "MatMul": lambda x, y, ta, tb: (x.T if ta else x) @ (y.T if tb else y),
}


class Box:
    """An array of this engine's."""

    __slots__ = ("inside",)

    def __init__(self, inside: np.ndarray) -> None:
        self.inside = inside


class WholeGraphEngine(Engine):
    name = "whole"
    compiles_programs = True
    specializes = True
    static_shapes = True
    claimed = frozenset(CONVERTED)

    shape = staticmethod(lambda value: value.inside.shape)
    native_dtype_of = staticmethod(lambda value: value.inside.dtype)

    def version(self):
        return "1"

    def owns_type(self, kind):
        return kind is Box

    def asarray(self, value, dtype, device=None):
        return Box(np.array(value, dtype.numpy))

    def to_numpy(self, value):
        return value.inside

    def copy(self, value):
        return Box(value.inside.copy())

    def from_dlpack(self, value):
        return Box(np.from_dlpack(value))

    def compile(self, segment):
        graph = segment.graph
        given = {t.op for t in graph.inputs}
        constants = {op.outputs[0]: op.attrs["value"] for op in graph.operations if op.type == "Const"}
        calls = [
            (op.outputs[0], CONVERTED[op.type], op) for op in graph.operations if op not in given and op.type != "Const"
        ]

        def run(*boxes: Box) -> tuple[Any, ...]:
            known = {**constants, **{t: box.inside for t, box in zip(graph.inputs, boxes, strict=True)}}
            for result, function, op in calls:
                known[result] = function(*op.arguments([known[t] for t in op.inputs]))
            return tuple(Box(np.asarray(known[t])) for t in graph.outputs)

        return run


engine = WholeGraphEngine(Rules())
