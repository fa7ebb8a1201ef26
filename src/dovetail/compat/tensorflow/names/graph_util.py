"""TensorFlow's names for graphs as data: definitions, importing, freezing, writing, and each op by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.nearest import close_op
from dovetail.compat.tensorflow.table import absent, function, told, value
from dovetail.compat.tf_graph.elements import named_element
from dovetail.compat.tf_graph.graph_bytes import proto_of
from dovetail.compat.tf_graph.graph_def import GraphDef, import_definition
from dovetail.compat.tf_graph.node_def import NodeDef
from dovetail.compat.tf_graph.operation import OpDef
from dovetail.core.errors import op_error
from dovetail.core.files import replacing
from dovetail.core.op import Op
from dovetail.core.table import OPS
from dovetail.core.value_kinds import is_recorded
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import to_text

value("GraphDef", GraphDef)
value("NodeDef", NodeDef)
value("OpDef", OpDef, "v1")


class AttrValue:
    """The value of an attribute, as `operation._set_attr` takes it.

    Args:
        b, i, f, s, type, list: a bool, an int, a float, a string, a dtype or a `ListValue`; exactly one is given.

    Source: `tf.compat.v1.AttrValue`.
    """

    class ListValue:
        """Several values of one kind.

        Args:
            b, i, f, s: bools, ints, floats or strings; exactly one is given.

        Source: `tf.compat.v1.AttrValue.ListValue`.
        """

        def __init__(self, **given: Any) -> None:
            _set_one(self, "tf.AttrValue.ListValue", given, ("b", "i", "f", "s"))

    def __init__(self, **given: Any) -> None:
        _set_one(self, "tf.AttrValue", given, ("b", "i", "f", "s", "type", "list"))

    def WhichOneof(self, field: str) -> str:
        """The name of the field that is set, as in protocol buffers."""
        return next(iter(vars(self)))


def _set_one(made: Any, title: str, given: dict[str, Any], known: Sequence[str]) -> None:
    if len(given) != 1 or not given.keys() <= set(known):
        problem = f"it takes one of {', '.join(known)}, not {', '.join(given) or 'none'}."
        raise op_error(TypeError, title, problem)
    vars(made).update(given)


value("AttrValue", AttrValue, "v1")


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
        graph_def: the result of `graph.as_graph_def()`.
        input_map: names of its tensors → tensors of the graph, variables or numbers that replace them.
        return_elements: names of tensors (`"x:0"`) and operations (`"x"`) of the definition.
        name: a name scope for the copies; "import" if not given.

    Returns:
        The copies of `return_elements`, in a list; None if `return_elements` is None.

    Source: `tf.import_graph_def`.
    """
    if not isinstance(graph_def, GraphDef):
        problem = "it takes a tf.GraphDef, as graph.as_graph_def() gives; read bytes by GraphDef.FromString(data)."
        raise op_error(TypeError, "tf.import_graph_def", problem)
    target = graph_mode.current_graph() or graph_mode.open_graph()
    scope = "import" if name is None else name
    given = {key: _of_graph(target, graph_def, key, x) for key, x in (input_map or {}).items()}
    found = import_definition(target, graph_def, given, return_elements or (), scope)
    return None if return_elements is None else found


def _of_graph(target: Graph, graph_def: GraphDef, key: str, x: Any) -> Any:
    """The replacement of a tensor of a definition, as a tensor of the graph."""
    with graph_mode.inside(target):
        if isinstance(x, Variable):
            return x.read()
        if is_recorded(x):
            return x
        replaced = named_element(graph_def.graph, key if ":" in key else f"{key}:0", allow_operation=False)
        return target.constant(ops.convert(x, replaced.dtype).numpy())


