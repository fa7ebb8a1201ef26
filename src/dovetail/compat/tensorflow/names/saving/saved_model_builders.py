"""TensorFlow 1's names for saving the graph of a session as a SavedModel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dovetail import saved_model
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.graph.util import write_message
from dovetail.compat.tensorflow.names.saving.meta_graphs import (
    DEFINED,
    add_collection,
    collections_of,
    definition_of,
    name_as_written,
    specs_of,
    without_devices,
)
from dovetail.compat.tensorflow.names.saving.saved_models import FILES, predict_signature_def
from dovetail.compat.tensorflow.names.variables.partitions import Parts, grouped, key_of, slice_info
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.elements import named_element
from dovetail.core.base.errors import op_error
from dovetail.core.base.files import replacing_folder
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.names import original, split
from dovetail.formats.tensorflow.saving import SERVE, VERSION, add_saver, graph_versions, new_handle
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.bundle import write_bundle
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of
from dovetail.graph.effects import ASSIGN, READ

BUILDER, VARIABLES = "tf.saved_model.Builder", "variables/variables"


class SavedModelBuilder:
    """A builder of a SavedModel from the graphs of sessions, which keep TensorFlow's names.

    Args:
        export_dir: the folder, which `save` writes.

    Raises:
        FileExistsError: it has files.
        ImportError: the extra `formats` is not installed.

    Source: `tf.compat.v1.saved_model.Builder`.
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        need(BUILDER)
        self._folder = Path(export_dir)
        if self._folder.exists() and not (self._folder.is_dir() and not any(self._folder.iterdir())):
            problem = f"{str(self._folder)!r} exists, and is no empty folder; name a new one."
            raise op_error(FileExistsError, BUILDER, problem)
        self._message = TENSORFLOW.SavedModel(saved_model_schema_version=1)
        self._values: dict[str, Any] | None = None

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the graph of a session, and the values that its variables have there now.

        Args:
            sess: the session.
            tags: of the graph.
            signature_def_map: name → message `SignatureDef`.
            assets_collection: must be None or empty.
            legacy_init_op, main_op: an operation that runs when the model is loaded.
            clear_devices: whether operations are written without their devices.

        Raises:
            RuntimeError: a graph with its variables was added before.
            KeyError: the graph has no tensor of a signature.
            NotImplementedError: TensorFlow has no way to compute an operation, or there are assets.
        """
        if self._values is not None:
            raise op_error(RuntimeError, BUILDER, "it has variables; add more graphs with add_meta_graph.")
        meta, variables = _meta_graph(sess.graph, tags, signature_def_map, assets_collection, clear_devices)
        _add_main_op(meta, main_op or legacy_init_op)
        with sess.as_default():
            self._values = {key: one.cut() if isinstance(one, Parts) else one.numpy() for key, one in variables.items()}
        self._message.meta_graphs.append(meta)

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the graph that is being built, whose variables have the values that were added before.

        Args:
            tags, signature_def_map: as in `add_meta_graph_and_variables`, as all others.

        Raises:
            RuntimeError: no graph with its variables was added before.
            ValueError: a variable of the graph has no value among them.
        """
        if self._values is None:
            raise op_error(RuntimeError, BUILDER, "it has no variables; call add_meta_graph_and_variables first.")
        graph = graph_mode.open_graph()
        meta, variables = _meta_graph(graph, tags, signature_def_map, assets_collection, clear_devices)
        _add_main_op(meta, main_op or legacy_init_op)
        unknown = [key for key in variables if key not in self._values]
        if unknown:
            problem = f"no values were added for {', '.join(unknown)}; add the graph that has them all first."
            raise op_error(ValueError, BUILDER, problem)
        self._message.meta_graphs.append(meta)

    def save(self, as_text: bool = False) -> bytes:
        """Write the folder, as a whole or not at all, and return the path of the file `saved_model`.

        Args:
            as_text: whether the file is text.
        """
        name = FILES[as_text]
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(self._folder) as made:
            write_bundle(str(made / VARIABLES), self._values or {})
            write_message(self._message, made / name, as_text)
        return os.fsencode(self._folder / name)


