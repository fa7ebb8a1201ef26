"""Arguments: what an op is called with, made into what it computes with.

Values of any eager kind become Tensors of one engine, promoted to the dtypes that the op's signature asks for, and
shape-like arguments become tuples of ints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.dtypes import DType, promote, weak_type
from dovetail.engines import current_engine, owner_of_type
from dovetail.engines.base import native_to_dtype
from dovetail.errors import describe_call, op_error
from dovetail.ops.kinds import Kind
from dovetail.ops.worlds import HOST, NATIVE, STATE, world_of
from dovetail.tensor import Tensor, recording

if TYPE_CHECKING:
    from dovetail.engines.base import Engine
    from dovetail.ops.op import Op


def operands(op: Op, values: list[Any]) -> Iterator[Any]:
    """The values that may be tensors: tensor arguments, members of lists, members of shape-like arguments."""
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many and isinstance(value, (list, tuple)):
            yield from value
        elif value is not None:
            yield value
    for index in op.ints_positions:
        value = values[index]
        if isinstance(value, (list, tuple)):
            yield from value
        elif value is not None:
            yield value


def holds_tensors(value: Any) -> bool:
    """Whether a list, or one inside it, has other members than numbers and NumPy arrays."""
    return any(world_of(leaf) is not HOST for leaf in _leaves(value))


def stacked(value: Any) -> Any:
    """A list that holds tensors as one tensor, so that they are recorded and have gradients; other values stay."""
    from dovetail.ops.join import stack

    if isinstance(value, (list, tuple)) and holds_tensors(value):
        return stack([stacked(item) for item in value])
    return value


def with_stacked(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, of which no list that stands for a tensor holds tensors."""
    values = list(values)
    several = {*op.ints_positions, *(index for index, kind in op.tensor_positions if kind.many)}
    for index in {*several, *(index for index, _ in op.tensor_positions)}:
        value = values[index]
        each = index in several and isinstance(value, (list, tuple))
        values[index] = [stacked(v) for v in value] if each else stacked(value)
    return values


def to_tensors(op: Op, values: list[Any], engine: Engine) -> list[Any]:
    """The arguments as Tensors of one engine, promoted as the op's signature says; shape-like ones as ints."""
    if _fit(op, values, engine):
        for index in op.ints_positions:
            values[index] = static_ints(op, values[index])
        return values
    values = list(values)
    dtypes = promoted_dtypes(op, values)
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many:
            values[index] = tuple(as_tensor(v, d, engine) for v, d in zip(value, dtypes[index], strict=True))
        elif value is not None:
            values[index] = as_tensor(value, dtypes[index], engine)
        elif not kind.optional:
            raise op_error(TypeError, op.name, f"{op.params[index].name} must be a tensor, not None.")
    for index in op.ints_positions:
        values[index] = static_ints(op, values[index])
    return values


def _fit(op: Op, values: list[Any], engine: Engine) -> bool:
    """Whether the arguments need no conversion: Tensors of the engine, of one dtype that the op takes; usually so."""
    first = None
    for index, kind in op.tensor_positions:
        value = values[index]
        if type(value) is not Tensor or value._engine is not engine:
            return False
        dtype = value._value.dtype
        if dtype not in engine.direct[kind.accepts]:
            return False
        if not kind.apart:
            if first is not None and dtype != first:
                return False
            first = dtype
    return True


def as_tensor(value: Any, dtype: DType, engine: Engine) -> Tensor:
    """Any eager value as a Tensor of the given engine and dtype."""
    from dovetail.ops.shape import cast

    world = world_of(value)
    if world is STATE:
        value = value.read(engine)
    if type(value) is not Tensor:
        if world is NATIVE:
            value = Tensor(value, owner_of_type(type(value)).native)
        elif _is_foreign(value):
            value = Tensor(engine.take(value), engine)
        else:
            return Tensor(engine.asarray(value, dtype), engine)
    if value._engine is not engine:
        value = move(value, engine)
    return value if value.dtype == dtype else cast(value, dtype)


