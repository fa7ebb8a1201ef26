"""Type checks: an op's type rule, with errors in the same words on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.values.arguments import given
from dovetail.core.values.infer import of_any_rank
from dovetail.core.values.spec import TensorSpec

if TYPE_CHECKING:
    from dovetail.core.op import Op
from dovetail.core.values.value_kinds import static_shape


def infer(op: Op, values: list[Any], where: Any = None) -> Any:
    """Run the op's type rule on tensors or specs; its errors name the op, the arguments and the user's line."""
    try:
        return of_any_rank(op.infer, [_as_spec(v) for v in values], op.ints_positions)  # type: ignore[arg-type]
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
        return TensorSpec(static_shape(value), value.dtype)
    return value
