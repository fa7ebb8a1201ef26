"""Graph, Operation and graph Tensor: the recorded program, as mutable SSA.

A graph Tensor knows the Operation that makes it (`.op`) and those that use it (`.consumers()`); every edit keeps the
two in agreement.  Operations stand in program order, which is also a topological order unless an edit says otherwise.
What has an effect (reading and assigning variables) is ordered by control inputs.

    print(graph)

        graph step(x: float32[?,3])
          MatMul   = MatMul(x, w/read)                    float32[?,4]   model.py:12
          return MatMul
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dovetail.errors import Where, op_error, place, user_line
from dovetail.ops.op import OPS, Op
from dovetail.ops.spec import TensorSpec
from dovetail.tensor import Operators

SINGLE = -1  # in Operation.layout: the parameter is one tensor


class GraphTensor(Operators):
    """A value in a graph: what an Operation will give when the graph runs.

    Attributes:
        op: the Operation that makes it.
        index: which of its outputs it is.
        shape: with None for dimensions that are not known; None if not even the rank is.
        dtype: the type of its elements.
    """

    __slots__ = ("__weakref__", "_uses", "dtype", "index", "op", "shape")

    def __init__(self, op: Operation, index: int, spec: TensorSpec) -> None:
        self.op = op
        self.index = index
        self.shape = spec.shape
        self.dtype = spec.dtype
        self._uses: dict[tuple[Operation, int], None] = {}

    @property
    def name(self) -> str:
        """The operation's name and the output's number: `dense_1/BiasAdd:0`."""
        return f"{self.op.name}:{self.index}"

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(self.shape, self.dtype)

    @property
    def ndim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input, each once."""
        return list(dict.fromkeys(op for op, _ in self._uses))

    def uses(self) -> list[tuple[Operation, int]]:
        """Every (operation, input number) that takes this tensor."""
        return list(self._uses)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise self._no_value("Python's `if`, `while`, `and`, `or` and `not` need a value", "ops.cond or ops.where")

    def __iter__(self) -> Iterator[Any]:
        if not self.shape or self.shape[0] is None:
            raise self._no_value("a Python loop needs a known first dimension", "ops.scan or ops.map_fn")
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        if not self.shape or self.shape[0] is None:
            raise self._no_value("len() needs a known first dimension", "ops.shape(x)[0]")
        return self.shape[0]

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise self._no_value("NumPy needs a value", "the op of the same name in dovetail.ops")

    def numpy(self) -> Any:
        raise self._no_value("numpy() needs a value", "the function's result, or run the code outside `function`")

    __int__ = __float__ = __index__ = __complex__ = lambda self: self._fail_number()  # noqa: E731

    def _fail_number(self) -> Any:
        raise self._no_value("a Python number needs a value", "ops on the tensor itself")

    def _no_value(self, what: str, instead: str) -> Exception:
        problem = f"{what}, but {self!r} has none while the graph is built; use {instead}."
        return op_error(TypeError, self.op.type, problem)

    def __repr__(self) -> str:
        return f"<graph tensor {self.name} {self.spec!r}>"


