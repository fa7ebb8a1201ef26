"""What Keras' optimizers inherit of a backend."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from keras.src.optimizers.base_optimizer import BaseOptimizer

from dovetail import ops
from dovetail.core.recording import building
from dovetail.core.value_kinds import is_recorded
from keras_dovetail.scopes import computing


class DovetailOptimizer(BaseOptimizer):
    """Keras' own, whose updates of variables a program records, those in branches too."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Updates variables: at once, also while K's default graph is open, unless the gradients are recorded there."""
        with _recording() if any(map(is_recorded, grads)) else computing():
            return super().apply(grads, trainable_variables)

    def _backend_update_step(self, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
        update = _steps_as_one_op().get(type(self).update_step)
        if update is None or not update(self, grads, trainable_variables, learning_rate):
            super()._backend_update_step(grads, trainable_variables, learning_rate)


def _recording() -> AbstractContextManager[Any]:
    """The graph of gradients that are recorded: the one that is traced, or K's default graph."""
    return nullcontext() if building.graphs else building.default.as_default()


@cache
def _steps_as_one_op() -> dict[Any, Callable[..., bool]]:
    """Keras' `update_step` → what updates all variables by one op each, or says that it cannot."""
    from keras.src.optimizers.adam import Adam  # which inherits of this module

    return {Adam.update_step: _adam_step}


def _adam_step(optimizer: Any, gradients: Any, variables: Any, learning_rate: Any) -> bool:
    if optimizer.amsgrad:
        return False
    rates: dict[Any, Any] = {}
    for gradient, variable in zip(gradients, variables, strict=True):
        dtype = variable.dtype
        if dtype not in rates:
            rates[dtype] = _corrected(optimizer, ops.cast(learning_rate, dtype), dtype)
        number = optimizer._get_variable_index(variable)
        slots = variable, optimizer._momentums[number], optimizer._velocities[number]
        now, mean, square_mean = [slot.value for slot in slots]
        given = now, ops.cast(gradient, dtype), mean, square_mean, rates[dtype]
        after = ops.adam_step(*given, optimizer.beta_1, optimizer.beta_2, optimizer.epsilon)
        for slot, value in zip(slots, after, strict=True):
            optimizer.assign(slot, value)
    return True


def _corrected(optimizer: Any, rate: Any, dtype: str) -> Any:
    """Adam's learning rate, corrected for averages that begin at zero."""
    step = ops.cast(optimizer.iterations.value + 1, dtype)
    powers = [ops.cast(beta, dtype) ** step for beta in (optimizer.beta_1, optimizer.beta_2)]
    return rate * ops.sqrt(1 - powers[1]) / (1 - powers[0])
