"""An engine of an outside package that only compiles whole graphs, as ONNX Runtime and OpenVINO do.

It compiles a graph to a list of NumPy calls, made from `segment.graph` alone.  It has no rule for a single op, and no
arrays of its own: the engine numpy computes single calls and holds the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.engine import Engine
from dovetail.core.rules import Rules

# The ops it can compile: op → a function from its arguments, in the order of its parameters, to the result.
CONVERTED = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": np.divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Tanh": np.tanh,
    "Square": np.square,
    "Neg": np.negative,
    "Abs": np.abs,
    "Equal": np.equal,
    "SelectV2": np.where,
    "BroadcastTo": np.broadcast_to,
    "Reshape": np.reshape,
    "Sum": lambda x, axis, keepdims: np.sum(x, axis, x.dtype, keepdims=keepdims),
    "MatMul": lambda x, y, ta, tb: (np.swapaxes(x, -1, -2) if ta else x) @ (np.swapaxes(y, -1, -2) if tb else y),
}
DTYPES = ("bool", "int32", "int64", "float32", "float64")


class WholeGraphEngine(Engine):
    name = "whole"
    eager = "numpy"
    compiles_programs = True
    specializes = True
    static_shapes = True
    claimed = frozenset(CONVERTED)

    def version(self):
        return "1"

    def claims(self, operation):
        return self.claimed if all(t.dtype in DTYPES for t in (*operation.inputs, *operation.outputs)) else ()

    def compile(self, segment):
        graph = segment.graph
        given = {t.op for t in graph.inputs}
        constants = {op.outputs[0]: op.attrs["value"] for op in graph.operations if op.type == "Const"}
        calls = [
            (op.outputs[0], CONVERTED[op.type], op) for op in graph.operations if op not in given and op.type != "Const"
        ]

        def run(*arrays: np.ndarray) -> tuple[Any, ...]:
            known = {**constants, **dict(zip(graph.inputs, arrays, strict=True))}
            with np.errstate(all="ignore"):
                for result, function, op in calls:
                    known[result] = function(*op.arguments([known[t] for t in op.inputs]))
            return tuple(np.array(known[t]) for t in graph.outputs)

        return run


engine = WholeGraphEngine(Rules())
