"""TensorFlow 1's optimizers of `tf.train`, as rows; the proximal ones are beside those of `tf.contrib.opt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail.compat.tensorflow.names.optimizers.base import Row, number
from dovetail.ops.nn import optimizer_rules as rules


class GradientDescentOptimizer(
    Row, rule=rules.gradient_descent, takes="learning_rate use_locking=False name='GradientDescent'"
):
    """Steps against the gradient.

    Source: `tf.compat.v1.train.GradientDescentOptimizer`.
    """

    is_lazy: ClassVar = False  # a gradient of 0 changes nothing


class MomentumOptimizer(
    Row, rule=rules.momentum, takes="learning_rate momentum use_locking=False name='Momentum' use_nesterov=False"
):
    """Steps that continue in the direction of earlier steps.

    Source: `tf.compat.v1.train.MomentumOptimizer`.
    """

    slots: ClassVar = {"momentum": 0.0}


ADAM = "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 use_locking=False name='{}'"


class AdamOptimizer(Row, rule=rules.adam, takes=ADAM.format("Adam")):
    """Steps by averages of gradients and of their squares.

    Source: `tf.compat.v1.train.AdamOptimizer`.
    """

    slots: ClassVar = {"m": 0.0, "v": 0.0}
    powers: ClassVar = {"beta1_power": "beta1", "beta2_power": "beta2"}
    is_lazy: ClassVar = False  # as in TensorFlow


class RMSPropOptimizer(
    Row,
    takes="learning_rate decay=0.9 momentum=0.0 epsilon=1e-10 use_locking=False centered=False name='RMSProp'",
):
    """Steps by the gradient over the root of the average of its squares.

    Source: `tf.compat.v1.train.RMSPropOptimizer`.
    """

    words: ClassVar = {"rho": "decay"}

    @property
    def rule(self) -> rules.Rule:  # type: ignore[override]
        return rules.centered_rms_prop if self._centered else rules.rms_prop

    @property
    def slots(self) -> Mapping[str, str | float]:  # type: ignore[override]
        return {"rms": 1.0, **({"mg": 0.0} if self._centered else {}), "momentum": 0.0}

    def _kept(self, variable: Any) -> list[Any]:
        squares, *mean, momentum = super()._kept(variable)  # in the order of their names in files
        return [*mean, squares, momentum]


class AdagradOptimizer(
    Row, rule=rules.adagrad, takes="learning_rate initial_accumulator_value=0.1 use_locking=False name='Adagrad'"
):
    """Steps by the gradient over the root of the sum of its squares.

    Source: `tf.compat.v1.train.AdagradOptimizer`.
    """

    slots: ClassVar = {"accumulator": "initial_accumulator_value"}
    is_lazy: ClassVar = False


class AdadeltaOptimizer(
    Row, rule=rules.adadelta, takes="learning_rate=0.001 rho=0.95 epsilon=1e-08 use_locking=False name='Adadelta'"
):
    """Steps whose size follows the size of earlier steps.

    Source: `tf.compat.v1.train.AdadeltaOptimizer`.
    """

    slots: ClassVar = {"accum": 0.0, "accum_update": 0.0}


class FtrlOptimizer(
    Row,
    rule=rules.ftrl,
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

    def numbers(self, variable: Any) -> dict[str, Any]:
        numbers = super().numbers(variable)
        if self._beta:
            numbers["l2"] = numbers["l2"] + number(self._beta, variable) / (2 * numbers["lr"])
        return numbers
