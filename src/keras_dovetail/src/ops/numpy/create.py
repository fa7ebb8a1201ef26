"""Functions that make tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.interop.privates import floatx
from keras_dovetail.src.dtypes import as_tensor, name_of, promoted, result_type
from keras_dovetail.src.ops.calls import Function, functions, of_tensor


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    dtype = dtype or result_type(*(value for value in (start, stop, step) if value is not None))
    return ops.arange(start, stop, 1 if step is None else step, dtype)


def array(x: Any, dtype: Any = None) -> Any:
    return as_tensor(x, dtype)


def _filled(op: Function) -> Function:
    def call(shape: Any, dtype: Any = None) -> Any:
        return op(shape, dtype or floatx())

    return call


globals().update(
    functions(_filled, "empty=zeros ones zeros")
    | functions(of_tensor, "diag empty_like=zeros_like ones_like tril triu zeros_like")
)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return ops.broadcast_to(as_tensor(fill_value, dtype or floatx()), shape)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    x = as_tensor(x)
    return ops.broadcast_to(as_tensor(fill_value, dtype or x.dtype), ops.shape(x))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    return ops.eye(N, M, k, dtype or floatx())


def identity(n: Any, dtype: Any = None) -> Any:
    return ops.eye(n, dtype=dtype or floatx())


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    return ops.tri(N, M, k, dtype or floatx())


def _window(function: Any) -> Function:
    def call(x: Any) -> Any:
        return as_tensor(function(int(x)), floatx())

    return call


bartlett = _window(np.bartlett)
blackman = _window(np.blackman)
hamming = _window(np.hamming)
hanning = _window(np.hanning)


def kaiser(x: Any, beta: Any) -> Any:
    count = int(x)
    places = np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
    beta = as_tensor(beta, "float64")
    return as_tensor(ops.bessel_i0(beta * np.sqrt(1 - places**2)) / ops.bessel_i0(beta), floatx())


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    dtype = dtype or result_type(start, stop, float)
    wide = result_type(dtype, float)
    start, stop = as_tensor(start, wide), as_tensor(stop, wide)
    numbers = as_tensor(ops.linspace(start, stop, num, endpoint, axis), dtype)
    parts = num - 1 if endpoint else num
    return (numbers, (stop - start) / parts if parts else (stop - start) * float("nan")) if retstep else numbers


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10, dtype: Any = None, axis: int = 0
) -> Any:
    dtype = dtype or result_type(start, stop, float)
    exponents = linspace(start, stop, num, endpoint, dtype=result_type(dtype, float), axis=axis)
    return as_tensor(ops.power(as_tensor(base, exponents.dtype), exponents), dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    dtype = dtype or floatx()
    wide = result_type(dtype, float)
    start, stop = as_tensor(start, wide), as_tensor(stop, wide)
    growth = ops.exp(linspace(ops.zeros_like(start), ops.log(stop / start), num, endpoint, dtype=wide, axis=axis))
    return as_tensor((start if axis == 0 else ops.expand_dims(start, axis)) * growth, dtype)


def meshgrid(*x: Any, indexing: Any = "xy") -> Any:
    return ops.meshgrid(*map(as_tensor, x), indexing=indexing)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    x = as_tensor(x)
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    wide = as_tensor(x, result_type(x, floatx()))
    return as_tensor(ops.power(wide[:, None], as_tensor(powers, wide.dtype)), name_of(x))


def diagflat(x: Any, k: int = 0) -> Any:
    return ops.diag(ops.ravel(as_tensor(x)), k)


def append(x1: Any, x2: Any, axis: int | None = None) -> Any:
    x1, x2 = promoted(x1, x2)
    return ops.concatenate([ops.ravel(x1), ops.ravel(x2)]) if axis is None else ops.concatenate([x1, x2], axis)
