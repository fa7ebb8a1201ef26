"""Tensor: an eager value, a native array of one engine with operators that are Dovetail ops.

The operators are methods of `Operators`, shared by the eager Tensor, the graph Tensor and the Variable; `ops` installs
them when it is imported, since ops are written in terms of tensors and tensors' operators in terms of ops.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.lacking import AUTOGRAD, STEP, lacks
from dovetail.core.base.tensor_shape import TensorShape, shape_of
from dovetail.core.dtypes import DType, as_dtype

if TYPE_CHECKING:
    from dovetail.core.engine import Engine


class _KerasShape:
    """The shape that Keras 2 noted on its tensors; programs may set another one."""

    def __get__(self, tensor: Any, kind: type) -> Any:
        return self if tensor is None else tensor.shape and tuple(tensor.shape)


# The advice for using TensorFlow's functions by Dovetail, and TensorFlow's own for reading data.
AS_TENSORFLOW = (
    "write `import dovetail.compat.tensorflow as tf` where layers and training steps are defined, and keep tf.data, "
    "tf.io and tf.image of TensorFlow itself under another name: `import tensorflow`, then `tensorflow.data`"
)


_IN_NO_GRAPH = (
    "it is computed already, and in no graph. Open a graph first, with tf.disable_eager_execution() or "
    "tf.Graph().as_default()."
)
_TORCH_FUNCTIONS = (
    "PyTorch's functions take PyTorch's tensors alone. Write keras.ops or dovetail.ops, whose functions run on every "
    f"engine, and take gradients from {STEP}"
)


@lacks("backward grad requires_grad requires_grad_ retain_grad", AUTOGRAD)
@lacks("detach", "x.numpy() has the numbers, and dovetail.ops.stop_gradient(x) lets no gradient through.")
@lacks("_id", f"TensorFlow's GradientTape follows TensorFlow's tensors alone; {AS_TENSORFLOW}. Or use {STEP}")
class Operators:
    """The common methods of all kinds of tensors.

    These are Python's operators and NumPy-style indexing, which `ops.operators` fills in, and the shape methods of
    TensorFlow's tensors.
    """

    __slots__ = ()
    _keras_shape = _KerasShape()
    arrays_follow = False  # whether array operands of Python's operators take its dtype, as in TensorFlow
    is_one_of_a_kind = False  # whether `==` compares objects, as in TensorFlow 1, and not elements

    if TYPE_CHECKING:  # installed by ops.operators

        def _unary(self) -> Any: ...
        def _binary(self, other: Any) -> Any: ...
        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...

        __neg__ = __abs__ = __invert__ = _unary
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _binary
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _binary
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = _binary

        def __getitem__(self, index: Any) -> Any: ...

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse calls of PyTorch's functions, which ask for this method."""
        raise op_error(TypeError, f"torch.{getattr(function, '__name__', function)}", _TORCH_FUNCTIONS)

    @property
    def is_differentiable(self: Any) -> bool:
        """Whether its dtype is a float or complex one."""
        return self.dtype.is_differentiable

    def get_shape(self: Any) -> TensorShape:
        """The shape, with None for unknown dimensions; in graphs of TensorFlow 1, with its dimensions.

        See also `K.int_shape`.

        Source: `tf.Tensor.get_shape`.
        """
        return (hooks.old_shape if self.arrays_follow else shape_of)(self.shape)

    def set_shape(self: Any, shape: Any) -> None:
        """Set the unknown parts of the shape.

        Args:
            shape: ints, with None for dimensions to leave as they are; None leaves the whole shape.

        Raises:
            ValueError: the tensor has another shape.

        Source: `tf.Tensor.set_shape`.
        """
        self._shape_with(shape)

    def _shape_with(self: Any, shape: Any) -> TensorShape:
        try:
            return shape_of(self.shape).merge_with(shape)
        except ValueError as error:
            raise op_error(ValueError, "set_shape", str(error), describe(self)) from None


