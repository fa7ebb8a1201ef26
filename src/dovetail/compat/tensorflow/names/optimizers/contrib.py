"""TensorFlow 1's optimizers that one rule says: the variable and its slots after a step, by the gradient.

The classes of `contrib.opt` are TensorFlow 1.15's.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, control_dependencies, group
from dovetail.compat.tensorflow.names.graph.lookups import in_rows, rows_of
from dovetail.compat.tensorflow.names.math.arithmetic import clip_by_global_norm
from dovetail.compat.tensorflow.names.optimizers.base import Optimizer, Row, Updates, number
from dovetail.compat.tensorflow.names.optimizers.rows import ADAM, AdagradOptimizer, AdamOptimizer, MomentumOptimizer
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.train.steps import ExponentialMovingAverage
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.ops.nn import optimizer_rules as rules

_L1_L2 = "l1_regularization_strength=0.0 l2_regularization_strength=0.0 use_locking=False"
_SIGN = "beta=0.9 sign_decay_fn=None use_locking=False"


class ProximalGradientDescentOptimizer(
    Row, rule=rules.proximal_gradient_descent, takes=f"learning_rate {_L1_L2} name='ProximalGradientDescent'"
):
    """Steps against the gradient, after which weights shrink.

    Source: `tf.compat.v1.train.ProximalGradientDescentOptimizer`.
    """


class ProximalAdagradOptimizer(
    AdagradOptimizer,
    rule=rules.proximal_adagrad,
    takes=f"learning_rate initial_accumulator_value=0.1 {_L1_L2} name='ProximalAdagrad'",
):
    """Steps of Adagrad, after which weights shrink.

    Source: `tf.compat.v1.train.ProximalAdagradOptimizer`.
    """

    is_lazy: ClassVar = True


class AdagradDAOptimizer(
    Row,
    rule=rules.adagrad_da,
    takes=f"learning_rate global_step initial_gradient_squared_accumulator_value=0.1 {_L1_L2} name='AdagradDA'",
):
    """Steps from the start by the sums of all gradients and of their squares.

    Source: `tf.compat.v1.train.AdagradDAOptimizer`.
    """

    slots: ClassVar = {
        "gradient_accumulator": 0.0,
        "gradient_squared_accumulator": "initial_gradient_squared_accumulator_value",
    }

    def numbers(self, variable: Any) -> dict[str, Any]:
        numbers = super().numbers(variable)
        return {**numbers, "global_step": numbers["global_step"] + 1}


class AddSignOptimizer(
    Row, place="contrib.opt", rule=rules.add_sign, takes=f"learning_rate=0.1 alpha=1.0 {_SIGN} name='AddSignOptimizer'"
):
    """Steps that are larger where the gradient has the sign of its average.

    Source: `tf.contrib.opt.AddSignOptimizer`; Bello et al. 2017, "Neural optimizer search with reinforcement learning".
    """

    words: ClassVar = {"alpha": "alpha", "sign_decay": "sign_decay_fn"}
    slots: ClassVar = {"m": 0.0}

    def numbers(self, variable: Any) -> dict[str, Any]:
        return {"sign_decay": 1.0, **super().numbers(variable)}


class PowerSignOptimizer(
    AddSignOptimizer,
    place="contrib.opt",
    rule=rules.power_sign,
    takes=f"learning_rate=0.1 base={math.e} {_SIGN} name='PowerSignOptimizer'",
):
    """Steps that are by a factor larger where the gradient has the sign of its average.

    Source: `tf.contrib.opt.PowerSignOptimizer`; as for `AddSignOptimizer`.
    """

    def numbers(self, variable: Any) -> dict[str, Any]:
        return {**super().numbers(variable), "logbase": ops.log(number(self._base, variable))}


class NadamOptimizer(AdamOptimizer, place="contrib.opt", takes=ADAM.format("Nadam")):
    """Adam with the momentum of Nesterov.

    Source: `tf.contrib.opt.NadamOptimizer`; Dozat 2016, "Incorporating Nesterov momentum into Adam".
    """

    _use_nesterov = True


class AdaMaxOptimizer(AdamOptimizer, place="contrib.opt", rule=rules.adamax, takes=ADAM.format("AdaMax")):
    """Adam with the largest gradient in place of the average of squares.

    Source: `tf.contrib.opt.AdaMaxOptimizer`; Kingma and Ba 2014, "Adam: a method for stochastic optimization".
    """

    powers: ClassVar = {"beta1_power": "beta1"}
    is_lazy: ClassVar = True


class LazyAdamOptimizer(AdamOptimizer, place="contrib.opt", takes=ADAM.format("Adam")):
    """Adam whose averages change in those rows of a variable alone that a step looks up.

    Source: `tf.contrib.opt.LazyAdamOptimizer`.
    """

    is_lazy: ClassVar = True


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
            decayed = new - number(self._weight_decay, variable) * variable
            new = in_rows(rows_of(gradient), decayed, new)
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


class _Clipping(Optimizer):
    """An optimizer that clips gradients before another one takes them; see `clip_gradients_by_norm`."""

    def __init__(self, optimizer: Optimizer, clip_norm: Any) -> None:
        super().__init__(name="ClipByNorm")
        self._optimizer, self._norm = optimizer, clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Updates:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = in_v1(clip_by_global_norm)(list(gradients), self._norm)
        return self._optimizer.apply_gradients(zip(clipped, variables, strict=True), global_step, name)


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: Any) -> Optimizer:
    """An optimizer that first makes all gradients smaller, if their norm together is larger than this.

    Source: `tf.contrib.estimator.clip_gradients_by_norm`.
    """
    return _Clipping(optimizer, clip_norm)


value("contrib.estimator.clip_gradients_by_norm", clip_gradients_by_norm, "v1")
