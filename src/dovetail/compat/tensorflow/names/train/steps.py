"""TensorFlow's names for training, besides optimizers: the global step, decays of rates, moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, group
from dovetail.compat.tensorflow.names.random.draws import key_of_draw
from dovetail.compat.tensorflow.names.variables.partitions import take_part
from dovetail.compat.tensorflow.names.variables.variable_scope import in_variable_scope
from dovetail.compat.tensorflow.names.variables.variables import AnyVariableV1, named_variable
from dovetail.compat.tensorflow.table import function, told
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_recorded, is_tensor, static_shape
from dovetail.core.values.variable import Variable

# -- the global step --------------------------------------------------------------------------------------------------

_EAGER_STEP: list[Any] = []  # the step of a program that computes at once


@function("train.get_global_step", "v1")
def get_global_step(graph: Any = None) -> Any:
    """The variable that counts the steps; None if there is none.

    Source: `tf.compat.v1.train.get_global_step`.
    """
    if graph is None and graph_mode.is_eager():
        return next(iter(_EAGER_STEP), None)
    graph = graph or graph_mode.open_graph()
    named = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name == "global_step:0"]
    return next(iter([*graph.get_collection(GraphKeys.GLOBAL_STEP), *named]), None)


@function("train.create_global_step", "v1")
def create_global_step(graph: Any = None) -> Any:
    """A variable that counts the steps.

    Raises:
        ValueError: there is one already.

    Source: `tf.compat.v1.train.create_global_step`.
    """
    is_eager = graph is None and graph_mode.is_eager()
    if get_global_step(graph) is not None:
        raise op_error(ValueError, "tf.train.create_global_step", "a global step already exists in the graph.")
    if is_eager:
        _EAGER_STEP.append(AnyVariableV1(0, dtype="int64", trainable=False, name="global_step"))
        return _EAGER_STEP[0]
    graph = graph or graph_mode.open_graph()
    with graph_mode.inside(graph):
        step = named_variable("global_step", lambda: ops.constant(0, "int64"))
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, step)
    return step


@function("train.get_or_create_global_step", "v1")
def get_or_create_global_step(graph: Any = None) -> Any:
    """The variable that counts the steps.

    Source: `tf.compat.v1.train.get_or_create_global_step`.
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@function("train.assert_global_step", "v1")
def assert_global_step(global_step_tensor: Any) -> None:
    """Check that a tensor or a variable can count steps.

    Raises:
        TypeError: it is not a single integer.

    Source: `tf.compat.v1.train.assert_global_step`.
    """
    is_one = is_tensor(global_step_tensor) and static_shape(global_step_tensor) in ((), None)
    if not is_one or not as_dtype(global_step_tensor.dtype).is_integer:
        problem = f"the global step is a variable or a tensor of one integer, not {global_step_tensor!r}."
        raise op_error(TypeError, "tf.train.assert_global_step", problem)


@function("train.global_step", "v1")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps, as an int.

    Source: `tf.compat.v1.train.global_step`.
    """
    return int(sess.run(global_step_tensor))


# -- decays -----------------------------------------------------------------------------------------------------------


def _decay(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function of the rate returns a tensor in a graph; outside, a function that computes the rate now."""

    def decorate(rate: Callable[..., Any]) -> Callable[..., Any]:
        def decayed(*args: Any, **kwargs: Any) -> Any:
            if graph_mode.graph() is not None:
                return rate(*args, **kwargs)
            return lambda: rate(*args, **kwargs)

        decayed.__doc__, decayed.__wrapped__ = rate.__doc__, rate  # type: ignore[attr-defined]
        value(f"train.{name}", told(f"train.{name}", decayed, scope=True), "v1")
        return decayed

    return decorate


def _float(x: Any) -> Any:
    return ops.cast(x, "float32")


@_decay("exponential_decay")
def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: Any = None
) -> Any:
    """A rate times a factor to the power of steps.

    Source: `tf.compat.v1.train.exponential_decay`.
    """
    power = ops.divide(_float(global_step), _float(decay_steps))
    return ops.multiply(learning_rate, ops.power(_float(decay_rate), ops.floor(power) if staircase else power))


