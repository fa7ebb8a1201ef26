"""Arguments: the conversion of an op call's arguments to the values that the op computes with.

Values of any eager kind become Tensors of one engine, promoted to the dtypes of the op's signature.  Shape-like
arguments become tuples of ints.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import describe, describe_call, op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import DType, promote
from dovetail.core.engines.devices import require_device
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import host
from dovetail.core.values.value_kinds import dtype_of, engine_of, is_tensor, kind_of

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.op import Op


def operands(op: Op, values: list[Any]) -> list[Any]:
    """The values that may be tensors: tensor arguments, members of lists, members of shape-like arguments."""
    members: list[Any] = []
    for index, is_list in (*op.tensor_places, *zip(op.ints_positions, repeat(True))):
        value = values[index]
        if is_list and isinstance(value, (list, tuple)):
            members.extend(value)
        elif value is not None:
            members.append(value)
    for index in tensor_settings(op, values):
        members.append(values[index])
    return members


def tensor_settings(op: Op, values: list[Any]) -> list[int]:
    """The positions of static parameters that are given tensors."""
    if not op.static:
        return []
    return [i for i, _ in op.static if type(values[i]) not in _STATIC and is_tensor(values[i])]


def has_tensor_settings(op: Op, values: list[Any]) -> bool:
    """Whether static parameters are given tensors; if so, a composite runs its body.

    Raises:
        TypeError: they are, and the op is a primitive.
    """
    places = tensor_settings(op, values)
    if places and op.body is None:
        name = op.params[places[0]].name
        problem = f"{name} must be known when the op is called: a Python value, not a tensor."
        raise op_error(TypeError, op.title, problem, given(op, values))
    return bool(places)


_STATIC = frozenset([int, float, bool, str, tuple, DType, type(None)])


def holds_tensors(value: Any) -> bool:
    """Whether a value is a list that holds tensors, at any depth."""
    return isinstance(value, (list, tuple)) and not is_tensor(value) and any(map(is_tensor, host.leaves(value)))


def stacked(value: Any) -> Any:
    """A list that holds tensors as one tensor, so that they are recorded and have gradients; other values stay."""
    if holds_tensors(value):
        return OPS["Pack"]([stacked(item) for item in value])
    return value


def with_stacked(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, with each list of tensors stacked if the op takes it as one tensor."""
    values = list(values)
    several = {*op.ints_positions, *(index for index, kind in op.tensor_positions if kind.many)}
    for index in {*several, *(index for index, _ in op.tensor_positions)}:
        value = values[index]
        each = index in several and isinstance(value, (list, tuple))
        values[index] = [stacked(v) for v in value] if each else stacked(value)
    return values


