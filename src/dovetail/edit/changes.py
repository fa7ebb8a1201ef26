"""Changes: the methods of Graph that turn existing operations into others, and edits of several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast, overload

from dovetail.core import arguments
from dovetail.core.errors import describe, op_error
from dovetail.core.gradients import registered_overrides
from dovetail.core.kinds import Kind
from dovetail.core.op import REQUIRED, Op
from dovetail.core.table import OPS
from dovetail.edit.edit import Editing
from dovetail.edit.inference import infer_from
from dovetail.edit.overriding import override_gradients
from dovetail.edit.subgraph_edits import add_output, body_of
from dovetail.edit.user_pass import GraphPass
from dovetail.graph.base import operations_in
from dovetail.graph.cursor import Cursor
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.recompute_groups import RecomputeGroup, mark

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class Changes(Editing):
    """The methods of `Graph` that change operations, and insert some behind others."""

    @contextmanager
    def edit(self) -> Iterator[Graph]:
        """Make all changes of the `with` block to the graph, or none if an error leaves the block.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
            >>> try:
            ...     with graph.edit():
            ...         z = dt.ops.exp(y)
            ...         y.op.replace_input(0, z)
            ... except ValueError as error:
            ...     print(len(graph), error)
            2 'Exp' depends on 'Tanh': to use it there would make a cycle.
        """
        with all_or_nothing():
            yield cast("Graph", self)

    def apply(self, pass_: Callable[[Graph], Any]) -> bool:
        """Edit the graph by a pass, and return whether that changed it.

        Args:
            pass_: made by `graph_pass`, or a function of a graph, which is also applied to branches and bodies.

        Raises:
            ValueError: the graph is not valid afterwards.  Then, or if the pass raises an error, the graph stays as it
                was.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> graph.outputs = [dt.ops.relu(graph.placeholder(dt.spec(()), "x"))]
            >>> graph.apply(lambda graph: [op.change(op="Tanh") for op in graph.find("Relu")])
            True
            >>> graph.outputs[0].op.type
            'Tanh'
        """
        return (pass_ if isinstance(pass_, GraphPass) else GraphPass(pass_))(cast("Graph", self))

    @overload
    def insert_after(self, place: Operation, function: None = None) -> AbstractContextManager[None]: ...
    @overload
    def insert_after(self, place: GraphTensor, function: Callable[[GraphTensor], GraphTensor]) -> GraphTensor: ...
    def insert_after(self, place: Any, function: Any = None) -> Any:
        """Insert operations right behind an operation, or a function behind a tensor, in one step.

        Args:
            place: an operation: operations made inside the `with` block go right behind it, in order.  Or a tensor.
            function: takes the tensor, and makes the tensor that all its other users take instead.

        Returns:
            The result of the function.

        Raises:
            ValueError, TypeError: the result does not fit; then the graph stays as it was.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec((3,)), "x")
            >>> graph.outputs = [dt.ops.exp(x)]
            >>> graph.insert_after(x, lambda x: x - dt.ops.mean(x))
            <graph tensor Sub:0 float32[3]>
            >>> graph.outputs[0].op.inputs
            [<graph tensor Sub:0 float32[3]>]
        """
        if function is None:
            self._check_member(place)
            return self._insert(Cursor(self._order, behind=place))
        self.check_tensor(place)
        with self.edit():
            with self._insert(Cursor(self._order, behind=place.op)):
                new = function(place)
            self.replace_all_uses(place, new)
        return new

    def override_gradients(
        self,
        overrides: Mapping[str, str | None],
        within: Operation | GraphTensor | Iterable[Operation | GraphTensor] | None = None,
    ) -> int:
        """Give existing operations their gradients by name; gradients that are computed from then on use them.

        Args:
            overrides: op type → name of a gradient that is registered with `RegisterGradient`, or the type of another
                op, whose gradient it then has; None for the op's own.  Like a map around new operations, it also
                applies to the operations of composites, branches and bodies of loops.
            within: operations, or tensors, which mean their operations, of the graph or of graphs inside it; if not
                given, all of them.

        Returns:
            The number of operations of these types, without the operations of composites.

        Raises:
            LookupError: a key is not the type of an op, or there is no gradient of a name.
            ValueError: an operation is in another graph, or was removed.  Then the graph stays as it was.

        Source: `tf.Graph.gradient_override_map`, for a graph that was built.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec((3,)), "x")
            >>> y = dt.ops.round(x) * 2.0
            >>> graph.override_gradients({"Round": "Identity"})
            1
            >>> dt.gradients(y, x)[0].eval({x: [0.2, 0.7, 1.1]})
            array([2., 2., 2.], dtype=float32)
        """
        checked = registered_overrides(overrides, "override_gradients")
        self.check_changeable()
        own = {cast("Graph", self), *self.subgraphs()}
        chosen = self.operations if within is None else operations_in(within)
        for operation in chosen:
            (operation.graph if operation.graph in own else self)._check_member(operation)
        with all_or_nothing():
            reached = override_gradients(chosen, checked)
        return sum(operation.type in overrides for operation in reached)

    def recompute(
        self, operations: Operation | GraphTensor | Iterable[Operation | GraphTensor], again: bool = True
    ) -> int:
        """Let gradients recompute operations when they need them, instead of keeping their results.

        This takes less memory, and the time of these operations once more.  The operations of one call are recomputed
        together, from their inputs, which are kept.  In a deep net, mark block after block, each by a call.  Gradients
        that are computed from then on do it; their numbers stay the same.

        Args:
            operations: of the graph, or tensors, which mean their operations.  Mark operations of branches and bodies
                of loops there, by `operation.body().recompute(...)`.  Inputs, constants, reads and assignments of
                variables, and operations that print are not recomputed.
            again: False keeps their results again.

        Returns:
            The number of operations that were marked.

        Raises:
            ValueError: an operation is in another graph, or was removed; then the graph stays as it was.

        Source: Chen et al., "Training deep nets with sublinear memory cost" (2016); `dovetail.recompute_grad` for
            functions.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> h = dt.ops.exp(x)
            >>> y = dt.ops.tanh(h)
            >>> graph.recompute([h, y])
            2
            >>> dt.gradients(y, x)[0].eval({x: 0.0}).round(4), len(graph.find("Tanh"))
            (np.float32(0.42), 2)
        """
        self.check_changeable()
        with all_or_nothing():
            return len(mark(self._members(operations), RecomputeGroup() if again else None))

    def rename_scope(self, old: str, new: str) -> int:
        """Move the operations of a name scope to another one.

        Args:
            old: the scope, or the name of one operation; "" for all.
            new: the scope that replaces it; "" for none.

        Returns:
            The number of operations that have another name.

        Raises:
            ValueError: another operation has one of the names; then the graph stays as it was.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> with graph.name_scope("a"):
            ...     x = graph.placeholder(dt.spec(()), "x")
            >>> graph.rename_scope("a", "b/c"), x.name
            (1, 'b/c/x:0')
        """
        old, new = old.strip("/"), new.strip("/")
        found = [op for op in self._order if not old or op.name == old or op.name.startswith(f"{old}/")]
        names = {op: f"{new}/{op.name[len(old) :].lstrip('/')}".strip("/") for op in found}
        others = [name for op, name in names.items() if self._operations.get(name, op) not in names]
        if "" in names.values() or others or len(set(names.values())) < len(names):
            taken = others[0] if others else new
            raise ValueError(f"the scope {old!r} cannot become {new!r}: there is an operation {taken!r} already.")
        self._rename(names)
        return len(names)

    def _rename(self, names: Mapping[Operation, str]) -> None:
        self.check_changeable()
        before = {op: op.name for op in names}
        for op in names:
            del self._operations[op.name]
        for op, name in names.items():
            op.name = name
            self._operations[name] = op
        self.edited(lambda: self._rename(before))

    def change(self, operation: Operation, op: Any, name: str | None, attrs: Mapping[str, Any]) -> None:
        """Change an operation; see `Operation.change`."""
        self._check_member(operation)
        with all_or_nothing():
            if name is not None and name != operation.name:
                if not name or name in self._operations:
                    raise ValueError(f"{operation.name!r} cannot be called {name!r}: that is the name of another one.")
                self._rename({operation: name})
            if op is not None or attrs:
                target = OPS[op] if isinstance(op, str) and op in OPS else operation.op if op is None else op
                if not isinstance(target, Op):
                    raise TypeError(f"{describe(op)} is no op, nor the name of one.")
                self._become(operation, target, attrs)
                infer_from([operation])
                self._tell_holders()

    def body_of(self, operation: Operation, name: str | None) -> Graph:
        """A subgraph of an operation, to be edited; see `Operation.body`."""
        self._check_member(operation)
        return body_of(operation, name)

    def add_output(self, operation: Operation, init: GraphTensor | None, parts: dict[str, Any]) -> GraphTensor:
        """Add a result to an operation; see `Operation.add_output`."""
        self._check_member(operation)
        with self.edit():
            return add_output(operation, init, parts)

    def _become(self, operation: Operation, op: Op, attrs: Mapping[str, Any]) -> None:
        """Turn an operation into a call of another op, or change its attributes, without a call of the type rule."""
        if op is operation.op:
            for key, value in attrs.items():
                operation.hold_attr(key, operation.normalize(key, value))
            return
        given = [a for a, count in zip(operation.args, operation.layout, strict=True) if count is not None]
        values: list[Any] = []
        for param in op.params:
            if isinstance(param.kind, Kind) and param.name not in attrs and given:
                values.append(given.pop(0))
                if param.kind.many != isinstance(values[-1], tuple):
                    raise _unlike(operation, op)
            else:
                value = attrs.get(param.name, operation.attrs.get(param.name, param.default))
                if value is REQUIRED:
                    raise _unlike(operation, op)
                values.append(op.normalize(param.name, value))
        for key in attrs:
            op.normalize(key, attrs[key])  # raises an error if the op has no such parameter
        if given:
            raise _unlike(operation, op)
        _check_dtypes(operation, op, values)
        counts = [_count_of(value) for value in values]
        inputs = [t for value, count in zip(values, counts, strict=True) if count is not None for t in _tensors(value)]
        pairs = zip(op.params, values, counts, strict=True)
        operation.become(op, inputs, tuple(counts), {p.name: value for p, value, count in pairs if count is None})


def _tensors(value: Any) -> tuple[GraphTensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def _count_of(value: Any) -> int | None:
    """The entry of a layout for an argument."""
    if isinstance(value, GraphTensor):
        return SINGLE
    return len(value) if isinstance(value, tuple) and value and isinstance(value[0], GraphTensor) else None


def _unlike(operation: Operation, op: Op) -> Exception:
    problem = f"{operation.name!r} cannot become {op.name}, which takes other tensors than {operation.type}."
    return op_error(TypeError, operation.type, problem, where=operation.where)


def _check_dtypes(operation: Operation, op: Op, values: list[Any]) -> None:
    """Raise an error for tensors that the op would cast."""
    wanted = arguments.promoted_dtypes(op, values)
    for index, kind in op.tensor_positions:
        value = values[index]
        pairs = zip(wanted[index], value, strict=True) if kind.many else [(wanted[index], value)]
        for dtype, tensor in pairs:
            if isinstance(tensor, GraphTensor) and tensor.dtype != dtype:
                problem = f"{operation.name!r} cannot become {op.name}, which takes {dtype}, not {tensor!r}; cast it."
                raise op_error(TypeError, operation.type, problem, where=operation.where)