@_decay("natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: Any = None
) -> Any:
    """A rate times e to the power of minus a multiple of steps.

    Source: `tf.compat.v1.train.natural_exp_decay`.
    """
    power = ops.divide(_float(global_step), _float(decay_steps))
    power = ops.floor(power) if staircase else power
    return ops.multiply(learning_rate, ops.exp(ops.multiply(ops.negative(_float(decay_rate)), power)))


@_decay("inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: Any = None
) -> Any:
    """A rate divided by 1 plus a multiple of steps.

    Source: `tf.compat.v1.train.inverse_time_decay`.
    """
    power = ops.divide(_float(global_step), _float(decay_steps))
    power = ops.floor(power) if staircase else power
    return ops.divide(learning_rate, ops.add(1.0, ops.multiply(_float(decay_rate), power)))


@_decay("polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: Any = None,
) -> Any:
    """A rate that goes down to another one, along a polynomial.

    Source: `tf.compat.v1.train.polynomial_decay`.
    """
    step, span = _float(global_step), _float(decay_steps)
    if cycle:
        times = ops.where(ops.equal(step, 0.0), 1.0, ops.ceil(ops.divide(step, span)))
        span = ops.multiply(span, times)
    else:
        step = ops.minimum(step, span)
    left = ops.power(ops.subtract(1.0, ops.divide(step, span)), power)
    return ops.add(ops.multiply(ops.subtract(learning_rate, end_learning_rate), left), end_learning_rate)


@_decay("cosine_decay")
def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: Any = None) -> Any:
    """A rate that goes down to a part of it, along half a wave.

    Source: `tf.compat.v1.train.cosine_decay`.
    """
    part = ops.divide(ops.minimum(_float(global_step), _float(decay_steps)), _float(decay_steps))
    wave = ops.multiply(0.5, ops.add(1.0, ops.cos(ops.multiply(math.pi, part))))
    return ops.multiply(learning_rate, ops.add(ops.multiply(1 - alpha, wave), alpha))


@_decay("cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: Any = None,
) -> Any:
    """A rate that goes down along half a wave again and again, each time for longer and from a lower rate.

    Source: `tf.compat.v1.train.cosine_decay_restarts`; Loshchilov and Hutter 2016, "SGDR".
    """
    part = ops.divide(_float(global_step), _float(first_decay_steps))
    if t_mul == 1.0:
        times = ops.floor(part)
        part = ops.subtract(part, times)
    else:
        times = ops.floor(ops.divide(ops.log(ops.subtract(1.0, ops.multiply(part, 1.0 - t_mul))), math.log(t_mul)))
        longer = ops.power(t_mul, times)
        part = ops.divide(ops.subtract(part, ops.divide(ops.subtract(1.0, longer), 1.0 - t_mul)), longer)
    wave = ops.multiply(ops.multiply(0.5, ops.power(m_mul, times)), ops.add(1.0, ops.cos(ops.multiply(math.pi, part))))
    return ops.multiply(learning_rate, ops.add(ops.multiply(1 - alpha, wave), alpha))


def _linear_cosine(rate: Any, step: Any, span: Any, periods: float, alpha: float, beta: float, noise: Any) -> Any:
    part = ops.divide(ops.minimum(_float(step), _float(span)), _float(span))
    wave = ops.multiply(0.5, ops.add(1.0, ops.cos(ops.multiply(2 * math.pi * periods, part))))
    left = ops.add(ops.add(alpha, ops.subtract(1.0, part)), noise)
    return ops.multiply(rate, ops.add(ops.multiply(left, wave), beta))


@_decay("linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: Any = None,
) -> Any:
    """A rate that goes down along a line times waves.

    Source: `tf.compat.v1.train.linear_cosine_decay`; Bello et al. 2017, "Neural optimizer search".
    """
    return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, 0.0)


@_decay("noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: Any = None,
) -> Any:
    """A rate that goes down along a line, with noise, times waves.

    Source: `tf.compat.v1.train.noisy_linear_cosine_decay`; Bello et al. 2017, "Neural optimizer search".
    """
    step = ops.minimum(_float(global_step), _float(decay_steps))
    spread = ops.sqrt(ops.divide(initial_variance, ops.power(ops.add(1.0, step), variance_decay)))
    noise = ops.random.normal(key_of_draw("train.noisy_linear_cosine_decay", None, "float32"), (), 0.0, spread)
    return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, noise)