@lacks("op graph consumers", _IN_NO_GRAPH)
class Tensor(Operators):
    """An eager value.

    Made by ops, `ops.convert` and `ops.constant`; not by calling the class.

    Example:
        >>> import dovetail as dt
        >>> x = dt.ops.constant([[1., 2.], [3., 4.]])
        >>> (x @ x + 1)[0].numpy()
        array([ 8., 11.], dtype=float32)
    """

    # Keras notes on a tensor the mask of its padding, the layer that made it, and whether it is trained.
    __slots__ = ("__weakref__", "_engine", "_keras_history", "_keras_mask", "_value", "trainable")

    def __init__(self, value: Any, engine: Engine) -> None:
        self._value = value
        self._engine = engine

    @property
    def value(self) -> Any:
        """The engine's own array: `np.ndarray`, `torch.Tensor`, `jax.Array`, …"""
        return self._value

    @property
    def engine(self) -> str:
        """The name of the engine that holds the value."""
        return self._engine.name

    @property
    def device(self) -> str:
        """The device of the value: "cpu:0", "gpu:0"."""
        return self._engine.device_of(self._value)

    @property
    def shape(self) -> TensorShape:
        dims = self._engine.shape(self._value)
        return dims if dims is None else TensorShape(dims)  # type: ignore[return-value]  # unknown rank, in a tf.function

    @property
    def dtype(self) -> DType:
        return self._engine.dtype(self._value)

    @property
    def is_differentiable(self) -> bool:
        return self._engine.native_dtype_of(self._value) in self._engine.direct["inexact"]

    @property
    def ndim(self) -> int:
        return len(self._engine.shape(self._value))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def numpy(self) -> np.ndarray:
        """A copy of the value as a NumPy array (never a view that later steps could change)."""
        return np.array(self._engine.to_numpy(self._value))

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._engine.to_numpy(self._value).item()

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        return self._engine.to_numpy(self._value).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self._engine.to_numpy(self._value)
        if copy:
            return np.array(array, dtype=dtype)
        array = np.asarray(array, dtype=dtype).view()
        array.flags.writeable = False  # it may be the tensor's own memory, and a tensor is a value
        return array

    def __jax_array__(self) -> Any:
        """The array that jax takes in place of the tensor."""
        import jax.numpy as jnp

        return self._value if self._engine.name == "jax" else jnp.asarray(np.asarray(self))

    def __dlpack__(self, **options: Any) -> Any:
        return self._engine.plain(self._value).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    def __copy__(self) -> Tensor:
        return self  # a tensor is a value

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return Tensor(self._engine.copy(self._value), self._engine)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the numbers and the engine's name; unpickling uses the current engine if that one is not installed."""
        return _unpickled, (self.numpy(), self.engine)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth of a tensor of {self.size} elements is not defined; use ops.any(x) or ops.all(x)."
            )
        return bool(self._engine.to_numpy(self._value))

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError(f"only integer tensors can be an index; this one is {self.dtype}.")
        return int(self.item())

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("a scalar tensor has no length.")
        return shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, format_spec: str) -> str:
        return format(self.item(), format_spec) if format_spec and not self.shape else format(str(self), format_spec)

    def __repr__(self) -> str:
        dims = "..." if self.shape is None else ",".join("?" if n is None else str(n) for n in self.shape)
        spec = f"{self.dtype}[{dims}]"
        if self._engine.is_traced(self._value):
            return f"Tensor({spec}, {self.engine})"
        body = np.array2string(self._engine.to_numpy(self._value), separator=", ", threshold=100, prefix="Tensor(")
        return f"Tensor({body}, {spec}, {self.engine})"

    def _repr_html_(self) -> str:
        from dovetail.core.base.notebook import tensor_html  # only notebooks need it

        dims = ",".join("?" if n is None else str(n) for n in self.shape or ())
        traced = self._engine.is_traced(self._value)
        array = None if traced else self._engine.to_numpy(self._value)
        return tensor_html(f"{self.dtype}[{dims}] on {self.engine}", array)


native_of = attrgetter("_value")  # of a Tensor: its array
engine_of = attrgetter("_engine")


def _unpickled(array: np.ndarray, name: str) -> Tensor:
    from dovetail.core.engines.engine_registry import (  # these modules need tensors
        current_engine,
        get_engine,
        list_engines,
    )

    engine = get_engine(name) if name in list_engines() else current_engine()
    return Tensor(engine.asarray(array, as_dtype(array.dtype)), engine)
