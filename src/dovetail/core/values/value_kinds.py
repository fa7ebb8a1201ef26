"""Kinds of values: the arguments that ops can take, and how each kind is handled.

    host    Python numbers, lists, NumPy arrays    computed now, on the current engine
    eager   Tensor                                 computed now, on its engine; recorded on the tapes that watch
    state   Variable                               like eager; like graph if it `is_recorded`
    native  jax.Array, torch.Tensor, …             computed by that engine's rules, comes out as that engine's own value
    graph   graph Tensor                           a node is added to its graph
    keras   KerasTensor of a stock Keras 3         a Keras Operation is added to its functional model
    wrapped holder of a value in another library   the call is made with its value, as with a Keras variable's

Each Python type is of one kind.  The highest kind among the arguments of a call handles the call.  A kind answers all
questions about its values, so no other code asks for the kind of a value.  Packages above the core `register` theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dovetail.core.base.dimension import Dimension, Size
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import DEFAULT_GRAPH, scopes
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.dtypes import DType, native_to_dtype, promote, weak_type
from dovetail.core.engines.engine_registry import owner_of_type
from dovetail.core.tensor import Tensor
from dovetail.core.values import host

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.engines.control_flow import Control
    from dovetail.core.op import Op


class ValueKind:
    """The behavior of values of some Python types.

    Attributes:
        rank: the kind of the highest rank among a call's arguments handles the call.
        is_tensor: whether the values are tensors; if not, ops make tensors of them.
        is_computed: whether calls are computed at once, as Tensors, unless they are recorded.
        is_symbolic: whether the values have no numbers yet, only known properties.
        is_mutable: whether the contents of a value may change while a program keeps it.
        is_of_model: whether the values belong to a functional model of Keras.
        is_sparse: whether the values are structures of which Keras makes one tensor, and which keep only some elements.
    """

    rank: ClassVar[int]
    is_tensor: ClassVar[bool] = True
    is_computed: ClassVar[bool] = False
    is_symbolic: ClassVar[bool] = False
    is_mutable: ClassVar[bool] = False
    is_of_model: ClassVar[bool] = False
    is_sparse: ClassVar[bool] = False

    # how calls are handled

    def handler(self, values: Iterable[Any]) -> ValueKind:
        """The kind that handles a call now, if its highest arguments are of this kind.

        Args:
            values: the arguments that may be tensors.
        """
        return self

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        """The result of a call that `dispatch` does not compute itself, for arguments in parameter order."""
        raise NotImplementedError

    def resolved(self, op: Op, result: Any, values: list[Any], places: list[tuple[int, int | str]]) -> Any:
        """The resolved form of calls like one that `apply` handled, with a method `again`; None if there is none.

        Args:
            result: the result of that call.
            values, places: as in `dispatch.Resolved`.
        """
        return None

    def control(self, value: Any) -> Control | None:
        """The control flow that runs branches and loops on the value; None means Python, on Tensors."""
        return None

    def autodiff(self, value: Any) -> Engine | None:
        """The engine whose library differentiates computations on the value; None if Dovetail does."""
        return None

    def drawing_graph(self, value: Any) -> Any:
        """The graph that records random draws next to the value; None if they are computed now."""
        return default_graph() if self.is_computed else None

    def fresh_key(self, seed: int, value: Any) -> Any:
        """A random key that changes on every run of the value's program; None if the value is part of none.

        Args:
            seed: where the sequence of keys starts.
        """
        return None

    # known properties of a value

    def describe(self, value: Any, key: list[Any]) -> Any:
        """Add the properties that calls with like values share to a signature.

        Returns:
            The value's engine; `ANY_ENGINE` if it belongs to none; None if such calls have no signature.
        """
        return None

    def dtype(self, value: Any) -> Any:
        """The dtype; for Python numbers their weak type."""
        return native_to_dtype(value.dtype)

    def shape(self, value: Any) -> Any:
        """The shape, with None for dimensions that are not known; None if the rank is not known."""
        return value.shape

    def engine_of(self, value: Any) -> Engine | None:
        """The engine that holds the value; None if none does."""
        return None

    def is_recorded(self, value: Any) -> bool:
        """Whether ops on the value are recorded and not computed."""
        return self.is_symbolic

    def is_traced(self, value: Any) -> bool:
        """Whether the value has no numbers yet; values that an engine's library traces have none."""
        return self.is_symbolic

    def known(self, value: Any) -> np.ndarray | None:
        """The numbers if they are known now, else None."""
        return None

    def origin(self, value: Any) -> Any:
        """The operation that made the value; None if the value does not know it."""
        return None

    def untaped(self, value: Any) -> str | None:
        """The reason why a gradient tape cannot follow the value, with advice; None if it can."""
        return None

    def followed(self, value: Any) -> Any:
        """The value that a gradient tape follows: the variable in a wrapper, else the value itself."""
        return value

    # other forms of a value

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        """The value as a Tensor; numbers and lists get the dtype and engine given, other values keep their own."""
        raise TypeError(f"{value!r} has no value yet, so it cannot become a Tensor.")

    def owned(self, value: Any) -> Any:
        """The value in a form that its user may write to."""
        return value

    def unwrapped(self, value: Any) -> Any:
        """The value in a wrapper of another library; any other value itself."""
        return value

    def in_graph(self, value: Any, graph: Any) -> Any:
        """The tensor for the value in a graph, which may capture it; the value itself if it has none."""
        return value

    def live(self, value: Any) -> Any:
        """The value for a program that a library traces now: itself, or a tensor that each run reads from it."""
        return value


