"""TensorFlow 1's optimizers in Keras: `model.compile(tf.train.AdamOptimizer(0.01), ...)`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch

# TensorFlow's class → Keras' optimizer with the same steps.  The other classes have no exact counterpart.
OF_TENSORFLOW: dict[str, Callable[[Any], Any]] = {
    "GradientDescentOptimizer": lambda tf: keras.optimizers.SGD(tf._learning_rate),
    "MomentumOptimizer": lambda tf: keras.optimizers.SGD(tf._learning_rate, tf._momentum, tf._use_nesterov),
    "AdamOptimizer": lambda tf: keras.optimizers.Adam(tf._learning_rate, tf._beta1, tf._beta2, tf._epsilon),
    "AdagradOptimizer": lambda tf: keras.optimizers.Adagrad(
        tf._learning_rate, tf._initial_accumulator_value, epsilon=0.0
    ),
    "AdadeltaOptimizer": lambda tf: keras.optimizers.Adadelta(tf._learning_rate, tf._rho, tf._epsilon),
    "RMSPropOptimizer": lambda tf: _RMSProp(
        tf._learning_rate, tf._decay, tf._momentum or 0.0, tf._epsilon, centered=tf._centered
    ),
}


class _RMSProp(keras.optimizers.RMSprop):
    """TensorFlow 1's steps: the average of squares begins with ones, and epsilon is under the root."""

    def build(self, variables: list[Any]) -> None:
        """Make the averages."""
        super().build(variables)
        for square in self._velocities:
            square.assign(keras.ops.ones(square.shape, square.dtype))

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Take a step of one variable."""
        ops, number = keras.ops, self._get_variable_index(variable)
        gradient, square = ops.cast(gradient, variable.dtype), self._velocities[number]
        spread = self.rho * square + (1 - self.rho) * ops.square(gradient)
        self.assign(square, spread)
        if self.centered:
            average = self.rho * self._average_gradients[number] + (1 - self.rho) * gradient
            self.assign(self._average_gradients[number], average)
            spread = spread - ops.square(average)
        step = ops.cast(learning_rate, variable.dtype) * gradient / ops.sqrt(spread + self.epsilon)
        if self.momentum:
            step = self.momentum * self._momentums[number] + step
            self.assign(self._momentums[number], step)
        self.assign_sub(variable, step)


def patches() -> Iterable[Patch]:
    """Yield the changes of `keras.optimizers.get`, which `compile` calls in the module that defines it."""
    get = _that_takes_tensorflows(keras.optimizers.get)
    for module in (keras.optimizers, sys.modules[keras.optimizers.get.__module__]):
        yield Patch(module, "get", get)
    yield Patch(keras.optimizers, "TFOptimizer", TFOptimizer)


class TFOptimizer:
    """The class that wrapped an optimizer of TensorFlow 1; calling it gives Keras' optimizer with the same steps."""

    def __new__(cls, optimizer: Any) -> Any:
        """Make Keras' optimizer, so that no object is an instance of this class."""
        return keras.optimizers.get(optimizer)


def _that_takes_tensorflows(get: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `get`: it also takes an optimizer of TensorFlow 1."""

    @functools.wraps(get)
    def call(identifier: Any) -> Any:
        if not hasattr(identifier, "compute_gradients"):
            return get(identifier)
        name = type(identifier).__name__
        if name not in OF_TENSORFLOW:
            raise ValueError(f"Keras has no optimizer with the steps of {name}: name one of keras.optimizers.")
        made = OF_TENSORFLOW[name](identifier)
        if hasattr(identifier, "over_ranks"):  # Horovod's wrapper
            made.over_ranks = identifier.over_ranks
        return made

    return call
