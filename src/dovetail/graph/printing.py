"""A graph as text that reads like a program.

    graph step(x: float32[?,3])
      variables w: float32[3,4], b: float32[4]
      MatMul = x @ w                           float32[?,4]   model.py:12
      AddV2  = MatMul + b                      float32[?,4]
      h      = Tanh(AddV2)                     float32[?,4]          :13
      w     := w * 0.99                        float32[3,4]          :20
      return h

A user's line is shown once, at its first operation; small constants are shown inside the calls that use them.  The
engine, the device and the part of an operation are shown at the end, if they are set.
"""

from __future__ import annotations

from collections.abc import Iterator
from os.path import basename
from typing import Any

import numpy as np

from dovetail.core.base.errors import Where
from dovetail.graph.base import GraphBase
from dovetail.graph.operation import GraphTensor, Operation

INFIX = {
    "AddV2": "+", "Sub": "-", "Mul": "*", "RealDiv": "/", "FloorDiv": "//", "FloorMod": "%", "Pow": "**", "MatMul": "@",
    "Equal": "==", "NotEqual": "!=", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=",
    "LogicalAnd": "and", "LogicalOr": "or", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^",
    "LeftShift": "<<", "RightShift": ">>",
}  # fmt: skip
HIDDEN = ("Placeholder", "Const", "ReadVariableOp")  # shown in the head, or in the calls that use them
INLINE = 8  # constants with at most this many elements are shown as values
NAMES, CALLS, SPECS = 24, 64, 16  # the maximum widths of columns


def graph_text(graph: GraphBase, indent: str = "", title: str = "graph") -> str:
    """A graph as text, an operation a line: name, call, dtype and shape, the user's line; subgraphs are indented."""
    inputs = ", ".join(f"{_ref(t)}: {t.spec!r}" for t in graph.inputs)
    lines = [f"{title} {graph.name}({inputs})", *_head(graph)]
    operations = [op for op in graph.operations if op.type not in HIDDEN]
    rows = [(_target(op), _call(op), ", ".join(repr(t.spec) for t in op.outputs)) for op in operations]
    names, calls, specs = (min(max(map(len, column), default=0), most) for column, most in zip(
        zip(*rows, strict=True) if rows else ((), (), ()), (NAMES, CALLS, SPECS), strict=True))  # fmt: skip
    places = _places(operations)
    for op, (name, call, spec), place in zip(operations, rows, places, strict=True):
        equals = ":=" if op.type == "AssignVariableOp" else " ="
        pin = "".join(f"  on {where}" for where in (op.engine, op.device) if where)
        pin += "" if op.part is None else f"  part {op.part}"
        lines.append(f"  {name:<{names}}{equals} {call:<{calls}}  {spec:<{specs}}  {place}{pin}".rstrip())
        for key, value in op.attrs.items():
            if isinstance(value, GraphBase):
                lines.append(graph_text(value, "    ", f"{key}:"))
    lines.append(f"  return {', '.join(map(shown, graph.outputs))}")
    return "\n".join(indent + line for text in lines for line in text.split("\n"))


def _head(graph: GraphBase) -> Iterator[str]:
    operations = graph.operations
    reads = {op.attrs["variable"]: op.outputs[0] for op in operations if op.type == "ReadVariableOp"}
    if reads:
        yield "  variables " + ", ".join(f"{_ref(value)}: {value.spec!r}" for value in reads.values())
    large = [op for op in operations if op.type == "Const" and op.attrs["value"].size > INLINE]
    if large:
        yield "  constants " + ", ".join(f"{op.name}: {constant_text(op)}" for op in large)


def constant_text(op: Operation) -> str:
    """The dtype and shape of a constant, and the range of its numbers."""
    value, spec = op.attrs["value"], op.outputs[0].spec
    if value.dtype.kind not in "iuf" or not np.isfinite(value).all():
        return repr(spec)
    low, high = value.min(), value.max()
    return f"{spec!r}, all {low:.4g}" if low == high else f"{spec!r} from {low:.4g} to {high:.4g}"


def _places(operations: list[Operation]) -> Iterator[str]:
    """Each operation's user line, right-aligned; empty if it is the one before, without the file if that stays."""
    texts = []
    before: Where = None
    for op in operations:
        here = op.where
        if here is None or here == before:
            texts.append("")
        else:
            same_file = before is not None and here[0] == before[0]
            texts.append(f":{here[1]}" if same_file else f"{basename(here[0])}:{here[1]}")
        before = here or before
    width = max(map(len, texts), default=0)
    return (text.rjust(width) for text in texts)


def _target(op: Operation) -> str:
    if op.type == "AssignVariableOp":
        return op.attrs["variable"].name
    return ", ".join(map(_ref, op.outputs))


def _ref(tensor: GraphTensor) -> str:
    """The shown name of a tensor: of its operation or its variable, with a number if it is one of several results."""
    if tensor.op.type == "ReadVariableOp":
        return tensor.op.attrs["variable"].name
    return tensor.op.name if len(tensor.op.outputs) == 1 else tensor.name


def _call(op: Operation) -> str:
    given = [
        (param.name, param.name in op.attrs and param.kind is None, value)
        for param, value in zip(op.op.params, op.args, strict=True)
        if not (param.name in op.attrs and _is_default(value, param.default))
    ]
    values = [value for _, _, value in given]
    if op.type == "AssignVariableOp":
        return shown(op.inputs[0])
    if op.type in INFIX and len(values) == 2:
        return f"{shown(values[0])} {INFIX[op.type]} {shown(values[1])}"
    if op.type == "Neg":
        return f"-{shown(op.inputs[0])}"
    parts = [f"{name}={shown(value)}" if static else shown(value) for name, static, value in given]
    return f"{op.type}({', '.join(parts)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def shown(value: Any) -> str:
    """An argument of an operation as text: tensors and variables by name, small constants by value."""
    if isinstance(value, GraphTensor):
        is_small = value.op.type == "Const" and value.op.attrs["value"].size <= INLINE
        return shown(value.op.attrs["value"]) if is_small else _ref(value)
    if isinstance(value, np.ndarray):
        return np.array2string(value, separator=", ", precision=6).replace("\n", "") if value.ndim else str(value)
    if isinstance(value, tuple) and any(isinstance(v, GraphTensor) for v in value):
        return f"[{', '.join(map(shown, value))}]"
    if callable(value) or isinstance(value, GraphBase):
        return str(getattr(value, "name", None) or getattr(value, "__name__", value))
    return repr(value)
