"""TensorFlow's tools for definitions of graphs: freezing with a checkpoint, stripping.

Source: `tensorflow.python.tools`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.names.graph.util import (
    chosen_variables,
    extract_sub_graph,
    remove_training_nodes,
    with_values,
    write_message,
)
from dovetail.compat.tensorflow.names.saving.checkpoint_files import exists, read
from dovetail.compat.tensorflow.names.saving.meta_graphs import read_meta_graph
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.core.base.errors import describe, op_error
from dovetail.core.dtypes import as_dtype
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import transplant
from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.saved_model import HANDLES, SavedGraph, read_saved_model, saved_meta_graph
from dovetail.formats.wire.messages import TENSORFLOW, from_text, parsed
from dovetail.formats.wire.tensors import number_of, shape_proto
from dovetail.functions.function import function as compiled

# -- freezing ---------------------------------------------------------------------------------------------------------

FREEZE, SERVE = "python.tools.freeze_graph", "serve"


@function(f"{FREEZE}.freeze_graph_with_def_protos")
def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Sequence[str] | None = None,
    checkpoint_version: Any = 2,
) -> Any:
    """The part of a graph that some operations need, with the values of a checkpoint as constants.

    Args:
        input_graph_def, input_meta_graph_def: the graph, as one of the two messages.
        input_checkpoint: the checkpoint.
        output_node_names: the operations, with commas between.
        output_graph: a file that is written as bytes; empty for none.
        clear_devices: whether nodes lose their devices.
        initializer_nodes: must be empty.
        variable_names_whitelist, variable_names_denylist: the variables that become constants, or stay, with commas
            between.
        input_saved_model_dir, saved_model_tags: a SavedModel in place of a graph and its checkpoint.

    Returns:
        The message `GraphDef`.

    Raises:
        ValueError: there is no checkpoint, there are no names, or the checkpoint lacks a variable.
        NotImplementedError: there are initializer_nodes.

    Source: `tensorflow.python.tools.freeze_graph`.
    """
    if not input_saved_model_dir and not exists(str(input_checkpoint)):
        raise op_error(ValueError, f"tf.{FREEZE}", f"there is no checkpoint {input_checkpoint!r}.")
    if not output_node_names:
        raise op_error(ValueError, f"tf.{FREEZE}", "output_node_names needs the name of an operation.")
    if initializer_nodes:
        problem = "variables have the values of the checkpoint alone: leave initializer_nodes out."
        raise op_error(NotImplementedError, f"tf.{FREEZE}", problem)
    if input_saved_model_dir:
        saved = read_saved_model(input_saved_model_dir, saved_model_tags)
    elif input_meta_graph_def is not None:
        saved = saved_meta_graph(input_meta_graph_def, Path("the meta graph"), str(input_checkpoint))
    else:
        saved = SavedGraph(Path("the graph"), input_graph_def, {}, bundle=read(str(input_checkpoint)))
    part = extract_sub_graph(saved.graph_def, _listed(output_node_names))
    names = (_listed(text) or None for text in (variable_names_whitelist, variable_names_denylist))
    made = with_values(part, _values(saved, chosen_variables(part, *names)))
    for node in made.node if clear_devices else ():
        node.device = ""
    if output_graph:
        write_message(made, Path(output_graph), as_text=False)
    return made


@function(f"{FREEZE}.freeze_graph")
def freeze_graph(
    input_graph: str | None,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = SERVE,
    checkpoint_version: Any = 2,
) -> Any:
    """`freeze_graph_with_def_protos` of files: a graph, a meta graph or a SavedModel, and a checkpoint.

    Args:
        input_graph, input_meta_graph: the file of the graph.
        input_binary: whether `input_graph` is bytes; a meta graph tells it by itself.
        saved_model_tags: with commas between.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged.

    Source: `tensorflow.python.tools.freeze_graph.freeze_graph`.
    """
    graph = None if input_saved_model_dir or not input_graph else _graph_in(Path(input_graph), input_binary)
    meta = read_meta_graph(os.fspath(input_meta_graph)) if input_meta_graph else None
    how = (output_node_names, None, None, output_graph, clear_devices, initializer_nodes)
    names = (variable_names_whitelist, variable_names_denylist)
    saved = (input_saved_model_dir, _listed(saved_model_tags))
    return freeze_graph_with_def_protos(graph, None, input_checkpoint, *how, *names, meta, *saved)


class FrozenFunction:
    """A function whose variables are constants.

    Args:
        source: a graph; the function has a copy.

    Attributes:
        graph: the graph.
        inputs, outputs: its tensors.
    """

    def __init__(self, source: Graph) -> None:
        self.graph = TensorFlowGraph(source.name)
        self.graph.outputs = transplant(source.operations, self.graph, inputs=source.inputs, own=True).of(
            source.outputs
        )
        self.graph.freeze()
        self.inputs, self.outputs, self._run = self.graph.inputs, self.graph.outputs, compiled(self.graph)

    def __call__(self, *args: Any) -> list[Any]:
        """The results, in a list."""
        results = self._run(*args)
        return list(results) if isinstance(results, tuple) else [results]


@function("python.framework.convert_to_constants.convert_variables_to_constants_v2")
def convert_variables_to_constants_v2(
    func: Any, lower_control_flow: bool = True, aggressive_inlining: bool = False
) -> FrozenFunction:
    """A concrete function, or a signature of a SavedModel, with constants in place of its variables.

    Args:
        func: as `get_concrete_function` makes it; or one of `tf.saved_model.load(folder).signatures`.

    Raises:
        TypeError: it has no graph.
        ValueError: it assigns a variable.

    Source: `tensorflow.python.framework.convert_to_constants.convert_variables_to_constants_v2`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> v = tf.Variable([1., 2.])
        >>> f = tf.function(lambda x: x * v).get_concrete_function(tf.TensorSpec([2]))
        >>> frozen = convert_variables_to_constants_v2(f)
        >>> [node.op for node in frozen.graph.as_graph_def().node], frozen(tf.constant([3., 4.]))[0].numpy()
        (['Placeholder', 'Const', 'Mul'], array([3., 8.], dtype=float32))
    """
    if not isinstance(getattr(func, "graph", None), Graph):
        problem = f"it takes what get_concrete_function makes, not {describe(func)}."
        raise op_error(TypeError, "tf.python.framework.convert_to_constants", problem)
    return FrozenFunction(func.graph)


def _listed(text: str) -> list[str]:
    """The names in a text with commas between."""
    return [name for name in text.replace(" ", "").split(",") if name]


def _graph_in(path: Path, is_binary: bool) -> Any:
    """The message `GraphDef` in a file."""
    kind = TENSORFLOW.GraphDef
    return parsed(kind, path.read_bytes(), path) if is_binary else from_text(kind, path.read_text("utf-8"), path)


def _values(saved: SavedGraph, names: list[str]) -> dict[str, Any]:
    """The values of variables in the checkpoint, by their names.

    Raises:
        ValueError: there are no variables, or the checkpoint has no value of one.
    """
    if not any(node.op in HANDLES for node in saved.graph_def.node):
        raise op_error(ValueError, f"tf.{FREEZE}", "the graph has no variables; was it frozen before?")
    missing = [name for name in names if saved.key(name) not in saved.bundle]
    if missing:
        problem = f"the checkpoint has no value of {missing[0]!r}; it has {', '.join(sorted(saved.bundle))}."
        raise op_error(ValueError, f"tf.{FREEZE}", problem)
    return {name: saved.first(saved.nodes[name]) for name in names}


# -- stripping --------------------------------------------------------------------------------------------------------


@function("python.tools.strip_unused_lib.strip_unused")
def strip_unused(
    input_graph_def: Any, input_node_names: Sequence[str], output_node_names: Sequence[str], placeholder_type_enum: Any
) -> Any:
    """The part of a definition from some operations, which become placeholders, to others.

    Args:
        placeholder_type_enum: the dtype of the placeholders, or a list with one for each.

    Raises:
        ValueError: an input is named as a tensor, with a colon.
        KeyError: there is no such input.

    Source: `tensorflow.python.tools.strip_unused_lib.strip_unused`.
    """
    title, names = "tf.python.tools.strip_unused_lib.strip_unused", list(input_node_names)
    tensors = [name for name in names if ":" in name]
    if tensors:
        raise op_error(ValueError, title, f"{tensors[0]!r} is the name of a tensor; inputs are operations.")
    if unknown := {*names} - {node.name for node in input_graph_def.node}:
        raise op_error(KeyError, title, f"there are no input nodes {', '.join(sorted(unknown))}.")
    types = placeholder_type_enum if isinstance(placeholder_type_enum, list) else [placeholder_type_enum] * len(names)
    dtypes = dict(zip(names, types, strict=True))
    nodes = [new_placeholder(one, dtypes[one.name]) if one.name in dtypes else one for one in input_graph_def.node]
    return extract_sub_graph(with_nodes(input_graph_def, nodes), output_node_names)


def new_placeholder(node: Any, dtype: Any, shape: Any = None) -> Any:
    """A placeholder in place of a node, with the shape that it says, or with another one."""
    made = TENSORFLOW.NodeDef(name=node.name, op="Placeholder")
    made.attr["dtype"].type = dtype if isinstance(dtype, int) else number_of(as_dtype(dtype))
    for key in ("_output_shapes", "shape"):
        if key in node.attr:
            made.attr[key].CopyFrom(node.attr[key])
    if shape is not None:
        made.attr["shape"].shape.CopyFrom(shape_proto(shape))
    return made


def with_nodes(definition: Any, nodes: Sequence[Any]) -> Any:
    """A definition with other nodes."""
    return TENSORFLOW.GraphDef(node=nodes, versions=definition.versions, library=definition.library)


@function("python.tools.optimize_for_inference_lib.optimize_for_inference")
def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
    placeholder_to_const_names: Sequence[str] | None = None,
) -> Any:
    """`strip_unused`, without the nodes that only training needs; the results are the same.

    Batch normalizations and resizes stay nodes of their own, which TensorFlow's function puts into convolutions.

    Args:
        placeholder_to_const_names: texts "name=True" and "name=False": placeholders of bool that become constants.

    Raises:
        ValueError: two nodes have one name, or a node takes one that there is not; or as of `strip_unused`.

    Source: `tensorflow.python.tools.optimize_for_inference_lib.optimize_for_inference`.
    """
    _check_names(input_graph_def)
    known = {"keras_learning_phase": "False", **dict(one.split("=", 1) for one in placeholder_to_const_names or ())}
    nodes = [_decided(node, known) for node in input_graph_def.node]
    decided = {node.name for node in nodes if node.op == "Const"}
    names = [name for name in input_node_names if name not in decided]
    if isinstance(placeholder_type_enum, list):
        pairs = zip(input_node_names, placeholder_type_enum, strict=True)
        placeholder_type_enum = [dtype for name, dtype in pairs if name not in decided]
    part = strip_unused(with_nodes(input_graph_def, nodes), names, output_node_names, placeholder_type_enum)
    return remove_training_nodes(part, output_node_names)


def _check_names(definition: Any) -> None:
    names = [node.name for node in definition.node]
    missing = [text for node in definition.node for text in node.input if split(text.lstrip("^"))[0] not in {*names}]
    if missing or len({*names}) < len(names):
        problem = f"a node takes {missing[0]!r}, which is not there." if missing else "two nodes have one name."
        raise op_error(ValueError, "tf.python.tools.optimize_for_inference_lib.optimize_for_inference", problem)


def _decided(node: Any, known: Mapping[str, str]) -> Any:
    """A constant in place of a placeholder of bool whose name is known; any other node itself."""
    said = [text for name, text in known.items() if name.strip() in node.name]
    if not said or node.op not in ("Placeholder", "PlaceholderWithDefault") or node.attr["dtype"].type != _BOOL:
        return node
    made = TENSORFLOW.NodeDef(name=node.name)
    constant_node(made, np.array(said[0] in ("True", "true")))
    return made


_BOOL = number_of(as_dtype("bool"))


@function("python.grappler.tf_optimizer.OptimizeGraph")
def optimize_graph(
    config_proto: Any,
    metagraph: Any,
    verbose: bool = True,
    graph_id: bytes = b"graph_to_optimize",
    cluster: Any = None,
    strip_default_attributes: bool = False,
) -> Any:
    """The definition of the graph of a meta graph, without nodes that its collection `train_op` does not need.

    With variables among its collections it stays whole.  Constants are folded when Dovetail runs the graph.

    Args:
        config_proto, verbose, graph_id, cluster, strip_default_attributes: change nothing.

    Source: `tensorflow.python.grappler.tf_optimizer.OptimizeGraph`.
    """
    collections = metagraph.collection_def
    kept = [name for key in collections for name in collections[key].node_list.value]
    if "train_op" not in collections or any(collections[key].bytes_list.value for key in collections):
        return metagraph.graph_def
    return extract_sub_graph(metagraph.graph_def, [name.partition(":")[0] for name in kept])
