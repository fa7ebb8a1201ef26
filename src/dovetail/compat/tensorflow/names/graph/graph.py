"""TensorFlow 1's names for graphs: modes, placeholders, scopes, collections, dependencies."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.session.settings import heed
from dovetail.compat.tensorflow.names.strings.tensors import NUMBER, StringTensor, in_graph
from dovetail.compat.tensorflow.names.strings.text import is_text
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.dimension import dimension, plain
from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.spec import spec
from dovetail.core.values.value_kinds import is_recorded, is_tensor
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.base import in_contrast
from dovetail.graph.nesting import outermost_of
from dovetail.sessions.session_graph import SessionGraph

# -- mode -------------------------------------------------------------------------------------------------------------


@function("disable_eager_execution disable_v2_behavior disable_v2_tensorshape disable_resource_variables", "v1")
def disable_eager_execution() -> None:
    """Record calls in this thread's default graph from now on.

    Source: `tf.compat.v1.disable_eager_execution`.
    """
    graph_mode.open_graph()


@function("enable_eager_execution enable_v2_behavior", "v1")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Compute calls at once from now on.

    Args:
        config: a `tf.ConfigProto`, as for a session.

    Source: `tf.compat.v1.enable_eager_execution`.
    """
    if config is not None:
        heed(config)
    graph_mode.close_graph()


@function("enable_resource_variables", "v1")
def enable_resource_variables() -> None:
    """Do nothing: all variables are resource variables.

    Source: `tf.compat.v1.enable_resource_variables`.
    """


@function("executing_eagerly")
def executing_eagerly() -> bool:
    """Whether calls are computed at once.

    Source: `tf.executing_eagerly`.
    """
    return graph_mode.graph() is None and graph_mode.current_graph() is None


@function("get_default_graph", "v1")
def get_default_graph() -> Graph:
    """The graph that is being built; otherwise the thread's default graph, which is opened if need be.

    Source: `tf.compat.v1.get_default_graph`.
    """
    return graph_mode.current_graph() or graph_mode.open_graph()


@function("reset_default_graph", "v1")
def reset_default_graph() -> None:
    """Replace the default graph by an empty one.

    Source: `tf.compat.v1.reset_default_graph`.
    """
    graph_mode.reset_graph()


value("Graph", SessionGraph)

# -- placeholders -----------------------------------------------------------------------------------------------------