def _is_foreign(value: Any) -> bool:
    """Whether it is an array of a library that no engine owns, which hands out its memory by DLPack."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)


def engine_for(value: Any) -> Engine:
    """The engine on which a single value is held: its own, or the current one."""
    if type(value) is Tensor:
        return value._engine
    return owner_of_type(type(value)) or current_engine()


def move_quietly(tensor: Tensor, engine: Engine | None) -> Tensor:
    """The tensor on another engine, unknown to the tapes; by DLPack, so without a copy, where both engines can."""
    if engine is None or tensor._engine is engine:
        return tensor
    return Tensor(engine.receive(tensor._value, tensor._engine), engine)


def move(tensor: Tensor, engine: Engine) -> Tensor:
    """The tensor on another engine; gradients find their way back."""
    moved = move_quietly(tensor, engine)
    if moved is tensor:
        return tensor
    for tape in recording.tapes:
        tape.record_move(tensor, moved)
    return moved


def static_ints(op: Op, value: Any) -> Any:
    """A shape-like argument as a tuple of ints (None entries and None itself are kept).

    What an engine that traces its user's function does not know yet is a scalar Tensor among them.
    """
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(v if v is None or type(v) is int else _as_int(op, v) for v in value)
    if type(value) is Tensor or world_of(value) is NATIVE:
        return _ints_of(op, value)
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind not in "iu" and array.size:
        raise op_error(TypeError, op.name, f"a shape needs integers, not {array.dtype}.")
    return tuple(array.reshape(-1).tolist())


def _as_int(op: Op, value: Any) -> Any:
    try:
        if type(value) is Tensor or world_of(value) is NATIVE:
            (found,) = _ints_of(op, value)
            return found
        return value.__index__() if not hasattr(value, "read") else int(value.numpy())
    except (TypeError, AttributeError, ValueError):
        raise op_error(TypeError, op.name, f"a shape needs integers, not {value!r}.") from None


def _ints_of(op: Op, value: Any) -> tuple[Any, ...]:
    engine = value._engine if type(value) is Tensor else owner_of_type(type(value)).native
    native = value._value if type(value) is Tensor else value
    dtype = engine.dtype(native)
    if not dtype.is_integer and 0 not in engine.shape(native):
        raise op_error(TypeError, op.name, f"a shape needs integers, not {dtype}.")
    return tuple(v if type(v) is int else Tensor(v, engine) for v in engine.to_ints(native))


def known_ints(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, with None in shape-like ones for what is not known yet."""
    for index in op.ints_positions:
        value = values[index]
        if type(value) is tuple and any(type(v) is Tensor for v in value):
            values = [*values[:index], tuple(None if type(v) is Tensor else v for v in value), *values[index + 1 :]]
    return values


def natives(values: list[Any]) -> list[Any]:
    """The arguments as engine rules take them."""
    return [
        v._value if type(v) is Tensor
        else [t._value if type(t) is Tensor else t for t in v] if type(v) is tuple and any(type(t) is Tensor for t in v)
        else v
        for v in values
    ]  # fmt: skip


# -- dtypes -----------------------------------------------------------------------------------------------------------


def dtype_of(value: Any) -> Any:
    """The dtype of any value; for Python numbers and lists of them their weak Python type."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return weak_type(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
        leaves = list(_leaves(value))
        if not leaves:
            return float
        return promote(dtype_of(leaf) for leaf in leaves)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        dtype = (np.from_dlpack(value) if _is_foreign(value) else np.asarray(value)).dtype
    return native_to_dtype(dtype)


def _leaves(value: Any) -> Iterator[Any]:
    for item in value:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


_ACCEPTED: dict[str, Callable[[DType], bool]] = {
    "any": lambda d: True,
    "real": lambda d: not d.is_complex,
    "number": lambda d: not d.is_bool,
    "inexact": lambda d: d.is_differentiable,
    "float": lambda d: d.is_floating,
    "integer": lambda d: d.is_integer,
    "bits": lambda d: d.is_integer or d.is_bool,
    "bool": lambda d: d.is_bool,
}
_REPAIR = {  # what is done with a dtype that is not accepted: accepts → (from what, to what)
    "number": (lambda d: d.is_bool, lambda: promote([int])),
    "inexact": (lambda d: not d.is_differentiable, lambda: promote([float])),
    "float": (lambda d: d.is_integer or d.is_bool, lambda: promote([float])),
    "integer": (lambda d: d.is_bool, lambda: promote([int])),
    "bool": (lambda d: True, lambda: promote([bool])),
}
_IN_WORDS = {"integer": ("integer", "int32"), "bits": ("integer or bool", "int32")}  # and a dtype that would do


def promoted_dtypes(op: Op, values: list[Any]) -> dict[int, Any]:
    """For each tensor parameter the dtype its argument is converted to (a list of them for a list of tensors)."""
    groups: dict[Any, list[Any]] = {}
    try:
        for index, kind in op.tensor_positions:
            value = values[index]
            if value is None:
                continue
            if kind.many and not isinstance(value, (list, tuple)):
                raise op_error(TypeError, op.name, f"{op.params[index].name} must be a list of tensors.")
            if not kind.apart:
                members = [dtype_of(v) for v in value] if kind.many else [dtype_of(value)]
                groups.setdefault(kind.accepts, []).extend(members)
        common = {accepts: _accepted(op, accepts, promote(members)) for accepts, members in groups.items() if members}
        return {index: _wanted(op, kind, values[index], common) for index, kind in op.tensor_positions}
    except TypeError as error:
        if getattr(error, "dovetail", False):
            raise
        raise op_error(TypeError, op.name, str(error), given(op, values)) from None


def _wanted(op: Op, kind: Kind, value: Any, common: dict[str, DType]) -> Any:
    if value is None:
        return None
    if kind.many:
        return [
            _accepted(op, kind.accepts, promote([dtype_of(v)])) if kind.apart else common[kind.accepts] for v in value
        ]
    return _accepted(op, kind.accepts, promote([dtype_of(value)])) if kind.apart else common[kind.accepts]


def _accepted(op: Op, accepts: str, dtype: DType) -> DType:
    if _ACCEPTED[accepts](dtype):
        return dtype
    repair = _REPAIR.get(accepts)
    if repair is None or not repair[0](dtype):
        wanted, example = _IN_WORDS.get(accepts, (accepts, "float32"))
        problem = f'needs {wanted} tensors, got {dtype}; cast first, as in cast(x, "{example}").'
        raise op_error(TypeError, op.name, problem)
    return repair[1]()


def given(op: Op, values: list[Any]) -> str:
    """The arguments as error messages show them."""
    return describe_call([p.name for p in op.params], values)
