"""The contents of a graph: operations in program order, the variables they read, names and scopes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import Where, describe, op_error, place, user_line
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import budget, made
from dovetail.core.base.scopes import opened, scopes
from dovetail.core.base.table import OPS
from dovetail.core.calls.gradients import checked_overrides
from dovetail.core.dtypes import native_to_dtype, promote
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values import host
from dovetail.core.values.spec import Ints, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.graph.cursor import Cursor
from dovetail.graph.dialect import Dialect
from dovetail.graph.graph_scopes import HasScopes, scoped
from dovetail.graph.index import forget_type, note_change, note_type
from dovetail.graph.journal import all_or_nothing, note
from dovetail.graph.naming import unique_in
from dovetail.graph.nesting import graphs_around, holders_of, outermost_of
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.order import NOWHERE, Order, position, stands_before
from dovetail.graph.outputs import Outputs
from dovetail.graph.reach import reach
from dovetail.graph.recompute_groups import RecomputeGroup, computes
from dovetail.graph.state import State
from dovetail.ops.control.plumbing import EFFECTS, INPUTS
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS

if TYPE_CHECKING:
    from dovetail.core.values.creations import Creations
    from dovetail.edit.graph import Graph


def operations_in(given: Operation | GraphTensor | Iterable[Operation | GraphTensor]) -> list[Operation]:
    """A list of the given operations; a tensor means its operation, and a single one needs no list."""
    several = [given] if isinstance(given, (Operation, GraphTensor)) else given
    return [x.op if isinstance(x, GraphTensor) else x for x in several]


def array_of(value: Any) -> np.ndarray:
    """A number, a list or a tensor that is no graph's as an array.

    Raises:
        TypeError: it is something else, such as a graph tensor.
    """
    if type(value) is Tensor:
        return np.asarray(value.numpy())
    if is_tensor(value):
        raise TypeError(f"a constant is an array, a number or a list of numbers, not {describe(value)}.")
    return host.from_host(lambda given, dtype: np.array(given, dtype.numpy), value, promote([dtype_of(value)]))


class GraphBase(HasScopes):
    """The operations of a graph, in order, and the facts about them; `Graph` adds edits, parts and text."""

    _operation_type: type[Operation] = Operation
    _part_type: type[Graph]  # of graphs inside its operations
    session: Any = None
    is_final = False
    stand_ins: list[tuple[Any, GraphTensor]] | None = None
    creations: Creations | None = None
    _unknown_shape: Any = None  # the shape of tensors of unknown rank, for programs
    dialect = Dialect()
    changed_ops: list[Operation] | None = None
    file: Any = None  # the model that it was read from, whose `file` gives the bytes while nobody edits it

    def __init__(self, name: str = "graph", outer: Graph | None = None) -> None:
        super().__init__(outer)
        self.name = name
        self.outer = outer
        self.inputs: list[GraphTensor] = []
        self._outputs = Outputs(self)
        self.closures: dict[Tensor, GraphTensor] = {}
        self.closure_nodes: list[Any] = []
        self.is_traced = False
        self.captures: dict[GraphTensor | Tensor, GraphTensor] = {}
        self.state = State()
        self.version = 0
        self._operations: dict[str, Operation] = {}
        self.by_type: dict[str, dict[Operation, None]] = {}
        self._order = Order()
        self._holders: dict[Operation, None] = {}
        self._cursors: list[Cursor] = []  # of all open scopes, in all threads and tasks
        self._counts: dict[str, int] = {}
        self._kept: set[str] = set()  # the names of operations to come, see `keep_names`
        self.awaited: dict[Operation, None] = {}  # operations of outer graphs that its holder will wait for

    # building

    def add(
        self,
        op: Op,
        inputs: Iterable[GraphTensor],
        attrs: dict[str, Any],
        specs: Iterable[TensorSpec | GraphTensor],
        layout: tuple[int | None, ...] | None = None,
        name: str | None = None,
        where: Where = None,
        waits: Iterable[Operation] = (),
    ) -> Operation:
        """Add an operation whose output specs are known, at the end or at the place of `insert_before`.

        Args:
            op, inputs, attrs, layout: as in `Operation`.
            specs: the specs of its outputs, or tensors like them.
            name: its name, without the name scope.
            where: the user's line; the calling line if not given.
            waits: its control inputs, besides the operations of `control_dependencies`.
        """
        inputs = list(inputs)
        if self.is_traced and self.outer is None:
            what = repr(inputs[0]) if inputs else "the operation"
            problem = f"{what} belongs to the finished trace of {self.name!r}; edit a copy, `.graph(...)`."
            raise op_error(ValueError, op.name, problem)
        if self.is_final:
            self.check_changeable()
        for tensor in inputs:
            if tensor.op.graph is not self or tensor.op._position == NOWHERE:
                raise op_error(ValueError, op.name, foreign_tensor(self, tensor))
        here = scopes().others.get(self._scopes, self._scopes.default)  # `get` would cost a call per operation
        like = None if here.cursor is None else here.cursor.like
        name = unique_in(self, here.scope if here.name is None else here.name, name or op.name)
        layout = layout or (SINGLE,) * len(inputs)
        where = like.where if like is not None else where or user_line()
        operation = self._operation_type(self, op, name, inputs, layout, attrs, where)  # type: ignore[arg-type]  # it is a graph
        for number, spec in enumerate(specs if budget() is None else made(specs)):
            operation.outputs.append(GraphTensor(operation, number, spec))
        if like is not None:
            operation.take_after(like)
        else:
            operation._pin = here.places.pin
            operation.recompute_group = (
                here.recompute_group if here.recompute_group is not None and computes(operation) else None
            )
            if here.places.asks:
                here.places.record(operation)
        made_for = here.made_for if like is None else like
        if made_for is not None:
            operation._origin = made_for.origin
        takes_control = op.name not in INPUTS or (self.dialect.records_effects and op.name == "ReadVariableOp")
        if takes_control and (here.control or like is not None):
            waits = (*here.control, *(() if like is None else like.control_inputs), *waits)
        if waits:
            operation._control_inputs = {other: None for other in waits if not other.is_removed}
        before = None if here.cursor is None else here.cursor.place(operation)
        self._attach(operation, before)
        if op.name in EFFECTS and not self.dialect.records_effects:
            self.edited()
        return operation

    def _attach(self, operation: Operation, before: Operation | None) -> None:
        """Insert an operation before another, or at the end."""
        operation.note_uses()
        for other in operation._control_inputs or ():
            other._note_waiting(operation)
        self._operations[operation.name] = operation
        note_type(self, operation)
        self._order.insert(operation, before)
        if operation.type in SUBGRAPH_CALLS:
            for part in operation.subgraphs():
                part._holders[operation] = None
        note_change(self, operation)
        if scopes().undo is not None:
            note(lambda: self._detach(operation))

    def _detach(self, operation: Operation) -> None:
        """Remove an operation that no remaining operation takes or waits for."""
        self.check_changeable()
        following = operation._next
        for cursor in self._cursors:
            cursor.forget(operation)
        for other in operation.control_outputs:
            other.remove_control_input(operation)
        self.state.forget(operation)
        operation.drop_uses()
        for other in operation.control_inputs:
            (other._control_outputs or {}).pop(operation, None)
        del self._operations[operation.name]
        forget_type(self, operation)
        self._order.remove(operation)
        self.edited(lambda: self._attach(operation, following))

    def placeholder(
        self, spec: TensorSpec, name: str | None = None, where: Where = None, known: Ints = None
    ) -> GraphTensor:
        """Add an input, of which `known` are the elements that are known already; see `graph.shape_values`.

        Raises:
            ValueError: the graph is inside an operation, which gives it its inputs.
        """
        if self._holders:
            self._check_own_inputs()
        return add_input_at(self, len(self.inputs), spec, name, where, known)

    def constant(self, value: Any, name: str | None = None, waits: Iterable[Operation] = ()) -> GraphTensor:
        """Add an array, a tensor that is no graph's, a number or a list as a constant; `waits` are as for `add`."""
        op = OPS["Const"]
        array = op.normalize("value", value if isinstance(value, (np.ndarray, np.generic)) else array_of(value))
        spec = TensorSpec(array.shape, native_to_dtype(array.dtype))
        return self.add(op, [], {"value": array}, [spec], (None,), name, waits=waits).outputs[0]

    def as_default(self) -> AbstractContextManager[Graph]:
        """Record the ops of the `with` block that need a graph in this one."""
        return opened(lambda around: {"graphs": (*around.graphs, self)}, self)

    @contextmanager
    def name_scope(self, name: str) -> Iterator[str]:
        """Begin the names of operations that are added inside the `with` block with `name/`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> with graph.as_default(), graph.name_scope("layer"):
            ...     y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
            >>> y.name
            'layer/Tanh:0'
        """
        with self.at_scope(f"{self.scope}{name.strip('/')}/") as scope:
            yield scope

    def at_scope(self, scope: str) -> AbstractContextManager[str]:
        """Begin the names of operations added inside the `with` block with this full scope, whatever scope is open.

        Args:
            scope: with its slash; empty for no scope.
        """
        return scoped(self, scope, name=scope)

    @property
    def scope(self) -> str:
        """The name scope of new operations, with its slash."""
        return self._scopes.get().scope

    def _call(self, operation: Operation, name: str) -> None:
        del self._operations[operation.name]
        operation.name = name
        self._operations[name] = operation

    def _use_name(self, key: str, count: int) -> None:
        before = self._counts.get(key)
        if scopes().undo is not None:
            note(lambda: self._counts.pop(key) if before is None else self._counts.__setitem__(key, before))
        self._counts[key] = count

    def recomputed(self) -> AbstractContextManager[None]:
        """Let gradients recompute the operations that are added inside the `with` block, together; see `recompute`."""
        return scoped(self, recompute_group=RecomputeGroup())

    @contextmanager
    def gradient_override_map(self, overrides: Mapping[str, str]) -> Iterator[None]:
        """Give operations that are added to this graph inside the `with` block their gradients by name.

        Args:
            overrides: op type → name of a gradient that is registered with `RegisterGradient`.

        Raises:
            LookupError: a key is not the type of an op; or a name is not registered when a gradient is computed.

        Source: `tf.Graph.gradient_override_map`.
        """
        with scoped(self, overrides={**self._scopes.get().overrides, **checked_overrides(overrides)}):
            yield

    @contextmanager
    def control_dependencies(self, operations: Iterable[Operation | GraphTensor] | None) -> Iterator[None]:
        """Make operations added to this graph inside the `with` block run after these; constants and inputs need not.

        Args:
            operations: operations, or tensors, which mean their operations; None drops the operations of outer blocks.
                In a branch or a loop's body they may be in a graph around it: then the whole branch or loop waits for
                them.

        Raises:
            ValueError: one of them is in another graph, or was removed.

        Source: `tf.Graph.control_dependencies`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> first = dt.ops.tanh(x)
            >>> with graph.control_dependencies([first.op]):
            ...     second = dt.ops.exp(x)
            >>> second.op.control_inputs
            (<operation Tanh Tanh>,)
        """
        given = [] if operations is None else operations_in(operations)
        around = [op for op in given if op.graph is not self and not op.is_removed and op.graph in graphs_around(self)]
        self.awaited.update(dict.fromkeys(around))
        own = self._members(op for op in given if op not in self.awaited)
        with scoped(self, control=() if operations is None else (*self.here.control, *own)):
            yield

    def group(self, *operations: Operation | GraphTensor, name: str = "group") -> Operation:
        """Add an operation without results that waits for others: running it runs them.

        Args:
            operations: operations, or tensors, which mean their operations.
            name: its name.

        Raises:
            ValueError: one of them is in another graph, or was removed.

        Source: `tf.group`.

        Example:
            >>> import dovetail as dt
            >>> graph, v, w = dt.SessionGraph(), dt.Variable(1.0), dt.Variable(2.0)
            >>> with graph.as_default():
            ...     both = graph.group(v.assign_add(w), w.assign(0.0))
            >>> both.run(), float(v), float(w)
            (None, 3.0, 0.0)
        """
        return self.add(OPS["NoOp"], [], {}, [], name=name, waits=self._members(operations))

    def _members(self, given: Operation | GraphTensor | Iterable[Operation | GraphTensor]) -> list[Operation]:
        """The given operations, which must be of this graph; tensors mean their operations."""
        operations = operations_in(given)
        for operation in operations:
            self._check_member(operation)
        return operations

    # checks

    def _check_member(self, operation: Operation) -> None:
        if not isinstance(operation, Operation):
            advice = "give its `op`" if isinstance(operation, GraphTensor) else "give one of this graph"
            raise TypeError(f"{operation!r} is no operation: {advice}.")
        if operation.is_removed:
            raise ValueError(f"{operation!r} was removed from the graph {operation.graph.name!r}.")
        if operation.graph is not self:
            raise ValueError(f"{operation!r} belongs to {in_contrast(self, operation.graph)}.")

    def check_tensor(self, tensor: GraphTensor) -> None:
        """Check that a tensor is in this graph.

        Raises:
            TypeError: it is not a graph tensor.
            ValueError: it is in another graph, or its operation was removed.
        """
        if not isinstance(tensor, GraphTensor):
            advice = "graph.constant(value) makes one of an array or a number"
            raise TypeError(f"{describe(tensor)} is no tensor of the graph {self.name!r}; {advice}.")
        if tensor.op.graph is not self or tensor.op.is_removed:
            raise ValueError(foreign_tensor(self, tensor))

    def _check_own_inputs(self) -> None:
        """Raise an error if an operation gives the graph its inputs."""
        for holder in holders_of(self):
            problem = f"{holder.name!r} provides the inputs of {self.name!r}, so none can be added or removed"
            raise op_error(ValueError, holder.type, f"{problem}.", where=holder.where)

    def finalize(self) -> None:
        """Forbid additions to the graph and changes in it, and in the graphs inside it.

        Source: `tf.Graph.finalize`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> graph.finalize()
            >>> graph.placeholder(dt.spec(()), "x")
            Traceback (most recent call last):
            ...
            RuntimeError: the graph 'graph' is finalized, so it cannot be changed; change a copy, copy.copy(graph).
        """
        for graph in self.everywhere():
            graph.is_final = True

    def check_changeable(self) -> None:
        """Raise an error if the graph is finalized.

        Raises:
            RuntimeError: the graph is finalized.
        """
        if self.is_final:
            graph = outermost_of(self)
            state, copy = ("a finished trace", ".graph(...)") if graph.is_traced else ("finalized", "copy.copy(graph)")
            raise RuntimeError(f"the graph {self.name!r} is {state}, so it cannot be changed; change a copy, {copy}.")

    def edited(self, undo: Callable[[], Any] | None = None) -> None:
        """Note that something that existed has changed, and how to undo that."""
        self.version += 1
        if undo is not None and (steps := scopes().undo) is not None:
            steps.append(undo)
        if self._holders:
            for holder in holders_of(self):
                holder.graph.edited()

    # reading

    @property
    def outputs(self) -> Outputs:
        """The results, in order: a list, which may be changed or set."""
        return self._outputs

    @outputs.setter
    def outputs(self, tensors: Iterable[GraphTensor]) -> None:
        if not self._holders:
            set_outputs(self, tensors)
            return
        with all_or_nothing():
            set_outputs(self, tensors)
            hooks.check_held_outputs(self)

    @property
    def outermost(self) -> Graph:
        """The outermost graph around this one, for modules below this package."""
        return outermost_of(self)

    @property
    def gradient_overrides(self) -> Mapping[str, str]:
        """The override map of new operations: op type → name of a registered gradient."""
        around = scopes()
        if around.exact:
            return around.overrides
        outer = around.overrides if self.outer is None else self.outer.gradient_overrides
        own = around.others.get(self._scopes, self._scopes.default).overrides
        return {**outer, **own} if own else outer

    @property
    def operations(self) -> list[Operation]:
        """The operations, in program order."""
        return list(self._order)

    def of_types(self, types: Container[str]) -> list[Operation]:
        """The operations of some types, in program order."""
        return sorted([op for name, alike in self.by_type.items() if name in types for op in alike], key=position)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._operations)

    def __bool__(self) -> bool:
        return True  # also while it has no operations

    def __contains__(self, operation: Operation) -> bool:
        return operation.graph is self and not operation.is_removed

    def subgraphs(self) -> list[Graph]:
        """The graphs that its operations hold (branches, bodies of loops), inner ones first."""
        if SUBGRAPH_CALLS.keys().isdisjoint(self.by_type):
            return []
        parts = [part for op in self.of_types(SUBGRAPH_CALLS) for part in op.subgraphs()]
        return [subgraph for part in parts for subgraph in (*part.subgraphs(), part)]

    def everywhere(self) -> list[Graph]:
        """The graph itself and its `subgraphs`."""
        graphs: list[Any] = [self]  # most graphs hold none, and plans ask often
        return graphs if SUBGRAPH_CALLS.keys().isdisjoint(self.by_type) else graphs + self.subgraphs()

    def depends_on(self, operation: Operation, other: Operation) -> bool:
        """Whether `operation` needs `other`, through inputs and control inputs."""
        return other in reach([operation], outside=stands_before(other))


