"""Meta graphs: a graph as a message, with its collections, and how its variables are saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import lazy
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.graph.util import write_message
from dovetail.compat.tensorflow.names.strings.nodes import StringReader
from dovetail.compat.tensorflow.names.variables.partitions import SaveSliceInfo, slice_info, variables_of
from dovetail.compat.tensorflow.names.variables.variables import variable
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.definition import file_of, snapshot
from dovetail.compat.tf_graph.elements import element_of
from dovetail.compat.tf_graph.graph_bytes import document_in
from dovetail.compat.tf_graph.importing import import_definition
from dovetail.compat.tf_graph.restoring import imported, restored
from dovetail.core.base.errors import FormatError, describe
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.names import ORIGINAL, node_name, original, split
from dovetail.formats.tensorflow.saved_model import ASSIGNMENTS, saved_meta_graph, variable_def
from dovetail.formats.tensorflow.saving import VERSION, add_saver
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW, from_text, parsed
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.pass_edits import discard
from dovetail.trace.variables import add_assignment, add_read

lazy("MetaGraphDef", lambda: TENSORFLOW.MetaGraphDef)
lazy("train.SaverDef", lambda: TENSORFLOW.SaverDef)

_VARIABLES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)


@function("train.export_meta_graph", "v1")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """A graph as a message `MetaGraphDef`, with its collections of variables, tensors, operations, numbers and texts.

    Args:
        filename: a file that is written, if given.
        meta_info_def, saver_def: messages that it gets.
        graph_def: a definition, by default of the graph.
        collection_list: the collections, by default all.
        as_text: whether the file is text.
        graph: by default the graph that is being built.
        clear_devices: whether operations are written without their devices.

    Raises:
        ImportError: the extra `formats` is not installed.
        NotImplementedError: a scope is given; the whole graph is written.
        TypeError: an operation cannot be written, as one that calls Python.

    Source: `tf.compat.v1.train.export_meta_graph`.
    """
    need("tf.train.export_meta_graph")
    if export_scope is not None:
        raise NotImplementedError("tf.train.export_meta_graph writes the whole graph: leave export_scope out.")
    made = meta_graph(graph, graph_def, collection_list, clear_devices, {}, saver_def)
    made.meta_info_def.MergeFrom(TENSORFLOW.MetaGraphDef.MetaInfoDef() if meta_info_def is None else meta_info_def)
    if filename is not None:
        write_message(made, Path(filename), as_text)
    return made


def meta_graph(
    graph: Any,
    graph_def: Any,
    collection_list: Iterable[str] | None,
    clear_devices: bool,
    saved: Mapping[str, Any],
    saver_def: Any,
) -> Any:
    """A message `MetaGraphDef`, with nodes that save and restore some variables.

    Args:
        graph, graph_def, collection_list, clear_devices: as in `export_meta_graph`.
        saved: key in checkpoints → variable.
        saver_def: the settings of the saver.
    """
    graph = graph_mode.open_graph() if graph is None else graph
    collections = collections_of(graph, collection_list)
    made = TENSORFLOW.MetaGraphDef()
    made.meta_info_def.tensorflow_version = VERSION
    used = dict.fromkeys(v for values in collections.values() for v in values if isinstance(v, Variable))
    firsts: dict[Variable, tuple[str, str]] = {}
    if graph_def is None:
        copy = without_devices(graph) if clear_devices else snapshot(graph)
        firsts = _add_first_values(copy, graph, used)
        made.graph_def.CopyFrom(file_of(copy, used))
    else:
        made.graph_def.CopyFrom(graph_def)
        for node in made.graph_def.node if clear_devices else ():
            node.device = ""
    handles = {node.name: node.attr["dtype"].type for node in made.graph_def.node if node.op == "VarHandleOp"}
    stored = {variable: key for key, value in saved.items() for variable in variables_of(value)}
    kept = {variable: key for variable, key in stored.items() if getattr(variable, "op_name", None) in handles}
    rows = [(variable.op_name, key, handles[variable.op_name]) for variable, key in kept.items()]
    specs = specs_of({variable: variable.op_name for variable in kept})
    pairs = add_saver(made, rows, {node.name for node in made.graph_def.node}, specs) if rows else []
    defined = {variable: definition_of(variable, *pair) for variable, pair in zip(kept, pairs, strict=True)}
    nodes = {original(node): node for node in made.graph_def.node}
    for one, (assigned, read) in firsts.items():
        handle, value = nodes[assigned].input[:2]
        first = value if ":" in value else f"{value}:0"
        defined[one] = definition_of(one, nodes[assigned].name, nodes[read].name, handle, first)
    if saver_def is not None:
        made.saver_def.MergeFrom(saver_def)
    for key, values in collections.items():
        if key in DEFINED and values and all(one in defined for one in values):
            made.collection_def[key].bytes_list.value.extend(defined[one] for one in values)
        else:
            add_collection(made, key, values)
    name_as_written(made)
    return made


DEFINED = {  # the collections in which TensorFlow wants definitions of variables, not their names
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
}


def _add_first_values(copy: Graph, graph: Graph, used: Iterable[Variable]) -> dict[Variable, tuple[str, str]]:
    """Add the assignments of first values, and reads, that a copy of a graph lacks; the names of both by variable."""
    assigned = {(op.attrs["variable"], op.inputs[0]): op for op in reversed(copy.find("AssignVariableOp"))}
    read = {op.attrs["variable"]: op for op in reversed(copy.find("ReadVariableOp")) if not op.control_inputs}
    names_of = {}
    for one in used:
        first = getattr(one, "initial_value", None)
        if first is not None and first.graph is graph and not first.op.is_removed:
            value = copy.get_tensor(first.name)
            assign = assigned.get((one, value)) or add_assignment(copy, one, value)
            names_of[one] = assign.name, (read.get(one) or add_read(copy, one).op).name
    return names_of


def definition_of(variable: Variable, assigned: str, read: str, handle: str = "", first: str = "") -> bytes:
    """The message `VariableDef` of a variable: the nodes that initialize, read and hold it, and its first value."""
    made = TENSORFLOW.VariableDef(initializer_name=assigned, snapshot_name=f"{read}:0", initial_value_name=first)
    made.variable_name = f"{handle or variable.op_name}:0"
    made.is_resource, made.trainable = True, variable.trainable
    info = slice_info(variable)
    if info is not None:
        made.save_slice_info_def.CopyFrom(info.to_proto())
    return made.SerializeToString()


def specs_of(handles: Mapping[Any, str]) -> dict[str, str]:
    """The handle of each variable that is a part of a whole one → the text of the part, from variables' handles."""
    infos = {handle: slice_info(variable) for variable, handle in handles.items()}
    return {name: info.spec for name, info in infos.items() if info is not None}