value("saved_model.Builder saved_model.builder.SavedModelBuilder", SavedModelBuilder, "v1")


@function("saved_model.main_op.main_op", "v1")
def main_op() -> Any:
    """The operation that begins variables and tables, for the `main_op` of a SavedModel.

    Source: `tf.compat.v1.saved_model.main_op.main_op`.
    """
    kinds = "global_variables", "local_variables", "tables"
    return named("group")(*(named(f"{kind}_initializer")() for kind in kinds))


@function("saved_model.simple_save", "v1")
def simple_save(
    session: Any,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Save the graph and the variables of a session as a SavedModel with one signature, `serving_default`.

    Args:
        session: the session.
        export_dir: the folder.
        inputs, outputs: key → tensor of the graph.
        legacy_init_op: an operation that runs when the model is loaded.

    Raises:
        FileExistsError: the folder has files.
        NotImplementedError: TensorFlow has no way to compute an operation.

    Source: `tf.compat.v1.saved_model.simple_save`.
    """
    builder, signature = SavedModelBuilder(export_dir), {saved_model.SERVING: predict_signature_def(inputs, outputs)}
    builder.add_meta_graph_and_variables(session, [SERVE], signature, clear_devices=True, main_op=legacy_init_op)
    builder.save()


def _meta_graph(
    graph: Graph, tags: Iterable[str], signatures: Mapping[str, Any] | None, assets: Any, clear_devices: bool
) -> tuple[Any, dict[str, Any]]:
    """The message `MetaGraphDef` of a graph, with nodes that restore its variables, and these by their keys."""
    if assets:
        raise op_error(NotImplementedError, BUILDER, "it copies no assets: leave assets_collection out.")
    collections = collections_of(graph)
    used = [op.attrs["variable"] for op in graph if op.type in (READ, ASSIGN)]
    held = [one for values in collections.values() for one in values if isinstance(one, Variable)]
    meta, writer, names = TENSORFLOW.MetaGraphDef(), Writer(), {op.name for op in graph}
    meta.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
    meta.meta_info_def.tensorflow_version = VERSION
    meta.graph_def.versions.CopyFrom(graph_versions())
    handles = {one: new_handle(meta.graph_def, one, names) for one in dict.fromkeys([*used, *held])}
    meta.graph_def.node.extend(writer.nodes(without_devices(graph) if clear_devices else graph, handles))
    meta.graph_def.library.function.extend(writer.library.values())
    names = {name for node in meta.graph_def.node for name in (node.name, original(node))}
    keys = {one: handle if slice_info(one) is None else key_of(one) for one, handle in handles.items()}
    rows = [(handle, keys[one], number_of(one.dtype)) for one, handle in handles.items()]
    saved = add_saver(meta, rows, names, specs_of(handles))
    defined = {one: definition_of(one, *nodes, handles[one]) for one, nodes in zip(handles, saved, strict=True)}
    for key, values in collections.items():
        if key in DEFINED and values and all(one in defined for one in values):
            meta.collection_def[key].bytes_list.value.extend(defined[one] for one in values)
        else:
            add_collection(meta, key, [one for one in values if _is_written(one, names)])
    for key, signature in (signatures or {}).items():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            named_element(graph, info.name, allow_operation=False)
        meta.signature_def[key].CopyFrom(signature)
    name_as_written(meta)
    return meta, grouped(keys)


def _is_written(item: Any, names: set[str]) -> bool:
    """Whether an item of a collection has no name of a graph, or one that a node has."""
    return split(getattr(item, "name", None) or "")[0] in names or not hasattr(item, "name")


def _add_main_op(meta: Any, operation: Any) -> None:
    """Let an operation run when the model is loaded."""
    if operation is None:
        return
    name = getattr(operation, "name", operation)
    if name not in {node.name for node in meta.graph_def.node}:
        raise op_error(ValueError, BUILDER, f"main_op must be an operation of the graph, not {operation!r}.")
    meta.collection_def["saved_model_main_op"].node_list.value.append(name)
