"""Variable: mutable state, outside of any graph; programs read it and assign it.

A compiled program that assigns a variable may consume its buffer, as XLA and an optimizer's step on torch do.  Other
programs write the new value into a spare buffer, and keep the old one for the next time; so stepping allocates nothing.
Reading a variable eagerly shares its buffer with the returned Tensor.  Such a buffer is never reused, so the Tensor
keeps its numbers.  See `state` for how buffers change, and `locks` for how they are guarded.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import CONVENTIONAL, StaleValueError, annotate, describe, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.locks import Guard
from dovetail.core.base.scopes import DEFAULT_GRAPH, not_building, scopes
from dovetail.core.base.tensor_shape import TensorShape, UnknownShape
from dovetail.core.dtypes import DType, as_dtype, native_to_dtype
from dovetail.core.engines.engine_registry import tracing_engine
from dovetail.core.tensor import Operators, Tensor
from dovetail.core.values import arguments
from dovetail.core.values.creations import note_creation, of_trace
from dovetail.core.values.host import is_foreign
from dovetail.core.values.shapes import fits
from dovetail.core.values.state import Buffer, held_alone, put
from dovetail.core.values.structure import refuse_nesting
from dovetail.core.values.value_kinds import (
    ANY_ENGINE,
    HOST,
    ValueKind,
    default_graph,
    dtype_of,
    kind_of,
    register,
    require_numbers,
    static_shape,
)

if TYPE_CHECKING:
    from dovetail.core.engine import Engine

_numbers = itertools.count()


def is_of_default_graph(value: Any) -> bool:
    """Whether a value is a tensor of this thread's default graph, which records ops on it."""
    graph = DEFAULT_GRAPH.get()
    return graph is not None and getattr(value, "graph", None) is graph


def _first_value(value: Any) -> Any:
    """Compute a graph Tensor now; in a trace, compute it from the arguments of the call that is traced."""
    creations = of_trace()
    try:
        return hooks.run(value, None if creations is None else creations.given, value.graph)
    except ValueError as error:
        if creations is None:
            raise
        problem = f"its first value {value!r} cannot be computed while {value.graph.name!r} is traced"
        advice = "Make the variable of numbers, or outside of the function."
        raise op_error(ValueError, "Variable", f"{problem}: {error} {advice}") from error


