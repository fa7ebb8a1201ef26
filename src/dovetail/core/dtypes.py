"""Dtypes: their names, their NumPy types, and the one promotion lattice every engine follows.

A `DType` is a `str` ("float32"), so it reads, compares and serialises as its name, and it also equals the NumPy,
PyTorch, JAX and TensorFlow spelling of the same thing.  Promotion is the lattice of Keras 3 and JAX: Python numbers
are weak, an integer never widens a float, and the two halves (float16, bfloat16) meet in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from dovetail.core.base import config
from dovetail.core.base.cache import Computed
from dovetail.core.base.errors import describe, did_you_mean


class DType(str):
    """The type of a tensor's elements; one instance per name, made by `as_dtype`.

    Example:
        >>> as_dtype("float32") == np.float32
        True
        >>> as_dtype(int).itemsize
        4
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or type(other) is DType:  # each dtype is one object
            return False
        if type(other) is str and other in ALL:
            return str.__eq__(self, other)
        try:
            return str.__eq__(self, as_dtype(other))
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> Any:
        return as_dtype, (str(self),)

    def __repr__(self) -> str:
        return str.__repr__(self)

    @property
    def name(self) -> str:
        return str(self)

    @cached_property
    def numpy(self) -> np.dtype:
        """The NumPy dtype; bfloat16 and the 8-bit floats come from ml_dtypes."""
        return np.dtype(getattr(ml_dtypes, self, None) or str(self))

    @property
    def as_numpy_dtype(self) -> type:
        """The class of NumPy's scalars, for programs written for TensorFlow."""
        return self.numpy.type

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number of it, as attributes of nodes have it."""
        return DATATYPES[self]

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; TensorFlow 1 had references to dtypes, too."""
        return self

    def is_compatible_with(self, other: Any) -> bool:
        """Whether it is another dtype; see `base_dtype`.  TensorFlow's strings have none of Dovetail's."""
        return not is_of_strings(other) and self == as_dtype(other)

    @cached_property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.numpy.itemsize

    @property
    def size(self) -> int:
        """Bytes per element, in TensorFlow's word."""
        return self.itemsize

    @cached_property
    def is_floating(self) -> bool:
        return "float" in self

    @cached_property
    def is_integer(self) -> bool:
        return "int" in self

    @cached_property
    def is_signed_integer(self) -> bool:
        return self.startswith("int")

    @cached_property
    def is_complex(self) -> bool:
        return self.startswith("complex")

    @cached_property
    def is_bool(self) -> bool:
        return str.__eq__(self, "bool")

    @cached_property
    def is_differentiable(self) -> bool:
        return self.is_floating or self.is_complex

    @cached_property
    def min(self) -> Any:
        """The lowest finite value."""
        return False if self.is_bool else (np.iinfo if self.is_integer else ml_dtypes.finfo)(self.numpy).min

    @cached_property
    def max(self) -> Any:
        """The highest finite value."""
        return True if self.is_bool else (np.iinfo if self.is_integer else ml_dtypes.finfo)(self.numpy).max

    @cached_property
    def eps(self) -> float:
        """The distance from 1 to the next number."""
        return float(ml_dtypes.finfo(self.numpy).eps)


INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
FLOAT8S = ("float8_e4m3fn", "float8_e5m2")
COMPLEXES = ("complex64", "complex128")
ALL = {name: DType(name) for name in ("bool", *INTEGERS, *FLOATS, *FLOAT8S, *COMPLEXES)}
DATATYPES = {  # name of a dtype → its number in TensorFlow's files
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
}
SECOND_NAMES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32"}  # TensorFlow's
PYTHON_TYPES = {bool: "bool", int: "int32", complex: "complex64"}


def is_of_strings(value: Any) -> bool:
    """Whether a dtype is one of strings: a type of Python, or TensorFlow's name."""
    return issubclass(value, (bytes, str)) if isinstance(value, type) else isinstance(value, str) and value == "string"


def as_dtype(value: Any) -> DType:
    """The `DType` of a name, a NumPy, PyTorch, JAX or TensorFlow dtype, or a Python number type.

    Args:
        value: the object that names a dtype; `float` is the default float type (`floatx`), `int` is int32, and the
            names "half", "float", "double" and "int" are those of 16, 32, 64 and 32 bits.

    Raises:
        TypeError: the value names no dtype that Dovetail knows.

    Example:
        >>> as_dtype(np.dtype("int64"))
        'int64'
    """
    if type(value) is DType:
        return value
    if value is float:
        return ALL[config.floatx()]
    try:
        return _lookup(value)
    except TypeError:
        problem = f"{describe(value)} is not a dtype. {did_you_mean(value, ALL)}Known dtypes: {', '.join(ALL)}."
        if is_of_strings(value):
            problem = "tensors hold numbers, not strings: keep strings in NumPy arrays, and feed their numbers."
        raise TypeError(problem) from None


