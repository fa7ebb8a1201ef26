"""Inputs and results of an edited model: what the file says of them stays where it still holds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from dovetail.core.base.errors import op_error
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.onnx.declared import type_of
from dovetail.formats.onnx.encoding import value_info
from dovetail.formats.onnx.keeping import Level, Lost, Source
from dovetail.formats.onnx.model import Model
from dovetail.formats.onnx.nodes import Weight, tensors_of
from dovetail.formats.wire.messages import ONNX


class Input(NamedTuple):
    """An input of the new model: its name now, its name in the file, and the tensor of the graph, if it is one."""

    name: str
    before: str
    tensor: Any


class Result(NamedTuple):
    """An output of the new model: its name, its source, and what the file says of it, if that still holds."""

    name: str
    source: Source
    info: Any


def results_of(
    model: Model, level: Level, graph: Any, values: Mapping[str, Any], specs: Mapping[str, Any]
) -> list[Result]:
    """The results of an edited model.

    Args:
        model: as it was read.
        level: the copy of its graph, with the kept nodes.
        graph: the graph.
        values: name of a result → a tensor of the graph, or a value that is none.
        specs: name of a value in the file → the spec that it had.

    Raises:
        ValueError: a result is no tensor, and its nodes are not kept.
    """
    assert level.body is not None
    known, infos = level.body.values, {one.name: one for one in model.proto.graph.output}
    results = []
    for name, value in values.items():
        origin = next((one for one in (name, *infos) if one in infos and _is(known.get(one), value, model)), None)
        source: Any = None
        with suppress(Lost):
            source = level.source(origin, known[origin], {}, True) if origin else None
        source = None if isinstance(source, Weight) else source
        if source is None and not is_tensor(value):
            problem = f"the result {name!r} is no tensor, and nodes that it needs were edited: keep other results."
            raise op_error(ValueError, "onnx.save", problem)
        source = level.now(value) if source is None else source
        info = infos.get(origin or name)
        if info is not None and is_tensor(value):
            is_typed = origin is not None and not model.has_shapes and specs.get(origin) == value.spec
            declared = type_of(info.type)
            is_typed &= value.shape is None or declared.shape is not None  # ONNX's checker wants a shape
            info = info if is_typed or declared.spec == value.spec else None
        results.append(Result(name, source, info))
    return results


def _is(known: Any, value: Any, model: Model) -> bool:
    """Whether a result is a value of the file."""
    if isinstance(known, Weight):
        variable = model.variables.get(known.name)
        return variable is not None and is_tensor(value) and value.op.attrs.get("variable") is variable
    if is_tensor(value) or isinstance(value, list):
        tensors, others = list(tensors_of(known)), list(tensors_of(value))
        is_alike = isinstance(known, list) == isinstance(value, list) and len(tensors) == len(others)
        return is_alike and all(one is other for one, other in zip(tensors, others, strict=True))
    return known is not None and (known is value or (type(known) is type(value) and known == value))


def result_info(one: Result) -> Any:
    """The description of an output."""
    if one.info is not None:
        return one.info
    tensor = one.source
    if tensor.shape is None:
        problem = f"the rank of {tensor.name!r} must be known; give it with the_result.set_shape(shape)."
        raise op_error(ValueError, tensor.op.type, problem, where=tensor.op.where)
    return value_info(one.name, tensor.dtype, tensor.shape)


def input_info(one: Input, info: Any) -> Any:
    """The description of an input, as the file has it if that still holds."""
    described = ONNX.ValueInfoProto()
    if info is None or (one.tensor is not None and type_of(info.type).spec != one.tensor.spec):
        described = value_info(one.name, one.tensor.dtype, one.tensor.shape)
    else:
        described.CopyFrom(info)
    described.name = one.name
    return described


__all__ = ["Input", "Result", "input_info", "result_info", "results_of"]
