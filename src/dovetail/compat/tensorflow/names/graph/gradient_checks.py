"""TensorFlow's names that compare gradients with differences of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.creation import zeros_like
from dovetail.compat.tensorflow.names.graph.gradients import gradients
from dovetail.compat.tensorflow.names.graph.graph import placeholder
from dovetail.compat.tensorflow.table import function
from dovetail.core.values.value_kinds import dtype_of

_CHECKER = "python.ops.gradient_checker"


def _differences(value_at: Callable[[np.ndarray], Any], x: np.ndarray, delta: float) -> np.ndarray:
    """The slopes between two points around `x` along each of its elements, (elements of x, elements of y)."""
    rows = []
    for i in range(x.size):
        step = delta * (np.arange(x.size) == i).reshape(x.shape).astype(x.dtype)
        above, below = (np.ravel(value_at(point)) for point in (x + step, x - step))
        rows.append((above - below) / (2 * delta))
    return np.stack(rows) if rows else np.zeros((0, np.size(value_at(x))), x.dtype)


def _compared(x: Any, shape: Any, y: Any, y_shape: Any, start: Any, delta: float, feeds: Any) -> tuple[Any, Any]:
    """The Jacobian by gradients, and the one by differences."""
    dtype, feeds = dtype_of(x).numpy, feeds or {}
    point = np.random.random_sample(shape) if start is None else start  # noqa: NPY002  # the generator users seed
    point = np.asarray(point, dtype)
    with graph_mode.inside(y.graph):
        seed = placeholder(y.dtype, y_shape)
        (gradient,) = gradients(y, x, seed)
        gradient = convert_to_tensor(zeros_like(x) if gradient is None else gradient)
    units = np.eye(int(np.prod(y_shape)), dtype=y.dtype.numpy).reshape(-1, *y_shape)
    columns = [np.ravel(gradient.eval({x: point, seed: unit, **feeds})) for unit in units]
    by_gradient = np.stack(columns, 1) if columns else np.zeros((point.size, 0), dtype)
    return by_gradient, _differences(lambda moved: y.eval({x: moved, **feeds}), point, delta)


@function(f"test.compute_gradient {_CHECKER}.compute_gradient", "v1")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian by gradients and the one by differences, (elements of x, elements of y) each.

    Args:
        x, x_shape: a tensor and its shape; or a list of tensors with a list of shapes, which gives a list of pairs.
        y, y_shape: the tensor of which it is the Jacobian.
        x_init_value: the numbers of `x`, random by default.
        delta: the step of the differences.
        init_targets: operations to run before.
        extra_feed_dict: other feeds.

    Source: `tf.compat.v1.test.compute_gradient`.
    """
    for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
        if target is not None:
            target.run()
    if not isinstance(x, list):
        return _compared(x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict)
    starts = x_init_value or [None] * len(x)
    rows = zip(x, x_shape, starts, strict=True)
    return [_compared(one, shape, y, y_shape, start, delta, extra_feed_dict) for one, shape, start in rows]


@function(f"test.compute_gradient_error {_CHECKER}.compute_gradient_error", "v1")
def compute_gradient_error(*args: Any, **kwargs: Any) -> float:
    """The largest distance between the two Jacobians of `tf.test.compute_gradient`, which has the same arguments.

    Source: `tf.compat.v1.test.compute_gradient_error`.
    """
    compared = compute_gradient(*args, **kwargs)
    pairs = compared if isinstance(compared, list) else [compared]
    return max((float(np.abs(a - b).max()) for a, b in pairs if a.size), default=0.0)


@function("test.compute_gradient", "v2")
def compute_gradients(f: Callable[..., Any], x: Sequence[Any], delta: float | None = None) -> tuple[Any, Any]:
    """The Jacobians of a function by gradients and by differences, (elements of the result, elements of x) each.

    Args:
        f: a function of tensors that returns one.
        x: its arguments.
        delta: the step of the differences; 1/1024 by default.

    Returns:
        Two lists, with an array for each argument.

    Source: `tf.test.compute_gradient`.
    """
    given = [ops.convert(value) for value in x]

    def value_at(i: int, point: np.ndarray) -> np.ndarray:
        return f(*given[:i], ops.convert(point), *given[i + 1 :]).numpy()

    with GradientTape() as tape:
        for value in given:
            tape.watch(value)
        result = f(*given)
    size, jacobians = int(np.prod(result.shape)), tape.jacobian(result, given)
    by_gradient = [
        np.zeros((size, value.numpy().size)) if one is None else one.numpy().reshape(size, -1)
        for value, one in zip(given, jacobians, strict=True)
    ]
    return by_gradient, [
        _differences(partial(value_at, i), value.numpy(), delta or 1 / 1024).T for i, value in enumerate(given)
    ]