@function("placeholder", "v1")
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A placeholder, which each run must feed.

    Source: `tf.compat.v1.placeholder`.
    """
    has_strings = is_text(None, dtype)
    made = graph_mode.open_graph().placeholder(spec(_dims(shape), NUMBER if has_strings else dtype), name)
    return StringTensor(made) if has_strings else made


def _dims(shape: Any) -> list[int | None] | None:
    """A shape as programs write it; None if even the rank is unknown."""
    dims = shape if shape is None or hasattr(shape, "__iter__") else [shape]
    if dims is None or getattr(dims, "rank", 0) is None:
        return None
    return [None if d in (None, -1) else plain(dimension(d)) for d in dims]


@function("placeholder_with_default", "v1")
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """A placeholder with a default value, which runs may feed.

    Args:
        input: the default value.
        shape: the shape of feeds; None for any shape.

    Source: `tf.compat.v1.placeholder_with_default`.
    """
    opened = graph_mode.open_graph()
    is_inside = getattr(input, "graph", opened) is not opened  # a branch or a body, whose tensors stay there
    with graph_mode.inside(graph_mode.current_graph() if is_inside else opened) as graph:
        has_strings, dims = is_text(input), _dims(shape)
        given = in_graph(input).numbers if has_strings else input
        default = given if is_recorded(given) else graph.constant(ops.convert(given).numpy())
        made = ops.placeholder_with_default(default, dims, dims is None, name=name)
        return StringTensor(made) if has_strings else made


# -- scopes -----------------------------------------------------------------------------------------------------------


@function("name_scope", "v2")
def name_scope(name: str) -> AbstractContextManager[str]:
    """A name scope for the operations that are recorded in the `with` block.

    Source: `tf.name_scope`.
    """
    if not isinstance(name, str):
        raise op_error(ValueError, "tf.name_scope", f"the name must be a string, not {name!r}.")
    return _NameScope(name)


@function("name_scope", "v1")
def name_scope_v1(name: Any, default_name: Any = None, values: Any = None) -> AbstractContextManager[str]:
    """A name scope for the operations that are recorded in the `with` block; `default_name` replaces a name of None.

    Args:
        values: tensors whose graph the scope is opened in.

    Source: `tf.compat.v1.name_scope`.
    """
    if not isinstance(name, (str, type(None))):
        raise op_error(TypeError, "tf.name_scope", f"the name must be a string, not {name!r}.")
    return _NameScope(default_name if name is None else name, values)


class _NameScope(AbstractContextManager[str]):
    """A name scope that can be entered again, under a new number.

    Attributes:
        name: the name that was given.
    """

    def __init__(self, name: str | None, values: Any = None) -> None:
        self.name, self._values = name, values
        self._open: list[ExitStack] = []

    def __enter__(self) -> str:
        with ExitStack() as entered:
            graph = graph_of(self._values)
            if graph is not None:
                entered.enter_context(graph_mode.inside(graph))
            whole = entered.enter_context(graph_mode.name_scope(self.name))
            self._open.append(entered.pop_all())
        return whole

    def __exit__(self, *error: Any) -> None:
        self._open.pop().__exit__(*error)


def graph_of(values: Any) -> SessionGraph | None:
    """The session graph of tensors; None if none of the values is in one, or they are in the one that is built.

    Raises:
        ValueError: they belong to two graphs.
    """
    recorded = [x for x in values or () if isinstance(x, (GraphTensor, Operation))]
    graphs = {outermost_of(x.graph): x for x in recorded}
    if len(graphs) > 1:
        (first, _), (_, other), *_ = graphs.items()
        problem = f"the values are of two graphs: {other!r} belongs to {in_contrast(first, other.graph)}."
        raise op_error(ValueError, "tf.name_scope", problem)
    current = graph_mode.graph()
    graph = next(iter(graphs), None)
    return (
        graph if isinstance(graph, SessionGraph) and (current is None or outermost_of(current) is not graph) else None
    )


function("op_scope", "v1", v1="values name default_name")(name_scope_v1)


@function("control_dependencies")
def control_dependencies(control_inputs: Any) -> AbstractContextManager[Any]:
    """A scope whose operations run after these; None drops the enclosing control dependencies.

    Source: `tf.control_dependencies`.
    """
    graph = graph_mode.graph()
    if graph is None:
        return nullcontext()
    given = [] if control_inputs is None else nest_flatten(control_inputs)
    given = [graph.as_graph_element(x) if isinstance(x, str) else x for x in given]
    for x in given:
        if not (x is None or is_tensor(x) or hasattr(x, "op") or hasattr(x, "graph")):
            problem = f"control_inputs are tensors, operations and their names, not {describe(x)}."
            raise op_error(TypeError, "tf.control_dependencies", problem)
    return graph.control_dependencies(None if control_inputs is None else nodes_of(given))


def nodes_of(values: Any) -> list[Operation]:
    """The operations of a structure of tensors, operations and assigned variables; computed values have none."""
    leaves = (x if isinstance(x, Operation) else getattr(x, "op", None) for x in nest_flatten(values))
    return [x for x in leaves if isinstance(x, Operation)]


@function("group")
def group(*inputs: Any, name: str | None = None) -> Any:
    """An operation that runs all of these.

    Source: `tf.group`.
    """
    nodes = nodes_of(list(inputs))
    graph = graph_mode.graph() or next((node.graph for node in nodes), None)
    if graph is None:
        return None
    with graph.control_dependencies(nodes):
        return graph.group(name=name or "group_deps")


@function("no_op")
def no_op(name: str | None = None) -> Any:
    """An operation that does nothing.

    Source: `tf.no_op`.
    """
    graph = graph_mode.graph()
    return None if graph is None else graph.group(name=name or "NoOp")


@function("tables_initializer initializers.tables_initializer initialize_all_tables", "v1")
def tables_initializer(name: str = "init_all_tables") -> Any:
    """The operation that TensorFlow fills tables by; here each is read when it is first needed.

    Source: `tf.compat.v1.tables_initializer`.
    """
    graph = graph_mode.open_graph()
    return graph.group(*graph.get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


@function("container", "v1")
def container(container_name: str) -> AbstractContextManager[Any]:
    """Do nothing: sessions share no state, so it is in no container.

    Source: `tf.compat.v1.container`.
    """
    return nullcontext(container_name)


# -- collections ------------------------------------------------------------------------------------------------------


class GraphKeys:
    """The names of collections.

    Source: `tf.compat.v1.GraphKeys`.
    """

    GLOBAL_VARIABLES = VARIABLES = "variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    SUMMARIES = "summaries"
    UPDATE_OPS = "update_ops"
    SUMMARY_OP = "summary_op"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    SAVERS = "savers"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    CONCATENATED_VARIABLES = "concatenated_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    SAVEABLE_OBJECTS = "saveable_objects"
    EVAL_STEP = "eval_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    BIASES = "biases"


value("GraphKeys", GraphKeys, "v1")


@function("add_to_collection", "v1")
def add_to_collection(name: Any, value: Any) -> None:
    """Put a value into a collection of the graph.

    Source: `tf.compat.v1.add_to_collection`.
    """
    graph_mode.open_graph().add_to_collection(name, value)


@function("add_to_collections", "v1")
def add_to_collections(names: Any, value: Any) -> None:
    """Put a value into several collections of the graph.

    Source: `tf.compat.v1.add_to_collections`.
    """
    graph_mode.open_graph().add_to_collections(names, value)


@function("get_collection", "v1")
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A list of the values in a collection of the graph.

    Source: `tf.compat.v1.get_collection`.
    """
    return graph_mode.open_graph().get_collection(key, scope)


@function("get_collection_ref", "v1")
def get_collection_ref(key: Any) -> list[Any]:
    """The list itself that is a collection of the graph.

    Source: `tf.compat.v1.get_collection_ref`.
    """
    return graph_mode.open_graph().get_collection_ref(key)