ANY_ENGINE = object()


class _Host(ValueKind):
    rank = 0
    is_tensor = False
    is_computed = True
    is_mutable = True

    def describe(self, value: Any, key: list[Any]) -> Any:
        if value is not None and not isinstance(value, np.generic):
            return None
        key.append(type(value))
        return ANY_ENGINE

    def dtype(self, value: Any) -> Any:
        if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
            return weak_type(value)
        if isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
            members = list(map(dtype_of, host.leaves(value)))
            return promote(members) if members else float
        return host.array_dtype(value)

    def shape(self, value: Any) -> Any:
        return value.shape if hasattr(value, "shape") else host.host_array(value).shape

    def known(self, value: Any) -> np.ndarray | None:
        return np.asarray(value)

    def untaped(self, value: Any) -> str | None:
        return f"{value!r} is no tensor; make it one with ops.convert before it is used."

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        if not host.is_foreign(value):
            return Tensor(host.from_host(engine.asarray, value, dtype), engine)
        array = engine.take(value)
        return Tensor(array if engine.dtype(array) is dtype else engine.eager_rules["Cast"](array, dtype), engine)


class _Eager(ValueKind):
    rank = 1
    is_computed = True

    def describe(self, value: Any, key: list[Any]) -> Any:
        engine = value._engine
        shape = engine.shape(value._value)
        key += (engine.native_dtype_of(value._value), shape)
        return None if shape is None or None in shape else engine

    def engine_of(self, value: Any) -> Engine | None:
        return value._engine

    def known(self, value: Any) -> np.ndarray | None:
        return value._engine.to_numpy(value._value)

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        return value


class _Native(ValueKind):
    rank = 3

    def control(self, value: Any) -> Control | None:
        return owner_of_type(type(value)).control

    def autodiff(self, value: Any) -> Engine | None:
        return owner_of_type(type(value))

    def describe(self, value: Any, key: list[Any]) -> Any:
        engine = owner_of_type(type(value)).native
        try:
            shape = engine.shape(value)
        except RuntimeError:
            engine.plain(value)  # a ragged one has no shape
            raise
        key += (type(value), engine.native_dtype_of(value), shape)
        return None if shape is None or None in shape else engine

    def dtype(self, value: Any) -> Any:
        return owner_of_type(type(value)).native.dtype(value)

    def shape(self, value: Any) -> Any:
        return owner_of_type(type(value)).native.shape(value)

    def engine_of(self, value: Any) -> Engine | None:
        return owner_of_type(type(value))

    def is_traced(self, value: Any) -> bool:
        return owner_of_type(type(value)).is_traced(value)

    def known(self, value: Any) -> np.ndarray | None:
        try:
            return owner_of_type(type(value)).to_numpy(value)
        except Exception:  # libraries' errors for values under trace have no common type
            return None

    def untaped(self, value: Any) -> str | None:
        kind = type(value).__name__
        return f"a {kind} is differentiated by its own library; for a tape make it a Tensor with ops.convert."

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        native = owner_of_type(type(value)).native
        return Tensor(native.plain(value), native)

    def owned(self, value: Any) -> Any:
        return owner_of_type(type(value)).native.owned(value)


