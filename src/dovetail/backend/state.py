"""The values of variables: reading, setting and updating them, at once or as part of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.session import KerasUpdate, session_of
from dovetail.backend.symbolic import in_default_graph, is_of_keras, recorded_update
from dovetail.core.base.errors import describe
from dovetail.core.base.scopes import not_building
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.kinds import TensorLike
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments, host
from dovetail.core.values.value_kinds import kind_of, require_numbers, unwrapped
from dovetail.core.values.variable import Variable
from dovetail.sessions.session_graph import recording_graph

__all__ = [
    "batch_get_value",
    "batch_set_value",
    "eval",
    "get_value",
    "manual_variable_initialization",
    "moving_average_update",
    "set_value",
    "update",
    "update_add",
    "update_sub",
    "v1_variable_initialization",
]

# -- updates ----------------------------------------------------------------------------------------------------------


def update(x: Any, new_x: TensorLike) -> Any:
    """Give a variable a new value.

    While the default graph is open, nothing happens yet: the result is a tensor of the new value.  A `K.function`
    assigns the value in each run, if that tensor is among its `updates` or its outputs need it.  With a tensor of a
    Keras model nothing happens yet either: the result is for the `updates` of `K.function`.

    Args:
        x: a variable.
        new_x: its new value, of the same shape; cast to the variable's dtype.

    Returns:
        The variable; in the default graph the update, a graph Tensor; for a Keras model's tensor, a description of the
        update.

    Raises:
        TypeError: `x` is no variable.
        ValueError: the shapes differ.

    Source: `tf.keras.backend.update`.

    Differs: a value of another dtype is cast; tf.keras refuses it.

    Modern: `x.assign(new_x)`.

    Example:
        >>> count = K.variable(1.)
        >>> K.get_value(K.update(count, count + 1.))
        np.float32(2.0)
        >>> x = K.placeholder(())
        >>> step = K.function([x], [x + count], updates=[K.update(count, count + x)])
        >>> step([10.]), K.get_value(count)
        ([np.float32(12.0)], np.float32(12.0))
        >>> K.clear_session()
    """
    return _updated(x, new_x)


def update_add(x: Any, increment: TensorLike) -> Any:
    """Add to a variable; like `K.update`.

    Args:
        x: a variable.
        increment: the values to add, of a shape that broadcasts to the variable's.

    Returns:
        The variable; in the default graph the update, a graph Tensor.

    Raises:
        TypeError: `x` is no variable.
        ValueError: the shapes do not fit.

    Source: `tf.keras.backend.update_add`.

    Differs: the increment may broadcast; tf.keras refuses it.  A value of another dtype is cast; tf.keras refuses it.

    Modern: `x.assign_add(increment)`.

    Example:
        >>> count = K.variable(1.)
        >>> K.get_value(K.update_add(count, 2.))
        np.float32(3.0)
    """
    return _updated(x, increment, ops.add)


def update_sub(x: Any, decrement: TensorLike) -> Any:
    """Subtract from a variable; like `K.update`.

    Args:
        x: a variable.
        decrement: the values to subtract, of a shape that broadcasts to the variable's.

    Returns:
        The variable; in the default graph the update, a graph Tensor.

    Raises:
        TypeError: `x` is no variable.
        ValueError: the shapes do not fit.

    Source: `tf.keras.backend.update_sub`.

    Differs: the decrement may broadcast; tf.keras refuses it.  A value of another dtype is cast; tf.keras refuses it.

    Modern: `x.assign_sub(decrement)`.

    Example:
        >>> count = K.variable(1.)
        >>> K.get_value(K.update_sub(count, 2.))
        np.float32(-1.0)
    """
    return _updated(x, decrement, ops.subtract)


_METHODS: dict[Any, str] = {None: "assign", ops.add: "assign_add", ops.subtract: "assign_sub"}


def _updated(x: Any, value: Any, op: Callable[..., Any] | None = None) -> Any:
    _require_variable(x)
    if is_of_keras(value):
        return KerasUpdate(x, value, _METHODS[op])
    require_numbers(value)
    if isinstance(value, (list, tuple)) and not arguments.holds_tensors(value):
        value = host.host_array(value)
    graph, held = recording_graph(), kind_of(x).followed(x)
    if isinstance(held, Variable) and graph is not None:
        return recorded_update(graph, held, value, op)
    getattr(x, _METHODS[op])(value)
    return x


def _require_variable(x: Any) -> None:
    if not K.is_variable(x):
        raise TypeError(f"it needs a variable, as K.variable makes them, not {x!r}.")


def moving_average_update(x: Any, value: TensorLike, momentum: TensorLike) -> Any:
    """Move a variable towards a value: x ← x · momentum + value · (1 − momentum).

    Args:
        x: a variable.
        value: the value to be averaged in, of the same shape.
        momentum: a number or scalar tensor; how much of the old value stays.

    Returns:
        The variable; in the default graph the update, as of `K.update`.

    Raises:
        TypeError: `x` is no variable.
        ValueError: the shapes differ.

    Source: `tf.keras.backend.moving_average_update`, as it is if TensorFlow 2 behaviour is on: without debiasing.

    Modern: `variable.assign(variable * momentum + value * (1 - momentum))`.

    Example:
        >>> average = K.variable(0.)
        >>> K.get_value(K.moving_average_update(average, 2., momentum=0.75))
        np.float32(0.5)
    """
    _require_variable(x)
    momentum, value = K.cast(momentum, K.dtype(x)), K.cast(value, K.dtype(x))
    return K.update_sub(x, (x - value) * (1 - momentum))


# -- values -----------------------------------------------------------------------------------------------------------


def get_value(x: Any) -> Any:
    """The value of a variable or tensor as a NumPy array.

    Args:
        x: a variable or tensor; a tensor of the default graph is computed, if it needs no placeholder.

    Returns:
        A NumPy array, or a scalar if there are no axes; a value that is no tensor comes back unchanged.

    Raises:
        ValueError: a tensor of the default graph needs a placeholder.
        TypeError: the tensor is one of a function that is being traced, or of a Keras model.

    Source: `tf.keras.backend.get_value`.

    Modern: `keras.ops.convert_to_numpy(x)`, `x.numpy()`.

    Example:
        >>> K.get_value(K.variable([1., 2.]))
        array([1., 2.], dtype=float32)
    """
    if in_default_graph(x):
        return session_of(x.graph).run(x)
    if kind_of(x).is_symbolic:
        raise TypeError(f"{x!r} has no value before its function or model runs.")
    if isinstance(x, (Tensor, Variable)):
        return x.numpy()[()]
    engine = kind_of(x).autodiff(x)
    if engine is not None:
        return np.array(engine.to_numpy(x))[()]
    return x if unwrapped(x) is x else K.get_value(unwrapped(x))


def batch_get_value(tensors: Iterable[Any]) -> list[Any]:
    """The values of several variables or tensors; one run computes all tensors of the default graph.

    Args:
        tensors: variables and tensors.

    Returns:
        A list of NumPy arrays, as of `K.get_value`.

    Source: `tf.keras.backend.batch_get_value`.

    Differs: what is no tensor comes back as it is; tf.keras refuses it.

    Modern: `[keras.ops.convert_to_numpy(x) for x in tensors]`.

    Example:
        >>> K.batch_get_value([K.variable(1.), K.variable([2.])])
        [np.float32(1.0), array([2.], dtype=float32)]
    """
    tensors = list(tensors)
    graph = next((x.graph for x in tensors if in_default_graph(x)), None)
    return [K.get_value(x) for x in tensors] if graph is None else session_of(graph).run(tensors)


def eval(x: Any) -> Any:
    """The value of a variable or tensor as a NumPy array; like `K.get_value`, but also of sparse tensors.

    Args:
        x: a tensor or variable.

    Source: `tf.keras.backend.eval`.

    Modern: `keras.ops.convert_to_numpy(x)`, `x.numpy()`.

    Example:
        >>> K.eval(K.variable([1., 2.]) * 2.)
        array([2., 4.], dtype=float32)
    """
    return K.get_value(K.to_dense(x))


def set_value(x: Any, value: Any) -> None:
    """Give a variable a value at once.

    Args:
        x: a variable.
        value: numbers of its shape; cast to its dtype.

    Raises:
        TypeError: `x` is no variable.
        ValueError: the shapes differ.

    Source: `tf.keras.backend.set_value`.

    Modern: `x.assign(value)`.

    Example:
        >>> x = K.variable(1.)
        >>> K.set_value(x, 2)
        >>> K.get_value(x)
        np.float32(2.0)
    """
    _require_variable(x)
    require_numbers(value)
    value = host.from_host(lambda v, dtype: np.asarray(v, dtype.numpy), value, native_to_dtype(x.dtype))
    if recording_graph() is None:
        x.assign(value)
    else:
        with not_building():
            x.assign(value)


def batch_set_value(tuples: Iterable[tuple[Any, Any]]) -> None:
    """Give several variables values at once.

    Args:
        tuples: pairs of a variable and its value.

    Raises:
        TypeError: one is no variable.
        ValueError: a shape differs.

    Source: `tf.keras.backend.batch_set_value`.

    Modern: `for x, value in tuples: x.assign(value)`.

    Example:
        >>> x, y = K.variable(1.), K.variable([2., 3.])
        >>> K.batch_set_value([(x, 5.), (y, [6., 7.])])
        >>> K.batch_get_value([x, y])
        [np.float32(5.0), array([6., 7.], dtype=float32)]
    """
    pairs = list(tuples)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"needs pairs of a variable and its value, not {describe(pair)}.")
    for x, value in pairs:
        K.set_value(x, value)


# -- variables are initialised when they are made ---------------------------------------------------------------------


def manual_variable_initialization(value: bool) -> None:
    """Do nothing: a variable has its first value from the start.

    Args:
        value: True or False.

    Source: `tf.keras.backend.manual_variable_initialization`.

    Modern: none; variables have values from the start.

    Example:
        >>> K.manual_variable_initialization(True)
    """


def v1_variable_initialization() -> None:
    """Do nothing: a variable has its first value from the start.

    Source: `keras.backend.v1_variable_initialization` of Keras 2.3.

    Modern: none; variables have values from the start.

    Example:
        >>> K.v1_variable_initialization()
    """
