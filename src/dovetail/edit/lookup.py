"""Lookup: the methods of Graph that find operations and tensors, by name, by type, or in collections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import describe
from dovetail.core.op import Op
from dovetail.graph.base import GraphBase, in_contrast
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.variable_operation import VariableOperation

if TYPE_CHECKING:
    from dovetail.core.variable import Variable


class Lookup(GraphBase):
    """The methods of `Graph` that find its operations, tensors and collections."""

    def __init__(self, name: str = "graph", outer: Any = None) -> None:
        super().__init__(name, outer)
        self._collections: dict[Any, list[Any]] = {}
        self._variable_operations: dict[str, VariableOperation] = {}

    # by name

    def get_operation(self, name: str) -> Any:
        """An operation by name, also the operation of a variable.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        if name in self._variable_operations:
            return self._variable_operations[name]
        if name not in self._operations:
            close = get_close_matches(name, self._operations, 3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise KeyError(f"no operation {name!r} in {self.name!r}{hint}")
        return self._operations[name]

    def get_tensor(self, name: str) -> Any:
        """A tensor by name, such as `dense_1/BiasAdd:0`; the number may be left out for the first output.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        op_name, _, index = name.partition(":")
        outputs = self.get_operation(op_name).outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise KeyError(f"{op_name!r} has {len(outputs)} outputs, so there is no tensor {name!r}.")
        return outputs[int(index or 0)]

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
        _check_name(name)
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Any:
        """A tensor by its full name, such as `dense_1/BiasAdd:0`.

        Raises:
            KeyError: there is none.
            TypeError, ValueError: it is not a name, or it is the name of an operation.

        Source: `tf.Graph.get_tensor_by_name`.
        """
        _check_name(name)
        return self.as_graph_element(name, allow_operation=False)

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
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> graph.as_graph_element("x"), graph.as_graph_element("x:0")
            (<operation x Placeholder>, <graph tensor x:0 float32[]>)
        """
        is_name = isinstance(obj, str)
        found = (self.get_tensor(obj) if ":" in obj else self.get_operation(obj)) if is_name else obj
        its = getattr(found, "op", found)
        if isinstance(its, VariableOperation) and (allow_operation if its is found else allow_tensor):
            if its.graph is not self:
                raise ValueError(f"{its!r} belongs to {in_contrast(self, its.graph)}.")
        elif isinstance(found, GraphTensor) and allow_tensor:
            self.check_tensor(found)
        elif isinstance(found, Operation) and allow_operation:
            self._check_member(found)
        else:
            kinds = [kind for kind, allowed in (("tensor", allow_tensor), ("operation", allow_operation)) if allowed]
            kind = ValueError if is_name else TypeError
            problem = f"{describe(obj)} names {found!r}" if is_name else describe(obj)
            hint = f': write "{obj}:0" for its first result' if is_name and isinstance(found, Operation) else ""
            raise kind(f"needs a{'n' if kinds[0] == 'operation' else ''} {' or '.join(kinds)}, not {problem}{hint}.")
        return found

    # by type, name or a test

    def find(
        self,
        type: str | Op | Iterable[str | Op] | None = None,
        name: str | None = None,
        where: Callable[[Operation], Any] | None = None,
    ) -> list[Operation]:
        """The operations that meet all conditions given, in program order.

        Args:
            type: an op type or op, or several, of which an operation must have one.
            name: a regular expression that matches somewhere in the name.
            where: a function that says whether an operation meets the condition.

        Returns:
            Operations of this graph alone; to search bodies of loops and branches, use `subgraphs()`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec((None, 3)), "x")
            >>> y = dt.ops.relu(dt.ops.tanh(x), name="first") + dt.ops.relu(x, name="second")
            >>> graph.find("Relu", name="^first"), graph.find(where=lambda op: op.inputs == [])
            ([<operation first Relu>], [<operation x Placeholder>])
        """
        types = None if type is None else {_type(t) for t in ([type] if isinstance(type, (str, Op)) else type)}
        pattern = None if name is None else re.compile(name)
        return [
            op
            for op in (self.operations if types is None else self.of_types(types))
            if (pattern is None or pattern.search(op.name)) and (where is None or where(op))
        ]

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
            >>> graph = Lookup()
            >>> graph.add_to_collection("losses", 1.0)
            >>> graph.get_collection("losses"), graph.get_collection("losses", scope="layer")
            ([1.0], [])
        """
        found = list(self._collections.get(name, ()))
        return found if scope is None else [x for x in found if hasattr(x, "name") and re.match(scope, x.name)]

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

    def add_variable_operation(self, operation: VariableOperation) -> None:
        """Let a variable and its operation be found by name."""
        self._variable_operations[operation.name] = operation

    def add_variable(self, variable: Variable) -> None:
        """Put a variable that was made from a tensor of this graph into the collections of variables."""
        self.add_to_collections(["variables", *(["trainable_variables"] if variable.trainable else [])], variable)

    def clear_collection(self, name: Any) -> None:
        """Empty a collection.

        Source: `tf.Graph.clear_collection`.
        """
        self._collections.pop(name, None)


def _type(kind: str | Op) -> str:
    return kind if isinstance(kind, str) else kind.name


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a name is a string, not {describe(name)}.")
