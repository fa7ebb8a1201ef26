"""TensorFlow's names for graphs as data: definitions, importing, freezing, writing, and each op by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.strings.nodes import StringReader
from dovetail.compat.tensorflow.names.strings.tensors import in_graph
from dovetail.compat.tensorflow.names.strings.text import is_text
from dovetail.compat.tensorflow.names.variables.variables import TFGraphVariable, TFVariable
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.definition import file_of, mark_of
from dovetail.compat.tf_graph.elements import named_element
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.compat.tf_graph.importing import import_definition
from dovetail.compat.tf_graph.restoring import restored
from dovetail.core.base.errors import op_error, warn
from dovetail.core.base.files import replacing
from dovetail.core.values.value_kinds import is_recorded
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.saved_model import HANDLES, alike
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW, to_text
from dovetail.formats.wire.tensors import number_of, shape_proto
from dovetail.graph.operation import Operation


@function("import_graph_def graph_util.import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> Any:
    """Copy the operations of a definition into the graph that is being built.

    Args:
        graph_def: a message `GraphDef`, as `graph.as_graph_def()` gives it, edited or not, or as a file holds it.
        input_map: names of its tensors → tensors of the graph, variables or numbers that replace them; and names such
            as "^x" → tensors or operations for which copies wait instead of the operation "x".
        return_elements: names of tensors (`"x:0"`) and operations (`"x"`) of the definition.
        name: a name scope for the copies; "import" if not given.

    Returns:
        The copies of `return_elements`, in a list; None if `return_elements` is None.

    Raises:
        FormatError: the definition is damaged, as where a node takes the result of one that is not there.
        ValueError: a name of `input_map` or of `return_elements` is not in the definition.

    Source: `tf.import_graph_def`.
    """
    if not isinstance(graph_def, TENSORFLOW.GraphDef):
        problem = "it takes a tf.GraphDef, as graph.as_graph_def() gives; read bytes by GraphDef.FromString(data)."
        raise op_error(TypeError, "tf.import_graph_def", problem)
    target = graph_mode.current_graph() or graph_mode.open_graph()
    scope = "import" if name is None else name
    known = {node.name for node in graph_def.node}
    taken = {text for node in graph_def.node for text in node.input}
    given, controls, missing = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for key, x in (input_map or {}).items():
        source, number = key.removeprefix("^").partition(":")[::2]
        text = f"{source}:{number}" if number not in ("", "0") else source
        if source not in known and not {key, text, f"{source}:0"} & taken:
            problem = f"input_map names {key!r}, which is not in graph_def."
            raise op_error(ValueError, "tf.import_graph_def", problem)
        (controls if key.startswith("^") else given if source in known else missing)[text] = x
    if missing or not controls.keys() <= known:
        graph_def, names = _with_placeholders(target, graph_def, missing, controls)
        given |= names
    variables: dict[str, Any] = {}

    in_session = isinstance(target, TensorFlowGraph) and target.dialect.records_effects

    def make(title: str, first: np.ndarray, trainable: bool) -> Any:
        made: Any = TFVariable(first, name=title, trainable=trainable)
        if in_session:
            made = TFGraphVariable.of_graph(target, made.shape, made.dtype, title, trainable)
        return variables.setdefault(title, made)

    graph = restored(graph_def, make=make, reader=StringReader)
    for made in {*graph.state.last} & {*variables.values()}:  # counts of random draws, which nothing initializes
        made.carried = np.zeros(made.shape, made.dtype.numpy)
    named = variables if in_session else {}
    ops_of = {key: x if isinstance(x, Operation) else x.op for key, x in controls.items()}
    try:
        given = {key: _of_graph(target, graph, key, x) for key, x in given.items()}
        elements = import_definition(target, graph, given, return_elements or (), scope, ops_of, named)
    except KeyError as error:
        raise op_error(ValueError, "tf.import_graph_def", f"graph_def has {error.args[0]}.") from None
    return None if return_elements is None else elements


def _with_placeholders(
    target: Any, graph_def: Any, missing: Mapping[str, Any], controls: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """A definition with placeholders for results that only its nodes' inputs name, and what these stand for."""
    made, known = TENSORFLOW.GraphDef(), {node.name for node in graph_def.node}
    made.CopyFrom(graph_def)
    names: dict[str, Any] = {}
    for text, x in missing.items():
        with graph_mode.inside(target):
            tensor = x.read() if isinstance(x, Variable) else x if is_recorded(x) else ops.convert(x)
        name = text.replace(":", "_")
        node = made.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = number_of(tensor.dtype)
        node.attr["shape"].shape.CopyFrom(shape_proto(tensor.shape))
        names[name] = tensor
        for user in made.node:
            for number, given in enumerate(user.input):
                if given in (text, f"{text}:0"):
                    user.input[number] = name
    for name in controls:
        if name not in known and name not in names:
            made.node.add(name=name, op="NoOp")
    return made, names