class Wrapper(ValueKind):
    """The kind of objects of other libraries that hold a value: calls are made with their `value`."""

    rank = 5

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        held = [tuple(map(unwrapped, v)) if isinstance(v, (list, tuple)) else unwrapped(v) for v in values]
        return op(*held, name=name)

    def unwrapped(self, value: Any) -> Any:
        return value.value

    def in_graph(self, value: Any, graph: Any) -> Any:
        return self.unwrapped(value)

    def tensor(self, value: Any, dtype: DType, engine: Engine) -> Tensor:
        held = self.unwrapped(value)
        return kind_of(held).tensor(held, dtype, engine)


def default_graph() -> Any:
    """The default graph that records ops on symbolic values; None if there is none, or while a tape is active."""
    return None if scopes().tapes else DEFAULT_GRAPH.get()


# -- kinds by Python type ---------------------------------------------------------------------------------------------

HOST, EAGER, NATIVE = _Host(), _Eager(), _Native()

KINDS: dict[Any, ValueKind] = {Tensor: EAGER}  # by type, or by the text "module:class" of one
PLAIN = (
    bool,
    int,
    Dimension,
    Size,
    float,
    complex,
    str,
    type(None),
    list,
    tuple,
    np.ndarray,
    np.generic,
    DType,
    TensorShape,
)
KINDS.update(dict.fromkeys(PLAIN, HOST))


def register(value_type: type | str, kind: ValueKind) -> None:
    """Register the kind of the values of a type; "module:class" is one whose library need not be imported."""
    KINDS[value_type] = kind


def _registered(value_type: type) -> ValueKind | None:
    return KINDS.get(value_type) or KINDS.get(f"{value_type.__module__}:{value_type.__qualname__}")


def kind_of(value: Any) -> ValueKind:
    """The kind of one value."""
    value_type = type(value)
    kind = KINDS.get(value_type)
    if kind is None:
        kind = next(filter(None, map(_registered, value_type.__mro__)), HOST)
        if kind is HOST and owner_of_type(value_type) is not None:
            kind = NATIVE
        if kind is HOST and value_type.__module__ not in ("builtins", "numpy"):
            return kind  # an engine that is loaded later may own the type
        KINDS[value_type] = kind
    return kind


def highest(values: Iterable[Any]) -> tuple[ValueKind, Any]:
    """The kind that handles a call with these values now, and the value that decides it; None if none is a tensor."""
    values = list(values)
    kind: ValueKind = HOST
    decides = None
    for value in values:
        own = kind_of(value)
        if own.rank > kind.rank:
            kind, decides = own, value
    return kind.handler(values), decides


def is_tensor(value: Any) -> bool:
    """Whether a value of any kind is a tensor or variable; numbers, lists and NumPy arrays are not."""
    return kind_of(value).is_tensor


def is_recorded(value: Any) -> bool:
    """Whether ops on a value of any kind are recorded now, and not computed."""
    return kind_of(value).is_recorded(value)


def dtype_of(value: Any) -> Any:
    """The dtype of any value; for Python numbers and lists of them their weak Python type.

    Raises:
        TypeError: no tensor can be made of the value.
    """
    return value.dtype if type(value) is Tensor else kind_of(value).dtype(value)


def static_shape(value: Any) -> Any:
    """The shape of any value, with None for dimensions that are not known; None if the rank is not known."""
    return kind_of(value).shape(value)


def engine_of(value: Any) -> Engine | None:
    """The engine that holds a value; None if none does, as for Python numbers."""
    return value._engine if type(value) is Tensor else kind_of(value).engine_of(value)


def seen(value: Any) -> Any:
    """A value with Dovetail's shape and dtype: a Tensor for an engine's own array, else the value itself."""
    engine = kind_of(value).autodiff(value)
    return value if engine is None else Tensor(value, engine.native)


hooks.seen = seen


def unwrapped(value: Any) -> Any:
    """The value in a wrapper of another library; any other value itself."""
    return kind_of(value).unwrapped(value)


def followed(value: Any) -> Any:
    """The variable in a wrapper, such as a weight of Keras; any other value itself."""
    return kind_of(value).followed(value)


def owned(value: Any) -> Any:
    """A value that its user may write to: a wrapper's value, copied if it may share memory with other values."""
    value = unwrapped(value)
    return kind_of(value).owned(value)


def require_numbers(value: Any) -> None:
    """Raise TypeError for Python and NumPy values that can become no tensor of any dtype."""
    if not is_tensor(value):
        dtype_of(value)
