"""Programs without variables as models of ONNX, for libraries that compile whole graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.formats.onnx.encoding import tensor_proto
from dovetail.formats.onnx.writing import IR_VERSIONS, USUAL, Writer
from dovetail.ops.control.plumbing import PRINTS


def program(graph: Any, known: Mapping[int, Any]) -> bytes:
    """The bytes of a model of a graph without variables, whose inputs and outputs have the graph's order.

    The model has the usual opset, or the newest one if that has an operator that the usual one lacks.

    Args:
        graph: the graph.
        known: the numbers of inputs that are constants of the model, and their arrays.

    Raises:
        NotImplementedError: as for `Writer.model`; or an operation calls Python, which a model cannot.
        ValueError: as for `Writer.model`.
        TypeError: ONNX lacks a dtype.
    """
    for part in graph.everywhere():
        for operation in part.of_types(PRINTS):
            problem = f"{operation.name!r} calls Python each time that it runs, and a model of ONNX cannot."
            raise op_error(NotImplementedError, operation.type, problem, where=operation.where)
        for operation in part.of_types(("EnsureShape",)):
            if operation.inputs[0].shape != operation.outputs[0].shape:
                problem = f"{operation.name!r} checks a shape that is known when it runs, and a model of ONNX cannot."
                raise op_error(NotImplementedError, operation.type, problem, where=operation.where)
    try:
        return _program(graph, known, USUAL)
    except NotImplementedError:
        return _program(graph, known, max(IR_VERSIONS))


def _program(graph: Any, known: Mapping[int, Any], opset: int) -> bytes:
    writer = Writer(opset)
    inputs = {f"input_{number}": tensor for number, tensor in enumerate(graph.inputs) if number not in known}
    outputs = {f"output_{number}": tensor for number, tensor in enumerate(graph.outputs)}
    constants = {graph.inputs[number]: array for number, array in known.items()}
    message = writer.model(graph, inputs, outputs, known=constants)
    message.graph.initializer.extend(tensor_proto(array, name) for name, array in writer.initializers.items())
    return message.SerializeToString()
