"""Edits of one operation, in all their steps; the methods of `Operation` call them by `core.base.hooks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.kinds import Kind
from dovetail.core.op import REQUIRED, Op
from dovetail.core.values import arguments
from dovetail.edit.edit import tell_holders
from dovetail.edit.inference import infer_from
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import SINGLE, GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def change(operation: Operation, op: Any, name: str | None, attrs: Mapping[str, Any]) -> None:
    """Change an operation; see `Operation.change`."""
    graph = operation.graph
    graph._check_member(operation)
    with all_or_nothing():
        if name is not None and name != operation.name:
            if not name or name in graph._operations:
                raise ValueError(f"{operation.name!r} cannot be called {name!r}: that is the name of another one.")
            rename(graph, {operation: name})
        if op is not None or attrs:
            target = OPS[op] if isinstance(op, str) and op in OPS else operation.op if op is None else op
            if not isinstance(target, Op):
                raise TypeError(f"{describe(op)} is no op, nor the name of one.")
            _become(operation, target, attrs)
            infer_from([operation])
            tell_holders(graph)


def rename(graph: Graph, names: Mapping[Operation, str]) -> None:
    """Give operations names that no other operations of the graph have."""
    graph.check_changeable()
    before = {op: op.name for op in names}
    for op in names:
        del graph._operations[op.name]
    for op, name in names.items():
        op.name = name
        graph._operations[name] = op
    graph.edited(lambda: rename(graph, before))


def _become(operation: Operation, op: Op, attrs: Mapping[str, Any]) -> None:
    """Turn an operation into a call of another op, or change its attributes, without a call of the type rule."""
    if op is operation.op:
        for key, value in attrs.items():
            operation.hold_attr(key, operation.normalize(key, value))
        return
    given = [a for a, count in zip(operation.args, operation.layout, strict=True) if count is not None]
    values: list[Any] = []
    for param in op.params:
        if isinstance(param.kind, Kind) and param.name not in attrs and given:
            values.append(given.pop(0))
            if param.kind.many != isinstance(values[-1], tuple):
                raise _unlike(operation, op)
        else:
            value = attrs.get(param.name, operation.attrs.get(param.name, param.default))
            if value is REQUIRED:
                raise _unlike(operation, op)
            values.append(op.normalize(param.name, value))
    for key in attrs:
        op.normalize(key, attrs[key])  # raises an error if the op has no such parameter
    if given:
        raise _unlike(operation, op)
    _check_dtypes(operation, op, values)
    counts = [_count_of(value) for value in values]
    inputs = [t for value, count in zip(values, counts, strict=True) if count is not None for t in _tensors(value)]
    pairs = zip(op.params, values, counts, strict=True)
    operation.become(op, inputs, tuple(counts), {p.name: value for p, value, count in pairs if count is None})


def _tensors(value: Any) -> tuple[GraphTensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def _count_of(value: Any) -> int | None:
    """The entry of a layout for an argument."""
    if isinstance(value, GraphTensor):
        return SINGLE
    return len(value) if isinstance(value, tuple) and value and isinstance(value[0], GraphTensor) else None


def _unlike(operation: Operation, op: Op) -> Exception:
    problem = f"{operation.name!r} cannot become {op.name}, which takes other tensors than {operation.type}."
    return op_error(TypeError, operation.type, problem, where=operation.where)


def _check_dtypes(operation: Operation, op: Op, values: list[Any]) -> None:
    """Raise an error for tensors that the op would cast."""
    wanted = arguments.promoted_dtypes(op, values)
    for index, kind in op.tensor_positions:
        value = values[index]
        pairs = zip(wanted[index], value, strict=True) if kind.many else [(wanted[index], value)]
        for dtype, tensor in pairs:
            if isinstance(tensor, GraphTensor) and tensor.dtype != dtype:
                problem = f"{operation.name!r} cannot become {op.name}, which takes {dtype}, not {tensor!r}; cast it."
                raise op_error(TypeError, operation.type, problem, where=operation.where)
