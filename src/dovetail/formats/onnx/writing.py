"""Writing: a graph of Dovetail as a model of ONNX.

    writer = Writer(opset=18)
    model = writer.model(graph, {"x": x}, {"y": y})

An operation is written by a function of `written`, by a row, or by the operations of its body.  A variable is an
initializer; one that a training step assigns is an input, too, whose initializer is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes import writing
from dovetail.formats.nodes.writing import unique
from dovetail.formats.onnx import ops as ops  # it fills the tables
from dovetail.formats.onnx.encoding import value_info
from dovetail.formats.onnx.layouts import Layouts, rename
from dovetail.formats.onnx.ops.signal import HAVE_PARTS
from dovetail.formats.onnx.table import BODIES, NO_WAY, WRITE
from dovetail.formats.onnx.tensors import bytes_of, dtype_of, number_of
from dovetail.formats.onnx.written_nodes import Lacking, Nodes, Place, Ref, by_row, row_for
from dovetail.formats.wire.messages import ONNX

IR_VERSIONS = dict(zip(range(13, 29), (7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14), strict=True))  # lowest
USUAL = 18  # the opset of models that are not of ONNX
SMALL = 1024  # bytes of a constant that is compared itself, not by its hash


class Writer(writing.Writer):
    """A writer of one model.

    Args:
        opset: the version of ONNX's operators.

    Attributes:
        opset: as given.
        values: the names of values that are taken.
        names: the names of nodes that are taken.
        initializers: name → array.
    """

    format, bodies, functions, no_way = "ONNX", BODIES, WRITE, NO_WAY

    def __init__(self, opset: int = USUAL) -> None:
        self.opset = opset
        self.values: set[str] = set()
        self.names: set[str] = set()
        self.initializers: dict[str, np.ndarray] = {}
        self._constants: dict[Any, str] = {}
        self._variables: dict[Any, Ref] = {}
        self._state: Mapping[Any, str] = {}

    def model(
        self,
        graph: Any,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        state: Mapping[Any, str] | None = None,
        symbols: Mapping[str, Sequence[str]] | None = None,
        known: Mapping[Any, np.ndarray] | None = None,
    ) -> Any:
        """The message `ModelProto` of a graph that assigns no variables, without the data of its initializers.

        Args:
            graph: the graph.
            inputs, outputs: name → tensor of the graph.
            state: the variables that are inputs, too, and their names.
            symbols: the names of the unknown dimensions of inputs.
            known: further inputs of the graph, which are constants of the model, and their values.

        Raises:
            NotImplementedError: ONNX has no way to compute an operation.
        """
        self.values |= {*inputs, *outputs, *(state or {}).values()}
        self._state = state or {}
        message = ONNX.ModelProto(ir_version=IR_VERSIONS[self.opset], producer_name="dovetail")
        message.opset_import.add(domain="", version=self.opset)
        message.graph.name = graph.name
        nodes = Nodes(self)
        for name, tensor in inputs.items():
            message.graph.input.append(value_info(name, tensor.dtype, tensor.shape, (symbols or {}).get(name, ())))
        for variable, name in self._state.items():
            message.graph.input.append(value_info(name, variable.dtype, variable.shape))
            self.variable(variable)
        given = {tensor: Ref(name, tensor.dtype) for name, tensor in inputs.items()}
        given |= {tensor: self.constant(array, tensor.op.name) for tensor, array in (known or {}).items()}
        refs = nodes.results(nodes.part(graph, given, [*outputs.values()]), graph.name)
        renamed = {ref.text: name for name, ref in zip(outputs, refs, strict=True)}
        if any(t.dtype.is_complex for t in (*inputs.values(), *outputs.values())):
            problem = (
                "an input or an output is complex, and ONNX Runtime takes real ones: give real and imaginary parts."
            )
            raise op_error(NotImplementedError, "onnx.save", problem)
        for name, tensor in outputs.items():
            if tensor.shape is None:
                problem = f"the rank of {tensor.name!r} must be known; give it with the_result.set_shape(shape)."
                raise op_error(ValueError, tensor.op.type, problem, where=tensor.op.where)
            message.graph.output.append(value_info(name, tensor.dtype, tensor.shape, (symbols or {}).get(name, ())))
        message.graph.node.extend(nodes.messages)
        self.arrange(message.graph, {*renamed})
        rename(message.graph, renamed)
        return message

    def wished(self, text: str, name: str, body: Any) -> None:
        """Note that a kept node takes a value, whose name is `text`, in place of one that has this name in the file.

        Args:
            body: the nodes of the file to which the name belongs.
        """

    def end_graph(self, message: Any, nodes: Nodes) -> None:
        """Do what is left to do for the graph of a branch or a loop, whose nodes are written."""

    def arrange(self, graph: Any, outputs: set[str]) -> None:
        """Move the Transposes of a graph; the initializers of variables that are inputs stay as they are."""
        fixed = {name: self.initializers.pop(name) for name in self._state.values()}
        Layouts(graph, self.initializers, outputs, self.values, self.names).arrange()
        self.initializers = {**fixed, **self.initializers}

    def constant(self, array: np.ndarray, name: str) -> Ref:
        """The value of a constant; equal ones become one initializer."""
        key = self.key(array)
        known = self._constants.get(key)
        if known is None:
            known = unique(f"{name}/{array.dtype.name}" if name in self.values else name, self.values)
            self.initializers[known] = array
            self._constants[key] = known
        return Ref(known, dtype_of(number_of(array.dtype)) or as_dtype(array.dtype))

    @staticmethod
    def key(array: np.ndarray) -> Any:
        """What equal arrays share."""
        if array.dtype.hasobject:
            return array.shape, tuple(map(str, array.reshape(-1)))
        is_small = array.nbytes <= SMALL
        return array.dtype, array.shape, array.tobytes() if is_small else sha256(bytes_of(array).data).digest()

    def variable(self, variable: Any) -> Ref:
        """The value of a variable."""
        if variable not in self._variables:
            name = self._state.get(variable) or unique(variable.op_name, self.values)
            self.initializers[name] = np.asarray(variable.numpy())
            self._variables[variable] = Ref(name, variable.dtype)
        return self._variables[variable]

    def is_fixed(self, ref: Ref) -> bool:
        """Whether a value is an initializer that is no input."""
        return ref.text in self.initializers and ref.text not in self._state.values()

    def written(self, place: Place) -> list[Ref]:
        try:
            return super().written(place)
        except Lacking as error:
            raise place.lacking(*error.args) from None

    def add_nodes(self, place: Place) -> list[Ref]:
        operation = place.operation
        has_parts = any(t.dtype.is_complex for t in (*operation.inputs, *operation.outputs))
        if has_parts and operation.type not in HAVE_PARTS:
            advice = "ONNX has few operators for complex numbers, and none for this. Cut the graph before it."
            raise place.refused(NotImplementedError, advice)
        return super().add_nodes(place)

    def by_row(self, place: Place) -> list[Ref] | None:
        operation = place.operation
        if (row := row_for(operation, self.opset)) is not None:
            return by_row(place, row)
        if operation.type in NO_WAY or operation.op.body is None:
            first = next((n for n in IR_VERSIONS if n > self.opset and row_for(operation, n)), None)
            if first:
                raise Lacking(operation.type, first)
        return None