@function("graph_util.extract_sub_graph", "v1")
def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The part of a definition that some operations need.

    Source: `tf.compat.v1.graph_util.extract_sub_graph`.
    """
    operations = [named_element(graph_def.graph, name.partition(":")[0], allow_tensor=False) for name in dest_nodes]
    return GraphDef(graph_def.graph, [t for op in operations for t in op.outputs])


@function("graph_util.convert_variables_to_constants", "v1")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> GraphDef:
    """The part of a definition that some operations need, with constants instead of variables.

    Source: `tf.compat.v1.graph_util.convert_variables_to_constants`.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    variables = {op.attrs["variable"] for op in part.graph.find("ReadVariableOp")}
    chosen = [
        v
        for v in variables
        if (variable_names_whitelist is None or v.op_name in variable_names_whitelist)
        and v.op_name not in (variable_names_blacklist or ())
    ]
    with sess.as_default():
        part.graph.freeze(chosen)
    return part


@function("graph_util.remove_training_nodes", "v1")
def remove_training_nodes(input_graph: GraphDef, protected_nodes: Sequence[str] | None = None) -> GraphDef:
    """A definition without operations that only pass a tensor on.

    Source: `tf.compat.v1.graph_util.remove_training_nodes`.
    """
    made = GraphDef(input_graph.graph)
    for op in made.graph.find(("Identity", "StopGradient")):
        if op.name not in (protected_nodes or ()) and op.outputs[0].consumers():
            made.graph.replace_all_uses(op.outputs[0], op.inputs[0])
    made.graph.prune()
    return made


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
    found = graph_or_graph_def
    write_message(proto_of(found if isinstance(found, Graph) else found.graph), Path(logdir) / name, as_text)
    return str(Path(logdir) / name)


def write_message(message: Any, path: Path, as_text: bool) -> None:
    """Write a message as text or as bytes; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = to_text(message).encode() if as_text else message.SerializeToString()
    with replacing(path) as file:
        file.write(data)


# -- each op by its name ----------------------------------------------------------------------------------------------

# TensorFlow's names for the parameters of raw ops → Dovetail's.
_WORDS = {
    **dict.fromkeys(["a", "features", "input", "tensor", "images", "t", "value", "logits", "real"], "x"),
    **dict.fromkeys(["b", "e", "imag"], "y"),
    **dict.fromkeys(["reduction_indices", "dimension", "dim"], "axis"),
    "values": "xs",
    "keep_dims": "keepdims",
    "multiples": "repeats",
    "paddings": "pad_width",
    "filter": "kernel",
    "perm": "axes",
    "DstT": "dtype",
    "clip_value_min": "x_min",
    "clip_value_max": "x_max",
    "alpha": "negative_slope",
}


class RawOps(ModuleType):
    """`tf.raw_ops`: each op of the table by its name, including the program's own ops."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        op = OPS.get(name)
        if op is None:
            close = close_op(name, OPS)
            hint = f"did you mean {close!r}? A" if close else "a"
            problem = (
                f"no op is called {name!r}; {hint} gradient registered under a name is not one, "
                "and dovetail.register_op makes one."
            )
            raise AttributeError(f"tf.raw_ops has no {name!r}: {problem}", name=name, obj=self)
        return told(f"raw_ops.{name}", _by_words(op), scope=False)

    def __dir__(self) -> list[str]:
        return sorted(OPS)


def _by_words(op: Op[..., Any]) -> Any:
    """Wrap an op: it takes its arguments by TensorFlow's names, or by Dovetail's."""

    def call(*, name: str | None = None, **given: Any) -> Any:
        known = {}
        for word, argument in given.items():
            ours = word if word in op.positions else _WORDS.get(word, word)
            if ours not in op.positions or ours in known:
                names = ", ".join(op.positions)
                raise TypeError(f"no argument {word!r}, or it is given twice; the op takes {names}.")
            known[ours] = argument
        return op(**known, name=name)

    return call


value("raw_ops", RawOps("dovetail.compat.tensorflow.raw_ops"))
absent("load_op_library load_library", "Define ops in Python, with dovetail.register_op.")
absent("saved_model.", "Write dovetail.saved_model.save(model, folder), which TensorFlow loads.")
absent("python.framework.convert_to_constants.", "Use graph.freeze() of a dovetail.function's graph(...).")