@lru_cache(maxsize=256)
def _lookup(value: Any) -> DType:
    if value is None:
        raise TypeError
    if isinstance(value, str):
        name = SECOND_NAMES.get(value, value)
    elif value in PYTHON_TYPES:
        name = PYTHON_TYPES[value]
    elif hasattr(value, "as_numpy_dtype"):  # a TensorFlow dtype
        name = value.name
    else:
        text = str(value)
        name = text.removeprefix("torch.") if text.startswith("torch.") else np.dtype(value).name
    if name not in ALL:
        raise TypeError(name)
    return ALL[name]


# Each dtype points at the dtypes just above it; `int`, `float` and `complex` are Python's weak numbers.
_ABOVE: dict[Any, tuple[Any, ...]] = {
    "bool": (int,),
    int: ("uint8", "int8"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": (float,),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": (float,),
    float: ("bfloat16", "float16", complex),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    complex: ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
}


def _reachable(start: Any) -> frozenset:
    reachable, todo = {start}, [start]
    while todo:
        for above in _ABOVE[todo.pop()]:
            if above not in reachable:
                reachable.add(above)
                todo.append(above)
    return frozenset(reachable)


_UPPER = {str(node) if isinstance(node, str) else node: _reachable(node) for node in _ABOVE}


@lru_cache(maxsize=4096)
def _join(items: tuple[Any, ...]) -> Any:
    common = frozenset.intersection(*(_UPPER[item] for item in items))
    # The join is the common upper bound from which all the other common upper bounds can be reached.
    return max(common, key=lambda node: len(_UPPER[node] & common))


def promote(items: Iterable[Any]) -> DType:
    """The dtype to which values of these dtypes are promoted.

    Args:
        items: dtypes, or the Python types `bool`, `int`, `float`, `complex` for Python numbers.  These are weak: they
            take the dtype of the values that they meet.

    Returns:
        The join in the promotion lattice; weak results become int32, `floatx` or complex64.

    Raises:
        TypeError: there is no implicit promotion, as between an 8-bit float and any other dtype.

    Example:
        >>> promote(["int64", "float16"]), promote(["float32", float]), promote(["float16", "bfloat16"])
        ('float16', 'float32', 'float32')
    """
    unique = tuple(dict.fromkeys(items))
    if len(unique) == 1:
        return as_dtype("bool" if unique[0] is bool else unique[0])
    unique = tuple({("bool" if item is bool else item): None for item in unique})
    narrow = [item for item in unique if item in FLOAT8S]
    if narrow:
        others = [item for item in unique if item not in narrow]
        if len(narrow) == 1 and all(type(item) is type and item in (int, float) for item in others):
            return as_dtype(narrow[0])
        raise TypeError(
            f"{' and '.join(map(str, unique))} have no implicit promotion: cast the 8-bit float first, "
            'as in cast(x, "float32").'
        )
    return as_dtype(_join(unique))


def weak_type(value: Any) -> Any:
    """The Python type of a number, for `promote`; for an instance of a derived class, the base type."""
    return next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))


def limits(old: DType, new: DType) -> tuple[Any, Any]:
    """The least and the greatest value of the new dtype, as values of the old one.

    Returns:
        For each of the two, None if the old dtype has no value beyond it.

    Example:
        >>> limits(as_dtype("int64"), as_dtype("int32")), limits(as_dtype("uint8"), as_dtype("int16"))
        ((np.int64(-2147483648), np.int64(2147483647)), (None, None))
    """

    def limit(name: str) -> Any:
        most, bound = _number(getattr(old, name), old), _number(getattr(new, name), new)
        if abs(most) <= abs(bound):
            return None
        nearest = old.numpy.type(bound)  # rounded, it may lie beyond
        return nearest if abs(_number(nearest, old)) <= abs(bound) else np.nextafter(nearest, old.numpy.type(0))

    return (None, None) if old.is_bool or new.is_bool else (limit("min"), limit("max"))


def _number(value: Any, dtype: DType) -> Any:
    return int(value) if dtype.is_integer else float(value)


native_to_dtype: Callable[[Any], DType] = Computed(as_dtype).__getitem__  # as quick as a dict