def collections_of(graph: Any, keys: Iterable[str] | None = None) -> dict[str, list[Any]]:
    """The collections of a graph whose keys are texts, all of them or some."""
    known = graph.get_all_collection_keys() if keys is None else keys
    return {key: graph.get_collection(key) for key in known if isinstance(key, str)}


def without_devices(graph: Graph) -> Graph:
    """A copy of a graph whose operations have no devices, those of its branches and bodies included."""
    copy = snapshot(graph)
    _clear_devices(copy)
    return copy


def _clear_devices(graph: Graph) -> None:
    for part in graph.everywhere():
        for operation in part.operations:
            operation.device = None


def add_collection(made: Any, key: str, values: list[Any]) -> None:
    """Add a collection whose items have names, or are numbers or texts; another one is left out."""
    if values and all(isinstance(value, (Variable, GraphTensor, Operation)) for value in values):
        made.collection_def[key].node_list.value.extend(value.name for value in values)
    elif values and all(isinstance(value, (str, bytes)) for value in values):
        texts = [value.encode() if isinstance(value, str) else value for value in values]
        made.collection_def[key].bytes_list.value.extend(texts)
    elif values and all(type(value) is int for value in values):
        made.collection_def[key].int64_list.value.extend(values)
    elif values and all(type(value) is float for value in values):
        made.collection_def[key].float_list.value.extend(values)


