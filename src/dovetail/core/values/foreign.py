"""Sparse and ragged values of other libraries: a sparse one becomes a dense array, a ragged one is refused.

Their classes are named, so no library is imported.  Tensors of torch have one class: its engine looks at their layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from dovetail.core.base.errors import warn
from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.values.value_kinds import Wrapper, kind_of, register, unwrapped


def note_dense(value: Any) -> None:
    """Warn that a sparse value becomes dense; Python's filters show it once for each line of a program."""
    kind = type(value)
    text = f"the sparse {kind.__name__} of {kind.__module__.partition('.')[0]} becomes dense, {_shape_of(value)}."
    warn(UserWarning, "ops.convert", text)


def refuse_ragged(value: Any, method: str) -> NoReturn:
    """Raise the error for a value whose rows differ in length.

    Args:
        value: the value.
        method: its method that pads the rows.

    Raises:
        ValueError: always.
    """
    name = type(value).__name__
    raise ValueError(f"a ragged {name} is no tensor, since its rows differ in length: pad them by x.{method}.")


def _shape_of(value: Any) -> tuple[int | None, ...]:
    return tuple(value.shape)


class _Sparse(Wrapper):
    """The kind of sparse values, of which each call makes dense arrays.

    Args:
        dense: makes an array of a value; the library's own, if it has some.
    """

    def __init__(self, dense: Callable[[Any], Any]) -> None:
        self._dense = dense

    def unwrapped(self, value: Any) -> Any:
        note_dense(value)
        return self._dense(value)

    def dtype(self, value: Any) -> DType:
        return as_dtype(value.dtype.name)

    def shape(self, value: Any) -> tuple[int | None, ...]:
        return _shape_of(value)


class _Ragged(Wrapper):
    """The kind of values whose rows differ in length, which are no tensors.

    Args:
        method: the method of a value that pads its rows.
    """

    def __init__(self, method: str) -> None:
        self._method = method

    def unwrapped(self, value: Any) -> NoReturn:
        refuse_ragged(value, self._method)

    dtype = shape = unwrapped


def _dense_of_tensorflow(value: Any) -> Any:
    sparse = sys.modules["tensorflow"].sparse
    return sparse.to_dense(sparse.reorder(value))


KINDS = {  # a class and its module → the kind of its values, and of those of the classes that inherit from it
    "scipy.sparse._base:_spbase": _Sparse(lambda value: value.toarray()),
    "jax.experimental.sparse._base:JAXSparse": _Sparse(lambda value: value.todense()),
    "tensorflow.python.framework.sparse_tensor:SparseTensor": _Sparse(_dense_of_tensorflow),
    "tensorflow.python.ops.ragged.ragged_tensor:RaggedTensor": _Ragged("to_tensor()"),
    "torch.nested._internal.nested_tensor:NestedTensor": _Ragged("to_padded_tensor(0.0)"),
}
for name, kind in KINDS.items():
    register(name, kind)


def densified(value: Any) -> Any:
    """Any value, dense: an array in place of a sparse one, with a warning; the value in a wrapper.

    Raises:
        ValueError: its rows differ in length.
    """
    value = unwrapped(value)
    engine = kind_of(value).autodiff(value)
    return value if engine is None else engine.native.plain(value)
