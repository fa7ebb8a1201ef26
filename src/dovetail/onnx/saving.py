"""Saving functions, graphs and training steps as ONNX models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dovetail.core.errors import op_error
from dovetail.core.files import replacing
from dovetail.core.scopes import scopes
from dovetail.edit.transplant import copy_graph
from dovetail.formats.onnx.tensors import number_of
from dovetail.formats.onnx.writing import IR_VERSIONS, Writer
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import LONGEST
from dovetail.formats.wire.tensors import little_endian
from dovetail.graph.effects import ASSIGN, thread
from dovetail.graph.unchecked import discard, rewire
from dovetail.onnx.loading import LoadedModel
from dovetail.passes import base
from dovetail.passes.constant_folding import fold_for_files
from dovetail.passes.cse import merge_common
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify
from dovetail.saved_model.saving import endpoint_of

ALIGNED = 4096  # bytes, at whose multiples external data begins, so that it can be mapped
NEW = ".new"  # behind a variable's name in the name of its new value
STATE = "dovetail.state"  # the property with the inputs of variables, and the outputs of their new values


def save(
    obj: Any,
    path: str | os.PathLike[str],
    opset: int | None = None,
    external: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Save a function, a graph or a whole training step as an ONNX model.

    A variable is an initializer.  One that the function assigns is an input, too, whose default is its value now; its
    new value is an output of the same name and `.new`.  The metadata `dovetail.state` has these pairs of names.

    Args:
        obj: a compiled function, a signature, a trace, a graph or a loaded model.  The function must have been traced:
            call it before, or use `input_signature` or `function.trace(dt.spec((None, 3)))`.  A model of ONNX keeps its
            metadata.
        path: the file.
        opset: the version of ONNX's operators, 18 to 28; if not given, that of a loaded model of ONNX, or else 18.
        external: whether the values of variables go to a second file, of the same name and `.data`.
        metadata: texts of the file by their keys; if not given, those of a loaded model of ONNX.

    Raises:
        TypeError: it is no function and no graph, or ONNX lacks a dtype.
        ValueError: the opset is not known, the function was not traced, or the rank of a tensor is not known.
        NotImplementedError: ONNX has no way to compute an operation, which the error names with its line.
        RuntimeError: a graph is being built.
        ImportError: the extra `formats` is not installed.
        OSError: a file cannot be written.

    Source: `torch.onnx.export`.

    Example:
        >>> import dovetail as dt, tempfile
        >>> w = dt.Variable([[1.0], [2.0]], name="w")
        >>> double = dt.function(lambda x: dt.ops.matmul(x, w), input_signature=[dt.spec((None, 2))])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dt.onnx.save(double, f"{folder}/model.onnx")
        ...     len(Path(f"{folder}/model.onnx").read_bytes()) > 100
        True
    """
    need("onnx.save")
    if scopes().graphs:
        raise op_error(RuntimeError, "onnx.save", "a graph is being built; save when its function has returned.")
    one = endpoint_of(obj, "onnx.save")
    if opset is None:
        opset = obj.usable_opset if isinstance(obj, LoadedModel) else min(IR_VERSIONS)
    if metadata is None:
        metadata = obj.metadata if isinstance(obj, LoadedModel) else {}
    write(one.inputs, one.outputs, Path(path), opset, external, metadata=metadata)


def write(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    path: Path,
    opset: int = 18,
    external: bool = False,
    batch: str | None = None,
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a part of a graph as an ONNX model; for errors, see `save`.

    Args:
        inputs, outputs: name → tensor of one graph.
        path: the file.
        opset, external: as for `save`.
        batch: the name of the unknown first dimensions of all inputs and outputs.
        metadata: further texts by their keys.
    """
    if opset not in IR_VERSIONS:
        problem = f"the opset must be from {min(IR_VERSIONS)} to {max(IR_VERSIONS)}, not {opset!r}."
        raise op_error(ValueError, "onnx.save", problem)
    graph, given, results, state = _pure(inputs, outputs)
    writer = Writer(opset)
    symbols = dict.fromkeys((*given, *results), (batch,)) if batch else {}
    message = writer.model(graph, given, results, state, symbols)
    for key, text in metadata.items():
        if key != STATE:
            message.metadata_props.add(key=key, value=text)
    if state:
        message.metadata_props.add(key=STATE, value=json.dumps({name: name + NEW for name in state.values()}))
    size = sum(array.nbytes for array in writer.initializers.values())
    if size > LONGEST - (1 << 24) and not external:
        problem = f"the values take {size} bytes, and one file holds {LONGEST}: use external=True."
        raise op_error(ValueError, "onnx.save", problem)
    if external:
        with replacing(path.with_name(path.name + ".data")) as data:
            _add_initializers(message, writer.initializers, partial(_outside, data=data, name=path.name + ".data"))
    else:
        _add_initializers(message, writer.initializers, _inside)
    with replacing(path) as file:
        file.write(message.SerializeToString())


def _pure(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """A copy of a graph without assignments, its inputs and outputs, and the names of the variables it assigned."""
    original = next(tensor.op.graph for tensor in (*outputs.values(), *inputs.values()))
    places = {tensor: number for number, tensor in enumerate(original.inputs)}
    copy = copy_graph(original)
    kept = {name: copy.get_tensor(tensor.name) for name, tensor in outputs.items()}
    copy.outputs = [*kept.values()]
    values = thread(copy) if copy.dialect.records_effects else _assigned(copy)
    names: set[str] = {*inputs}
    named = [_free(name, names) for name in outputs]
    state = {variable: _free(variable.op_name, names) for variable in values}
    copy.outputs = [*copy.outputs, *values.values()]
    base.run(copy, [fold_for_files, simplify, merge_common, prune], 2)
    results = [*named, *(name + NEW for name in state.values())]
    given = {name: copy.inputs[places[tensor]] for name, tensor in inputs.items()}
    return copy, given, dict(zip(results, copy.outputs, strict=True)), state


def _assigned(graph: Any) -> dict[Any, Any]:
    """Take the assignments out of a graph, and return the last value of each variable."""
    found = {}
    for operation in graph.find(ASSIGN):
        found[operation.attrs["variable"]] = operation.inputs[0]
        rewire(graph, operation.outputs[0], operation.inputs[0])
        discard(graph, [operation])
    return found


def _free(name: str, names: set[str]) -> str:
    """A name that is not among some names, and neither is it with the ending of a new value; both are added."""
    found, number = name, 0
    while found in names or found + NEW in names:
        number += 1
        found = f"{name}_{number}"
    names |= {found, found + NEW}
    return found


def _add_initializers(message: Any, arrays: Mapping[str, np.ndarray], fill: Any) -> None:
    for name, array in arrays.items():
        proto = message.graph.initializer.add(name=name, dims=array.shape, data_type=number_of(array.dtype))
        fill(proto, np.ascontiguousarray(little_endian(array)))


def _inside(proto: Any, values: np.ndarray) -> None:
    proto.raw_data = values.tobytes()


def _outside(proto: Any, values: np.ndarray, data: Any, name: str) -> None:
    if values.nbytes <= 1024:
        return _inside(proto, values)
    data.write(b"\0" * (-data.tell() % ALIGNED))
    proto.data_location = type(proto).EXTERNAL
    for key, value in (("location", name), ("offset", data.tell()), ("length", values.nbytes)):
        proto.external_data.add(key=key, value=str(value))
    data.write(values.reshape(-1).view(np.uint8))
    return None


LoadedModel.saver = staticmethod(save)