def name_as_written(meta: Any) -> None:
    """Let the collections and signatures of a message name its nodes as these are written."""
    _rename(meta, {original(node): node.name for node in meta.graph_def.node if ORIGINAL in node.attr})


def _rename(meta: Any, names: dict[str, str]) -> None:
    """Give nodes other names in the collections and signatures of a message."""

    def named(text: str) -> str:
        name, colon, number = text.rpartition(":") if text.rpartition(":")[2].isdecimal() else (text, "", "")
        return f"{names.get(name, name)}{colon}{number}"

    for collection in meta.collection_def.values():
        if collection.WhichOneof("kind") == "node_list":
            collection.node_list.value[:] = map(named, collection.node_list.value)
    for signature in meta.signature_def.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            info.name = named(info.name)


def read_meta_graph(path: str | os.PathLike[str]) -> Any:
    """The message in a file, of bytes or of text.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged.
    """
    data = Path(path).read_bytes()
    try:
        return parsed(TENSORFLOW.MetaGraphDef, data, path)
    except FormatError:
        if not data[:1].isalpha():
            raise
    return from_text(TENSORFLOW.MetaGraphDef, data.decode("utf-8", "replace"), path)


def import_message(given: Any, import_scope: str | None, clear_devices: bool = False, checkpoint: str = "") -> bool:
    """Add the graph of a meta graph to the graph that is being built, and return whether it has variables.

    Args:
        given: a message `MetaGraphDef`, or the path of a file; of Dovetail or of TensorFlow.
        import_scope: a name scope for all that is added.
        clear_devices: whether operations lose their devices.
        checkpoint: the path of the first values of variables; without, these are as the graph computes them.

    Raises:
        FormatError: the file is damaged.
        TypeError: it is neither a path nor a message.
    """
    file = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "a meta graph"
    if not isinstance(given, (str, os.PathLike)) and not hasattr(given, "graph_def"):
        raise TypeError(f"it imports the path of a file, or a MetaGraphDef, not {describe(given)}.")
    meta = TENSORFLOW.MetaGraphDef()
    message = read_meta_graph(file) if isinstance(given, (str, os.PathLike)) else given
    meta.ParseFromString(message.SerializeToString())
    _rename(meta, {node.name: original(node) for node in meta.graph_def.node if ORIGINAL in node.attr})
    target, scope = graph_mode.open_graph(), import_scope or ""
    is_theirs = document_in(meta.graph_def) is None
    keys, parts = _variable_keys(meta), _parts(meta, scope)
    known: dict[str, Any] = {}
    listed = {name for key, said in meta.collection_def.items() if key in _VARIABLES for name in said.node_list.value}
    listed |= {name for name, of in keys.items() if not is_theirs and {*of} & {*_VARIABLES}}

    def make(name: str, first: np.ndarray, trainable: bool) -> Any:
        is_hidden = bool(listed) and f"{name}:0" not in listed  # as the state of a generator of random numbers
        plain = node_name(name)
        collections = keys.get(f"{plain}:0", []) if keys and is_theirs else [] if is_hidden else None
        trainable = trainable if collections is None else GraphKeys.TRAINABLE_VARIABLES in collections
        whole = f"{scope}/{plain}" if scope else plain
        has_zeros = is_hidden or first.dtype.hasobject
        value: Any = first if has_zeros else target.constant(first, f"{whole}/unknown")
        known[f"{name}:0"] = made = variable(value, trainable, name=whole, collections=collections)
        made.begins_alone = is_hidden
        if checkpoint:
            made.carried = first
        if not has_zeros:
            made.initial_value = None
            discard(target, [value.op])
        made._save_slice_info = parts.get(f"{plain}:0")
        return made

    with graph_mode.inside(target):
        if is_theirs:
            source = imported(saved_meta_graph(meta, Path(file), checkpoint), make, StringReader)
        else:
            source = restored(meta.graph_def, file, make, StringReader)
        if clear_devices:
            _clear_devices(source)
        names = [name for key, said in meta.collection_def.items() for name in said.node_list.value]
        wanted = [name for name in dict.fromkeys(names) if name not in known]
        before = set(target.operations)
        firsts = {key: pair for key, pair in _first_values(meta).items() if key in known and _has(source, pair[1])}
        elements = [name for name in wanted if _has(source, name)] if is_theirs else _elements(source, wanted, file)
        elements += [name for _, name in firsts.values()]
        copies = import_definition(target, source, {}, elements, scope)
    added = {op.name: op for op in target.operations if op not in before}
    for name, copy in zip(elements, copies, strict=True):  # the copy of an assignment is the operation of its value
        known[name] = added.get(f"{scope}/{name}" if scope else name, copy) if ":" not in name else copy
    for key, (assignment, first) in firsts.items():
        known[key].begin_with_tensor(known[first], added.get(f"{scope}/{assignment}" if scope else assignment))
    for key, said in meta.collection_def.items():
        items, joined = [*_items(said, known, is_theirs)], target.get_collection_ref(key)
        if key not in _VARIABLES:
            joined.extend(items)
        else:  # these the variables have joined by themselves, in another order
            ordered = [one for one in items if one in joined]
            joined[:] = [*(one for one in joined if one not in ordered), *ordered]
    return any(isinstance(value, Variable) for value in known.values())


