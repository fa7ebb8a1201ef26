"""Programs without variables as models of ONNX, for libraries that compile whole graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.formats.onnx.encoding import tensor_proto
from dovetail.formats.onnx.writing import IR_VERSIONS, Writer


def program(graph: Any) -> bytes:
    """The bytes of a model of a graph without variables, whose inputs and outputs have the graph's order.

    The model has the lowest opset, or the newest one if that has an operator that the lowest lacks.

    Raises:
        NotImplementedError, ValueError: as for `Writer.model`.
        TypeError: ONNX lacks a dtype.
    """
    try:
        return _program(graph, min(IR_VERSIONS))
    except NotImplementedError:
        return _program(graph, max(IR_VERSIONS))


def _program(graph: Any, opset: int) -> bytes:
    writer = Writer(opset)
    message = writer.model(graph, _numbered("input", graph.inputs), _numbered("output", graph.outputs))
    message.graph.initializer.extend(tensor_proto(array, name) for name, array in writer.initializers.items())
    return message.SerializeToString()


def _numbered(name: str, tensors: Sequence[Any]) -> dict[str, Any]:
    return {f"{name}_{number}": tensor for number, tensor in enumerate(tensors)}
