"""TensorFlow's names in `tf.compat`: strings as text or bytes, dimensions, tuples of types."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.dimension import plain
from dovetail.core.base.errors import op_error

value("compat.bytes_or_text_types", (bytes, str))
value("compat.integral_types", (numbers.Integral, np.integer))
value("compat.real_types", (numbers.Real, np.integer, np.floating))
value("compat.complex_types", (numbers.Complex, np.number))


@function("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text; bytes stay as they are.

    Raises:
        TypeError: the value is neither.

    Source: `tf.compat.as_bytes`.
    """
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise op_error(TypeError, "tf.compat.as_bytes", f"it takes a string or bytes, not {bytes_or_text!r}.")


@function("compat.as_text compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; text stays as it is.

    Raises:
        TypeError: the value is neither.

    Source: `tf.compat.as_text`.
    """
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    raise op_error(TypeError, "tf.compat.as_text", f"it takes a string or bytes, not {bytes_or_text!r}.")


@function("compat.as_str_any")
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Any value as text; bytes are decoded.

    Source: `tf.compat.as_str_any`.
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@function("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """A path object as a string; other values stay as they are.

    Source: `tf.compat.path_to_str`.
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


@function("compat.dimension_value dimension_value")
def dimension_value(dimension: Any) -> Any:
    """The size of a dimension as an int, None if it is not known.

    Source: `tf.compat.dimension_value`.
    """
    return plain(dimension)


@function("compat.dimension_at_index dimension_at_index")
def dimension_at_index(shape: Any, index: int) -> Any:
    """One dimension of a shape; None if the rank is not known.

    Source: `tf.compat.dimension_at_index`.
    """
    return None if getattr(shape, "rank", 0) is None else plain(shape[index])
