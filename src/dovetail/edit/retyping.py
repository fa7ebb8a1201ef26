"""Retyping: the methods of Graph that give inputs other shapes, and variables other dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dovetail import ops
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.spec import Shape, TensorSpec
from dovetail.core.values.value_kinds import followed
from dovetail.edit.edit import tell_holders
from dovetail.edit.inference import infer_from
from dovetail.graph.operation import GraphTensor
from dovetail.graph.pass_edits import discard, supersede

if TYPE_CHECKING:
    from dovetail.core.values.variable import Variable
    from dovetail.edit.graph import Graph


def set_input_shapes(graph: Graph, shapes: Mapping[Any, Shape]) -> None:
    """Give inputs other shapes, whose dimensions may be known or not; what depends on them follows.

    Sizes that the program has as constants stay, as those of a `Reshape` to (8, -1).

    Args:
        shapes: inputs, or names of them → ints, with None for unknown dimensions.

    Raises:
        KeyError: no tensor has one of the names.
        ValueError: a tensor is no input of this graph, or an operation cannot take the shapes; then the graph stays as
            it was.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.sum(x, axis=1)).graph(dt.spec((8, 3)))
        >>> graph.set_input_shapes({graph.inputs[0]: (None, 3)})
        >>> graph.outputs
        [<graph tensor Sum:0 float32[?]>]
    """
    by_tensor: dict[GraphTensor, Shape] = {}
    for key, shape in shapes.items():
        tensor = graph.get_tensor(key) if isinstance(key, str) else key
        graph.check_tensor(tensor)
        if tensor.op.type != "Placeholder":
            raise ValueError(f"{tensor!r} is no input of {graph.name!r}, whose inputs are {graph.inputs}.")
        by_tensor[tensor] = None if shape is None else TensorShape(shape)
    with graph.edit():
        for tensor, shape in by_tensor.items():
            tensor.put_shape(shape)
        infer_from([operation for tensor in by_tensor for operation in tensor.consumers()], by_tensor)
        tell_holders(graph)


def replace_variables(graph: Graph, variables: Mapping[Variable, Variable]) -> int:
    """Make reads of variables read others instead; these are cast to the dtypes that the program had.

    Args:
        variables: variables that the graph reads → others of the same shapes, of any dtypes.

    Returns:
        The number of reads that changed.

    Raises:
        ValueError: the graph assigns one, or a shape differs; then the graph stays as it was.

    Example:
        >>> import dovetail as dt
        >>> w = dt.Variable([1.0, 2.0], name="w")
        >>> graph = dt.function(lambda x: x * w).graph(dt.spec((2,)))
        >>> graph.replace_variables({w: dt.Variable(w.numpy(), "float16", name="w")})
        1
        >>> [op.type for op in graph]
        ['Placeholder', 'ReadVariableOp', 'Cast', 'Mul']
    """
    pairs = ((followed(old), followed(new)) for old, new in variables.items())
    variables = {old: new for old, new in pairs if old is not new}
    operations = graph.find(where=lambda op: op.attrs.get("variable") in variables)
    for op in operations:
        old = op.attrs["variable"]
        if op.type == "AssignVariableOp":
            raise ValueError(f"{old.name!r} cannot be replaced, since {op.name!r} assigns it.")
        if variables[old].shape != old.shape:
            raise ValueError(f"{variables[old]!r} cannot replace {old.name!r}, which has the shape {old.shape}.")
    with graph.edit():
        for op in operations:
            old, new = op.outputs[0], variables[op.attrs["variable"]]
            with graph.replacing(op, scope=""):  # a read of its own: other reads of the variable may come later
                attrs, specs = {**op.attrs, "variable": new}, [TensorSpec(old.shape, new.dtype)]
                read = graph.add(op.op, [], attrs, specs, (None, None), f"{new.op_name}/Read").outputs[0]
                value: Any = read if read.dtype == old.dtype else ops.cast(read, old.dtype)
            supersede(graph, op, [value])
            discard(graph, [op])
    return len(operations)
