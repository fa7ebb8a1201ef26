"""Keras' functions of tensors: conversion from any value, tests, casts, and conversion to NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType, NoneType
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.scopes import scopes
from dovetail.core.dtypes import promote
from dovetail.core.engines.engine_autodiff import differentiates_functions
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.value_kinds import dtype_of, is_recorded, kind_of, unwrapped
from dovetail.edit.graph import GraphTensor
from dovetail.interop.privates import config, standardize_dtype, tree
from dovetail.ops.shapes.shape import dims_of
from keras_dovetail.src.scopes import computing

_LEAVES = (np.ndarray, Tensor, NoneType)

# The dtypes that Keras uses instead of 64 bits by default, on all of its backends except one.
_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
# Dtypes that tensors keep.
_PLAIN = frozenset(map(np.dtype, ("float16", "float32", "int32", "int8", "uint8", "bool")))


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of Dovetail, eager, of a graph or sparse, or one of a function that JAX differentiates."""
    return isinstance(x, (Tensor, GraphTensor)) or kind_of(x).is_sparse or _is_differentiated(x)


def _is_differentiated(x: Any) -> bool:
    """Whether a library traces its own value to differentiate a function, as `jax.grad` does; results are its own."""
    kind = kind_of(x)
    library = kind.autodiff(x)
    return library is not None and differentiates_functions(library) and kind.is_traced(x)


def convert_to_tensor(x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None) -> Any:
    """Convert any value to a tensor of the current engine; in a trace, to a tensor of its graph.

    Args:
        x: a tensor, a variable, another library's array, a NumPy array, a Python number, or nested lists of them.
        dtype: the dtype to cast to.  By default tensors keep their dtype, and numbers of 64 bits get 32 bits, except
            floats if `floatx` is "float64".  An integer that 32 bits do not hold becomes the nearest one.
        sparse: False makes a dense tensor of a sparse one, which stays sparse otherwise.
        ragged: must not be true.

    Raises:
        ValueError: a ragged tensor is wanted.

    Example:
        >>> convert_to_tensor(np.arange(2)).dtype, convert_to_tensor([1, 2], "float16").dtype
        ('int32', 'float16')
    """
    if ragged:
        raise ValueError("there are no ragged tensors on the backend dovetail.")
    if type(x) is GraphTensor and (dtype is None or x.dtype == dtype):  # the usual case in a trace
        return x
    x = unwrapped(x)
    wanted = None if dtype is None else standardize_dtype(dtype)
    if kind_of(x).is_sparse:
        x = x if sparse is not False else K.to_dense(x)
        return x if wanted in (None, x.dtype) else ops.cast(x, wanted)
    if is_recorded(x):
        return x if wanted in (None, x.dtype) else ops.cast(x, wanted)
    if type(x) is Tensor:
        if x._engine is not (engine := current_engine()):
            x = arguments.move(x, engine)
        return x if wanted in (None, x.dtype) else ops.cast(x, wanted)
    if _is_differentiated(x):
        return x if wanted is None or dtype_of(x) == wanted else ops.cast(x, wanted)
    x = arguments.stacked(x)
    if is_tensor(x):  # a list of tensors was stacked
        return convert_to_tensor(x, wanted)
    if wanted is None and not kind_of(x).is_tensor and dtype_of(x) in _NARROW:
        x = in_32_bits(np.asarray(x))
    if (graph := scopes().graph) is not None and not kind_of(x).is_tensor:
        return graph.constant(np.asarray(ops.convert(x, wanted or narrowed(x), "numpy").value))
    return ops.convert(x, wanted or narrowed(x), current_engine().name)


def narrowed(x: Any) -> str:
    """The dtype of a tensor that is made from a value without a given dtype."""
    name = str(promote([dtype_of(x)]))
    return name if name == config.floatx() else _NARROW.get(name, name)


def in_32_bits(x: np.ndarray) -> np.ndarray:
    """An array in the dtype of a tensor that is made from it without a given dtype.

    An integer that the dtype does not hold becomes the nearest one that it holds, so an index out of range stays so.
    """
    if x.dtype in _PLAIN:
        return x
    name = narrowed(x)
    if x.dtype.kind in "iu" and x.dtype != name:
        x = np.clip(x, np.iinfo(name).min, np.iinfo(name).max)
    return x.astype(name, copy=False)


def convert_to_numpy(x: Any) -> np.ndarray:
    """The numbers of a tensor, a variable or another value, as an array of its own.

    Example:
        >>> convert_to_numpy(convert_to_tensor([1., 2.]))
        array([1., 2.], dtype=float32)
    """
    with computing():
        x = unwrapped(x)
    return x.numpy() if type(x) is Tensor else np.array(x)


def each_leaf(function: Callable[[Any], Any], value: Any) -> Any:
    """The results of a function for each leaf, in the same structure.

    It is `keras.tree.map_structure`, but faster for arrays and tuples of them, as most batches are.

    Example:
        >>> each_leaf(lambda v: None if v is None else v.shape, (np.zeros(2), {"weights": None}))
        ((2,), {'weights': None})
    """
    kind = type(value)
    if kind in _LEAVES:
        return function(value)
    return tuple([each_leaf(function, v) for v in value]) if kind is tuple else tree.map_structure(function, value)


def shape(x: Any) -> tuple[Any, ...]:
    """The shape; in a trace, with scalar tensors for unknown dimensions."""
    return tuple(dims_of(x) if isinstance(x, GraphTensor) and x.shape is not None else x.shape)


def cast(x: Any, dtype: Any) -> Any:
    """The value as a tensor of another dtype."""
    return convert_to_tensor(x, dtype)


def unwrap_inputs(module: ModuleType) -> None:
    """Let layers take sparse values of other libraries; of values without `__array__`, Keras makes no tensors.

    Args:
        module: `keras.src.dtype_policies.dtype_policy`, which has just been imported.
    """
    policy: Any = module.DTypePolicy
    convert = policy.convert_input
    policy.convert_input = functools.wraps(convert)(
        lambda self, x, *args, **kwargs: convert(self, unwrapped(x), *args, **kwargs)
    )