class Variable(Operators):
    """A tensor that can be given a new value of the same shape and dtype.

    Args:
        value: the first value: anything a tensor can be made of.  A graph Tensor is computed now, and the graph's
            `initializer` can compute it again.
        dtype: its type; the value's if not given.
        name: its name in graphs and messages.
        trainable: whether gradient tapes watch it by default.
        constraint: a function of the value that optimizers apply after they have changed it.

    Attributes:
        name, dtype, shape, trainable, constraint: as given.
        initial_value: the graph Tensor that gave the first value; None if another value did.
        followers: variables of other libraries, by library, that get each value assigned to this one.
        symbolic: whether ops on it are recorded while the thread's default graph is open, as for `K.variable`.
        is_counter: whether each program that reads it also runs its last assignment, as for the count of random draws.
        guard: the lock for changing the variable; variables that a plan assigns together share one.

    Raises:
        TypeError, ValueError: no tensor can be made of the value.
        ValueError: a compiled function would make another variable in each trace; see `function`.

    Example:
        >>> w = Variable([1., 2.], name="w")
        >>> w.assign_add([1., 1.]).numpy()
        array([2., 3.], dtype=float32)
    """

    symbolic = False
    is_counter = False

    def __init__(
        self,
        value: Any,
        dtype: Any = None,
        name: str | None = None,
        trainable: bool = True,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        note_creation(name)
        self.initial_value = value if kind_of(value) is hooks.graph_kind else None
        if self.initial_value is not None:
            value = _first_value(value)
        try:
            self.dtype: DType = as_dtype(dtype) if dtype is not None else native_to_dtype(dtype_of(value))
            with not_building():
                buffer = self._buffer_of(value.read() if isinstance(value, Variable) else value)
        except CONVENTIONAL as error:
            annotate(error, "Variable", lambda: f"value={describe(value)}, dtype={describe(dtype)}")
            raise
        except RecursionError:
            refuse_nesting("Variable", [value])
            raise
        self._begin(Tensor(buffer.value, buffer.engine).shape, name, trainable, constraint, buffer)
        if self.initial_value is not None:
            hooks.variable_made(self.initial_value.graph, self)

    def _begin(
        self, shape: TensorShape, name: str | None, trainable: bool, constraint: Any, buffer: Buffer | None = None
    ) -> None:
        """Set the attributes other than the dtype and first value."""
        self.shape: TensorShape = shape
        self.trainable = trainable
        self.constraint = constraint
        self.name = name or f"variable_{next(_numbers)}"
        self.guard = Guard()
        self.followers: dict[str, Any] = {}
        self._buffer = buffer

    @classmethod
    def without_value(cls, shape: TensorShape, dtype: DType, name: str) -> Variable:
        """Make a variable that has no value until it is assigned one."""
        made = cls.__new__(cls)
        made.initial_value, made.dtype = None, dtype
        made._begin(shape, name, trainable=False, constraint=None)
        return made

    def holder(self, written: bool = False) -> Variable:
        """The variable that holds the value here: itself, except if each session has its own value.

        Args:
            written: whether the value is about to be replaced, so that there need be none.
        """
        return self

    @property
    def op_name(self) -> str:
        """The prefix of the names of the operations that read it or assign it in graphs."""
        return self.name

    @property
    def arrays_follow(self) -> bool:  # type: ignore[override]
        return self.symbolic

    @property
    def is_one_of_a_kind(self) -> bool:  # type: ignore[override]
        graph = graphs[0] if (graphs := scopes().graphs) else default_graph()
        return self.symbolic and graph is not None and graph.outermost.dialect.arrays_follow

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def value(self) -> Any:
        """The current value as a Tensor (a graph Tensor while a function is traced)."""
        return self.read()

    @property
    def engine(self) -> str:
        """The name of the engine that holds the value now."""
        return self._held().engine.name

    @property
    def is_held(self) -> bool:
        """Whether it has a value; `delete` removes it."""
        return self._buffer is not None

    @property
    def device(self) -> str:
        return self._held().device

    def read(self, engine: Engine | None = None) -> Any:
        """The current value, moved to an engine if one is given."""
        around = scopes()
        if around.graphs:
            return hooks.read(around.graphs[-1], self)
        buffer = self._buffer
        if buffer is None or buffer.tensor is None or (engine is not None and engine is not buffer.engine):
            buffer = self.shared_buffer(engine)
        tensor = buffer.tensor
        for tape in around.tapes:
            tape.record_read(self, tensor)
        return tensor

    def shared_buffer(self, engine: Engine | None, device: str | None = None) -> Buffer:
        """The buffer, which others may keep, moved to an engine and a device of it, if these are given."""
        return self.guard.holding(self._shared, engine, device)

    def _shared(self, engine: Engine | None, device: str | None) -> Buffer:
        buffer = self._held() if engine is None else self.buffer_on(engine, device)
        buffer.share()  # the returned Tensor shares it
        if buffer.tensor is None:
            buffer.tensor = Tensor(buffer.value, buffer.engine)
        return buffer

    def buffer_on(self, engine: Engine, device: str | None = None) -> Buffer:
        """The buffer, moved to an engine, and to a device of it if one is given; the caller holds the guard."""
        buffer = self._held()
        if buffer.engine is not engine or (device is not None and buffer.device != device):
            buffer.share()  # the new buffer may share memory with the old one
            buffer = self._buffer = held_alone(engine.receive(buffer.value, buffer.engine, device), engine)
        return buffer

    def array_on(self, engine: Engine, device: str | None = None) -> Any:
        """The native array for a plan that does not assign the variable; the caller holds no guard."""
        buffer = self._buffer
        if buffer is not None and buffer.engine is engine and (device is None or buffer.device == device):
            value = buffer.lend()
            if value is not None:
                return value
        return self.guard.holding(self._lent, engine, device)

    def _lent(self, engine: Engine, device: str | None) -> Any:
        buffer = self.buffer_on(engine, device)
        buffer.lend()
        return buffer.value

    def _held(self) -> Buffer:
        buffer = self._buffer
        if buffer is None or (buffer.engine.consumes and buffer.engine.is_deleted(buffer.value)):
            raise StaleValueError(
                f"the variable {self.name!r} has no value: it was deleted, or given to a compiled step that failed "
                "half-way. Assign it a value first."
            )
        return buffer

    def numpy(self) -> np.ndarray:
        """A copy of the value as a NumPy array."""
        return self.guard.holding(self._copied)

    def _copied(self) -> np.ndarray:
        buffer = self._held()
        return np.array(buffer.engine.to_numpy(buffer.value))

    def assign(self, value: Any) -> Any:
        """Give the variable a value.

        Args:
            value: the value, of the variable's shape; it is cast to its dtype.

        Returns:
            The variable, so that assignments can be chained, also while a function is traced.  In a `SessionGraph`, or
            if the value is a tensor of the thread's default graph, the tensor of the variable's next value.

        Raises:
            ValueError: the shape differs, or the value is not known yet.
        """
        self.check_shape(value)
        if (graph := scopes().graph) is not None:
            return hooks.assign(graph, self, value)
        if is_of_default_graph(value):
            return hooks.assign(DEFAULT_GRAPH.get(), self, value)
        if kind_of(value).is_symbolic:
            raise op_error(ValueError, "AssignVariableOp", f"{value!r} has no value outside the graph that makes it.")
        if (engine := kind_of(value).autodiff(value)) is not None and engine is tracing_engine():
            problem = f"{self.name!r} cannot be assigned a value that {engine.name} is tracing: it has no number yet;"
            advice = "return it, or, in a layer of Keras, assign a weight made by add_weight."
            raise op_error(ValueError, "AssignVariableOp", f"{problem} {advice}")
        buffer = self._buffer_of(value)
        if buffer.engine.has_devices:
            buffer = self._on_its_device(buffer)
        self.guard.holding(put, [self], [buffer])
        return self

    def follow(self, library: str, make: Callable[[np.ndarray], Any]) -> Any:
        """The variable of another library that gets each value assigned to this one; `make` makes it on first use."""
        return self.guard.holding(self._follow, library, make)

    def _follow(self, library: str, make: Callable[[np.ndarray], Any]) -> Any:
        if library not in self.followers:
            self.followers[library] = make(self.numpy())
            self._held().share()  # the next write must replace the buffer by `put`, which assigns followers
        return self.followers[library]

    def tell_followers(self) -> None:
        """Assign the value to the variables of other libraries."""
        for follower in self.followers.values():
            follower.assign(self.numpy())

    def _buffer_of(self, value: Any) -> Buffer:
        """A value as this variable holds it: in memory that its giver cannot change, and with no history on a tape.

        Only the variable knows an array that is made here.
        """
        require_numbers(value)
        kind = kind_of(value)
        tensor = arguments.as_tensor(value, self.dtype, arguments.engine_for(value))
        array, engine = tensor._value, tensor._engine
        if is_others := kind.autodiff(value) is not None:  # the giver may write to the array
            array = engine.copy(array)
        is_new = is_others or (kind is HOST and not is_foreign(value))
        return held_alone(array, engine, shared=not is_new)

    def _on_its_device(self, given: Buffer) -> Buffer:
        """A new value, on the device of the old one if that is of the same engine."""
        buffer, engine = self._buffer, given.engine
        if buffer is None or buffer.engine is not engine or engine.is_deleted(buffer.value):
            return given
        device = buffer.device
        return given if given.device == device else held_alone(engine.beside(given.value, buffer.value), engine)

    def check_shape(self, value: Any) -> None:
        """Raise ValueError if a value's shape is not the variable's; an unknown rank is checked when the graph runs."""
        try:
            shape = static_shape(arguments.stacked(value))
        except RecursionError:
            refuse_nesting("AssignVariableOp", [value])
            raise
        if not fits(shape, STATE.shape(self)):
            given = tuple(shape or ())
            problem = f"the variable {self.name!r} has the shape {self.shape}: a value of shape {given} does not fit."
            raise op_error(ValueError, "AssignVariableOp", problem)

    def assign_add(self, delta: Any) -> Any:
        """Add to the value."""
        return self.assign_changed(operator.add, delta)

    def assign_sub(self, delta: Any) -> Any:
        """Subtract from the value."""
        return self.assign_changed(operator.sub, delta)

    def assign_changed(self, change: Callable[..., Any], *operands: Any) -> Any:
        """Give the variable the result of a function of its value; no other assignment can come in between.

        Args:
            change: takes the value and the operands.
            operands: tensors, variables, numbers.

        Returns:
            The same as `assign`.

        Raises:
            ValueError: the shape of the new value differs.

        Example:
            >>> w = Variable([1., 2.])
            >>> w.assign_changed(lambda value, factor: value * factor, 3.0).numpy()
            array([3., 6.], dtype=float32)
        """
        graph = scopes().graph
        if graph is None and any(map(is_of_default_graph, operands)):
            with DEFAULT_GRAPH.get().as_default():
                return self.assign_changed(change, *operands)
        given = [x.read() if isinstance(x, Variable) else x for x in operands]  # a thread holds one guard at a time
        if graph is not None:
            return hooks.assign(graph, self, given, change)
        return self.guard.holding(lambda: self.assign(change(self.read(), *given)))

    def delete(self) -> None:
        """Free the buffer now; reading the variable before its next assignment raises `StaleValueError`."""
        self.guard.holding(self._delete)

    def _delete(self) -> None:
        if self._buffer is not None:
            self._buffer.share()
        self._buffer = None

    def __getstate__(self) -> dict[str, Any]:
        held = None if self._buffer is None else self.shared_buffer(None).tensor
        return {**self.__dict__, "_buffer": held, "guard": None, "followers": {}, "initial_value": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        tensor = state["_buffer"]
        buffer = None if tensor is None else held_alone(tensor._value, tensor._engine)
        self.__dict__.update(state, _buffer=buffer, guard=Guard(), followers={})

    def adopted(self, graph: Any) -> None:
        """Prepare for a graph that was unpickled with the variable and owns it; subclasses override this."""

    def __jax_array__(self) -> Any:
        live = STATE.live(self)
        return self.read().__jax_array__() if live is self else live

    def __dlpack__(self, **options: Any) -> Any:
        return self.read().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.read().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.read().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self.read())

    def __len__(self) -> int:
        return len(self.read())

    def __iter__(self) -> Any:
        return iter(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __float__(self) -> float:
        return float(self.read())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.shape))
        try:
            held = np.array2string(self.numpy(), separator=", ", threshold=20)
        except StaleValueError:
            held = "deleted"
        except RuntimeError:
            held = "without a value"
        return f"<Variable {self.name}: {self.dtype}[{shape}] {held}>"