def _of_graph(target: Graph, graph: Graph, key: str, x: Any) -> Any:
    """The replacement of a tensor of a definition, as a tensor of the graph."""
    with graph_mode.inside(target):
        if isinstance(x, Variable):
            return x.read()
        if is_text(x):
            return in_graph(x).numbers
        if is_recorded(x):
            return x
        replaced = named_element(graph, key if ":" in key else f"{key}:0", allow_operation=False)
        return target.constant(ops.convert(x, replaced.dtype).numpy())


def _part(graph_def: Any, nodes: Iterable[Any]) -> Any:
    """A definition with some nodes, and the library and the versions of another one."""
    made = TENSORFLOW.GraphDef(node=nodes)
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


@function("graph_util.extract_sub_graph", "v1")
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The part of a definition that some operations need.

    Raises:
        AssertionError: a node has none of the names.
        TypeError: `dest_nodes` is one text.

    Source: `tf.compat.v1.graph_util.extract_sub_graph`.
    """
    if isinstance(dest_nodes, str):
        raise op_error(TypeError, "tf.graph_util.extract_sub_graph", "dest_nodes is a list of names.")
    nodes = {node.name: node for node in graph_def.node}
    stack, needed = [split(name)[0] for name in dest_nodes], set[str]()
    while stack:
        name = stack.pop()
        if name not in nodes:
            problem = f"{name!r} is not in graph_def{alike(name, nodes)}."
            raise op_error(AssertionError, "tf.graph_util.extract_sub_graph", problem)
        if name not in needed:
            needed.add(name)
            stack += [source for text in nodes[name].input if (source := split(text)[0]) in nodes]
            stack += [source for source in _beside(nodes[name]) if source in nodes]
    return _part(graph_def, [node for node in graph_def.node if node.name in needed])


@function("graph_util.convert_variables_to_constants", "v1")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> Any:
    """The part of a definition that some operations need, with constants instead of variables.

    Source: `tf.compat.v1.graph_util.convert_variables_to_constants`.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    chosen = chosen_variables(part, variable_names_whitelist, variable_names_blacklist)
    variables = {name: _variable(sess.graph, part, name) for name in chosen}
    return with_values(part, dict(zip(variables, sess.run(list(variables.values())), strict=True)))


def chosen_variables(graph_def: Any, only: Sequence[str] | None, without: Sequence[str] | None) -> list[str]:
    """The names of the variables of a definition: of all, or some, and without others."""
    names = [node.name for node in graph_def.node if node.op in HANDLES]
    return [name for name in names if (only is None or name in only) and name not in (without or ())]


def with_values(graph_def: Any, values: Mapping[str, Any]) -> Any:
    """A definition with constants instead of variables, from the values of these by their names."""
    return _part(graph_def, [_frozen(node, values) for node in graph_def.node])


def _variable(graph: Any, graph_def: Any, name: str) -> Any:
    """The variable of a node: of the process, or of a graph by its name."""
    node = next(node for node in graph_def.node if node.name == name)
    mark = mark_of(node)
    if mark is not None and mark.origin is not None and mark.rest in mark.origin.variables:
        return mark.origin.variables[mark.rest]
    return graph.get_operation_by_name(name).outputs[0]


