"""Host values: Python numbers, lists and NumPy arrays that become tensors, and the errors for values that cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe
from dovetail.core.dtypes import ALL, DType, native_to_dtype


def is_foreign(value: Any) -> bool:
    """Whether a value is an array that shares its memory by DLPack, and that is no NumPy array."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)


def array_dtype(value: Any) -> DType:
    """The dtype of a NumPy array, or of a value that can become one.

    Raises:
        TypeError: no tensor can be made of the value.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        dtype = (np.from_dlpack(value) if is_foreign(value) else host_array(value)).dtype
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array is no tensor, since its mask would be lost; pass x.filled(...).")
    try:
        return native_to_dtype(dtype)
    except TypeError:
        raise TypeError(_refusal(value, dtype)) from None


_NO_TENSORS = {  # kind of a NumPy dtype → the advice
    "O": "a tensor is made of numbers, NumPy arrays of numbers, or lists of these that are equally long",
    "U": "a tensor is made of numbers, not of text",
    "S": "a tensor is made of numbers, not of text",
    "M": 'dates are no numbers; pass x.astype("int64")',
    "m": 'times are no numbers; pass x.astype("int64")',
    "V": 'a structured array is no tensor; pass one of its fields, as in x["name"]',
}


def _refusal(value: Any, dtype: Any) -> str:
    """The reason why no tensor can be made of a value."""
    known = f"there are no tensors of {dtype}; cast it to one of {', '.join(ALL)}"
    advice = _NO_TENSORS.get(getattr(dtype, "kind", ""), known)
    return f"{_kind_of(value)} is no tensor: {advice}."


def _kind_of(value: Any) -> str:
    text = describe(value)
    return text if value is None or hasattr(value, "dtype") else f"{text}, of the type {type(value).__name__},"


def from_host(make: Callable[[Any, DType], Any], value: Any, dtype: DType) -> Any:
    """Make a value of Python numbers, lists or NumPy arrays in a dtype, with clear errors.

    Raises:
        OverflowError: an integer does not fit into the dtype.
        ValueError: a list is ragged.
    """
    try:
        return make(value, dtype)
    except OverflowError:
        raise _overflow(value, dtype) from None
    except ValueError as error:
        if not isinstance(value, (list, tuple)):
            raise
        problem = f"cannot make a tensor of {describe(value)}: its inner lists must all have one length."
        raise ValueError(problem) from error


def host_array(value: Any) -> np.ndarray:
    """A NumPy array of Python numbers, lists or a NumPy array."""
    array = from_host(lambda found, _: np.asarray(found), value, ALL["bool"])
    try:
        native_to_dtype(array.dtype)
    except TypeError:
        raise TypeError(_refusal(value, array.dtype)) from None
    return array


def _overflow(value: Any, dtype: DType) -> OverflowError:
    number = next(v for v in (leaves(value) if isinstance(value, (list, tuple)) else [value]) if not _fits(v, dtype))
    wider = next((d for d in ("int64", "uint64") if _fits(number, ALL[d])), "float64")
    return OverflowError(
        f"{number} does not fit into {dtype}, which holds {dtype.min} to {dtype.max}: "
        f'use a wider dtype, as in cast(x, "{wider}") or dtype="{wider}".'
    )


def _fits(value: Any, dtype: DType) -> bool:
    return not dtype.is_integer or bool(dtype.min <= np.min(value, initial=0) and np.max(value, initial=0) <= dtype.max)


def fitted(value: Any, dtype: DType) -> Any:
    """A value to be cast to a dtype; Python numbers that int32 or `floatx` could round become an array of the dtype.

    Raises:
        OverflowError: a Python number, or one in a list, does not fit into a dtype of integers.
    """
    if not isinstance(value, (int, float, complex, list, tuple)):
        return value
    types = set(map(type, leaves([value])))
    numbers = [leaf for leaf in leaves([value]) if type(leaf) in (int, float)]
    for number in numbers:
        if dtype.is_integer and not dtype.min <= number <= dtype.max:
            raise _overflow(number, dtype)
    is_wide = not all(-(2**31) <= number < 2**31 for number in numbers if dtype.is_integer or type(number) is int)
    holds = types <= {bool, int, float} or (dtype.is_complex and types <= {bool, int, float, complex})
    exact = holds and (is_wide or dtype.itemsize >= 8)
    return from_host(lambda v, d: np.asarray(v, d.numpy), value, dtype) if exact else value


def leaves(value: Any) -> Iterator[Any]:
    for item in value:
        if isinstance(item, (list, tuple)):
            yield from leaves(item)
        else:
            yield item


# Types that `cast_like` may change; a set, since operators look up a type at each call.
ARRAYS = frozenset([np.ndarray, list, tuple, *(kind for kind in np.sctypeDict.values() if issubclass(kind, np.number))])


def cast_like(value: Any, dtype: DType) -> Any:
    """Convert an array, a NumPy number or a list of numbers to the dtype of the other operand, as TensorFlow does.

    Integers become integers or floats, and floats become floats.  Other values, and numbers that do not fit, stay.
    """
    if isinstance(value, (list, tuple)) and not all(isinstance(item, (int, float, np.generic)) for item in value):
        return value
    array = np.asarray(value)
    becomes = dtype.is_floating or (dtype.is_integer and array.dtype.kind in "iu" and _fits(array, dtype))
    if array.dtype == dtype.numpy or array.dtype.kind not in "iuf" or not becomes:
        return value
    return array.astype(dtype.numpy)
