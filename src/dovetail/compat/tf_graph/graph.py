"""TensorFlowGraph: a graph with the names that TensorFlow's graphs have."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

from dovetail.compat.tf_graph.device_scopes import colocation_scope, device_scope
from dovetail.compat.tf_graph.elements import element_of, face_of, named_element
from dovetail.compat.tf_graph.operation import TensorFlowOperation
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.base.hooks import hooks
from dovetail.core.base.tensor_shape import UNKNOWN
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.attributes import register
from dovetail.graph.document import GRAPH
from dovetail.graph.naming import unique_name


class TensorFlowGraph(Graph):
    """A graph whose methods, and whose operations' methods, also have TensorFlow's names.

    `SessionGraph` is one, and so are the graphs inside its operations and the traces of `tf.function`.

    Source: `tf.Graph`.

    Example:
        >>> import dovetail as dt
        >>> graph = TensorFlowGraph()
        >>> y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
        >>> list(graph.get_operation_by_name("Tanh").node_def.input)
        ['x']
    """

    _operation_type = TensorFlowOperation
    _unknown_shape = UNKNOWN

    def __init__(self, name: str = "graph", outer: Graph | None = None) -> None:
        super().__init__(name, outer)
        self._collections: dict[Any, list[Any]] = {}
        self._variable_operations: dict[str, VariableOperation] = {}

    # by name

    def get_operation(self, name: str) -> Any:
        """An operation by name, also the operation of a variable.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        return self._variable_operations.get(name) or super().get_operation(name)

    def get_operations(self) -> list[Operation]:
        """The operations, in program order: `operations` under TensorFlow's name.

        Source: `tf.Graph.get_operations`.
        """
        return self.operations

    def get_operation_by_name(self, name: str) -> Any:
        """An operation by name.

        Raises:
            KeyError: there is none.
            TypeError, ValueError: it is not a name, or it is the name of a tensor.

        Source: `tf.Graph.get_operation_by_name`.
        """
        return named_element(self, name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Any:
        """A tensor by its full name, such as `dense_1/BiasAdd:0`.

        Raises:
            KeyError: there is none.
            TypeError, ValueError: it is not a name, or it is the name of an operation.

        Source: `tf.Graph.get_tensor_by_name`.
        """
        return named_element(self, name, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation of this graph that an object is or names.

        Args:
            obj: a tensor or an operation, or its name: `"x"` is an operation, `"x:0"` a tensor.
            allow_tensor, allow_operation: whether it may be a tensor, or an operation.

        Raises:
            KeyError: nothing has this name.
            TypeError: it is neither a tensor nor an operation, or it is of the kind that is not allowed.
            ValueError: it is in another graph, or was removed; or the name means a thing of the kind that is not
                allowed.

        Source: `tf.Graph.as_graph_element`.

        Example:
            >>> import dovetail as dt
            >>> graph = TensorFlowGraph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> graph.as_graph_element("x"), graph.as_graph_element("x:0")
            (<operation x Placeholder>, <graph tensor x:0 float32[]>)
        """
        return face_of(element_of(self, obj, allow_tensor, allow_operation))

    def get_name_scope(self) -> str:
        """The name scope of new operations, without its slash.

        Source: `tf.Graph.get_name_scope`.
        """
        return self.scope.rstrip("/")

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name with the scope in front, and a number behind if an operation or a new scope has it.

        Args:
            name: with a slash at its end, a full name, which gets neither.
            mark_as_used: whether the name is taken from now on.

        Raises:
            ValueError: an operation has the full name.

        Source: `tf.Graph.unique_name`.
        """
        return unique_name(self, name, mark_as_used)

    # collections

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Put any object into a collection of the graph, such as `"losses"`.

        Source: `tf.Graph.add_to_collection`.
        """
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Put any object into several collections; a name that is given twice counts once.

        Source: `tf.Graph.add_to_collections`.
        """
        for name in [names] if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """The items of a collection, in a new list.

        Args:
            name: the name of the collection.
            scope: a regular expression; then only the items whose names begin with a match.

        Source: `tf.Graph.get_collection`.

        Example:
            >>> graph = TensorFlowGraph()
            >>> graph.add_to_collection("losses", 1.0)
            >>> graph.get_collection("losses"), graph.get_collection("losses", scope="layer")
            ([1.0], [])
        """
        items = list(self._collections.get(name, ()))
        return items if scope is None else [x for x in items if hasattr(x, "name") and re.match(scope, x.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself, a list that may be changed.

        Source: `tf.Graph.get_collection_ref`.
        """
        return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """The names of the collections that are not empty.

        Source: `tf.Graph.get_all_collection_keys`.
        """
        return [name for name, values in self._collections.items() if values]

    def clear_collection(self, name: Any) -> None:
        """Empty a collection.

        Source: `tf.Graph.clear_collection`.
        """
        self._collections.pop(name, None)

    def add_variable_operation(self, operation: VariableOperation) -> None:
        """Let a variable and its operation be found by name."""
        self._variable_operations[operation.name] = operation

    # devices

    def device(self, device: Any) -> AbstractContextManager[None]:
        """Compute operations added to this graph inside the `with` block on a device, if it exists.

        The names are TensorFlow's.  If the engine has no such device, the plan computes an operation on the nearest
        one; in another process, where it computes the others.  `Session(allow_soft_placement=False)` refuses that.

        Args:
            device: a name such as "/gpu:0" or "/job:worker/task:0/device:CPU:0"; outer scopes fill in the parts that it
                leaves open.  Or a function of an operation: the string that it returns, "" too, replaces the device
                from inner scopes; None leaves that as it is.  None as the device closes all scopes.

        Raises:
            TypeError, ValueError: it is not the name of a device.

        Source: `tf.Graph.device`.

        Example:
            >>> import dovetail as dt
            >>> graph = TensorFlowGraph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.device("/job:worker"), graph.device("/gpu:0"):
            ...     y = dt.ops.tanh(x)
            >>> y.op.device, y.eval({x: 0.0})
            ('/job:worker/device:GPU:0', np.float32(0.0))
        """
        return device_scope(self, device)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
        """Give operations added to this graph inside the `with` block the device of an operation, if it has one.

        Args:
            op: an operation, or a tensor, which means its operation; None for none.
            ignore_existing: whether an outer `colocate_with` is ignored if `op` has no device.

        Source: `tf.Graph.colocate_with`.

        Example:
            >>> import dovetail as dt
            >>> graph = TensorFlowGraph()
            >>> with graph.device("/gpu:1"):
            ...     x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.colocate_with(x.op):
            ...     dt.ops.tanh(x).op.device
            '/device:GPU:1'
        """
        return colocation_scope(self, op, ignore_existing)

    # definitions

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called.

        Source: `tf.Graph.finalized`.
        """
        return self.is_final

    def as_graph_def(self, from_version: Any = None, add_shapes: bool = False) -> Any:
        """A message `GraphDef` of the graph as it is now, to be edited, written, and imported into others.

        Its nodes are TensorFlow's, which TensorFlow runs.  An operation that TensorFlow cannot compute is a node of its
        own type.

        Args:
            from_version: None; parts of a definition are not offered.
            add_shapes: whether nodes say the shapes of their outputs.

        Raises:
            ImportError: the extra `formats` is not installed.
            NotImplementedError: a version is given.

        Source: `tf.Graph.as_graph_def`.
        """
        if from_version is not None:
            raise NotImplementedError("a definition has the whole graph: leave from_version out.")
        from dovetail.compat.tf_graph.definition import definition_of  # sessions do without the tables of files

        return definition_of(self, add_shapes)


TensorFlowGraph._part_type = TensorFlowGraph
hooks.new_tensorflow_graph = TensorFlowGraph
register(TensorFlowGraph, GRAPH)


def collected(graph: Graph, name: Any) -> list[Any]:
    """The items of a collection; none if the graph is not TensorFlow's."""
    return graph.get_collection(name) if isinstance(graph, TensorFlowGraph) else []


def note_variable(graph: Graph, variable: Variable) -> None:
    """Put a variable that was made from a tensor of a graph into the collections of the graph, if it has some."""
    if isinstance(graph, TensorFlowGraph):
        graph.add_to_collections(["variables", *(["trainable_variables"] if variable.trainable else [])], variable)