class Operation:
    """A node: one op applied to graph Tensors.

    Attributes:
        op: the entry of the op table.
        name: unique in its graph.
        inputs: the tensors it takes, flat.
        outputs: the tensors it makes.
        attrs: its static arguments by parameter name.
        layout: per parameter, SINGLE for one tensor, n for a list of n tensors, None for what is in `attrs`.
        control_inputs: operations that must run before it.
        device, engine: where it was asked to run, None if nobody asked.
        where: the user's line that made it.
    """

    __slots__ = (
        "__weakref__", "attrs", "control_inputs", "device", "engine", "graph", "inputs", "layout", "name", "op",
        "outputs", "where",
    )  # fmt: skip

    def __init__(self, graph: Graph, op: Op, name: str, inputs: list[GraphTensor], layout: tuple, attrs: dict) -> None:
        self.graph = graph
        self.op = op
        self.name = name
        self.inputs = inputs
        self.layout = layout
        self.attrs = attrs
        self.outputs: list[GraphTensor] = []
        self.control_inputs: list[Operation] = []
        self.device: str | None = None
        self.engine: str | None = None
        self.where: Where = user_line()

    @property
    def type(self) -> str:
        return self.op.name

    @property
    def args(self) -> list[Any]:
        """All arguments in parameter order: tensors, lists of tensors, static values."""
        return self.arguments(self.inputs)

    def arguments(self, inputs: Sequence[Any]) -> list[Any]:
        """`args` with other values in the place of the inputs."""
        values: list[Any] = []
        at = 0
        for param, count in zip(self.op.params, self.layout, strict=True):
            if count is None:
                values.append(self.attrs.get(param.name))
            elif count == SINGLE:
                values.append(inputs[at])
                at += 1
            else:
                values.append(tuple(inputs[at : at + count]))
                at += count
        return values

    def input_at(self, index: int) -> int:
        """The number of the first input that belongs to parameter `index`."""
        return sum(1 if count == SINGLE else count or 0 for count in self.layout[:index])

    def make_static(self, index: int, value: Any) -> None:
        """Gives a parameter that is a tensor now a static value instead."""
        first = self.input_at(index)
        for i, tensor in enumerate(self.inputs[first:], first):
            del tensor._uses[self, i]
        del self.inputs[first]
        for i, tensor in enumerate(self.inputs[first:], first):
            tensor._uses[self, i] = None
        self.layout = (*self.layout[:index], None, *self.layout[index + 1 :])
        self.attrs[self.op.params[index].name] = value

    def attr(self, name: str) -> Any:
        """A static argument by name."""
        return self.attrs[name]

    def replace_input(self, index: int, tensor: GraphTensor) -> None:
        """Makes input `index` another tensor of the same graph and dtype.

        Raises:
            ValueError: the tensor is of another graph, or depends on this operation.
            TypeError: its dtype differs.
        """
        old = self.inputs[index]
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor!r} belongs to another graph than {self.name!r}.")
        if tensor.dtype != old.dtype:
            raise TypeError(f"input {index} of {self.name!r} is {old.dtype}, so {tensor!r} does not fit; cast it first.")
        if tensor.op is self or self.graph.depends_on(tensor.op, self):
            raise ValueError(f"{tensor!r} depends on {self.name!r}: taking it as an input would make a cycle.")
        self._set_input(index, tensor)

    def _set_input(self, index: int, tensor: GraphTensor) -> None:
        self.inputs[index]._uses.pop((self, index), None)
        self.inputs[index] = tensor
        tensor._uses[self, index] = None

    def __repr__(self) -> str:
        return f"<operation {self.name} {self.type}>"


class State:
    """The variables of a graph while it is traced.

    Attributes:
        values: variable → its value at this point of the program.
        assigned: the variables that were assigned.
        inputs: in a subgraph, variable → the input that stands for its value at the start.
        last: variable → the operation that assigned it last.
    """

    def __init__(self) -> None:
        self.values: dict[Any, GraphTensor] = {}
        self.assigned: dict[Any, None] = {}
        self.inputs: dict[Any, GraphTensor] = {}
        self.last: dict[Any, Operation] = {}


