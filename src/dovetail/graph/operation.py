"""Operation and GraphTensor: the nodes of a graph and the values between them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import Where, called_library, conventional, describe, is_inside, op_error, place
from dovetail.core.base.hooks import hooks
from dovetail.core.base.lacking import STEP
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.dtypes import DType
from dovetail.core.op import Op
from dovetail.core.tensor import AS_TENSORFLOW, Operators
from dovetail.core.values.spec import Shape, TensorSpec
from dovetail.graph.index import forget_type, note_change, note_type
from dovetail.graph.journal import note
from dovetail.graph.nesting import outermost_of
from dovetail.graph.order import NOWHERE, position
from dovetail.ops.control.plumbing import HOST_CALLS, NEVER_PRUNED
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph
    from dovetail.graph.recompute_groups import RecomputeGroup

NO_NOTES: Mapping[str, Any] = MappingProxyType({})
SINGLE = -1  # in Operation.layout: the parameter is one tensor
# op type → the parameter whose tensors are the last inputs of each of its subgraphs, the same in each step
CAPTURED = {"If": "inputs", "While": "constants", "Scan": "constants", "WhileGrad": "constants"}
_OURS = "the op of the same name in dovetail.ops"
_INSTEAD = {
    "Keras": "keras.Input for what Keras computes with, or K's functions in place of the layer",
    "TensorFlow": f"{_OURS}, or in TensorFlow's words: {AS_TENSORFLOW}. Or take gradients from {STEP}",
    "JAX": f"{_OURS}, and take gradients from {STEP}",
}


class GraphTensor(Operators):
    """A value in a graph: a result that an Operation gives when the graph runs.

    It accepts further attributes, because programs for Keras set `_uses_learning_phase` and the like on their tensors.

    Attributes:
        op: the Operation that makes it.
        index: its number among the outputs of `op`.
        shape: with None for unknown dimensions; None if the rank is unknown, and for programs the `_unknown_shape` of
            the graph, which is the `TensorShape` of unknown rank in graphs with TensorFlow's names.
        dtype: the type of its elements.
    """

    __slots__ = ("__dict__", "__weakref__", "_uses", "dtype", "index", "op", "shape")

    def __init__(self, op: Operation, index: int, spec: TensorSpec | GraphTensor) -> None:
        self.op = op
        self.index = index
        shape = spec.shape
        if shape is not None:  # else `__getattr__` is asked
            self.shape: Shape = shape if type(shape) is TensorShape else TensorShape(shape)
        self.dtype: DType = spec.dtype
        self._uses: dict[Operation, list[int]] = {}  # each consumer, and the numbers of its inputs that are this tensor

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            return None if is_inside(sys._getframe(1).f_code) else self.op.graph._unknown_shape
        return object.__getattribute__(self, name)  # which raises its own error

    def hold_shape(self, shape: Shape) -> None:
        """Keep a shape, which nothing checks."""
        if shape is not None:
            self.shape = shape
        elif self.shape is not None:
            del self.shape

    @property
    def name(self) -> str:
        """The operation's name and the output's number: `dense_1/BiasAdd:0`."""
        return f"{self.op.name}:{self.index}"

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def arrays_follow(self) -> bool:  # type: ignore[override]
        return outermost_of(self.op.graph).dialect.arrays_follow

    is_one_of_a_kind = arrays_follow

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(self.shape, self.dtype)

    @property
    def is_static(self) -> bool:
        """Whether all dimensions are known."""
        return self.shape is not None and None not in self.shape

    @property
    def device(self) -> str:
        """The device of the operation that makes it; empty if the plan chooses."""
        return self.op.device

    @property
    def value_index(self) -> int:
        """`index`, as TensorFlow calls it."""
        return self.index

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Compute its value, as a NumPy array or scalar.

        Args:
            feed_dict: as for `Session.run`.
            session: the session that computes it; if not given, the default session if it is of this graph, or the
                graph's own.

        Source: `tf.Tensor.eval`.

        Example:
            >>> import dovetail as dt
            >>> x = dt.Graph().placeholder(dt.spec(()), "x")
            >>> (x * 2.0).eval({x: 3.0})
            np.float32(6.0)
        """
        return hooks.run(self, feed_dict, self.graph, session)

    @property
    def ndim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def set_shape(self, shape: Any) -> None:
        """Give the shape, as far as it was unknown, for operations that take the tensor from now on.

        It is a promise: nothing checks it when the graph runs, except on placeholders.

        Args:
            shape: ints, with None for dimensions that stay as they are; None changes nothing.

        Raises:
            ValueError: the tensor has another shape.

        Source: `tf.Tensor.set_shape`.
        """
        known = self._shape_with(shape)
        self.put_shape(None if known.rank is None else known)
        if "shapes" in self.op.attrs:
            self.op.hold_attr("shapes", self.op.op.normalize("shapes", [t.shape for t in self.op.outputs]))

    def put_shape(self, shape: Shape) -> None:
        """Change the shape that is known, of a placeholder also in its attributes."""
        self.graph.check_changeable()
        before = self.shape
        self.hold_shape(shape)
        note(lambda: self.hold_shape(before))
        if self.op.type == "Placeholder":
            self.op.hold_attr("shape", self.op.op.normalize("shape", self.shape))

    @property
    def is_used(self) -> bool:
        """Whether an operation takes it; being an output of the graph does not count."""
        return bool(self._uses)

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input, each once, in program order."""
        return sorted(self._uses, key=position)

    def uses(self) -> list[tuple[Operation, int]]:
        """Every (operation, input number) that takes this tensor, in program order."""
        return [(op, number) for op in self.consumers() for number in sorted(self._uses[op])]

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise self._no_value("Python's `if`, `while`, `and`, `or` and `not` need a value", "ops.cond or ops.where")

    def __iter__(self) -> Iterator[Any]:
        if not self.shape or self.shape[0] is None:
            raise self._no_value("a Python loop needs a known first dimension", "ops.scan or ops.map_fn")
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        if self.shape == ():
            asked = "a scalar has no length; functions such as PyTorch's torch.tensor ask for it to get numbers"
            raise self._no_value(asked, f"{_OURS}, and take gradients from {STEP}")
        if not self.shape or self.shape[0] is None:
            raise self._no_value("len() needs a known first dimension", "ops.shape(x)[0]")
        return self.shape[0]

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise self._no_value_for_library()

    @property
    def __jax_array__(self) -> Any:  # jax asks whether there is one, and no longer calls it
        raise self._no_value_for_library()

    def _no_value_for_library(self) -> Exception:
        library = called_library()
        return self._no_value(f"{library} needs a value", _INSTEAD.get(library, _OURS))

    def numpy(self) -> Any:
        raise self._no_value("numpy() needs a value", "the function's result, or run the code outside `function`")

    __int__ = __float__ = __index__ = __complex__ = lambda self: self._fail_number()

    def _fail_number(self) -> Any:
        raise self._no_value("a Python number needs a value", "ops on the tensor itself")

    def _no_value(self, what: str, instead: str) -> Exception:
        end = "" if instead.endswith(STEP) else "."
        problem = f"{what}, but {self!r} has none while the graph is built; use {instead}{end}"
        return op_error(TypeError, self.op.type, problem)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensor_of, (self.op.graph, self.name)

    def __repr__(self) -> str:
        return f"<graph tensor {self.name} {self.spec!r}>"

    def __str__(self) -> str:
        """As TensorFlow prints it, in programs of TensorFlow 1; else as `repr`."""
        if not self.arrays_follow:
            return repr(self)
        shape = "" if self.shape is None else f", shape={self.get_shape()}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype})'


def _tensor_of(graph: Graph, name: str) -> GraphTensor:
    return graph.get_tensor(name)


def call_arguments(op: Op, layout: Sequence[int | None], attrs: Mapping[str, Any], inputs: Sequence[Any]) -> list[Any]:
    """The arguments of a call in parameter order: tensors, lists of tensors, static values.

    Args:
        op, layout, attrs: as in an `Operation`.
        inputs: the tensors, flat.
    """
    values: list[Any] = []
    at = 0
    for param, count in zip(op.params, layout, strict=True):
        if count is None:
            values.append(attrs[param.name])
        elif count == SINGLE:
            values.append(inputs[at])
            at += 1
        else:
            values.append(tuple(inputs[at : at + count]))
            at += count
    return values


class Operation:
    """A node: one op applied to graph Tensors.

    Attributes:
        op: the entry of the op table.
        type: the name of the op.
        name: unique in its graph.
        inputs: the tensors it takes, flat; change them with `replace_input`.
        outputs: the tensors it makes.
        attrs: its static arguments by parameter name, in the form that `core.calls.static_types` gives them; change
            them with `set_attr`.
        layout: per parameter, SINGLE for one tensor, n for a list of n tensors, None for a static argument in `attrs`.
        engine, device: the names of the engine and the device that compute it, such as "torch" and "gpu:0".  None for
            the engine and "" for the device, the initial values, leave it to the plan, which computes the operation on
            its own engine.
        part: the number or the name of its part; None, the initial value, for the part of its inputs.
        gradient_function: its custom gradient, as from `custom_gradient`; None for the gradient of its op.
        notes: attributes that programs set by `_set_attr`, under names with an underscore, such as "_class".
        overrides: op type → name of a registered gradient, for this operation and the operations of its body.
        recompute_group: the operations with which a gradient computes it again; None if its results are kept.
        taken: name of a static argument → the tensor whose known elements it is, if it was given as a tensor.
        where: the user's line that made it.
    """

    __slots__ = (
        "__weakref__", "_control_inputs", "_control_outputs", "_next", "_origin", "_pin", "_position", "_previous",
        "attrs", "gradient_function", "graph", "inputs", "layout", "name", "notes", "op", "outputs", "overrides",
        "recompute_group", "taken", "type", "where",
    )  # fmt: skip

    def __init__(
        self, graph: Graph, op: Op, name: str, inputs: list[GraphTensor], layout: tuple, attrs: dict, where: Where
    ) -> None:
        self.graph = graph
        self.op = op
        self.type = op.name
        self.name = name
        self.inputs = inputs
        self.layout = layout
        self.attrs = attrs
        self.outputs: list[GraphTensor] = []
        self._control_inputs: dict[Operation, None] | None = None
        self._control_outputs: dict[Operation, None] | None = None
        self._pin: Pin = ANYWHERE
        self.gradient_function: Callable[..., Any] | None = None
        self.notes: Mapping[str, Any] = NO_NOTES
        self.overrides: Mapping[str, str] = graph.gradient_overrides
        self.recompute_group: RecomputeGroup | None = None
        self.taken: Mapping[str, GraphTensor] = NO_NOTES
        self.where = where
        self._origin: Operation | None = None
        self._position = NOWHERE
        self._previous: Operation | None = None
        self._next: Operation | None = None

    @property
    def pin(self) -> Pin:
        """The engine and the device that compute it, and its part."""
        return self._pin

    @pin.setter
    def pin(self, pin: Pin) -> None:
        self.graph.check_changeable()
        before = self._pin
        if pin != before:
            self._pin = Pin(*pin)
            self.graph.edited(lambda: setattr(self, "pin", before))

    @property
    def engine(self) -> str | None:
        return self._pin.engine

    @engine.setter
    def engine(self, name: str | None) -> None:
        self.pin = self._pin._replace(engine=name)

    @property
    def device(self) -> str:
        return self._pin.device or ""

    @device.setter
    def device(self, name: str | None) -> None:
        self.pin = self._pin._replace(device=name or None)

    @property
    def part(self) -> int | str | None:
        return self._pin.part

    @part.setter
    def part(self, part: int | str | None) -> None:
        self.pin = self._pin._replace(part=part)

    def record_pin(self, pin: Pin) -> None:
        """Set the pin while it is added to its graph; this is no edit."""
        self._pin = pin

    @property
    def origin(self) -> Operation:
        """The operation of the user's graph that it is a copy of, or that a pass or a gradient made it for.

        A user's operation is its own origin: in a graph that was built or traced, or that `copy`, `subgraph`,
        `import_graph` or a compiled function's `graph` returned.
        """
        return self if self._origin is None else self._origin

    @property
    def control_inputs(self) -> tuple[Operation, ...]:
        """The operations that must run before it; change them with `add_control_input`."""
        return tuple(self._control_inputs or ())

    @property
    def control_outputs(self) -> tuple[Operation, ...]:
        """The operations that wait for it."""
        return tuple(self._control_outputs or ())

    @property
    def is_kept(self) -> bool:
        """Whether a program runs it even if nothing uses its results, such as an assignment."""
        if self.type not in SUBGRAPH_CALLS:
            return self.type in NEVER_PRUNED
        return any(op.is_kept for part in self.subgraphs() for op in part)

    def note_uses(self) -> None:
        """Add it to the consumers of its inputs."""
        for number, tensor in enumerate(self.inputs):
            tensor._uses.setdefault(self, []).append(number)

    def drop_uses(self) -> None:
        """Undo `note_uses`."""
        for tensor in self.inputs:
            tensor._uses.pop(self, None)

    @property
    def is_removed(self) -> bool:
        """Whether it was taken out of its graph."""
        return self._position == NOWHERE

    @property
    def args(self) -> list[Any]:
        """All arguments in parameter order: tensors, lists of tensors, static values."""
        return self.arguments(self.inputs)

    def arguments(self, inputs: Sequence[Any]) -> list[Any]:
        """The `args`, with other values instead of the inputs."""
        return call_arguments(self.op, self.layout, self.attrs, inputs)

    def attr(self, name: str) -> Any:
        """A static argument by name."""
        return self.attrs[name]

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Run it for its effect, such as assigning a variable; `eval` of its results gives values.

        Args:
            feed_dict, session: as for `GraphTensor.eval`.

        Source: `tf.Operation.run`.
        """
        hooks.run(self, feed_dict, self.graph, session)

    def needs(self, index: int) -> bool:
        """Whether the gradient by an input has to be computed; always True, since graphs prune unused operations."""
        return True

    def subgraphs(self) -> list[Graph]:
        """The graphs among its static arguments: branches, bodies of loops."""
        if self.type not in SUBGRAPH_CALLS:
            return []
        return [value for value in self.attrs.values() if hasattr(value, "captures")]

    def body(self, name: str | None = None) -> Graph:
        """A graph among its static arguments, to be edited; no other operation holds it from now on.

        Operations that are recorded there may use tensors of the graph around it, which become inputs of this
        operation, too.

        Args:
            name: the name of the parameter: "body" or "condition" of a loop, "then_branch" or "else_branch"; may be
                left out if there is only one.

        Raises:
            ValueError: there is none of this name.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x, scale = (graph.placeholder(dt.spec((3,)), name) for name in ("x", "scale"))
            >>> total = dt.ops.scan(lambda s, row: (s + row, None), 0.0, x)[0]
            >>> body = total.op.body("body")
            >>> body.insert_after(body.inputs[1], lambda row: row * scale[0])
            <graph tensor Mul:0 float32[]>
            >>> total.eval({x: [1.0, 2.0, 3.0], scale: [10.0, 0.0, 0.0]})
            np.float32(60.0)
        """
        return hooks.body_of(self, name)

    def add_output(self, init: GraphTensor | None = None, **parts: Any) -> GraphTensor:
        """Add a result to a branch or a loop, from tensors of the graphs inside.

        Args:
            init: for a `While`, the first value of the new tensor that the loop carries.
            parts: For a `Scan`, `body=` the result of a step, to be stacked.  For an `If`, `then_branch=` and
                `else_branch=`.  For a `While`, `body=` the next value: a tensor, or a function of the tensor for the
                present value.

        Returns:
            The result, a tensor of this graph.

        Raises:
            TypeError: other parts are needed, or the dtypes do not fit.
            ValueError: a tensor is not in a graph that this operation alone holds, or its shape does not fit.

        Example:
            >>> import dovetail as dt
            >>> x = dt.Graph().placeholder(dt.spec((3,)), "x")
            >>> last = dt.ops.scan(lambda s, row: (s + row, None), 0.0, x)[0]
            >>> sums = last.op.add_output(body=last.op.body().outputs[0])
            >>> sums.eval({x: [1.0, 2.0, 3.0]})
            array([1., 3., 6.], dtype=float32)
        """
        return hooks.add_output(self, init, parts)

    def insert_input(self, index: int, tensor: GraphTensor) -> None:
        """Add a tensor to the end of a parameter that is a list of tensors."""
        count = self.layout[index] or 0
        at, layout = self.input_at(index) + count, (*self.layout[:index], count + 1, *self.layout[index + 1 :])
        self.become(self.op, [*self.inputs[:at], tensor, *self.inputs[at:]], layout, self.attrs)

    def input_at(self, index: int) -> int:
        """The number of the first input that belongs to parameter `index`."""
        return sum(1 if count == SINGLE else count or 0 for count in self.layout[:index])

    def takes(self) -> Iterator[GraphTensor]:
        """The tensors whose values it took, or operations inside it, which have constants as copies of them."""
        yield from self.taken.values()
        for part in self.subgraphs():
            outer = dict(zip(reversed(part.inputs), reversed(self.captured), strict=False))
            yield from (t for own, t in outer.items() if own.op.attrs["known"] is not None)
            inner_tensors = (t for inner in part for t in inner.takes())
            yield from (outer.get(t, t) for t in inner_tensors if t in outer or t.op.graph is not part)

    @property
    def captured(self) -> Sequence[GraphTensor]:
        """The tensors that its branches or bodies took from around them, as their last inputs."""
        return self.args[self.op.index_of(CAPTURED[self.type])] if self.type in CAPTURED else ()

    def retake(self, known: Mapping[GraphTensor, GraphTensor], graph: Graph) -> None:
        """Let it, and the operations inside it, refer to other tensors as those whose values they took.

        Args:
            known: tensors of a graph → the others; one that is not there is forgotten.
            graph: that graph.
        """
        if self.taken:
            pairs = [(name, known.get(t) if t.op.graph is graph else t) for name, t in self.taken.items()]
            self.taken = {name: t for name, t in pairs if t is not None}
        for part in self.subgraphs():
            for inner in part:
                inner.retake(known, graph)

    def take_after(self, other: Operation) -> None:
        """Copy another operation's properties that do not depend on its op: pin, notes, overrides, recompute group."""
        self._pin, self.notes, self.overrides, self.recompute_group = (
            other._pin,
            other.notes,
            other.overrides,
            other.recompute_group,
        )

    def failure(self, error: Exception, engine: str) -> Exception:
        """The exception to raise if an engine failed to compute it; it names the user's operation.

        Args:
            error: the exception of the engine.
            engine: the engine's name.
        """
        origin, made = self.origin, ""
        if (self.type, self.where) != (origin.type, origin.where):
            at = "" if self.where == origin.where else f" at {place(self.where)}"
            made = f" of {self.type}, which was made{at} for {origin.name!r}"
        said = str(error) if self.type in HOST_CALLS else f"{engine} says{made}: {error}."
        return op_error(conventional(error), origin.type, said, where=origin.where)

    # editing; see also edit.edit

    def replace_input(self, index: int, tensor: Any) -> None:
        """Replace input `index` with another tensor of the same graph and dtype; an array becomes a constant.

        Raises:
            IndexError: there is no such input.
            ValueError: the tensor is in another graph, or depends on this operation, or its shape does not fit.
            TypeError: its dtype differs.
        """
        if not 0 <= index < len(self.inputs):
            raise IndexError(f"{self.name!r} has {len(self.inputs)} inputs, so there is no input {index}.")
        self.graph.replace_uses(self.inputs[index], tensor, [(self, index)])

    def add_control_input(self, operation: Operation) -> None:
        """Make an operation of the same graph run before this one.

        Raises:
            ValueError: it is in another graph, or depends on this operation.
        """
        if self._control_inputs is None or operation not in self._control_inputs:
            hooks.order_before(self.graph, operation, [self])
            self.wait_for((operation,))

    def wait_for(self, operations: Iterable[Operation]) -> None:
        """Do `add_control_input` without the checks, for operations that precede this one."""
        self.graph.check_changeable()
        for operation in operations:
            if self._control_inputs is None:
                self._control_inputs = {}
            if operation not in self._control_inputs:
                self._control_inputs[operation] = None
                operation._note_waiting(self)
                self.graph.edited(partial(self.remove_control_input, operation))

    def _note_waiting(self, operation: Operation) -> None:
        if self._control_outputs is None:
            self._control_outputs = {}
        self._control_outputs[operation] = None

    def remove_control_input(self, operation: Operation) -> None:
        """Undo `add_control_input`."""
        if self._control_inputs is not None and operation in self._control_inputs:
            self.graph.check_changeable()
            before = dict(self._control_inputs)
            del self._control_inputs[operation]
            (operation._control_outputs or {}).pop(self, None)

            def undo() -> None:
                self._control_inputs = {}
                self.wait_for(before)

            self.graph.edited(undo)

    def change(self, op: Any = None, name: str | None = None, **attrs: Any) -> None:
        """Change its op, its name or its static arguments; shapes follow.

        Args:
            op: an op or its type, which takes as many tensors; static arguments that both ops have stay as they are.
            name: a name that no other operation of the graph has.
            attrs: static arguments by parameter name.

        Raises:
            LookupError: the op has no such parameter.
            TypeError, ValueError, IndexError: it does not take the tensors or a value, its results do not fit their
                consumers, or the name is taken; then the graph stays as it was.

        Example:
            >>> import dovetail as dt
            >>> x = dt.Graph().placeholder(dt.spec((2, 3)), "x")
            >>> y = dt.ops.sum(x, axis=0)
            >>> y.op.change(op=dt.ops.max, name="most", axis=1)
            >>> y, y.op.type
            (<graph tensor most:0 float32[2]>, 'Max')
        """
        hooks.change(self, op, name, attrs)

    def set_attr(self, name: str, value: Any) -> None:
        """Change a static argument; shapes follow.

        Raises:
            LookupError: the op has no such parameter.
            TypeError, ValueError, IndexError: it does not take the value, or its results do not fit their consumers;
                then the graph stays as it was.
        """
        hooks.change(self, None, None, {name: value})

    def normalize(self, name: str, value: Any) -> Any:
        """Normalize a value of a static argument to the form in `attrs`.

        Raises:
            LookupError, TypeError, ValueError: as for `set_attr`.
        """
        try:
            return self.op.normalize(name, value)
        except (LookupError, TypeError, ValueError) as error:
            raise op_error(type(error), self.type, str(error), f"{name}={describe(value)}") from None

    def hold_attr(self, name: str, value: Any) -> None:
        """Do `set_attr` without the checks, for a normalized value; it does not check whether the outputs fit."""
        self.graph.check_changeable()
        before = self.attrs.get(name)
        self.attrs[name] = value
        self.taken = {other: tensor for other, tensor in self.taken.items() if other != name}
        for part in self.subgraphs():
            part._holders.setdefault(self)
        note_change(self.graph, self)
        self.graph.edited(lambda: self.hold_attr(name, before))

    def become(self, op: Op, inputs: Iterable[GraphTensor], layout: tuple[int | None, ...], attrs: dict) -> None:
        """Turn it into another call, whose results have the same types; for edits that have checked it."""
        self.graph.check_changeable()
        before = self.op, self.inputs, self.layout, self.attrs, self.gradient_function
        self.taken = {name: tensor for name, tensor in self.taken.items() if attrs.get(name) is self.attrs.get(name)}
        self.drop_uses()
        self.gradient_function = self.gradient_function if op is self.op else None
        forget_type(self.graph, self)
        self.op, self.type, self.inputs, self.layout, self.attrs = op, op.name, list(inputs), layout, attrs
        note_type(self.graph, self)
        self.note_uses()
        note_change(self.graph, self)

        def undo() -> None:
            self.become(*before[:4])
            self.gradient_function = before[4]

        self.graph.edited(undo)

    def make_static(self, index: int, value: Any) -> None:
        """Replace a tensor parameter with a static value."""
        at, name = self.input_at(index), self.op.params[index].name
        layout = (*self.layout[:index], None, *self.layout[index + 1 :])
        attrs = {**self.attrs, name: self.normalize(name, value)}
        self.become(self.op, [*self.inputs[:at], *self.inputs[at + 1 :]], layout, attrs)

    def drop_input(self, index: int, number: int) -> None:
        """Remove one tensor from a parameter that is a list of tensors."""
        at = self.input_at(index) + number
        layout = (*self.layout[:index], (self.layout[index] or 0) - 1, *self.layout[index + 1 :])
        self.become(self.op, [*self.inputs[:at], *self.inputs[at + 1 :]], layout, self.attrs)

    def set_input(self, index: int, tensor: GraphTensor) -> None:
        """Do `replace_input` without the checks, for edits that have made them, and for passes."""
        self.graph.check_changeable()
        before = self.inputs[index]
        before._uses[self].remove(index)
        if not before._uses[self]:
            del before._uses[self]
        self.inputs[index] = tensor
        tensor._uses.setdefault(self, []).append(index)
        note_change(self.graph, self)
        self.graph.edited(partial(self.set_input, index, before))

    def __reduce__(self) -> tuple[Any, ...]:
        return _operation_of, (self.graph, self.name)

    def __repr__(self) -> str:
        return f"<operation {self.name} {self.type}>"


def _operation_of(graph: Graph, name: str) -> Operation:
    return graph.get_operation(name)
