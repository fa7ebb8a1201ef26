"""Graph: the recorded program, as mutable SSA.

A graph Tensor knows the Operation that makes it (`.op`) and those that use it (`.consumers()`); every edit keeps the
two in agreement.  Operations stand in program order, which is always a topological order.  What has an effect
(assigning variables) is kept, and ordered by control inputs.

    print(graph)

        graph step(x: float32[?,3])
          variables w: float32[3,4]
          MatMul = x @ w  float32[?,4]  model.py:12
          return MatMul
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from dovetail.autodiff.registry import checked_overrides
from dovetail.engines.base import native_to_dtype
from dovetail.errors import Where, op_error, user_line
from dovetail.graph.edit import Editing
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.order import Order
from dovetail.ops.op import OPS, Op
from dovetail.ops.spec import TensorSpec
from dovetail.tensor import Tensor, building, recording

__all__ = ["SINGLE", "Graph", "GraphTensor", "Operation", "State"]


class State:
    """The variables of a graph while it is traced.

    Attributes:
        values: variable → its value at this point of the program.
        assigned: the variables that were assigned.
        unread: the variables that were not read since they were assigned.
        inputs: variable → its value at the start; in a subgraph the input that stands for it.
        last: variable → the operation that assigned it last.
    """

    def __init__(self) -> None:
        self.values: dict[Any, GraphTensor] = {}
        self.assigned: dict[Any, None] = {}
        self.unread: set[Any] = set()
        self.inputs: dict[Any, GraphTensor] = {}
        self.last: dict[Any, Operation] = {}

    def copied(self, mapped: Mapping[GraphTensor, GraphTensor]) -> State:
        """That of a copy of the graph, whose tensors stand behind the graph's own in `mapped`."""
        copy = State()
        copy.values = {v: mapped[t] for v, t in self.values.items() if t in mapped}
        copy.assigned, copy.unread = dict(self.assigned), set(self.unread)
        copy.inputs = {v: mapped[t] for v, t in self.inputs.items() if t in mapped}
        copy.last = {v: mapped[op.outputs[0]].op for v, op in self.last.items() if op.outputs[0] in mapped}
        return copy

    def forget(self, operation: Operation) -> None:
        """An operation is gone; what it read or assigned must be read or assigned anew."""
        variable = operation.attrs.get("variable")
        value = self.values.get(variable)
        if value is not None and value.op is operation:
            del self.values[variable]
        value = self.inputs.get(variable)
        if value is not None and value.op is operation:
            del self.inputs[variable]
        if self.last.get(variable) is operation:
            del self.last[variable]