class Graph:
    """A program: operations in order, with inputs and outputs.

    Attributes:
        name: what it is called when printed.
        inputs: the placeholders, in order.
        outputs: the results, in order.
        outer: for a subgraph, the graph it is traced in.
        state: the variables it reads and assigns.
        captures: for a subgraph, tensors of the outer graph → the placeholders that stand for them.
    """

    def __init__(self, name: str = "graph", outer: Graph | None = None) -> None:
        self.name = name
        self.outer = outer
        self.inputs: list[GraphTensor] = []
        self.outputs: list[GraphTensor] = []
        self.captures: dict[GraphTensor, GraphTensor] = {}
        self.state = State()
        self._operations: dict[str, Operation] = {}
        self._counts: dict[str, int] = {}
        self._scope = ""
        self._overrides: dict[str, str] = {}

    # building

    def add(
        self,
        op: Op,
        inputs: Iterable[GraphTensor],
        attrs: dict[str, Any],
        specs: Iterable[TensorSpec],
        layout: tuple[int | None, ...] | None = None,
        name: str | None = None,
    ) -> Operation:
        """Appends an operation whose output specs are known."""
        inputs = list(inputs)
        for tensor in inputs:
            if tensor.op.graph is not self:
                raise op_error(ValueError, op.name, f"{tensor!r} belongs to another graph.")
        operation = Operation(self, op, self.unique_name(name or op.name), inputs, layout or (SINGLE,) * len(inputs), attrs)
        operation.outputs = [GraphTensor(operation, i, spec) for i, spec in enumerate(specs)]
        for i, tensor in enumerate(inputs):
            tensor._uses[operation, i] = None
        self._operations[operation.name] = operation
        return operation

    def placeholder(self, spec: TensorSpec, name: str | None = None) -> GraphTensor:
        """A new input."""
        tensor = self.add(OPS["Placeholder"], [], {"dtype": spec.dtype, "shape": spec.shape}, [spec], (None, None), name)
        self.inputs.append(tensor.outputs[0])
        return tensor.outputs[0]

    def constant(self, value: Any, name: str | None = None) -> GraphTensor:
        """A NumPy array as a tensor of the graph."""
        from dovetail.engines.base import native_to_dtype

        spec = TensorSpec(value.shape, native_to_dtype(value.dtype))
        return self.add(OPS["Const"], [], {"value": value}, [spec], (None,), name).outputs[0]

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

    # reading

    @property
    def operations(self) -> list[Operation]:
        """The operations, in program order."""
        return list(self._operations.values())

    def __len__(self) -> int:
        return len(self._operations)

    def get_operation(self, name: str) -> Operation:
        """An operation by name.

        Raises:
            KeyError: there is none; the message names close ones.
        """
        if name not in self._operations:
            from difflib import get_close_matches

            close = get_close_matches(name, self._operations, 3)
            raise KeyError(f"no operation {name!r} in {self.name!r}" + (f"; did you mean {' or '.join(close)}?" if close else ""))
        return self._operations[name]

    def get_tensor(self, name: str) -> GraphTensor:
        """A tensor by name, as `dense_1/BiasAdd:0`.

        Raises:
            KeyError: there is none.
        """
        op_name, _, index = name.partition(":")
        outputs = self.get_operation(op_name).outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise KeyError(f"{op_name!r} has {len(outputs)} outputs, so there is no tensor {name!r}.")
        return outputs[int(index or 0)]

    def depends_on(self, operation: Operation, other: Operation) -> bool:
        """Whether `operation` needs `other`, through inputs and control inputs."""
        seen, todo = set(), [operation]
        while todo:
            current = todo.pop()
            if current is other:
                return True
            if current not in seen:
                seen.add(current)
                todo += [t.op for t in current.inputs]
                todo += current.control_inputs
        return False

    # editing

    def remove(self, operation: Operation) -> None:
        """Takes out an operation whose outputs nobody uses.

        Raises:
            ValueError: an output is in use.
        """
        if any(t._uses for t in operation.outputs) or any(t in self.outputs for t in operation.outputs):
            raise ValueError(f"{operation.name!r} cannot be removed: {operation.outputs} are in use.")
        self.discard([operation])

    def discard(self, operations: Iterable[Operation]) -> None:
        """Takes out operations that nothing outside of them uses; passes use it, having seen to that."""
        gone = set(operations)
        for operation in gone:
            for i, tensor in enumerate(operation.inputs):
                tensor._uses.pop((operation, i), None)
            del self._operations[operation.name]
        if any(t.op in gone for t in self.inputs):
            self.inputs = [t for t in self.inputs if t.op not in gone]

    def replace_all_uses(self, old: GraphTensor, new: GraphTensor) -> None:
        """Every operation and graph output that takes `old` takes `new` instead.

        Raises:
            ValueError, TypeError: as `Operation.replace_input`; then nothing is changed.
        """
        if old is new:
            return
        if new.dtype != old.dtype:
            raise TypeError(f"{new!r} cannot stand for {old!r}: the dtypes differ; cast it first.")
        users = [(op, i) for op, i in old._uses if op is not new.op]
        for operation, _ in users:
            if self.depends_on(new.op, operation):
                raise ValueError(f"{new!r} depends on {operation.name!r}: the replacement would make a cycle.")
        self.rewire(old, new, users)

    def rewire(self, old: GraphTensor, new: GraphTensor, users: Iterable[tuple[Operation, int]] | None = None) -> None:
        """`replace_all_uses` without the checks, for passes, whose replacements come before what they replace."""
        for operation, index in list(old._uses) if users is None else list(users):
            operation._set_input(index, new)
        if any(t is old for t in self.outputs):
            self.outputs = [new if t is old else t for t in self.outputs]

    def reorder(self, operations: list[Operation]) -> None:
        """Puts the operations into this order, which must be topological and name each once."""
        self._operations = {op.name: op for op in operations}

    def __str__(self) -> str:
        from dovetail.graph.printing import graph_text

        return graph_text(self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self._operations)} operations, {len(self.outputs)} outputs>"


def where_of(operation: Operation) -> str:
    """The user's line of an operation, as text."""
    return place(operation.where)