def with_signed_positions(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, with unsigned 64-bit positions as int64; larger ones become its greatest number."""
    signed_values = list(values)
    for index in op.index_positions:
        if dtype_of(values[index]) == "uint64":
            signed_values[index] = signed(values[index])
    return signed_values if any(a is not b for a, b in zip(signed_values, values, strict=True)) else values


def signed(value: Any) -> Any:
    """Unsigned 64-bit integers as int64; larger ones become its greatest number."""
    return OPS["SaturateCast"](value, "int64")


def conversions(op: Op, values: list[Any], engine: Engine) -> list[tuple[int, Any]]:
    """The arguments to convert to Tensors of the engine, and the dtypes for them.

    Returns:
        (position, dtype) of each.  The dtype of a list is a list of its members' dtypes, or an empty tuple if they are
        Tensors that fit.  It is None for an array of the engine's own that fits.
    """
    dtypes, needed = promoted_dtypes(op, values), list[tuple[int, Any]]()
    for index, kind in op.tensor_positions:
        value, dtype = values[index], dtypes[index]
        if kind.many:
            fit = all(
                type(v) is Tensor and v._engine is engine and v.dtype == d for v, d in zip(value, dtype, strict=True)
            )
            needed.append((index, () if fit else dtype))
        elif type(value) is not Tensor:
            if value is not None:
                owner = kind_of(value).autodiff(value)
                fits = owner is not None and owner.native is engine and engine.dtype(value) == dtype
                needed.append((index, None if fits else dtype))
        elif value._engine is not engine or value.dtype != dtype:
            needed.append((index, dtype))
    return needed + [(index, dtype_of(values[index])) for index in tensor_settings(op, values)]


def as_tensor(value: Any, dtype: DType, engine: Engine) -> Tensor:
    """Any eager value as a Tensor of the given engine and dtype."""
    if type(value) is not Tensor:
        kind = kind_of(value)
        value = kind.tensor(value, dtype, engine)
        if not kind.is_tensor:
            return value
    if value._engine is not engine:
        value = move(value, engine)
    if value.dtype is dtype:
        return value
    if scopes().tapes:
        return OPS["Cast"](value, dtype)
    return Tensor(engine.eager_rules["Cast"](value._value, dtype), engine)


def engine_for(value: Any) -> Engine:
    """The engine for a single value: its own, or the current one."""
    return engine_of(value) or current_engine()


def move_quietly(tensor: Tensor, engine: Engine | None) -> Tensor:
    """The tensor on another engine, without a record on tapes; DLPack avoids a copy if both engines support it."""
    if engine is None or tensor._engine is engine:
        return tensor
    return Tensor(engine.receive(tensor._value, tensor._engine), engine)


def in_place(array: np.ndarray) -> Tensor:
    """A tensor of the current engine, in the memory of the array if the engine can use that.

    Raises:
        TypeError: no tensor has the array's dtype.
    """
    return move_quietly(Tensor(host.host_array(array), get_engine("numpy")), current_engine())


def move(tensor: Tensor, engine: Engine) -> Tensor:
    """The tensor on another engine; tapes record the move, so gradients flow back."""
    moved = move_quietly(tensor, engine)
    if moved is tensor:
        return tensor
    for tape in scopes().tapes:
        tape.record_move(tensor, moved)
    return moved


def place(tensor: Tensor, device: str) -> Tensor:
    """The tensor on a device of its engine; tapes record the move, so gradients flow back."""
    engine = tensor._engine
    require_device(engine, device)
    moved = Tensor(engine.to_device(tensor._value, device), engine)
    for tape in scopes().tapes:
        tape.record_move(tensor, moved)
    return moved


def move_like(tensor: Tensor, other: Tensor) -> Tensor:
    """The tensor on the engine and the device of another one."""
    moved = move(tensor, other._engine)
    return moved if moved.device == other.device else place(moved, other.device)


def static_ints(op: Op, index: int, value: Any) -> Any:
    """A shape-like argument as a tuple of ints; None stays, if the op allows it.

    Numbers that are unknown while an engine traces a user's function are scalar Tensors among the ints.
    """
    param = op.params[index]
    if is_tensor(value):
        return _ints_of(param.name, value)
    if isinstance(value, (list, tuple)) and any(map(is_tensor, value)):
        return tuple(
            _one_int(param.name, v) if is_tensor(v) else param.static.normalize(param.name, v)[0] for v in value
        )
    return param.static.normalize(param.name, value)


def _one_int(name: str, value: Any) -> Any:
    ints = _ints_of(name, value)
    if len(ints) != 1:
        raise TypeError(f"{name} must be a list of ints, not of tensors such as {describe(value)}.")
    return ints[0]


def _ints_of(name: str, value: Any) -> tuple[Any, ...]:
    value = signed(value) if dtype_of(value) == "uint64" else value
    tensor = kind_of(value).tensor(value, dtype_of(value), current_engine())
    engine, array = tensor._engine, tensor._value
    if not tensor.dtype.is_integer and 0 not in engine.shape(array):
        raise TypeError(f"{name} must be ints, not {describe(tensor)}.")
    return tuple(v if type(v) is int else Tensor(v, engine) for v in engine.to_ints(array))


def known_ints(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, with None for unknown numbers in shape-like ones."""
    for index in op.ints_positions:
        value = values[index]
        if type(value) is tuple and any(type(v) is Tensor for v in value):
            values = [*values[:index], tuple(None if type(v) is Tensor else v for v in value), *values[index + 1 :]]
    return values


def natives(values: list[Any]) -> list[Any]:
    """The arguments in the form that engine rules take."""
    return [
        v._value if type(v) is Tensor
        else [t._value if type(t) is Tensor else t for t in v] if type(v) is tuple and any(type(t) is Tensor for t in v)
        else v
        for v in values
    ]  # fmt: skip


# -- dtypes -----------------------------------------------------------------------------------------------------------


_ACCEPTED: dict[str, Callable[[DType], bool]] = {
    "any": lambda d: True,
    "real": lambda d: not d.is_complex,
    "number": lambda d: not d.is_bool,
    "ordered": lambda d: d.is_integer or d.is_floating,
    "inexact": lambda d: d.is_differentiable,
    "float": lambda d: d.is_floating,
    "integer": lambda d: d.is_integer,
    "index": lambda d: d.is_integer,
    "bits": lambda d: d.is_integer or d.is_bool,
    "bool": lambda d: d.is_bool,
}
_REPAIR = {  # conversions of dtypes that are not accepted: accepts → (whether a dtype is converted, the new dtype)
    "number": (lambda d: d.is_bool, lambda: promote([int])),
    "ordered": (lambda d: d.is_bool, lambda: promote([int])),
    "inexact": (lambda d: not d.is_differentiable, lambda: promote([float])),
    "float": (lambda d: d.is_integer or d.is_bool, lambda: promote([float])),
    "integer": (lambda d: d.is_bool, lambda: promote([int])),
    "bool": (lambda d: True, lambda: promote([bool])),
}
_IN_WORDS = {  # accepts → (the accepted dtypes in words, one of them)
    "ordered": ("integer or float", "float32"),
    "integer": ("integer", "int32"),
    "index": ("integer", "int32"),
    "bits": ("integer or bool", "int32"),
}


def promoted_dtypes(op: Op, values: list[Any]) -> dict[int, Any]:
    """The dtype to which the argument of each tensor parameter is converted (for a list of tensors, a list of them)."""
    groups: dict[Any, list[Any]] = {}
    for index, kind in op.tensor_positions:
        value = values[index]
        if value is None:
            if not kind.optional:
                raise TypeError(f"{op.params[index].name} must be a tensor, not None.")
            continue
        if kind.many and not isinstance(value, (list, tuple)):
            raise TypeError(f"{op.params[index].name} must be a list of tensors, not {describe(value)}.")
        if not kind.independent:
            members = [dtype_of(v) for v in value] if kind.many else [dtype_of(value)]
            groups.setdefault(kind.accepts, []).extend(members)
    common = {accepts: _accepted(accepts, promote(members)) for accepts, members in groups.items() if members}
    wanted: dict[int, Any] = {}
    for index, kind in op.tensor_positions:
        value = values[index]
        if value is None:
            wanted[index] = None
        elif kind.independent:
            own = [_accepted(kind.accepts, promote([dtype_of(v)])) for v in (value if kind.many else [value])]
            wanted[index] = own if kind.many else own[0]
        else:
            wanted[index] = [common[kind.accepts] for _ in value] if kind.many else common[kind.accepts]
    return wanted


def _accepted(accepts: str, dtype: DType) -> DType:
    if _ACCEPTED[accepts](dtype):
        return dtype
    repair = _REPAIR.get(accepts)
    if repair is None or not repair[0](dtype):
        wanted, example = _IN_WORDS.get(accepts, (accepts, "float32"))
        problem = f'needs {wanted} tensors, got {dtype}; cast first, as in cast(x, "{example}").'
        if dtype.is_bool and accepts == "index":
            problem = "a mask has no positions: use boolean_mask(x, mask), or x[mask]."
        raise TypeError(problem)
    return repair[1]()


def given(op: Op, values: list[Any]) -> str:
    """The arguments of a call as text for error messages."""
    return describe_call([p.name for p in op.params], values)
