"""A graph as text that reads like a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.errors import describe, place
from dovetail.graph.ir import Graph, GraphTensor, Operation


def graph_text(graph: Graph, indent: str = "") -> str:
    """The graph, an operation a line: `name = Type(arguments)   dtype[shape]   file:line`; subgraphs indented."""
    shown = [op for op in graph.operations if op.type not in ("Placeholder", "Const")]
    rows = [(f"{', '.join(map(_ref, op.outputs))} = {_call(op)}", op) for op in shown]
    width = min(max((len(text) for text, _ in rows), default=0), 88)
    arguments = ", ".join(f"{_ref(t)}: {t.spec!r}" for t in graph.inputs)
    lines = [f"{indent}graph {graph.name}({arguments})"]
    for text, op in rows:
        specs = ", ".join(repr(t.spec) for t in op.outputs)
        lines.append(f"{indent}  {text:<{width}}  {specs:<16} {place(op.where)}".rstrip())
        lines += [graph_text(v, indent + "    ") for v in op.attrs.values() if isinstance(v, Graph)]
    lines.append(f"{indent}  return {', '.join(map(_ref, graph.outputs))}")
    return "\n".join(lines)


def _ref(tensor: GraphTensor) -> str:
    return tensor.op.name if len(tensor.op.outputs) == 1 else tensor.name


def _call(op: Operation) -> str:
    parts = []
    for param, value in zip(op.op.params, op.args, strict=True):
        if value is None or (not isinstance(value, GraphTensor) and value == param.default):
            continue
        static = not isinstance(value, (GraphTensor, tuple)) or param.name in op.attrs
        parts.append(f"{param.name}={_show(value)}" if static and not isinstance(value, GraphTensor) else _show(value))
    return f"{op.type}({', '.join(parts)})"


def _show(value: Any) -> str:
    if isinstance(value, GraphTensor):
        if value.op.type == "Const":
            array = value.op.attrs["value"]
            return repr(array.item()) if array.ndim == 0 else describe(array)
        return _ref(value)
    if isinstance(value, tuple) and any(isinstance(v, GraphTensor) for v in value):
        return "[" + ", ".join(map(_show, value)) + "]"
    if isinstance(value, Graph):
        return value.name
    return describe(value) if isinstance(value, np.ndarray) else str(getattr(value, "name", value))
