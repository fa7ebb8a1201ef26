"""Regularizers and initializers of weights of `tf.contrib.layers`.

Source: `tf.contrib.layers`, the function of the same name.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import INITIALIZERS, REGULARIZERS, under
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.math.arithmetic import add_n
from dovetail.compat.tensorflow.names.nn.losses import l2_loss
from dovetail.compat.tensorflow.names.variables.initializers import SPREAD_OF_CUT, VarianceScaling
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import static_shape

Regularizer = Callable[[Any], Any]
# The penalties of weights, before they are scaled.
_PENALTIES: dict[str, Regularizer] = {
    "l1_regularizer": lambda weights: ops.sum(ops.absolute(weights)),
    "l2_regularizer": l2_loss,
}


def _scaled(title: str, penalty: Regularizer) -> Callable[..., Regularizer]:
    """Add a function that makes a regularizer of a scale."""

    def regularizer(scale: Any, scope: str | None = None) -> Regularizer:
        if isinstance(scale, numbers.Integral) or (isinstance(scale, numbers.Real) and scale < 0):
            problem = f"the scale is a float of 0 or more, not {scale!r}."
            raise op_error(ValueError, f"tf.contrib.layers.{title}", problem)
        if isinstance(scale, numbers.Real) and scale == 0:
            return lambda weights: None

        def penalised(weights: Any) -> Any:
            with graph_mode.name_scope(scope or title) as whole:
                return graph_mode.named(ops.multiply(ops.cast(scale, weights.dtype), penalty(weights)), whole)

        return penalised

    regularizer.__doc__ = "A function of weights that gives a penalty for large ones; with the scale 0, None."
    value(under(REGULARIZERS, title), regularizer, "v1")
    return regularizer


l1_regularizer, l2_regularizer = (_scaled(title, penalty) for title, penalty in _PENALTIES.items())


def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None) -> Regularizer | None:
    """A function of weights that gives both penalties."""
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, float) and scale_l1 == 0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, float) and scale_l2 == 0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


def sum_regularizer(regularizer_list: Iterable[Any], scope: str | None = None) -> Regularizer | None:
    """A function of weights that adds up the penalties of several; None without any."""
    regularizers = [regularizer for regularizer in regularizer_list if regularizer is not None]

    def summed(weights: Any) -> Any:
        with graph_mode.name_scope(scope or "sum_regularizer") as whole:
            penalties = [penalty for regularizer in regularizers if (penalty := regularizer(weights)) is not None]
            return graph_mode.named(add_n(penalties), whole) if penalties else None

    return summed if regularizers else None


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Any:
    """The sum of the penalties of several weights, which is among the graph's regularization losses.

    Args:
        weights_list: by default the collection `GraphKeys.WEIGHTS`.

    Raises:
        ValueError: there are no weights, or a penalty is not a single number.
    """
    title, graph = "tf.contrib.layers.apply_regularization", graph_mode.open_graph()
    weights = weights_list or graph.get_collection(GraphKeys.WEIGHTS)
    if not weights:
        problem = "there are no weights: give weights_list, or add to the collection GraphKeys.WEIGHTS."
        raise op_error(ValueError, title, problem)
    with graph_mode.inside(graph), graph_mode.name_scope("get_regularization_penalty") as whole:
        penalties = [0.0 if (penalty := regularizer(one)) is None else penalty for one in weights]
        for penalty in penalties:
            if static_shape(ops.convert(penalty)) not in ((), None):
                raise op_error(ValueError, title, f"the regularizer must give one number, not {penalty!r}.")
        total = graph_mode.named(graph_mode.recorded(add_n(penalties), whole), whole)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: Any = None, dtype: Any = "float32"
) -> VarianceScaling:
    """Random numbers whose variance is about a factor divided by the number of inputs, of outputs, or their mean.

    Args:
        mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".

    Raises:
        TypeError: there is no such mode, or the dtype is not of floats.
    """
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG") or not as_dtype(dtype).is_floating:
        problem = f"the mode is FAN_IN, FAN_OUT or FAN_AVG, and the dtype one of floats, not {mode!r} and {dtype}."
        raise op_error(TypeError, "tf.contrib.layers.variance_scaling_initializer", problem)
    scale = factor if uniform else 1.3 * SPREAD_OF_CUT**2 * factor  # the width of contrib's cut normal is rounded
    return VarianceScaling(scale, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


def xavier_initializer(uniform: bool = True, seed: Any = None, dtype: Any = "float32") -> VarianceScaling:
    """Random numbers whose variance is divided by the mean number of inputs and outputs."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


value(under(INITIALIZERS, "xavier_initializer xavier_initializer_conv2d"), xavier_initializer, "v1")
value(under(INITIALIZERS, "variance_scaling_initializer"), variance_scaling_initializer, "v1")
for _function in (l1_l2_regularizer, sum_regularizer, apply_regularization):
    value(under(REGULARIZERS, _function.__name__), _function, "v1")
