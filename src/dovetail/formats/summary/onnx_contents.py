"""Summaries of ONNX models: facts, inputs and outputs, types of nodes, weights, metadata."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail.formats.onnx.declared import DEFAULT_DOMAINS, type_of, versions_of
from dovetail.formats.onnx.tensors import DTYPES, PACKED
from dovetail.formats.summary.base import Summary, Table, Value, marked, operations, signature, summary, values
from dovetail.formats.summary.source import Source
from dovetail.formats.wire.messages import ONNX
from dovetail.formats.wire.slim import slim


def contents_of(source: Source) -> Summary:
    """The summary of an ONNX model.

    Raises:
        FormatError: it is damaged.
    """
    model = slim(ONNX.ModelProto, source.data, source.path)
    graph, functions = model.graph, {function.name for function in model.functions}
    known = {tensor.name for tensor in graph.initializer}
    ends = [("input", one) for one in graph.input if one.name not in known]
    ends += [("output", one) for one in graph.output]
    inner = Counter(_type(node, functions) for function in model.functions for node in _every(function.node))
    metadata = [(one.key, one.value) for one in model.metadata_props]
    facts = {
        "written by": f"{model.producer_name} {model.producer_version}".strip(),
        "opset": ", ".join(f"{domain or 'ai.onnx'} {n}" for domain, n in versions_of(model).items()),
        "IR version": model.ir_version,
        "functions": len(functions),
    }
    tables = [
        signature(((graph.name, way, _value(one)) for way, one in ends), "graph"),
        operations({"graph": Counter(_type(node, functions) for node in _every(graph.node)), "functions": inner}),
        values("weights", map(_weight, graph.initializer)),
        Table("metadata", ("name", "value"), metadata),
    ]
    return summary(source.path, "ONNX model", facts, tables)


def _every(nodes: Any) -> Iterator[Any]:
    """Nodes, and those of the graphs inside them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _every(graph.node)


def _type(node: Any, functions: set[str]) -> str:
    """The type of a node; it is marked as opaque if nothing computes it."""
    name = node.op_type if node.domain in DEFAULT_DOMAINS else f"{node.domain}.{node.op_type}"
    return name if node.op_type in functions else marked("onnx", name)


def _value(info: Any) -> Value:
    declared = type_of(info.type)
    dtype = _dtype(declared.number)
    return Value(info.name, dtype if declared.kind == "tensor" else f"{declared.kind} of {dtype}", declared.shape)


def _weight(tensor: Any) -> Value:
    shape, number = tuple(tensor.dims), tensor.data_type
    bits = PACKED.get(number) or 8 * DTYPES[number].itemsize if number in DTYPES else 0
    return Value(tensor.name, _dtype(number), shape, -(-math.prod(shape) * bits // 8))


def _dtype(number: int) -> str:
    """The name of a dtype of ONNX."""
    if number not in DTYPES:
        return "?"
    return "string" if DTYPES[number].hasobject else DTYPES[number].name
