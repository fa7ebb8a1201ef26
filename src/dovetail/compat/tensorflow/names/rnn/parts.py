"""Private parts of TensorFlow 1's cells, which programs that copied its loops import."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.rnn.base import zeros_of
from dovetail.compat.tensorflow.table import constant_value, function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.values.value_kinds import is_tensor, static_shape


def _dims(given: Any) -> tuple[Any, Any]:
    """The sizes of a part of a shape: a list with None for unknown ones, and a tensor; None where there is neither."""
    if is_tensor(given):
        if len(static_shape(given)) > 1:
            raise op_error(ValueError, "rnn_cell_impl._concat", "a part of a shape is a number or a vector.")
        whole = ops.reshape(given, [-1])
        known, (count,) = constant_value(given), static_shape(whole)
        unknown = None if count is None else [None] * count
        return (unknown if known is None else [int(n) for n in known.reshape(-1)]), whole
    shape = shape_of([given] if isinstance(given, int) else given)
    sizes = None if shape.rank is None else shape.as_list()
    return sizes, None if sizes is None or None in sizes else ops.constant(sizes, "int32")


@function("nn.rnn_cell._concat", "v1")
def concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The shape of two parts: a tensor, or a list with None for unknown sizes.

    Args:
        prefix, suffix: a number, a shape or a tensor.
        static: whether the result is a list.

    Raises:
        ValueError: the tensor needs a size that is not known, or a part has several axes.

    Source: `tensorflow.python.ops.rnn_cell_impl._concat`.
    """
    (first, head), (last, tail) = _dims(prefix), _dims(suffix)
    if static:
        return None if first is None or last is None else [*first, *last]
    if head is None or tail is None:
        problem = f"the sizes {prefix} and {suffix} must be known: give tensors, or static=True."
        raise op_error(ValueError, "rnn_cell_impl._concat", problem)
    return ops.concatenate([ops.cast(head, "int32"), ops.cast(tail, "int32")], 0)


_WANTED = {
    "output_size": "'output_size' property is missing",
    "state_size": "'state_size' property is missing",
    "zero_state": "either 'zero_state' or 'get_initial_state' method is required",
    "__call__": "is not callable",
}


def _missing(cell: Any) -> list[str]:
    kind = type(cell)
    return [why for name, why in _WANTED.items() if not (hasattr(kind, name) or name in getattr(cell, "__dict__", ()))]


@function("nn.rnn_cell.assert_like_rnncell", "v1")
def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Refuse an object that is not like a cell.

    Raises:
        TypeError: it lacks a property or a method of cells.

    Source: `tensorflow.python.ops.rnn_cell_impl.assert_like_rnncell`.
    """
    if missing := _missing(cell):
        problem = f"The argument {cell_name!r} ({cell!r}) is not an RNNCell: {', '.join(missing)}."
        raise op_error(TypeError, "assert_like_rnncell", problem)


value("nn.rnn_cell._like_rnncell", lambda cell: not _missing(cell), "v1")
value(
    "nn.rnn_cell._zero_state_tensors",
    lambda state_size, batch_size, dtype: zeros_of(state_size, batch_size, dtype),
    "v1",
)