def _frozen(node: Any, values: Mapping[str, Any]) -> Any:
    """A node, or what takes its place where variables have these values."""
    made = TENSORFLOW.NodeDef(name=node.name)
    if node.name in values:
        constant_node(made, np.asarray(values[node.name]))
        return made
    if node.op != "ReadVariableOp" or not node.input or split(node.input[0])[0] not in values:
        return node
    made.op = "Identity"
    made.input.extend(node.input)
    made.attr["T"].type = number_of(values[split(node.input[0])[0]].dtype)
    return made


@function("graph_util.remove_training_nodes", "v1")
def remove_training_nodes(input_graph: Any, protected_nodes: Sequence[str] | None = None) -> Any:
    """A definition without nodes that check values, and without those that only pass a tensor on.

    Protected nodes stay, and nodes that wait for others, that others wait for, or that others are beside by `_class`.

    Source: `tf.compat.v1.graph_util.remove_training_nodes`.
    """
    protected = set(protected_nodes or ())
    checks = {node.name for node in input_graph.node if node.op == "CheckNumerics"} - protected
    kept = [
        _with_inputs(node, [text for text in node.input if split(text)[0] not in checks])
        for node in input_graph.node
        if node.name not in checks
    ]
    texts = [text for node in kept for text in node.input if text.startswith("^")]
    fixed = protected | {text[1:] for text in texts} | {name for node in kept for name in _beside(node)}
    gone = {
        node.name: node.input[0]
        for node in kept
        if node.op in ("Identity", "StopGradient") and node.name not in fixed and not node.input[-1].startswith("^")
    }

    def source(text: str) -> str:
        while text in gone:
            text = gone[text].removesuffix(":0")
        return text

    nodes = [_with_inputs(node, map(source, node.input)) for node in kept if node.name not in gone]
    return TENSORFLOW.GraphDef(node=nodes, library=input_graph.library if input_graph.HasField("library") else None)


def _with_inputs(node: Any, inputs: Iterable[str]) -> Any:
    made = TENSORFLOW.NodeDef()
    made.CopyFrom(node)
    made.ClearField("input")
    made.input.extend(inputs)
    return made


def _beside(node: Any) -> list[str]:
    """The nodes whose device a node shares."""
    groups = node.attr["_class"].list.s if "_class" in node.attr else ()
    return [group.decode(errors="replace").removeprefix("loc:@") for group in groups]


@function("io.write_graph train.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph as TensorFlow's `GraphDef`, for TensorFlow, viewers of graphs, and `tf.GraphDef` to read.

    An operation that TensorFlow cannot compute becomes a node of its own type.

    Args:
        graph_or_graph_def: a graph or its definition.
        logdir, name: the folder, which is made if need be, and the file.
        as_text: whether it is text, as "graph.pbtxt", or bytes, as "graph.pb".

    Returns:
        The path.

    Raises:
        ImportError: the extra `formats` is not installed.
        TypeError: an operation cannot be written.

    Source: `tf.io.write_graph`.
    """
    need("tf.io.write_graph")
    graph = graph_or_graph_def
    write_message(file_of(graph) if isinstance(graph, Graph) else graph, Path(logdir) / name, as_text)
    return str(Path(logdir) / name)


def write_beside_checkpoints(graph: Graph, folder: str, user: str) -> None:
    """Write graph.pbtxt for the function `user`, if it can be written: functions of Python cannot."""
    try:
        write_graph(graph, folder, "graph.pbtxt")
    except TypeError as error:
        warn(UserWarning, user, f"it writes no graph.pbtxt: {error}")


def write_message(message: Any, path: Path, as_text: bool) -> None:
    """Write a message as text or as bytes; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = to_text(message).encode() if as_text else message.SerializeToString()
    with replacing(path) as file:
        file.write(data)