@_decay("piecewise_constant")
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: Any = None) -> Any:
    """One of several rates, by the boundaries that the step has passed.

    Source: `tf.compat.v1.train.piecewise_constant`.
    """
    if len(boundaries) != len(values) - 1:
        raise op_error(ValueError, "tf.train.piecewise_constant", "there must be one value more than boundaries.")
    passed = ops.sum(ops.cast(ops.greater(x, ops.cast(list(boundaries), ops.convert(x).dtype)), "int32"))
    return ops.gather(ops.convert(list(values)), passed)


second("train.piecewise_constant_decay", "train.piecewise_constant")

# -- moving averages --------------------------------------------------------------------------------------------------


class ExponentialMovingAverage:
    """Averages of variables and tensors in which older values count less.

    Args:
        decay: the part of the average that stays in a step.
        num_updates: the number of steps; if given, the first values count less.
        zero_debias: whether averages of tensors, which begin with 0, are corrected for it.  Averages of variables
            begin with the variables' first values.

    Source: `tf.train.ExponentialMovingAverage`.
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._num_updates, self._name = decay, num_updates, name
        self._zero_debias = zero_debias
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """Make the operation that updates averages of variables and tensors; outside of graphs, update them at once.

        Args:
            var_list: variables, and tensors of the graph with known shapes; by default all trained variables.
        """
        graph = graph_mode.graph()
        if var_list is None:
            var_list = graph_mode.open_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        with graph_mode.inside(graph), graph_mode.name_scope(self._name) as whole:
            return group(*[self._average(variable) for variable in var_list], name=whole)

    def _average(self, value: Any) -> Any:
        average = self._averages.get(value)
        if average is None:
            name = in_variable_scope(self.average_name(value))
            average = self._averages[value] = named_variable(name, lambda: self._first(value))
            take_part(average, value)
            if isinstance(value, Variable) and graph_mode.graph() is not None:
                graph_mode.open_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
        decay = ops.cast(self._decay, value.dtype)
        if self._num_updates is not None:
            count = ops.cast(self._num_updates, value.dtype)
            decay = ops.minimum(decay, ops.divide(ops.add(1.0, count), ops.add(10.0, count)))
        if self._zero_debias and not isinstance(value, Variable):
            return self._without_bias(average, value, decay)
        return average.assign_changed(_towards, value, decay)

    def _first(self, value: Any) -> Any:
        """The first value of an average."""
        if isinstance(value, Variable):
            return value.initial_value if value.initial_value is not None else ops.identity(value)
        if not is_recorded(value) or value.shape is None or None in value.shape:
            problem = f"it averages variables, and tensors of graphs whose shapes are known, not {value!r}"
            raise op_error(ValueError, "tf.train.ExponentialMovingAverage", f"{problem}: say it with set_shape.")
        return ops.zeros(value.shape, value.dtype)

    def _without_bias(self, average: Any, value: Any, decay: Any) -> Any:
        """An average that begins with 0, corrected as if it did not.

        Source: Kingma and Ba 2014, "Adam: a method for stochastic optimization".
        """
        biased = named_variable(f"{average.op_name}/biased", lambda: ops.zeros(value.shape, value.dtype))
        count = named_variable(f"{average.op_name}/local_step", lambda: ops.zeros((), value.dtype))
        new = biased.assign_changed(_towards, value, decay)
        part = ops.subtract(1.0, ops.power(decay, count.assign_add(1.0)))
        return average.assign(ops.divide(new, part))

    def average(self, var: Any) -> Any:
        """The variable that holds the average of a value; None if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the variable that holds the average of a value."""
        average = self._averages.get(var)
        return f"{var.op.name}/{self._name}" if average is None else average.op_name

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Names → variables, for a `Saver` that gives variables their averages."""
        graph = graph_mode.open_graph()
        averaged = moving_avg_variables or [
            *graph.get_collection(GraphKeys.TRAINABLE_VARIABLES),
            *graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES),
        ]
        names = {self.average_name(v): v for v in averaged}
        taken = set(averaged) | set(self._averages.values())
        others = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v not in taken]
        return names | {v.op_name: v for v in others}


def _towards(average: Any, value: Any, decay: Any) -> Any:
    """An average after it has taken in a value."""
    return ops.subtract(average, ops.multiply(ops.subtract(average, value), ops.subtract(1.0, decay)))


value("train.ExponentialMovingAverage", ExponentialMovingAverage)