def _variable_keys(meta: Any) -> dict[str, list[str]]:
    """Name of a variable → the collections of TensorFlow that it is in."""
    keys_of: dict[str, list[str]] = {}
    for key, said in meta.collection_def.items():
        for defined in filter(None, map(variable_def, said.bytes_list.value)):
            keys_of.setdefault(defined.variable_name, []).append(key)
    return keys_of


def _first_values(meta: Any) -> dict[str, tuple[str, str]]:
    """Name of a variable → the node that gives it its first value, and the tensor of that."""
    nodes = {node.name: node for node in meta.graph_def.node}
    names = {name: original(node) for name, node in nodes.items()}
    firsts = {}
    for one in _definitions(meta):
        node, handle = nodes.get(one.initializer_name), split(one.variable_name)[0]
        if node is not None and node.op in ASSIGNMENTS and len(node.input) > 1:
            first, _, number = split(node.input[1])
            firsts[f"{names.get(handle, handle)}:0"] = names[node.name], f"{names.get(first, first)}:{number}"
    return firsts


def _definitions(meta: Any) -> list[Any]:
    """The messages `VariableDef` in the collections."""
    definitions = [variable_def(data) for said in meta.collection_def.values() for data in said.bytes_list.value]
    return [one for one in definitions if one is not None]


def _parts(meta: Any, scope: str) -> dict[str, SaveSliceInfo]:
    """Name of a variable → the part that it is of a whole one."""
    infos = {one.variable_name: one.save_slice_info_def for one in _definitions(meta)}
    return {
        name: SaveSliceInfo(
            f"{scope}/{said.full_name}" if scope else said.full_name,
            *map(list, (said.full_shape, said.var_offset, said.var_shape)),
        )
        for name, said in infos.items()
        if said.full_name
    }


def _items(said: Any, known: dict[str, Any], is_theirs: bool) -> Iterator[Any]:
    """The items of a collection; TensorFlow's messages and nodes that Dovetail leaves out are none."""
    kind = said.WhichOneof("kind") or "node_list"
    for value in getattr(said, kind).value:
        if kind == "node_list":
            yield from [known[value]] if value in known or not is_theirs else []
        elif kind != "bytes_list":
            yield value
        elif (defined := variable_def(value)) is not None and not is_theirs:
            yield from [known[defined.variable_name]] if defined.variable_name in known else []
        elif not is_theirs or (value.isascii() and value.decode().isprintable()):
            yield value.decode()


def _has(graph: Graph, name: str) -> bool:
    try:
        element_of(graph, name)
    except (KeyError, ValueError):
        return False
    return True


def _elements(source: Graph, names: list[str], file: str) -> list[str]:
    for name in names:
        try:
            element_of(source, name)
        except (KeyError, ValueError) as error:
            raise FormatError(file, "the collections", f"{name!r} ({error})", "names of the graph") from None
    return names
