"""TensorFlow 1's optimizers of `tf.train`, as rows; the proximal ones are beside those of `tf.contrib.opt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow.names.optimizers.base import Row


class GradientDescentOptimizer(Row, takes="learning_rate use_locking=False name='GradientDescent'"):
    """Steps against the gradient.

    Source: `tf.compat.v1.train.GradientDescentOptimizer`.
    """

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        return (v - given.learning_rate * g,)


class MomentumOptimizer(Row, takes="learning_rate momentum use_locking=False name='Momentum' use_nesterov=False"):
    """Steps that continue in the direction of earlier steps.

    Source: `tf.compat.v1.train.MomentumOptimizer`.
    """

    slots: ClassVar = {"momentum": 0.0}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        momentum = given.momentum
        total = slots[0] * momentum + g
        step = g + momentum * total if self._use_nesterov else total
        return v - given.learning_rate * step, total


ADAM = "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 use_locking=False name='{}'"


class AdamOptimizer(Row, takes=ADAM.format("Adam")):
    """Steps by averages of gradients and of their squares.

    Source: `tf.compat.v1.train.AdamOptimizer`.
    """

    slots: ClassVar = {"m": 0.0, "v": 0.0}
    powers: ClassVar = {"beta1_power": "beta1", "beta2_power": "beta2"}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        mean, square = slots
        left = 1.0 - given.beta1
        rate = given.learning_rate * ops.sqrt(1.0 - given.beta2_power) / (1.0 - given.beta1_power)
        mean = mean + (g - mean) * left
        square = square + (ops.square(g) - square) * (1.0 - given.beta2)
        return v - rate * self.ahead(given, g, mean) / (ops.sqrt(square) + given.epsilon), mean, square

    def ahead(self, given: Any, g: Any, mean: Any) -> Any:
        """The average of gradients that a step follows."""
        return mean


class RMSPropOptimizer(
    Row,
    takes="learning_rate decay=0.9 momentum=0.0 epsilon=1e-10 use_locking=False centered=False name='RMSProp'",
):
    """Steps by the gradient over the root of the average of its squares.

    Source: `tf.compat.v1.train.RMSPropOptimizer`.
    """

    @property
    def slots(self) -> Mapping[str, str | float]:  # type: ignore[override]
        return {"rms": 1.0, **({"mg": 0.0} if self._centered else {}), "momentum": 0.0}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        square, *mean, total = slots
        left = 1.0 - given.decay
        square = square + (ops.square(g) - square) * left
        mean = [one + (g - one) * left for one in mean]
        spread = square - ops.square(mean[0]) if mean else square
        total = total * given.momentum + given.learning_rate * g / ops.sqrt(spread + given.epsilon)
        return v - total, square, *mean, total


class AdagradOptimizer(Row, takes="learning_rate initial_accumulator_value=0.1 use_locking=False name='Adagrad'"):
    """Steps by the gradient over the root of the sum of its squares.

    Source: `tf.compat.v1.train.AdagradOptimizer`.
    """

    slots: ClassVar = {"accumulator": "initial_accumulator_value"}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        total = slots[0] + ops.square(g)
        return v - given.learning_rate * g / ops.sqrt(total), total


class AdadeltaOptimizer(Row, takes="learning_rate=0.001 rho=0.95 epsilon=1e-08 use_locking=False name='Adadelta'"):
    """Steps whose size follows the size of earlier steps.

    Source: `tf.compat.v1.train.AdadeltaOptimizer`.
    """

    slots: ClassVar = {"accum": 0.0, "accum_update": 0.0}

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        (square, steps), rho, epsilon = slots, given.rho, given.epsilon
        square = rho * square + (1.0 - rho) * ops.square(g)
        step = ops.sqrt(steps + epsilon) / ops.sqrt(square + epsilon) * g
        return v - given.learning_rate * step, square, rho * steps + (1.0 - rho) * ops.square(step)


class FtrlOptimizer(
    Row,
    takes="learning_rate learning_rate_power=-0.5 initial_accumulator_value=0.1 l1_regularization_strength=0.0 "
    "l2_regularization_strength=0.0 use_locking=False name='Ftrl' accum_name=None linear_name=None "
    "l2_shrinkage_regularization_strength=0.0 beta=None",
):
    """Steps that follow the regularised leader.

    Source: `tf.compat.v1.train.FtrlOptimizer`; McMahan et al. 2013, "Ad click prediction: a view from the trenches".
    """

    def _kept(self, variable: Any) -> list[Any]:
        total = self.slot(variable, "accum", self._initial_accumulator_value, self._accum_name)
        return [total, self.slot(variable, "linear", op_name=self._linear_name)]

    def rule(self, given: Any, g: Any, v: Any, *slots: Any) -> tuple[Any, ...]:
        (total, linear), rate, power = slots, given.learning_rate, -self._learning_rate_power
        new_total = total + ops.square(g)
        before, after = ops.power(total, power) / rate, ops.power(new_total, power) / rate
        linear = linear + g + 2.0 * given.l2_shrinkage_regularization_strength * v - (after - before) * v
        l1, l2 = given.l1_regularization_strength, given.l2_regularization_strength
        below = after + 2.0 * l2 + (self._beta or 0.0) / rate
        return (ops.clip(linear, -l1, l1) - linear) / below, new_total, linear
