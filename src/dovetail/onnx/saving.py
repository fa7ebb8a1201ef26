"""Saving functions, graphs and training steps as ONNX models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import op_error, warn
from dovetail.core.base.files import replacing
from dovetail.core.base.scopes import scopes
from dovetail.edit.transplant import copy_graph
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.onnx.ends import Input, Result, results_of
from dovetail.formats.onnx.keeping import Keeping
from dovetail.formats.onnx.patching import Patch
from dovetail.formats.onnx.refreshing import Data, copied, fill, refreshed
from dovetail.formats.onnx.tensors import number_of
from dovetail.formats.onnx.writing import IR_VERSIONS, USUAL, Writer
from dovetail.formats.onnx.written_nodes import NeedsOpset
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import LONGEST
from dovetail.graph.effects import ASSIGN, thread
from dovetail.graph.pass_edits import discard, rewire
from dovetail.onnx.loading import LoadedModel
from dovetail.passes import base
from dovetail.passes.constant_folding import fold_for_files
from dovetail.passes.cse import merge_common
from dovetail.passes.prune import prune
from dovetail.passes.resolve import resolve_wholly
from dovetail.passes.simplify import simplify
from dovetail.saved_model.saving import endpoint_of

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
        opset: the version of ONNX's operators, 13 to 28; if not given, 18, or for a loaded model of ONNX its own, or
            with a warning the next one that has all its nodes.
        external: whether the values of variables go to a second file, of the same name and `.data`.
        metadata: texts of the file by their keys; if not given, those of a loaded model of ONNX.

    Raises:
        TypeError: it is no function and no graph, or ONNX lacks a dtype.
        ValueError: the opset is not known, the function was not traced, or the rank of a tensor is not known.
        NotImplementedError: ONNX has no way to compute an operation, or the opset lacks it.  The error names the
            operation, its line and the opset that it needs.
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
    if isinstance(obj, LoadedModel) and obj.is_unedited and opset in (None, obj.opset):
        message = copied(obj._model.proto)
        _add_metadata(message, obj.metadata if metadata is None else metadata)
        _write(message, refreshed(obj._model, message, external), Path(path), external)
        return
    if isinstance(obj, LoadedModel):
        write(*obj.ends, Path(path), opset, external, metadata=metadata, source=obj)
        return
    one = endpoint_of(obj, "onnx.save")
    write(one.inputs, one.outputs, Path(path), opset, external, metadata=metadata)


def write(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    path: Path,
    opset: int | None = None,
    external: bool = False,
    batch: str | None = None,
    metadata: Mapping[str, str] | None = None,
    source: LoadedModel | None = None,
) -> None:
    """Write a part of a graph as an ONNX model; for errors, see `save`.

    Args:
        inputs, outputs: name → tensor of one graph; of a loaded model, also what is no tensor.
        path: the file.
        opset, external: as for `save`.
        batch: the name of the unknown first dimensions of all inputs and outputs.
        metadata: as for `save`.
        source: the model that it was, whose opset, metadata, descriptions and unedited nodes it keeps.
    """
    is_fixed = source is None or opset is not None
    if opset is None:
        opset = source.usable_opset if source else USUAL
    if metadata is None:
        metadata = source.metadata if source else {}
    if opset not in IR_VERSIONS:
        problem = f"the opset must be from {min(IR_VERSIONS)} to {max(IR_VERSIONS)}, not {opset!r}."
        raise op_error(ValueError, "onnx.save", problem)
    tensors = [one for one in (*inputs.values(), *outputs.values()) if is_tensor(one)]
    while True:
        try:
            if source is not None and all(one.op.graph is source.graph for one in tensors):
                message, arrays, state = _patched(source, inputs, outputs, opset)
            else:
                message, arrays, state = _written(inputs, outputs, opset, batch)
            break
        except NeedsOpset as error:
            if is_fixed:
                raise
            warn(UserWarning, "onnx.save", f"the opset of the file becomes {error.opset}: {error}")
            opset = error.opset
    _add_metadata(message, {key: text for key, text in metadata.items() if key != STATE})
    if state:
        message.metadata_props.add(key=STATE, value=json.dumps({name: name + NEW for name in state.values()}))
    data = Data() if source is None else refreshed(source._model, message, external, arrays.keys())
    known = {one.name: one for one in message.graph.initializer}
    for name, array in arrays.items():
        proto = known.get(name) or message.graph.initializer.add(name=name)
        proto.dims[:], proto.data_type = array.shape, number_of(array.dtype)
        data.append((proto, array))
    _write(message, data, path, external)


def _written(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], opset: int, batch: str | None
) -> tuple[Any, dict[str, np.ndarray], dict[Any, str]]:
    """The message of a graph, the arrays of its initializers, and the names of the variables that it assigns."""
    if not inputs and not outputs:
        problem = "the model has neither inputs nor outputs, so there is nothing to save."
        raise op_error(ValueError, "onnx.save", problem)
    original = next(tensor.op.graph for tensor in (*outputs.values(), *inputs.values()))
    copy = copy_graph(original)
    copy.outputs = [copy.get_tensor(tensor.name) for tensor in outputs.values()]
    places = {tensor: number for number, tensor in enumerate(original.inputs)}
    given = {name: copy.inputs[places[tensor]] for name, tensor in inputs.items()}
    names: set[str] = {*inputs}
    named = [_free(name, names) for name in outputs]
    state = _pure(copy, names)
    results = [*named, *(name + NEW for name in state.values())]
    writer = Writer(opset)
    symbols = dict.fromkeys((*given, *results), (batch,)) if batch else {}
    message = writer.model(copy, given, dict(zip(results, copy.outputs, strict=True)), state, symbols)
    return message, writer.initializers, state


def _patched(
    source: LoadedModel, inputs: Mapping[str, Any], outputs: Mapping[str, Any], opset: int
) -> tuple[Any, dict[str, np.ndarray], dict[Any, str]]:
    """The message of an edited model, and the others as for `_written`; initializers that stay are not among them."""
    graph, model = source.graph, source._model
    copy, keeping = copy_graph(graph), Keeping(model, source._read.reader.records, opset)
    level = keeping.keep(graph, copy)
    results = results_of(model, level, graph, outputs, keeping.specs)
    copy.outputs = [one.source for one in results if is_tensor(one.source)]
    if left := resolve_wholly(copy, grows=False):
        waiting: Any = left[0].op
        raise op_error(ValueError, "onnx.save", f"{waiting.refusal(copy)}.")
    names: set[str] = {*inputs}
    named = [_free(one.name, names) for one in results]
    state = _pure(copy, names, {variable: name for name, variable in model.variables.items()})
    tensors = iter(copy.outputs)
    results = [
        one._replace(name=name, source=next(tensors) if is_tensor(one.source) else one.source)
        for name, one in zip(named, results, strict=True)
    ]
    results += [Result(name + NEW, next(tensors), None) for name in state.values()]
    before = {tensor: name for name, tensor in source._placeholders.items()}
    places = {tensor: number for number, tensor in enumerate(graph.inputs)}
    given = [
        Input(name, before.get(value, name), copy.inputs[places[value]])
        if is_tensor(value)
        else Input(name, value, None)
        for name, value in inputs.items()
    ]
    patch = Patch(model, keeping, opset)
    message, arrays = patch.patched(copy, given, results, state)
    if keeping.converted and opset != source.opset:
        told = ", ".join(dict.fromkeys(f"{node.type} {node.name!r}" for node in keeping.converted))
        warn(UserWarning, "onnx.save", f"opset {opset} has other nodes in place of {told}; they are written anew.")
    return message, arrays, state


def _add_metadata(message: Any, metadata: Mapping[str, str]) -> None:
    if {one.key: one.value for one in message.metadata_props} == metadata:
        return
    del message.metadata_props[:]
    for key, text in metadata.items():
        message.metadata_props.add(key=key, value=text)


def _write(message: Any, data: Data, path: Path, external: bool) -> None:
    """Write a message, whose tensors get their data there or in a second file."""
    size = message.ByteSize() + sum(array.nbytes for _, array in data)
    if size > LONGEST - (1 << 24) and not external:
        problem = f"the values take {size} bytes, and one file holds {LONGEST}: use external=True."
        raise op_error(ValueError, "onnx.save", problem)
    name = path.name + ".data"
    with replacing(path.with_name(name)) if external else nullcontext() as beside:
        for proto, array in data:
            fill(proto, array, beside, name)
    with replacing(path) as file:
        file.write(message.SerializeToString())


def _pure(copy: Any, names: set[str], known: Mapping[Any, str] | None = None) -> dict[Any, str]:
    """Take the assignments out of a copy of a graph, whose last outputs become the new values of its variables.

    Args:
        copy: is edited, and simplified.
        names: that are taken.
        known: the names of some variables.

    Returns:
        The variables that it assigned, and their names.
    """
    values = thread(copy) if copy.dialect.records_effects else _assigned(copy)
    state = {variable: _free((known or {}).get(variable) or variable.op_name, names) for variable in values}
    copy.outputs = [*copy.outputs, *values.values()]
    base.run(copy, [fold_for_files, simplify, merge_common, prune], 2)
    return state


def _assigned(graph: Any) -> dict[Any, Any]:
    """Take the assignments out of a graph, and return the last value of each variable."""
    last_values = {}
    for operation in graph.find(ASSIGN):
        last_values[operation.attrs["variable"]] = operation.inputs[0]
        rewire(graph, operation.outputs[0], operation.inputs[0])
        discard(graph, [operation])
    return last_values


def _free(name: str, names: set[str]) -> str:
    """A name that is not among some names, and neither is it with the ending of a new value; both are added."""
    free, number = name, 0
    while free in names or free + NEW in names:
        number += 1
        free = f"{name}_{number}"
    names |= {free, free + NEW}
    return free


LoadedModel.saver = staticmethod(save)