class Graph(Editing):
    """A program: operations in order, with inputs and outputs.

    Attributes:
        name: what it is called when printed.
        inputs: the placeholders, in order.
        outputs: the results, in order.
        outer: for a subgraph, the graph it is traced in.
        state: the variables it reads and assigns.
        closures: eager Tensors that were used while it was traced → the constants that stand for them.
        captures: for a subgraph, tensors of the outer graph → the placeholders that stand for them.

    Example:
        >>> import dovetail as dt
        >>> graph = Graph("double")
        >>> x = graph.placeholder(dt.spec((2,)), "x")
        >>> graph.outputs = [x + x]
        >>> x.consumers()
        [<operation AddV2 AddV2>]
    """

    def __init__(self, name: str = "graph", outer: Graph | None = None) -> None:
        self.name = name
        self.outer = outer
        self.inputs: list[GraphTensor] = []
        self.outputs: list[GraphTensor] = []
        self.closures: dict[Tensor, GraphTensor] = {}
        self.captures: dict[GraphTensor, GraphTensor] = {}
        self.state = State()
        self._operations: dict[str, Operation] = {}
        self._order = Order()
        self._cursor: Operation | None = None  # new operations are put before it; None: at the end
        self._where: Where = None  # the user's line of new operations; None: the one that is calling
        self._counts: dict[str, int] = {}
        self._scope = ""
        self._overrides: dict[str, str] = {}
        self._control: tuple[Operation, ...] = ()  # what new operations wait for

    # building

    def add(
        self,
        op: Op,
        inputs: Iterable[GraphTensor],
        attrs: dict[str, Any],
        specs: Iterable[TensorSpec],
        layout: tuple[int | None, ...] | None = None,
        name: str | None = None,
        where: Where = None,
    ) -> Operation:
        """Adds an operation whose output specs are known, at the end or where `insert_before` says."""
        inputs = list(inputs)
        for tensor in inputs:
            if tensor.op.graph is not self:
                raise op_error(ValueError, op.name, f"{tensor!r} belongs to another graph.")
        name = self.unique_name(name or op.name)
        layout = layout or (SINGLE,) * len(inputs)
        operation = Operation(self, op, name, inputs, layout, attrs, where or self._where or user_line())
        operation.outputs = [GraphTensor(operation, i, spec) for i, spec in enumerate(specs)]
        for tensor in inputs:
            tensor._add_use(operation)
        self._operations[operation.name] = operation
        self._order.insert(operation, self._cursor and self._place_for(inputs))
        if inputs:
            for other in self._control:
                operation.add_control_input(other)
        return operation

    def _place_for(self, inputs: list[GraphTensor]) -> Operation | None:
        """What to put a new operation before: the cursor, or the first place behind it where the inputs are known."""
        before: Any = self._cursor
        latest = max((t.op for t in inputs), key=lambda op: op._position, default=None)
        return latest._next if latest is not None and latest._position >= before._position else before

    def placeholder(self, spec: TensorSpec, name: str | None = None) -> GraphTensor:
        """A new input."""
        attrs = {"dtype": spec.dtype, "shape": spec.shape}
        operation = self.add(OPS["Placeholder"], [], attrs, [spec], (None, None), name)
        self.inputs.append(operation.outputs[0])
        return operation.outputs[0]

    def constant(self, value: Any, name: str | None = None) -> GraphTensor:
        """A NumPy array as a tensor of the graph."""
        spec = TensorSpec(value.shape, native_to_dtype(value.dtype))
        return self.add(OPS["Const"], [], {"value": value}, [spec], (None,), name).outputs[0]

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Ops inside the `with` block that need a graph are recorded in this one."""
        outside = building.graphs
        building.graphs = (*outside, self)
        try:
            yield self
        finally:
            building.graphs = outside

    @contextmanager
    def name_scope(self, name: str) -> Iterator[str]:
        """Names of operations that are added inside the `with` block begin with `name/`.

        Example:
            >>> import dovetail as dt
            >>> graph = Graph()
            >>> with graph.as_default(), graph.name_scope("layer"):
            ...     y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
            >>> y.name
            'layer/Tanh:0'
        """
        outside = self._scope
        self._scope = f"{outside}{name.strip('/')}/"
        try:
            yield self._scope
        finally:
            self._scope = outside

    def unique_name(self, name: str) -> str:
        """The name with the scope in front, and a number behind if it is taken."""
        name = self._scope + name
        count = self._counts.get(name)
        if count is None and name not in self._operations:
            self._counts[name] = 0
            return name
        while True:
            count = (count or 0) + 1
            candidate = f"{name}_{count}"
            if candidate not in self._operations:
                self._counts[name] = count
                return candidate

    @contextmanager
    def gradient_override_map(self, overrides: Mapping[str, str]) -> Iterator[None]:
        """Operations added to this graph inside the `with` block get their gradients by name.

        Args:
            overrides: op type → name of a gradient that is registered with `RegisterGradient`.

        Raises:
            LookupError: a key is not the type of an op; or, when a gradient is asked for, a name is not registered.

        Source: `tf.Graph.gradient_override_map`.
        """
        outside = self._overrides
        self._overrides = {**outside, **checked_overrides(overrides)}
        try:
            yield
        finally:
            self._overrides = outside

    @contextmanager
    def control_dependencies(self, operations: Iterable[Operation]) -> Iterator[None]:
        """Operations added to this graph inside the `with` block run after these; constants and inputs need not.

        Source: `tf.Graph.control_dependencies`.

        Example:
            >>> import dovetail as dt
            >>> graph = Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> first = dt.ops.tanh(x)
            >>> with graph.control_dependencies([first.op]):
            ...     second = dt.ops.exp(x)
            >>> second.op.control_inputs
            (<operation Tanh Tanh>,)
        """
        outside = self._control
        self._control = (*outside, *operations)
        try:
            yield
        finally:
            self._control = outside

    # reading

    @property
    def outermost(self) -> Graph:
        """The graph that all others are in, which are around this one; of a graph that is in none, itself."""
        return self if self.outer is None else self.outer.outermost

    @property
    def gradient_overrides(self) -> Mapping[str, str]:
        """What new operations carry: op type → name of a registered gradient."""
        around = recording.overrides if self.outer is None else self.outer.gradient_overrides
        return {**around, **self._overrides} if self._overrides else around

    @property
    def operations(self) -> list[Operation]:
        """The operations, in program order."""
        return list(self._order)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self._operations)

    def __contains__(self, operation: Operation) -> bool:
        return self._operations.get(operation.name) is operation

    def get_operation(self, name: str) -> Operation:
        """An operation by name.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        if name not in self._operations:
            close = get_close_matches(name, self._operations, 3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise KeyError(f"no operation {name!r} in {self.name!r}{hint}")
        return self._operations[name]

    def get_tensor(self, name: str) -> GraphTensor:
        """A tensor by name, as `dense_1/BiasAdd:0`; the number may be left out for the first output.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        op_name, _, index = name.partition(":")
        outputs = self.get_operation(op_name).outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise KeyError(f"{op_name!r} has {len(outputs)} outputs, so there is no tensor {name!r}.")
        return outputs[int(index or 0)]

    def subgraphs(self) -> list[Graph]:
        """The graphs that its operations hold (branches, bodies of loops), those inside of them first."""
        found: list[Graph] = []
        for op in self._order:
            for value in op.attrs.values():
                if type(value) is Graph:
                    found += [*value.subgraphs(), value]
        return found

    def depends_on(self, operation: Operation, other: Operation) -> bool:
        """Whether `operation` needs `other`, through inputs and control inputs."""
        return other in self.ancestors([operation], since=other)

    def validate(self) -> None:
        """Checks that producers and consumers agree, that the order is topological, that types follow the rules.

        Raises:
            ValueError: says everything that is wrong; then a pass or an edit has a bug.
        """
        from dovetail.graph.validate import problems  # which infers, so traces, so builds on this module

        found = list(problems(self))
        if found:
            raise ValueError(f"the graph {self.name!r} is not valid: " + " ".join(found))

    def __str__(self) -> str:
        from dovetail.graph.printing import graph_text

        return graph_text(self)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self)} operations, {len(self.outputs)} outputs"
        return f"<graph {self.name}: {counts}>"
