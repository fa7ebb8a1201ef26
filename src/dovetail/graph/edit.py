"""Editing: the methods of Graph that change it after it was built.

Each works on what it touches, not on the whole graph.  What a user calls checks first: an edit that would make a cycle
or a type error is refused and leaves the graph as it was.  Passes, which keep that by construction, use the unchecked
`rewire` and `discard`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, cast

from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.basic import EFFECTS
from dovetail.ops.spec import Shape

if TYPE_CHECKING:
    from dovetail.errors import Where
    from dovetail.graph.ir import Graph, State
    from dovetail.graph.order import Order
    from dovetail.graph.patterns import Match, Pattern


class Editing:
    """The editing methods of `Graph`."""

    if TYPE_CHECKING:
        name: str
        inputs: list[GraphTensor]
        outputs: list[GraphTensor]
        state: State
        _operations: dict[str, Operation]
        _order: Order
        _cursor: Operation | None
        _where: Where

        @property
        def operations(self) -> list[Operation]: ...
        def as_default(self) -> Any: ...
        def name_scope(self, name: str) -> Any: ...
        def placeholder(self, spec: Any, name: str | None = None) -> GraphTensor: ...

    # where new operations go

    @contextmanager
    def insert_before(self, operation: Operation) -> Iterator[None]:
        """Operations that are made inside the `with` block stand before this one.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> y = dt.ops.tanh(x)
            >>> with graph.insert_before(y.op):
            ...     y.op.replace_input(0, -x)
            >>> [op.type for op in graph.operations]
            ['Placeholder', 'Neg', 'Tanh']
        """
        self._check_member(operation)
        with self._insert(operation):
            yield

    @contextmanager
    def insert_after(self, operation: Operation) -> Iterator[None]:
        """Operations that are made inside the `with` block stand right behind this one."""
        self._check_member(operation)
        with self._insert(operation._next):
            yield

    @contextmanager
    def _insert(self, before: Operation | None) -> Iterator[None]:
        outside, self._cursor = self._cursor, before
        try:
            with self.as_default():
                yield
        finally:
            self._cursor = outside

    def move_cursor(self, operation: Operation | None) -> None:
        """New operations stand before this one from here on, as of the same line of the user's; None: at the end.

        For passes, which go through whole graphs; others say `insert_before`.
        """
        self._cursor = operation
        self._where = None if operation is None else operation.where

    def _check_member(self, operation: Operation) -> None:
        if self._operations.get(operation.name) is not operation:
            raise ValueError(f"{operation!r} is not in the graph {self.name!r}.")

    # replacing

    def replace_all_uses(self, old: GraphTensor, new: GraphTensor) -> None:
        """Every operation and graph output that takes `old` takes `new` instead; what makes `new` may still take `old`.

        Raises:
            ValueError: `new` is of another graph, depends on a user of `old`, or its shape does not fit.
            TypeError: the dtypes differ.
        """
        self.replace_uses(old, new, [use for use in old.uses() if use[0] is not new.op])
        self.outputs = [new if t is old else t for t in self.outputs]

    def replace_uses(self, old: GraphTensor, new: GraphTensor, uses: Sequence[tuple[Operation, int]]) -> None:
        """These (operation, input number), which take `old`, take `new` instead.

        Raises:
            ValueError, TypeError: as `replace_all_uses`.
        """
        if old is new:
            return
        if new.graph is not self:
            raise ValueError(f"{new!r} belongs to the graph {new.graph.name!r}, not to {self.name!r}.")
        if new.dtype != old.dtype:
            raise TypeError(f"{new!r} cannot stand for {old!r}: the dtypes differ; cast it first.")
        users = list(dict.fromkeys(operation for operation, _ in uses))
        behind = self._check_acyclic(new.op, users)
        for operation, index in uses:
            operation.set_input(index, new)
        try:
            if new.shape != old.shape:
                self._infer_from(users)
        except Exception:
            for operation, index in uses:
                operation.set_input(index, old)
            raise
        self._move(behind, users)

    def rewire(self, old: GraphTensor, new: GraphTensor) -> None:
        """`replace_all_uses` without the checks, for passes, whose replacements come before what they replace."""
        for operation, index in old.uses():
            operation.set_input(index, new)
        if any(t is old for t in self.outputs):
            self.outputs = [new if t is old else t for t in self.outputs]

    def _infer_from(self, operations: Iterable[Operation]) -> None:
        """Gives the outputs of these operations, and of what follows, the shapes that their inputs imply now.

        Raises:
            ValueError, TypeError, IndexError: the inputs do not fit; then all shapes are as they were.
        """
        from dovetail.graph.trace import infer_again  # tracing builds on graphs

        before: dict[GraphTensor, Shape] = {}
        todo: list[tuple[int, int, Operation]] = []
        for operation in operations:
            heappush(todo, (operation._position, id(operation), operation))
        try:
            while todo:
                for tensor, shape in infer_again(heappop(todo)[-1]):
                    before.setdefault(tensor, tensor.shape)
                    tensor.shape = shape
                    for operation in tensor.consumers():
                        heappush(todo, (operation._position, id(operation), operation))
        except Exception:
            for tensor, shape in before.items():
                tensor.shape = shape
            raise

    # patterns

    def match(self, pattern: Pattern) -> Iterator[Match]:
        """Every place that fits a pattern, in program order; see `graph.patterns`.

        Example:
            >>> import dovetail as dt
            >>> graph, x = dt.Graph(), dt.wildcards("x")
            >>> y = -graph.placeholder(dt.spec(()), "y")
            >>> [found[x].name for found in graph.match(-x)]
            ['y:0']
        """
        from dovetail.graph.patterns import matches

        return matches(self, pattern)  # type: ignore[arg-type]

    def rewrite(self, pattern: Pattern, replacement: Any) -> int:
        """Replaces what a pattern matches by another pattern, or by what a function makes of the match.

        Returns:
            How many places were replaced.  What nobody needs any more stays until `prune`.

        Example:
            >>> import dovetail as dt
            >>> graph, x = dt.Graph(), dt.wildcards("x")
            >>> graph.outputs = [-(-graph.placeholder(dt.spec(()), "y"))]
            >>> graph.rewrite(-(-x), x), graph.prune(), graph.outputs
            (1, 2, [<graph tensor y:0 float32[]>])
        """
        from dovetail.graph.patterns import rewrite

        return rewrite(self, pattern, replacement)  # type: ignore[arg-type]

    # order

    def ancestors(self, operations: Iterable[Operation], since: Operation | None = None) -> set[Operation]:
        """The operations that these need, through inputs and control inputs, with themselves.

        Args:
            operations: where to start.
            since: what stands before this one is left out.
        """
        earliest = -1 if since is None else since._position
        found: set[Operation] = set()
        todo = [op for op in operations if op._position >= earliest]
        while todo:
            operation = todo.pop()
            if operation not in found:
                found.add(operation)
                todo += [t.op for t in operation.inputs if t.op._position >= earliest]
                todo += [op for op in operation.control_inputs if op._position >= earliest]
        return found

    def order_before(self, operation: Operation, users: Sequence[Operation]) -> None:
        """Makes an operation, with what it needs, stand before those that are going to use it.

        Raises:
            ValueError: it depends on one of them, or is of another graph.
        """
        self._check_member(operation)
        self._move(self._check_acyclic(operation, users), users)

    def _check_acyclic(self, operation: Operation, users: Sequence[Operation]) -> set[Operation]:
        """What has to be moved so that an operation stands before its users; nothing, as a rule."""
        first = min(users, key=_position, default=None)
        if first is None or operation._position < first._position:
            return set()
        behind = self.ancestors([operation], since=first)
        for user in users:
            if user in behind:
                raise ValueError(f"{operation.name!r} depends on {user.name!r}: to use it there would make a cycle.")
        return behind

    def _move(self, operations: set[Operation], users: Sequence[Operation]) -> None:
        if operations:
            first = min(users, key=_position)
            for operation in sorted(operations, key=_position):
                self._order.move(operation, first)

    # removing

    def remove(self, operation: Operation) -> None:
        """Takes out an operation that nobody uses.

        Raises:
            ValueError: an output is in use, or another operation waits for it.
        """
        self._check_member(operation)
        results = set(self.outputs)
        users = [t.name for t in operation.outputs if t.is_used or t in results]
        users += [op.name for op in operation.control_outputs]
        if users:
            raise ValueError(f"{operation.name!r} cannot be removed: {', '.join(users)} would be missing it.")
        self.discard([operation])

    def discard(self, operations: Iterable[Operation]) -> None:
        """Takes out operations that nothing outside of them uses; for passes, which have seen to that."""
        gone = set(operations)
        for operation in gone:
            for tensor in operation.inputs:
                tensor._drop_use(operation)
            for other in operation.control_inputs:
                operation.remove_control_input(other)
            for other in operation.control_outputs:
                other.remove_control_input(operation)
            if "variable" in operation.attrs:
                self.state.forget(operation)
            del self._operations[operation.name]
            self._order.remove(operation)
        if any(t.op in gone for t in self.inputs):
            self.inputs = [t for t in self.inputs if t.op not in gone]

    def prune(self, outputs: Sequence[GraphTensor] | None = None) -> int:
        """Removes what neither the outputs nor an effect needs; inputs stay, used or not.

        Args:
            outputs: the graph's new outputs; then assignments that these do not need go, too.

        Returns:
            How many operations were removed.
        """
        if outputs is not None:
            self.outputs = list(outputs)
        roots = [t.op for t in (*self.outputs, *self.inputs)]
        if outputs is None:
            roots += [op for op in self._order if op.type in EFFECTS]
        needed = self.ancestors(roots)
        dead = [op for op in self._order if op not in needed]
        self.discard(dead)
        return len(dead)

    # taking out and putting in

    def subgraph(self, outputs: Sequence[GraphTensor], inputs: Sequence[GraphTensor] = ()) -> Graph:
        """The part that computes some tensors from others, as a graph of its own.

        Args:
            outputs: what the new graph returns.
            inputs: tensors that become its inputs, in this order; any tensor can be one.

        Raises:
            ValueError: the outputs need an input of this graph that is not among the inputs given.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> h = dt.ops.tanh(x)
            >>> len(graph.subgraph([h + 1], [h]))
            3
        """
        from dovetail.graph.copying import copy_operations

        part = cast("type[Graph]", type(self))(f"{self.name}_part")
        mapped = {t: part.placeholder(t.spec, t.op.name) for t in inputs}
        needed = self.needed(outputs, mapped)
        missing = [op.name for op in needed if op.type == "Placeholder"]
        if missing:
            raise ValueError(f"the outputs need {', '.join(map(repr, missing))}: add what they need to the inputs.")
        copy_operations(needed, part, mapped)
        part.outputs = [mapped[t] for t in outputs]
        return part

    def needed(self, outputs: Sequence[GraphTensor], given: Collection[GraphTensor]) -> list[Operation]:
        """The operations that the outputs need if some tensors are given, in program order."""
        found: set[Operation] = set()
        todo = [t.op for t in outputs if t not in given]
        while todo:
            operation = todo.pop()
            if operation not in found:
                found.add(operation)
                todo += [t.op for t in operation.inputs if t not in given]
                todo += operation.control_inputs
        return sorted(found, key=_position)

    def import_graph(
        self, graph: Graph, input_map: Mapping[Any, GraphTensor] | None = None, name: str = ""
    ) -> list[GraphTensor]:
        """Copies another graph's program, with its assignments of variables, into this one.

        Args:
            graph: is not changed.
            input_map: tensors of `graph`, or their names → tensors of this graph that stand for them.  Inputs of
                `graph` that are not named become inputs of this graph.
            name: a name scope for the copies.

        Returns:
            This graph's tensors for the outputs of `graph`.

        Raises:
            KeyError: there is no tensor of a name.
            TypeError, ValueError: a dtype or shape does not fit; then this graph is as it was.

        Example:
            >>> import dovetail as dt
            >>> scale, graph = dt.Graph("scale"), dt.Graph()
            >>> scale.outputs = [scale.placeholder(dt.spec((None,)), "x") * 2.0]
            >>> graph.import_graph(scale, {"x": graph.placeholder(dt.spec((3,)), "y")}, name="scaled")
            [<graph tensor scaled/Mul:0 float32[3]>]
        """
        from dovetail.graph.copying import copy_into

        given = self._input_map(graph, input_map or {})
        effects = [t for op in graph.operations if op.type in EFFECTS for t in op.outputs]
        open_inputs = [t for t in graph.inputs if t not in given]
        part = graph.subgraph([*graph.outputs, *effects], [*given, *open_inputs])
        for own, tensor in zip(part.inputs, given.values(), strict=False):
            own.shape = tensor.shape
        part._infer_from([op for tensor in part.inputs[: len(given)] for op in tensor.consumers()])
        with self.name_scope(name) if name else nullcontext():
            inputs = [*given.values(), *(self.placeholder(t.spec, t.op.name) for t in open_inputs)]
            return copy_into(part, cast("Graph", self), inputs)[: len(graph.outputs)]

    def _input_map(self, graph: Graph, input_map: Mapping[Any, GraphTensor]) -> dict[GraphTensor, GraphTensor]:
        given = {graph.get_tensor(k) if isinstance(k, str) else k: tensor for k, tensor in input_map.items()}
        for old, tensor in given.items():
            if old.graph is not graph or tensor.graph is not self:
                problem = f"input_map must map tensors of {graph.name!r} to tensors of {self.name!r}"
                raise ValueError(f"{problem}, not {old!r} to {tensor!r}.")
            if old.dtype != tensor.dtype:
                raise TypeError(f"{tensor!r} cannot stand for {old!r}: the dtypes differ; cast it first.")
        return given


def _position(operation: Operation) -> int:
    return operation._position
