"""Variable: mutable state, outside of any graph; programs read it and assign it.

A compiled program that assigns a variable either consumes its buffer (an engine that compiles whole programs, like
XLA) or writes the new value into a spare one and leaves the old for the next time; so stepping allocates nothing.
Reading a variable eagerly shares its buffer with the Tensor that is returned: such a buffer is never reused, and the
Tensor keeps its numbers.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.dtypes import DType, as_dtype
from dovetail.engines import owner_of_type, tracing_engine
from dovetail.engines.base import native_to_dtype
from dovetail.errors import StaleValueError, op_error
from dovetail.graph import trace
from dovetail.ops import arguments, worlds
from dovetail.ops.infer import fits
from dovetail.ops.op import OPS
from dovetail.ops.worlds import STATE
from dovetail.tensor import Operators, Tensor, not_building, recording

if TYPE_CHECKING:
    from dovetail.engines.base import Engine

_numbers = itertools.count()


class Variable(Operators):
    """A tensor that can be given a new value of the same shape and dtype.

    Args:
        value: the first value: anything a tensor can be made of.
        dtype: its type; that of the value if not given.
        name: how graphs and messages call it.
        trainable: whether gradient tapes watch it by themselves.
        constraint: a function of the value that optimizers apply after they have changed it.

    Attributes:
        name, dtype, shape, trainable, constraint: as given.
        number: counts variables; locks are taken in this order.
        followers: variables of other libraries, by library, that are assigned each value that this one is.
        lock: held while the variable is assigned.

    Example:
        >>> w = Variable([1., 2.], name="w")
        >>> w.assign_add([1., 1.]).numpy()
        array([2., 3.], dtype=float32)
    """

    def __init__(
        self,
        value: Any,
        dtype: Any = None,
        name: str | None = None,
        trainable: bool = True,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self.dtype: DType = as_dtype(dtype) if dtype is not None else native_to_dtype(arguments.dtype_of(value))
        with not_building():
            tensor = self._tensor_of(value.read() if isinstance(value, Variable) else value)
        self.shape: tuple[int, ...] = tensor.shape
        self.trainable = trainable
        self.constraint = constraint
        self.number = next(_numbers)
        self.name = name or f"variable_{self.number}"
        self.lock = threading.RLock()
        self.followers: dict[str, Any] = {}
        self._tensor: Tensor | None = tensor
        self._readers: list[None] = []  # one for each plan that reads the buffer just now
        self._consumed = False  # whether a plan is consuming the buffer just now
        self._shared = True  # the buffer may be known to others than this variable
        self._spare: Tensor | None = None  # a buffer that only this variable knows, for its next value

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
        return self._held()._engine.name

    @property
    def device(self) -> str:
        return self._held().device

    def read(self, engine: Engine | None = None) -> Any:
        """The current value, moved to an engine if one is given."""
        graph = trace.current_graph()
        if graph is not None:
            return trace.read_variable(graph, self)
        with self.lock:
            self._shared = True  # with the Tensor that is returned
            tensor = self._tensor = arguments.move_quietly(self._held(), engine)
        for tape in recording.tapes:
            tape.record_read(self, tensor)
        return tensor

    # called by plans, which hold the locks of the variables that they assign

    def lend_buffer(self, engine: Engine, consume: bool) -> Any:
        """The native array for a plan to read, or to consume: then nobody else knows it.

        There is no lock here.  A reader enters itself before it looks whether the buffer is being consumed, and a
        consumer says so before it looks for readers, so at least one of the two sees the other.
        """
        self._readers.append(None)
        if consume:
            self._consumed = True
        elif self._consumed:
            with self.lock:  # until the consumer has put the next value in place
                pass
        tensor = self._tensor
        if tensor is None or tensor._engine is not engine:
            tensor = self._moved(engine)
        return engine.copy(tensor._value) if consume and (self._shared or len(self._readers) > 1) else tensor._value

    def _moved(self, engine: Engine) -> Tensor:
        try:
            with self.lock:
                self._tensor = arguments.move_quietly(self._held(), engine)
                self._shared = True  # with the engine that it comes from, by DLPack
                return self._tensor
        except BaseException:
            self.return_buffer()
            raise

    def return_buffer(self) -> None:
        """A plan has done with the array that it was lent."""
        self._readers.pop()

    def spare_buffer(self, engine: Engine) -> Any:
        """A native array that a plan may write the next value into."""
        spare, self._spare = self._spare, None
        if spare is None or spare._engine is not engine:
            return engine.empty(self.shape, self.dtype)
        return spare._value

    def replace_buffer(self, tensor: Tensor, owned: bool) -> None:
        """Takes over the array that a plan returned for this variable; `owned` if nobody else knows it."""
        self._spare = None if self._shared or self._readers else self._tensor
        self._tensor, self._shared, self._consumed = tensor, not owned, False
        self._tell_followers()

    def keep_buffer(self) -> None:
        """The plan failed: the value stays, unless the engine has consumed it already."""
        self._consumed = False
        if self._tensor is not None and self._tensor._engine.is_deleted(self._tensor._value):
            self._tensor = None

    def _held(self) -> Tensor:
        if self._tensor is None:
            raise StaleValueError(
                f"the variable {self.name!r} has no value: it was deleted, or given to a compiled step that failed "
                "half-way. Assign it a value first."
            )
        return self._tensor

    def numpy(self) -> np.ndarray:
        """The value as a NumPy array of its own."""
        with self.lock:
            return self._held().numpy()

    def assign(self, value: Any) -> Any:
        """Gives the variable a value.

        Args:
            value: of the variable's shape; cast to its dtype.

        Returns:
            The variable, so that assignments can be chained; while a function is traced, too.

        Raises:
            ValueError: the shape differs, or the value is not known yet.
        """
        self.check_shape(value)
        graph = trace.current_graph()
        if graph is not None:
            op = OPS["AssignVariableOp"]
            trace.assign_variable(graph, self, trace.to_graph(value, self.dtype, graph, op))
        elif worlds.world_of(value) is worlds.GRAPH:
            raise op_error(ValueError, "AssignVariableOp", f"{value!r} has no value outside the graph that makes it.")
        elif worlds.world_of(value) is worlds.NATIVE and tracing_engine() is owner_of_type(type(value)):
            problem = (
                f"{self.name!r} cannot be assigned what {owner_of_type(type(value)).name} traces, which has no value"
            )
            advice = "yet; return it, or, in a layer of Keras, assign a weight made by add_weight."
            raise op_error(ValueError, "AssignVariableOp", f"{problem}; {advice}")
        else:
            tensor = self._tensor_of(value)
            with self.lock:
                self._tensor, self._shared, self._spare = tensor, True, None
                self._tell_followers()
        return self

    def _tell_followers(self) -> None:
        for follower in self.followers.values():
            follower.assign(self.numpy())

    def _tensor_of(self, value: Any) -> Tensor:
        """A value as this variable holds it: in memory that its giver cannot change, and with no history on a tape."""
        tensor = arguments.as_tensor(value, self.dtype, arguments.engine_for(value))
        if worlds.world_of(value) is worlds.NATIVE:
            return Tensor(tensor._engine.copy(tensor._value), tensor._engine)
        return Tensor(tensor._value, tensor._engine)

    def check_shape(self, value: Any) -> None:
        """Raises ValueError where a value's shape is not the variable's."""
        shape = value.shape if hasattr(value, "shape") else np.shape(value)
        if shape is None or not fits(shape, self.shape):
            given = tuple(shape or ())
            problem = f"the variable {self.name!r} has the shape {self.shape}: a value of shape {given} does not fit."
            raise op_error(ValueError, "AssignVariableOp", problem)

    def assign_add(self, delta: Any) -> Any:
        """Adds to the value."""
        with self.lock:
            return self.assign(self.read() + _read(delta))

    def assign_sub(self, delta: Any) -> Any:
        """Subtracts from the value."""
        with self.lock:
            return self.assign(self.read() - _read(delta))

    def delete(self) -> None:
        """Frees the buffer now; reading the variable before it is assigned again raises `StaleValueError`."""
        with self.lock:
            self._tensor = None

    def __jax_array__(self) -> Any:
        return self.read().__jax_array__()

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

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.shape))
        held = (
            "deleted"
            if self._tensor is None
            else np.array2string(np.asarray(self._tensor), separator=", ", threshold=20)
        )
        return f"<Variable {self.name}: {self.dtype}[{shape}] {held}>"


def _read(value: Any) -> Any:
    return value.read() if isinstance(value, Variable) else value


worlds.register_world(Variable, STATE)