class _State(ValueKind):
    rank = 2
    is_computed = True
    is_mutable = True

    def handler(self, values: Iterable[Any]) -> ValueKind:
        recorded = any(kind_of(value) is self and self.is_recorded(value) for value in values)
        return hooks.graph_kind if recorded else self

    def shape(self, value: Any) -> Any:
        return None if isinstance(value.shape, UnknownShape) else value.shape

    def describe(self, value: Any, key: list[Any]) -> Any:
        if not value.is_held or (hooks.reads and tracing_engine() is not None):
            return None
        key += (type(value), self.is_recorded(value), value.dtype, value.shape)
        return ANY_ENGINE  # the engine that computes the call reads it

    def is_recorded(self, value: Any) -> bool:
        """Whether a graph is being built, or the thread's default graph is open and the variable is symbolic."""
        return bool(scopes().graphs) or (value.symbolic and default_graph() is not None)

    def known(self, value: Any) -> np.ndarray | None:
        return None if self.is_recorded(value) else value.numpy()

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        return value.read(engine)

    def live(self, value: Any) -> Any:
        engine = None if not hooks.reads or scopes().tapes or self.is_recorded(value) else tracing_engine()
        read = engine and hooks.reads.get(engine.name)
        return read(value) if read else value


STATE = _State()
register(Variable, STATE)
