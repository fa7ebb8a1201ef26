"""Random numbers.

All functions take a seed, which starts a sequence of draws; see `seeds`.  Without one, NumPy's global generator gives
the seed, so after `np.random.seed(0)` a program draws the same numbers again.  The numbers are the same on every
engine, eagerly and compiled.

Programs that JAX itself traces, as under `jax.jit`, keep no state between runs.  They must give a seed, and an integer
seed gives the same numbers in each run.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.seeds import first_key, next_key, numpy_seed
from dovetail.core.base.errors import describe
from dovetail.core.base.scopes import not_building
from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.kinds import TensorLike
from dovetail.core.values.value_kinds import seen
from dovetail.ops.shapes.shape import shaped

__all__ = [
    "dropout",
    "random_bernoulli",
    "random_binomial",
    "random_normal",
    "random_normal_variable",
    "random_uniform",
    "random_uniform_variable",
    "truncated_normal",
]

# -- distributions ----------------------------------------------------------------------------------------------------


def random_normal(
    shape: Any, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normally distributed floats.

    Args:
        shape: ints, of which some may be tensors, or a tensor of ints.
        mean, stddev: mean and standard deviation; tensors broadcast to the shape.
        dtype: a float dtype; `floatx` if not given.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype.

    Raises:
        TypeError: the dtype is not one of floats, or the seed is none of those.
        ValueError: a dimension is negative or not known, or a parameter does not broadcast to the shape.

    Source: `tf.keras.backend.random_normal`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.
    Differs: parameters of more elements than the shape are refused; TensorFlow uses its numbers several times.
    Differs: parameters of another dtype are cast; tf.keras refuses them.

    Modern: `keras.random.normal(shape, mean, stddev, seed=...)`, `numpy.random.Generator.normal`.

    Example:
        >>> x = random_normal((2, 1000), mean=5.)
        >>> x.shape, bool(abs(x.numpy().mean() - 5) < 0.2)
        ((2, 1000), True)
    """
    shape, dtype = _shape(shape), _float(dtype)
    return ops.random.normal(next_key("random_normal", seed, dtype, [shape, mean, stddev]), shape, mean, stddev, dtype)


