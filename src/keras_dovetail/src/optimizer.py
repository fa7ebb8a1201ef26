"""The base class that Keras' optimizers inherit from a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import dovetail
from dovetail import ops
from dovetail.core.base.lacking import AUTOGRAD, lacks
from dovetail.core.base.scopes import DEFAULT_GRAPH, scopes
from dovetail.core.values.value_kinds import is_recorded
from dovetail.interop.privates import BaseOptimizer, no_automatic_dependency_tracking
from keras_dovetail.src.layer import tapped
from keras_dovetail.src.parallel import merging
from keras_dovetail.src.scopes import computing
from keras_dovetail.src.variable import Variable, held


@lacks("step zero_grad", AUTOGRAD)
class BackendOptimizer(BaseOptimizer):
    """Keras' base optimizer, whose updates of variables a program records, also in branches.

    Variables may be Keras' or Dovetail's, such as variables of K.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a kind of optimizer with an `apply` of its own take the gradients of the whole batch."""
        super().__init_subclass__(**kwargs)
        if "apply" in vars(cls):
            cls.apply = merging.averaging(cls.apply)  # type: ignore[method-assign]

    @no_automatic_dependency_tracking
    def build(self, variables: Any) -> None:
        """Make the state of each variable."""
        super().build(variables)
        self._trainable_variables = _keras_variables(variables)

    def _var_key(self, variable: Any) -> int:
        return id(held(variable))

    @merging.averaging
    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Update variables: at once, even while K's default graph is open, unless that graph recorded the gradients."""
        trainable_variables = trainable_variables and _keras_variables(trainable_variables)
        grads = list(grads)
        with _recording() if any(map(is_recorded, grads)) else computing():
            return super().apply(grads, trainable_variables)

    def _backend_update_step(self, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
        if scopes().probes:
            grads = [tapped(g, f"{v.path}/gradient") for g, v in zip(grads, trainable_variables, strict=True)]
        update = _steps_as_one_op().get(type(self).update_step)
        if update is None or not update(self, grads, trainable_variables, learning_rate):
            super()._backend_update_step(grads, trainable_variables, learning_rate)


def _keras_variables(variables: Iterable[Any]) -> list[Any]:
    return [Variable.holding(v) if isinstance(v, dovetail.Variable) else v for v in variables]


def _recording() -> AbstractContextManager[Any]:
    """The graph of gradients that are recorded: the one that is traced, or K's default graph."""
    return nullcontext() if scopes().graphs else DEFAULT_GRAPH.get().as_default()


@cache
def _steps_as_one_op() -> dict[Any, Callable[..., bool]]:
    """Keras' `update_step` → a function that updates all variables by one op for each kind, or returns False."""
    from dovetail.interop.privates import SGD, Adam  # they inherit from this module

    return {Adam.update_step: _adam_step, SGD.update_step: _sgd_step}


def _adam_step(optimizer: Any, gradients: Any, variables: Any, learning_rate: Any) -> bool:
    if optimizer.amsgrad:
        return False
    for alike in _alike(gradients, variables):
        slots = [optimizer._momentums, optimizer._velocities]
        rate = _corrected(optimizer, ops.cast(learning_rate, alike.dtype), alike.dtype)
        alike.update(optimizer, slots, ops.adam_step, rate, optimizer.beta_1, optimizer.beta_2, optimizer.epsilon)
    return True


def _sgd_step(optimizer: Any, gradients: Any, variables: Any, learning_rate: Any) -> bool:
    for alike in _alike(gradients, variables):
        rate = ops.cast(learning_rate, alike.dtype)
        alike.update(optimizer, [optimizer.momentums], ops.sgd_step, rate, optimizer.momentum, optimizer.nesterov)
    return True


class _Alike(NamedTuple):
    """Variables of one dtype on one device, with their gradients: one op computes their step."""

    dtype: str
    variables: list[Any]
    gradients: list[Any]

    def update(self, optimizer: Any, slots: list[Any], step: Any, *options: Any) -> None:
        """Assign the results of a step to the variables, and to the optimizer's slots for them.

        Args:
            optimizer: Keras' own.
            slots: lists of the optimizer's variables, one for each trained variable; or empty lists.
            step: an op of these: variables, gradients, the variables of each list, options.
        """
        numbers = [optimizer._get_variable_index(variable) for variable in self.variables]
        kept = [[slot[number] for number in numbers] if slot else [] for slot in slots]
        given = [[variable.value for variable in variables] for variables in (self.variables, *kept)]
        gradients = [g if g.dtype == self.dtype else ops.cast(g, self.dtype) for g in self.gradients]
        after = step(given[0], gradients, *given[1:], *options)
        for variable, value in zip(chain(self.variables, *kept), after, strict=True):
            optimizer.assign(variable, value)


def _alike(gradients: Any, variables: Any) -> Iterable[_Alike]:
    by_kind: dict[Any, _Alike] = {}
    for gradient, variable in zip(gradients, variables, strict=True):
        held = variable._value  # None during shape inference
        key = variable.dtype, None if held is None else held.device
        _, others, their_gradients = by_kind.setdefault(key, _Alike(variable.dtype, [], []))
        others.append(variable)
        their_gradients.append(gradient)
    return by_kind.values()


def _corrected(optimizer: Any, rate: Any, dtype: str) -> Any:
    """Adam's learning rate, corrected for averages that begin at zero."""
    step = ops.cast(ops.add(optimizer.iterations, 1), dtype)  # `iterations` is a tensor while gradients accumulate
    powers = [ops.cast(beta, dtype) ** step for beta in (optimizer.beta_1, optimizer.beta_2)]
    return rate * ops.sqrt(1 - powers[1]) / (1 - powers[0])
