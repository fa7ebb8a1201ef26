"""TensorFlow 1's optimizers that one rule says: the variable and its slots after a step, by the gradient.

The classes of `contrib.opt` are TensorFlow 1.15's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.checkpoints import Saver
from dovetail.compat.tensorflow.names.graph import GraphKeys, control_dependencies, group
from dovetail.compat.tensorflow.names.optimizers import AdamOptimizer, MomentumOptimizer, Optimizer, Updates, number
from dovetail.compat.tensorflow.names.train import ExponentialMovingAverage
from dovetail.compat.tensorflow.table import arguments_of, signature_of, value
from dovetail.core.errors import op_error

Rule = Callable[..., tuple[Any, ...]]


def optimizer(name: str, words: str, rule: Rule, **slots: str | float) -> None:
    """Add an optimizer.

    Args:
        name: its name.
        words: the parameters of the class, in TensorFlow's order, and their defaults.
        rule: (arguments as tensors of the variable's dtype, gradient, variable, slots) → the variable and the slots
            after a step.
        slots: name → the first value, or the argument that says it.
    """
    signature = signature_of(words)

    class Ruled(Optimizer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._given = arguments_of(signature, args, kwargs)
            super().__init__(name=self._given["name"])

        def updates(self, gradient: Any, variable: Any) -> Updates:
            given = {k: v if k == "name" or v is None else number(v, variable) for k, v in self._given.items()}
            kept = [self.slot(variable, k, self._given[v] if isinstance(v, str) else v) for k, v in slots.items()]
            new, *changed = rule(SimpleNamespace(**given), gradient, variable, *kept)
            return [(variable, new), *zip(kept, changed, strict=True)]

    title = name.rpartition(".")[2]
    Ruled.__name__ = Ruled.__qualname__ = title
    Ruled.__signature__ = signature  # type: ignore[attr-defined]
    Ruled.__doc__ = f"""An optimizer of TensorFlow 1.

    Source: `tf.{name}`.
    """
    value(name, Ruled, "v1")


def _shrunk(given: Any, x: Any, rate: Any) -> Any:
    """Numbers after a step that makes their sums of absolute values and of squares smaller."""
    left = ops.maximum(ops.subtract(ops.absolute(x), rate * given.l1_regularization_strength), 0.0)
    return ops.multiply(ops.sign(x), left) / (1.0 + rate * given.l2_regularization_strength)


def _proximal_descent(given: Any, g: Any, v: Any) -> tuple[Any, ...]:
    return (_shrunk(given, v - given.learning_rate * g, given.learning_rate),)


def _proximal_adagrad(given: Any, g: Any, v: Any, total: Any) -> tuple[Any, ...]:
    total = total + ops.square(g)
    rate = given.learning_rate / ops.sqrt(total)
    return _shrunk(given, v - rate * g, rate), total


def _dual_averaging(given: Any, g: Any, v: Any, gradients: Any, squares: Any) -> tuple[Any, ...]:
    gradients, squares, step = gradients + g, squares + ops.square(g), given.global_step + 1.0
    left = ops.maximum(ops.absolute(gradients) - given.l1_regularization_strength * step, 0.0)
    below = given.l2_regularization_strength * step * given.learning_rate + ops.sqrt(squares)
    return -given.learning_rate * ops.sign(gradients) * left / below, gradients, squares


def _agreement(given: Any, g: Any, mean: Any) -> tuple[Any, Any]:
    """The average of the gradients, and whether its sign is the gradient's: 1, 0 or -1."""
    mean = given.beta * mean + (1.0 - given.beta) * g
    same = ops.sign(g) * ops.sign(mean)
    return mean, same if given.sign_decay_fn is None else given.sign_decay_fn * same


def _add_sign(given: Any, g: Any, v: Any, mean: Any) -> tuple[Any, ...]:
    mean, same = _agreement(given, g, mean)
    return v - given.learning_rate * (given.alpha + same) * g, mean


def _power_sign(given: Any, g: Any, v: Any, mean: Any) -> tuple[Any, ...]:
    mean, same = _agreement(given, g, mean)
    return v - given.learning_rate * ops.power(given.base, same) * g, mean


_L1_L2 = "l1_regularization_strength=0.0 l2_regularization_strength=0.0 use_locking=False"
optimizer(
    "train.ProximalGradientDescentOptimizer",
    f"learning_rate {_L1_L2} name='ProximalGradientDescent'",
    _proximal_descent,
)
optimizer(
    "train.ProximalAdagradOptimizer",
    f"learning_rate initial_accumulator_value=0.1 {_L1_L2} name='ProximalAdagrad'",
    _proximal_adagrad,
    accumulator="initial_accumulator_value",
)
optimizer(
    "train.AdagradDAOptimizer",
    f"learning_rate global_step initial_gradient_squared_accumulator_value=0.1 {_L1_L2} name='AdagradDA'",
    _dual_averaging,
    gradient_accumulator=0.0,
    gradient_squared_accumulator="initial_gradient_squared_accumulator_value",
)
_SIGN = "beta=0.9 sign_decay_fn=None use_locking=False"
optimizer(
    "contrib.opt.AddSignOptimizer", f"learning_rate=0.1 alpha=1.0 {_SIGN} name='AddSignOptimizer'", _add_sign, m=0.0
)
optimizer(
    "contrib.opt.PowerSignOptimizer",
    f"learning_rate=0.1 base={math.e} {_SIGN} name='PowerSignOptimizer'",
    _power_sign,
    m=0.0,
)

# -- on top of Adam and others ----------------------------------------------------------------------------------------


class NadamOptimizer(AdamOptimizer):
    """Adam with the momentum of Nesterov.

    Source: `tf.contrib.opt.NadamOptimizer`; Dozat 2016, "Incorporating Nesterov momentum into Adam".
    """

    _looks_ahead = True


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the largest gradient in place of the average of squares.

    Source: `tf.contrib.opt.AdaMaxOptimizer`; Kingma and Ba 2014, "Adam: a method for stochastic optimization".
    """

    def _power(self) -> Any:
        return self.own("beta1_power", self._beta1)

    def updates(self, gradient: Any, variable: Any) -> Updates:
        rate, beta1, beta2 = (number(x, variable) for x in (self._rate, self._beta1, self._beta2))
        m, v = self.slot(variable, "m"), self.slot(variable, "v")
        new_m = beta1 * m + (1.0 - beta1) * gradient
        new_v = ops.maximum(beta2 * v, ops.absolute(gradient))
        rate = rate / (1.0 - ops.cast(self._power(), variable.dtype))
        return [(variable, variable - rate * new_m / (new_v + self._epsilon)), (m, new_m), (v, new_v)]

    def finish(self) -> Updates:
        return [(self._power(), self._power() * self._beta1)]


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


for _class in (NadamOptimizer, AdaMaxOptimizer, DecoupledWeightDecayExtension, MovingAverageOptimizer):
    value(f"contrib.opt.{_class.__name__}", _class, "v1")
value("contrib.opt.AdamWOptimizer", extend_with_decoupled_weight_decay(AdamOptimizer), "v1")
value("contrib.opt.MomentumWOptimizer", extend_with_decoupled_weight_decay(MomentumOptimizer), "v1")
value("contrib.opt.extend_with_decoupled_weight_decay", extend_with_decoupled_weight_decay, "v1")