def truncated_normal(
    shape: Any, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normally distributed floats without those further than two standard deviations from the mean.

    Args:
        shape: ints, of which some may be tensors, or a tensor of ints.
        mean, stddev: mean and standard deviation before the cut; tensors broadcast to the shape.
        dtype: a float dtype; `floatx` if not given.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype.

    Raises:
        TypeError: the dtype is not one of floats, or the seed is none of those.
        ValueError: a dimension is negative or not known, or a parameter does not broadcast to the shape.

    Source: `tf.keras.backend.truncated_normal`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.
    Differs: parameters of more elements than the shape are refused; TensorFlow uses its numbers several times.
    Differs: parameters of another dtype are cast; tf.keras refuses them.

    Modern: `keras.random.truncated_normal(shape, mean, stddev, seed=...)`, `scipy.stats.truncnorm(-2, 2)`.

    Example:
        >>> bool((abs(truncated_normal((1000,)).numpy()) <= 2).all())
        True
    """
    shape, dtype = _shape(shape), _float(dtype)
    key = next_key("truncated_normal", seed, dtype, [shape, mean, stddev])
    return ops.random.truncated_normal(key, shape, mean, stddev, dtype)


def random_uniform(
    shape: Any, minval: TensorLike = 0.0, maxval: TensorLike | None = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Uniform numbers in [minval, maxval).

    Args:
        shape: ints, of which some may be tensors, or a tensor of ints.
        minval, maxval: the range of the numbers; tensors broadcast to the shape.  For integers, both are needed, as
            integers.  For floats, None as `maxval` means 1, and `minval` may be the larger one.
        dtype: of floats or integers; `floatx` if not given.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype.

    Raises:
        TypeError: the dtype is of integers and a bound is a float, or the seed is none of those.
        ValueError: the dtype is of bools or complex numbers; a dimension is negative or not known; a parameter does not
            broadcast to the shape; or no integer is in the range.

    Source: `tf.keras.backend.random_uniform`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.
    Differs: parameters of more elements than the shape are refused; TensorFlow uses its numbers several times.
    Differs: parameters of another dtype are cast; tf.keras refuses them.
    Differs: all integer dtypes are offered, and the range of integers may be given by tensors that broadcast;
        tf.keras refuses some.

    Modern: `keras.random.uniform(shape, minval, maxval, seed=...)`, `keras.random.randint(...)`.

    Example:
        >>> x = random_uniform((1000,), -1., 1.).numpy()
        >>> bool(x.min() >= -1 and x.max() < 1)
        True
        >>> sorted(set(random_uniform((100,), 2, 5, dtype="int32").tolist()))
        [2, 3, 4]
    """
    shape, dtype = _shape(shape), as_dtype(dtype or K.floatx())
    if not (dtype.is_floating or dtype.is_integer):
        raise ValueError(f"uniform numbers are floats or integers, not {dtype}.")
    if dtype.is_integer:
        _check_range(minval, maxval)
    key = next_key("random_uniform", seed, dtype, [shape, minval, maxval])
    if dtype.is_integer:
        return ops.random.randint(key, shape, minval, maxval, dtype)
    return ops.random.uniform(key, shape, minval, 1.0 if maxval is None else maxval, dtype)


def random_bernoulli(shape: Any, p: TensorLike = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Ones with the chance `p`, and zeros.

    Args:
        shape: ints, of which some may be tensors, or a tensor of ints.
        p: the chance of a one; a tensor broadcasts to the shape.
        dtype: of the result; `floatx` if not given.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype.

    Raises:
        TypeError: `p` is no number, there is no such dtype, or the seed is none of those.
        ValueError: `p` is None or does not broadcast to the shape, or a dimension is negative or not known.

    Source: `tf.keras.backend.random_bernoulli`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.
    Differs: all dtypes are offered; tf.keras refuses some.
    Differs: parameters of more elements than the shape are refused; TensorFlow uses its numbers several times.

    Modern: `keras.random.binomial(shape, 1, p, seed=...)`.

    Example:
        >>> random_bernoulli((3,), p=1.).numpy()
        array([1., 1., 1.], dtype=float32)
    """
    return _bernoulli(shape, p, dtype, seed)


def random_binomial(shape: Any, p: TensorLike = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Ones with the chance `p`, and zeros: the old name of `random_bernoulli`, which warns.

    Args:
        shape: ints, of which some may be tensors, or a tensor of ints.
        p: the chance of a one; a tensor broadcasts to the shape.
        dtype: of the result; `floatx` if not given.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype.

    Raises:
        TypeError: `p` is no number, there is no such dtype, or the seed is none of those.
        ValueError: `p` is None or does not broadcast to the shape, or a dimension is negative or not known.

    Source: `tf.keras.backend.random_binomial`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.
    Differs: all dtypes are offered; tf.keras refuses some.
    Differs: parameters of more elements than the shape are refused; TensorFlow uses its numbers several times.

    Modern: `keras.random.binomial(shape, 1, p, seed=...)`.

    Example:
        >>> random_binomial((3,), p=1.).numpy()
        array([1., 1., 1.], dtype=float32)
    """
    warnings.warn("K.random_binomial is an old name; use K.random_bernoulli.", DeprecationWarning, stacklevel=3)
    return _bernoulli(shape, p, dtype, seed)


def _bernoulli(shape: Any, p: Any, dtype: Any, seed: Any) -> Any:
    shape, dtype = _shape(shape), as_dtype(dtype or K.floatx())
    if p is None or isinstance(p, str):
        raise (ValueError if p is None else TypeError)(f"p must be a number or a tensor, not {p!r}.")
    if isinstance(p, (int, float)):
        p = min(float(p), 1.0) if p > 0 else 0.0
    key = next_key("random_bernoulli", seed, dtype, [shape, p])
    return ops.cast(ops.random.bernoulli(key, shape, p), dtype)


# -- variables --------------------------------------------------------------------------------------------------------


def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable of uniform numbers in [low, high).

    Args:
        shape: ints.
        low, high: the range of the numbers.
        dtype: of floats or integers; `floatx` if not given.
        name: its name in graphs and messages.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A Variable, which has its value now, even while a graph is built.

    Raises:
        TypeError: the dtype is of integers and a bound is a float, or the seed is none of those.
        ValueError: the dtype is of bools or complex numbers, a dimension is negative or None, or no integer is in the
            range.

    Source: `tf.keras.backend.random_uniform_variable`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.

    Modern: `keras.Variable(keras.random.uniform(shape, low, high))`.

    Example:
        >>> v = random_uniform_variable((2, 3), -1., 1., name="kernel")
        >>> v.shape, v.name, bool((abs(v.numpy()) <= 1).all())
        ((2, 3), 'kernel', True)
    """
    with not_building():
        value = K.random_uniform(shape, low, high, dtype or K.floatx(), _variable_seed(seed))
    return K.variable(value, dtype, name)


def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable of normally distributed numbers.

    Args:
        shape: ints.
        mean, scale: mean and standard deviation.
        dtype: a float dtype; `floatx` if not given.
        name: its name in graphs and messages.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A Variable, which has its value now, even while a graph is built.

    Raises:
        TypeError: there is no such dtype, or the seed is none of those.
        ValueError: the dtype is not one of floats, or a dimension is negative or None.

    Source: `tf.keras.backend.random_normal_variable`.

    Differs: the numbers are others than TensorFlow's, and the same on every engine.

    Modern: `keras.Variable(keras.random.normal(shape, mean, scale))`.

    Example:
        >>> v = random_normal_variable((2, 3), 0., 0.05, name="kernel")
        >>> v.shape, v.name, bool((abs(v.numpy()) < 1).all())
        ((2, 3), 'kernel', True)
    """
    dtype = _float(dtype, ValueError)
    with not_building():
        value = K.random_normal(shape, mean, scale, dtype, _variable_seed(seed))
    return K.variable(value, dtype, name)


def _variable_seed(seed: Any) -> Any:
    """The given seed; without one, the first key of a seed from NumPy, whose range is larger for variables."""
    return first_key(numpy_seed(1_000_000_000)) if seed is None else seed


# -- dropout ----------------------------------------------------------------------------------------------------------


def dropout(x: TensorLike, level: TensorLike, noise_shape: Any = None, seed: Any = None) -> Any:
    """Zeros instead of some elements, chosen at random; the others are scaled so that the expected sum stays.

    This does not depend on the learning phase; `K.in_train_phase(K.dropout(x, 0.5), x)` does.

    Args:
        x: floats of any shape.
        level: the chance of an element to become zero, in [0, 1), a number or a scalar tensor.
        noise_shape: the shape of the choices, which broadcasts to the shape of `x`; if it has as many axes, None means
            the size of that axis.
        seed: an integer that starts a sequence of draws; a key or `dovetail.Generator`; or a Keras SeedGenerator.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: the seed is none of those.
        ValueError: `x` is not of floats, the level is not in the range, or `noise_shape` does not broadcast.

    Source: `tf.keras.backend.dropout`.

    Differs: other elements are chosen than by TensorFlow, and the same on every engine.
    Differs: a level may be of another dtype than `x`; tf.keras refuses it.

    Modern: `keras.random.dropout(x, level, noise_shape, seed=...)`.

    Example:
        >>> sorted(set(dropout(K.ones((1000,)), 0.75).tolist()))
        [0.0, 4.0]
    """
    x = shaped(x)
    if not as_dtype(K.dtype(x)).is_floating:
        raise ValueError(f"x must have floats, which can be scaled, but it is {describe(x)}.")
    level = _level(level, x)
    if isinstance(level, float) and level == 0:
        return ops.identity(x)
    if noise_shape is not None:
        same_rank = isinstance(noise_shape, (list, tuple)) and len(noise_shape) == K.ndim(x)
        noise_shape = _shape(noise_shape, nones=same_rank)
    key = next_key("dropout", seed, K.dtype(x), [x, level, () if noise_shape is None else noise_shape])
    return ops.random.dropout(key, x, level, noise_shape)


def _level(level: Any, x: Any) -> Any:
    """The level as a float, or as a scalar tensor of the dtype of `x`."""
    if isinstance(level, (int, float, np.number)) or (isinstance(level, np.ndarray) and level.ndim == 0):
        if not 0 <= level < 1:
            raise ValueError(f"the level must be in [0, 1), not {level}.")
        return float(level)
    if level is None or isinstance(level, str) or K.ndim(level) not in (0, None):
        raise ValueError(f"the level must be a number or a scalar tensor, not {describe(level)}.")
    return ops.reshape(ops.cast(level, K.dtype(x)), ())


# -- arguments --------------------------------------------------------------------------------------------------------


def _shape(shape: Any, nones: bool = False) -> Any:
    """The shape of a result: a list of ints and scalar tensors, or a tensor of one axis.

    Args:
        nones: whether dimensions may be None.
    """
    if hasattr(shape, "as_list"):  # a TensorShape of TensorFlow's
        shape = shape.as_list()
    if not isinstance(shape, (list, tuple)):
        if shape is None or isinstance(shape, str) or K.ndim(shape) != 1:
            raise ValueError(f"a shape is a list of integers or a tensor of them, not {shape!r}.")
        return shape
    if not nones and any(dim is None for dim in shape):
        raise ValueError(
            f"the shape {tuple(shape)} has a dimension that is not known; K.shape(x)[i] gives it as a tensor."
        )
    for dim in shape:
        if not (dim is None or hasattr(seen(dim), "dtype") or isinstance(dim, int)):
            raise ValueError(f"the dimensions of a shape are integers, not {dim!r}.")
    return shape


def _float(dtype: Any, error: type[Exception] = TypeError) -> DType:
    kind = as_dtype(dtype or K.floatx())
    if not kind.is_floating:
        raise error(f"normally distributed numbers are floats, not {kind}.")
    return kind


def _check_range(minval: Any, maxval: Any) -> None:
    """Raise an error unless both bounds are given, as integers."""
    if maxval is None:
        raise ValueError("for integers, maxval must be given.")
    for bound in (minval, maxval):
        if not as_dtype(K.dtype(bound) if hasattr(seen(bound), "dtype") else np.asarray(bound).dtype).is_integer:
            raise TypeError(f"for integers, minval and maxval must be integers, not {describe(bound)}.")
