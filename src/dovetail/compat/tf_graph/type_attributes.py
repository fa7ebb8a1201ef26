"""Type attributes: the dtypes of an operation's tensors under TensorFlow's names for them.

TensorFlow's definition of a type says which input or result has the dtype of an attribute, and a row which parameter is
the input.  A static parameter that is an integer tensor in TensorFlow has int32.  An op that TensorFlow does not have
has `T`, the dtype of its first tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dovetail.core.dtypes import as_dtype
from dovetail.formats.tensorflow.op_defs import Arg, definition

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

SINGLE = -1  # as in `operation`
INT32 = as_dtype("int32")
KINDS = ("type", "list(type)")
# TensorFlow's names of other inputs than the first → parameters, for types without a row
WORDS = {"data": "x", "paddings": "low", "num_lower": "lower", "seed": "key", "lam": "rate"}
WORDS |= {"input": "inputs", "indices": "start"}


def type_attributes(operation: Operation) -> dict[str, Any]:
    """TensorFlow's type attributes of an operation: name → dtype, or a list of dtypes.

    Example:
        >>> import dovetail as dt
        >>> x = dt.Graph().placeholder(dt.spec((2, 3)), "x")
        >>> [type_attributes(y.op) for y in (dt.ops.exp(x), dt.ops.cast(x, "int32"), dt.ops.sum(x, axis=1))]
        [{'T': 'float32'}, {'SrcT': 'float32', 'DstT': 'int32'}, {'T': 'float32', 'Tidx': 'int32'}]
    """
    known = definition(operation.type)
    if known is None:
        tensors = operation.inputs or operation.outputs
        return {"T": tensors[0].dtype} if tensors else {}
    dtypes = dict(_dtypes(operation, known))
    return {name: dtypes[name] for name, one in known.attrs.items() if one.kind in KINDS}


def attributes(operation: Operation) -> dict[str, Any]:
    """The attributes of an operation that are not static arguments."""
    named = operation.overrides.get(operation.type)
    override = {} if named is None else {"_gradient_op_type": named}
    return {**type_attributes(operation), **operation.notes, **override}


def _dtypes(operation: Operation, known: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that results say, then those that inputs say."""
    said = set()
    for number, arg in enumerate(known.results):
        outputs = operation.outputs if arg.is_list else operation.outputs[number : number + 1]
        if outputs:
            said.add(arg.attribute)
            yield arg.attribute, [tensor.dtype for tensor in outputs] if arg.is_list else outputs[0].dtype
    for number, arg in enumerate(known.inputs):
        dtypes = [tensor.dtype for tensor in _tensors(operation, _parameter(operation, arg, number))]
        if dtypes or arg.attribute not in said:
            said.add(arg.attribute)
            yield arg.attribute, dtypes if arg.is_list else next(iter(dtypes), INT32)


def _parameter(operation: Operation, arg: Arg, number: int) -> str:
    """The parameter of an op that is an input of TensorFlow's type."""
    from dovetail.formats.tensorflow.ops import WRITTEN  # sessions do without the rows until a node is asked for

    row, params = WRITTEN.get(operation.type), operation.op.positions
    if row is not None and row.type == operation.type:
        return row.inputs[number].param
    first = next(iter(params), "") if number == 0 else ""
    return next((word for word in (arg.name, WORDS.get(arg.name), first) if word in params), "")


def _tensors(operation: Operation, parameter: str) -> list[Any]:
    """The tensors of a parameter; none if it is static, or if there is none of the name."""
    if parameter not in operation.op.positions:
        return []
    number = operation.op.positions[parameter]
    count, first = operation.layout[number], operation.input_at(number)
    return [] if count is None else operation.inputs[first : first + (1 if count == SINGLE else count)]
