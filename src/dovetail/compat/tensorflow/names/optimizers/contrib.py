"""TensorFlow 1's optimizers that one rule says: the variable and its slots after a step, by the gradient.

The classes of `contrib.opt` are TensorFlow 1.15's.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.checkpoints import Saver
from dovetail.compat.tensorflow.names.graph import GraphKeys, control_dependencies, group
from dovetail.compat.tensorflow.names.optimizers.base import Optimizer, Row, Updates, number
from dovetail.compat.tensorflow.names.optimizers.rows import ADAM, AdagradOptimizer, AdamOptimizer, MomentumOptimizer
from dovetail.compat.tensorflow.names.train import ExponentialMovingAverage
from dovetail.compat.tensorflow.table import value
from dovetail.core.errors import op_error

_L1_L2 = "l1_regularization_strength=0.0 l2_regularization_strength=0.0 use_locking=False"
_SIGN = "beta=0.9 sign_decay_fn=None use_locking=False"


def _shrunk(given: Any, x: Any, rate: Any) -> Any:
    """Numbers after a step that makes their sums of absolute values and of squares smaller."""
    left = ops.maximum(ops.absolute(x) - rate * given.l1_regularization_strength, 0.0)
    return ops.sign(x) * left / (1.0 + rate * given.l2_regularization_strength)


class ProximalGradientDescentOptimizer(Row, takes=f"learning_rate {_L1_L2} name='ProximalGradientDescent'"):
    """Steps against the gradient, after which weights shrink.

    Source: `tf.compat.v1.train.ProximalGradientDescentOptimizer`.
    """

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        rate = given.learning_rate
        return (_shrunk(given, v - rate * g, rate),)


class ProximalAdagradOptimizer(
    AdagradOptimizer, takes=f"learning_rate initial_accumulator_value=0.1 {_L1_L2} name='ProximalAdagrad'"
):
    """Steps of Adagrad, after which weights shrink.

    Source: `tf.compat.v1.train.ProximalAdagradOptimizer`.
    """

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        total = slots[0] + ops.square(g)
        rate = given.learning_rate / ops.sqrt(total)
        return _shrunk(given, v - rate * g, rate), total


class AdagradDAOptimizer(
    Row,
    takes=f"learning_rate global_step initial_gradient_squared_accumulator_value=0.1 {_L1_L2} name='AdagradDA'",
):
    """Steps from the start by the sums of all gradients and of their squares.

    Source: `tf.compat.v1.train.AdagradDAOptimizer`.
    """

    slots: ClassVar = {
        "gradient_accumulator": 0.0,
        "gradient_squared_accumulator": "initial_gradient_squared_accumulator_value",
    }

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        (total, square), rate, step = slots, given.learning_rate, given.global_step + 1.0
        total, square = total + g, square + ops.square(g)
        left = ops.maximum(ops.absolute(total) - given.l1_regularization_strength * step, 0.0)
        below = given.l2_regularization_strength * step * rate + ops.sqrt(square)
        return -rate * ops.sign(total) * left / below, total, square


class AddSignOptimizer(Row, place="contrib.opt", takes=f"learning_rate=0.1 alpha=1.0 {_SIGN} name='AddSignOptimizer'"):
    """Steps that are larger where the gradient has the sign of its average.

    Source: `tf.contrib.opt.AddSignOptimizer`; Bello et al. 2017, "Neural optimizer search with reinforcement learning".
    """

    slots: ClassVar = {"m": 0.0}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        mean = given.beta * slots[0] + (1.0 - given.beta) * g
        same = ops.sign(g) * ops.sign(mean)
        same = same if self._sign_decay_fn is None else given.sign_decay_fn * same
        return v - given.learning_rate * self.factor(given, same) * g, mean

    def factor(self, given: Any, same: Any) -> Any:
        """The factor of a step; `same` is whether both signs are one: 1, 0 or -1."""
        return given.alpha + same


class PowerSignOptimizer(
    AddSignOptimizer, place="contrib.opt", takes=f"learning_rate=0.1 base={math.e} {_SIGN} name='PowerSignOptimizer'"
):
    """Steps that are by a factor larger where the gradient has the sign of its average.

    Source: `tf.contrib.opt.PowerSignOptimizer`; as for `AddSignOptimizer`.
    """

    def factor(self, given: Any, same: Any) -> Any:
        return ops.power(given.base, same)


class NadamOptimizer(AdamOptimizer, place="contrib.opt", takes=ADAM.format("Nadam")):
    """Adam with the momentum of Nesterov.

    Source: `tf.contrib.opt.NadamOptimizer`; Dozat 2016, "Incorporating Nesterov momentum into Adam".
    """

    def ahead(self, given: Any, g: Any, mean: Any) -> Any:
        return mean * given.beta1 + (1.0 - given.beta1) * g


class AdaMaxOptimizer(AdamOptimizer, place="contrib.opt", takes=ADAM.format("AdaMax")):
    """Adam with the largest gradient in place of the average of squares.

    Source: `tf.contrib.opt.AdaMaxOptimizer`; Kingma and Ba 2014, "Adam: a method for stochastic optimization".
    """

    powers: ClassVar = {"beta1_power": "beta1"}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        mean, largest = slots
        mean = given.beta1 * mean + (1.0 - given.beta1) * g
        largest = ops.maximum(given.beta2 * largest, ops.absolute(g))
        rate = given.learning_rate / (1.0 - given.beta1_power)
        return v - rate * mean / (largest + given.epsilon), mean, largest


# -- on top of others -------------------------------------------------------------------------------------------------


class DecoupledWeightDecayExtension:
    """A mixin for optimizers: a step also takes a part of each variable away, whatever the gradient.

    Args:
        weight_decay: the part.

    Source: `tf.contrib.opt.DecoupledWeightDecayExtension`; Loshchilov and Hutter 2017, "Decoupled weight decay".
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay, self._decayed = weight_decay, None
        super().__init__(**kwargs)

    def minimize(self: Any, loss: Any, *args: Any, decay_var_list: Any = None, **kwargs: Any) -> Any:
        """Make a step, which takes weights away from these variables; by default from all that it trains."""
        self._decayed = decay_var_list
        return super().minimize(loss, *args, **kwargs)  # type: ignore[misc]

    def apply_gradients(
        self: Any, grads_and_vars: Any, global_step: Any = None, name: Any = None, decay_var_list: Any = None
    ) -> Any:
        """Make a step by gradients, which takes weights away from these variables."""
        self._decayed = decay_var_list or self._decayed
        return super().apply_gradients(grads_and_vars, global_step, name)  # type: ignore[misc]

    def updates(self: Any, gradient: Any, variable: Any) -> Updates:
        """The updates of a step for a variable and its slots."""
        (_, new), *slots = super().updates(gradient, variable)  # type: ignore[misc]
        if self._decayed is None or any(variable is v for v in self._decayed):
            new = new - number(self._weight_decay, variable) * variable
        return [(variable, new), *slots]


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Optimizer]:
    """Make a class of an optimizer that also takes weights away; its first argument is the part, `weight_decay`.

    Source: `tf.contrib.opt.extend_with_decoupled_weight_decay`.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc, valid-type]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            given = inspect.signature(base_optimizer).bind(*args, **kwargs).arguments
            super().__init__(weight_decay, **given)

    return OptimizerWithDecoupledWeightDecay


class MovingAverageOptimizer(Optimizer):
    """An optimizer, and moving averages of the variables that it trains.

    Args:
        opt: the optimizer.
        average_decay, num_updates: as in `tf.train.ExponentialMovingAverage`.
        sequential_update: the averages come after the step in any case.

    Source: `tf.contrib.opt.MovingAverageOptimizer`.
    """

    def __init__(
        self, opt: Optimizer, average_decay: float = 0.9999, num_updates: Any = None, sequential_update: bool = True
    ) -> None:
        super().__init__(name="MovingAverage")
        self._optimizer, self._mean = opt, ExponentialMovingAverage(average_decay, num_updates)
        self._swapped: dict[Any, Any] = {}

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Updates:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        step = self._optimizer.apply_gradients(pairs, global_step, name)
        with control_dependencies([step]):
            averaged = self._mean.apply([v for _, v in pairs])
        both = {v: self._mean.average(v) for _, v in pairs}
        self._swapped = both | {mean: v for v, mean in both.items()}
        return group(step, averaged, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """Make a saver that writes each average under the name of its variable, and the other way around.

        Raises:
            RuntimeError: no step was made.
        """
        if not self._swapped:
            problem = "no step was made: call minimize or apply_gradients first."
            raise op_error(RuntimeError, "tf.contrib.opt.MovingAverageOptimizer.swapping_saver", problem)
        saved = var_list or graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        return Saver({v.op_name: self._swapped.get(v, v) for v in saved}, name=name, **kwargs)


for _class in (DecoupledWeightDecayExtension, MovingAverageOptimizer):
    value(f"contrib.opt.{_class.__name__}", _class, "v1")
value("contrib.opt.AdamWOptimizer", extend_with_decoupled_weight_decay(AdamOptimizer), "v1")
value("contrib.opt.MomentumWOptimizer", extend_with_decoupled_weight_decay(MomentumOptimizer), "v1")
value("contrib.opt.extend_with_decoupled_weight_decay", extend_with_decoupled_weight_decay, "v1")
