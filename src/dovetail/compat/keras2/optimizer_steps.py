"""Steps of Keras 2's optimizers, where those of Keras 3 give other numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np

from dovetail.compat.keras2.patches import Patch, methods

SCHEDULE_DECAY = 0.004  # of Nadam's momentum; in Keras 3 it is 1
DECAYS = "beta_1", "beta_2", "rho"  # of averages


def patches() -> Iterable[Patch]:
    """Yield the changes of steps."""
    optimizers: Any = keras.optimizers
    yield Patch(optimizers.Adagrad, "update_step", _adagrad_step)
    yield Patch(optimizers.RMSprop, "update_step", _rmsprop_step(optimizers.RMSprop.update_step))
    yield from methods(
        optimizers.Nadam,
        schedule_decay=SCHEDULE_DECAY,
        _backend_update_step=_nadam_product,
        update_step=_nadam_step,
    )


def by_rounded_decays(step: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method that takes a step: averages decay by float32 numbers, as those that Keras 2 kept in variables.

    1 - 0.999 then has the same rounding everywhere in a step, so the first steps of Adam have their full size.
    """

    @functools.wraps(step)
    def call(self: Any, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
        given = {name: value for name in DECAYS if type(value := vars(self).get(name)) is float}
        if keras.config.floatx() == "float32":
            vars(self).update({name: float(np.float32(value)) for name, value in given.items()})
        try:
            step(self, grads, trainable_variables, learning_rate)
        finally:
            vars(self).update(given)

    return call


def _adagrad_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    """Adagrad's step for a variable: epsilon is added to the root, and not under it."""
    ops, dtype = keras.ops, variable.dtype
    rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
    total = self._accumulators[self._get_variable_index(variable)]
    self.assign_add(total, ops.square(gradient))
    self.assign_sub(variable, rate * gradient / (ops.sqrt(total) + self.epsilon))


def _rmsprop_step(update_step: Callable[..., None]) -> Callable[..., None]:
    """Wrap `RMSprop.update_step`: without momentum, epsilon is added to the root, and not under it."""

    @functools.wraps(update_step)
    def call(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if self.momentum or self.centered:
            update_step(self, gradient, variable, learning_rate)
            return
        ops, dtype = keras.ops, variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        square = self._velocities[self._get_variable_index(variable)]
        self.assign(square, self.rho * square + (1 - self.rho) * ops.square(gradient))
        self.assign_sub(variable, rate * gradient / (ops.sqrt(square) + self.epsilon))

    return call


def _nadam_momentum(self: Any, ahead: int, dtype: Any) -> Any:
    """Nadam's momentum, some steps ahead."""
    step = keras.ops.cast(self.iterations + ahead, dtype)
    return self.beta_1 * (1.0 - 0.5 * keras.ops.power(keras.ops.cast(0.96, dtype), self.schedule_decay * step))


def _nadam_product(self: Any, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
    """Take a step of Nadam: the product of its momenta comes first."""
    self.assign(self._u_product, self._u_product * _nadam_momentum(self, 1, self._u_product.dtype))
    super(keras.optimizers.Nadam, self)._backend_update_step(grads, trainable_variables, learning_rate)


def _nadam_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    """Nadam's step for a variable; its momentum grows by `schedule_decay`, as that of Keras 2."""
    ops, dtype, number = keras.ops, variable.dtype, self._get_variable_index(variable)
    rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
    now, ahead = (_nadam_momentum(self, steps, dtype) for steps in (1, 2))
    product, steps = ops.cast(self._u_product, dtype), ops.cast(self.iterations + 1, dtype)
    m, v = self._momentums[number], self._velocities[number]
    self.assign_add(m, (gradient - m) * (1 - self.beta_1))
    self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
    mean = ahead * m / (1 - product * ahead) + (1 - now) * gradient / (1 - product)
    root = ops.sqrt(v / (1 - ops.power(ops.cast(self.beta_2, dtype), steps)))
    self.assign_sub(variable, rate * mean / (root + self.epsilon))