def add_input_at(
    graph: GraphBase, number: int, spec: TensorSpec, name: str | None = None, where: Where = None, known: Ints = None
) -> GraphTensor:
    """Add an input before another, also to a subgraph; its operation must then give it a value."""
    op = OPS["Placeholder"]
    attrs = {"dtype": spec.dtype, "shape": op.normalize("shape", spec.shape), "known": known}
    operation = graph.add(op, [], attrs, [spec], (None, None, None), name, where)
    graph.inputs.insert(number, operation.outputs[0])
    note(lambda: graph.inputs.pop(number))
    return operation.outputs[0]


def in_contrast(graph: GraphBase, other: GraphBase) -> str:
    """The name of another graph, for the end of an error of the form "… belongs to …"."""
    names = [repr(each.name) for each in (other, graph)]
    if other.name == graph.name:
        names = [f"{name} {_beginning(each)}" for name, each in zip(names, (other, graph), strict=True)]
    if names[0] == names[1]:
        return f"another graph that is also called {other.name!r}"
    return f"the graph {names[0]}, not to {names[1]}"


def _beginning(graph: GraphBase) -> str:
    """The line of a graph's first operation, which tells it from other graphs of its name."""
    first = next(iter(graph.operations), None)
    return "without operations" if first is None else f"that begins at {place(first.where)}"


def foreign_tensor(graph: GraphBase, tensor: GraphTensor) -> str:
    """A sentence that says why a tensor cannot be used in this graph."""
    if tensor.op.graph is not graph:
        return f"{tensor!r}, made at {place(tensor.op.where)}, belongs to {in_contrast(graph, tensor.op.graph)}."
    return f"{tensor!r} was removed from the graph {graph.name!r}, so it cannot be used any more."


def set_outputs(graph: GraphBase, tensors: Iterable[GraphTensor]) -> None:
    """Set the outputs, for a caller that also changes the operation that holds the graph."""
    graph.check_changeable()
    outputs = Outputs(graph, tensors)
    outputs.check_own(outputs)
    before, graph._outputs = graph._outputs, outputs
    graph.edited(lambda: setattr(graph, "_outputs", before))
