"""Type checks: running an op's type rule, with failures told in the same words on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.arguments import given
from dovetail.core.errors import op_error
from dovetail.core.spec import TensorSpec
from dovetail.core.static import static_key
from dovetail.core.tensor import Tensor

if TYPE_CHECKING:
    from dovetail.core.op import Op

_spec_cache: dict[Any, Any] = {}
_SPEC_CACHE_LIMIT = 20_000


def checked_specs(op: Op, values: list[Any]) -> Any:
    """The specs of the outputs; raises, in the same words for every engine, where shapes or values do not fit."""
    key = (op.name, *[_key(v) for v in values])
    try:
        known = _spec_cache.get(key)
    except TypeError:  # something unhashable: no caching
        return infer(op, values)
    if known is None:
        known = infer(op, values)
        if len(_spec_cache) > _SPEC_CACHE_LIMIT:
            _spec_cache.clear()
        _spec_cache[key] = known
    return known


def _key(value: Any) -> Any:
    if type(value) is Tensor:
        return value._engine.shape(value._value), value._engine.native_dtype_of(value._value)
    if type(value) is tuple and any(type(v) is Tensor for v in value):
        return tuple(map(_key, value))
    return static_key(value)


def infer(op: Op, values: list[Any], where: Any = None) -> Any:
    """Runs the op's type rule on tensors or specs; its failures name the op, the arguments and the user's line."""
    try:
        return op.infer(*[_as_spec(v) for v in values])  # type: ignore[misc]
    except (ValueError, TypeError, IndexError) as error:
        if getattr(error, "dovetail", False):
            raise
        raise op_error(type(error), op.title, str(error), given(op, values), where) from None


def _as_spec(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value
    if isinstance(value, (tuple, list)) and value and hasattr(value[0], "dtype"):
        return [_as_spec(v) for v in value]
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return TensorSpec(value.shape, value.dtype)
    return value
