"""TensorFlow 1's optimizers: gradients, steps and slots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.custom_optimizers import CustomStepMixin, constrained
from dovetail.compat.tensorflow.names.gradients import check_aggregation, gradients
from dovetail.compat.tensorflow.names.graph import GraphKeys, group
from dovetail.compat.tensorflow.names.structures import nest_flatten
from dovetail.compat.tensorflow.names.variable_scope import in_variable_scope
from dovetail.compat.tensorflow.names.variables import named_variable
from dovetail.compat.tensorflow.table import value
from dovetail.compat.tf_graph.graph import collected
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import is_recorded, kind_of
from dovetail.distributed.replicas import combined
from dovetail.graph.nesting import outermost_of

Updates = list[tuple[Any, Any]]  # variables and their new values


class Optimizer(CustomStepMixin):
    """The base of all optimizers; a program's own optimizers define `_apply_dense`, as in TensorFlow.

    Source: `tf.compat.v1.train.Optimizer`.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = range(3)

    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        self._name = name
        self._slots: dict[tuple[str, Any], Any] = {}
        self._own: dict[str, Any] = {}
        self._outside = ""  # the name scope around its steps

    def get_name(self) -> str:
        """Its name."""
        return self._name

    # a step

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Make the operation of a step that lowers a loss; outside of graphs, take the step at once.

        Raises:
            ValueError: no variable has a gradient.
        """
        how = (gate_gradients, aggregation_method, colocate_gradients_with_ops)
        pairs = self.compute_gradients(loss, var_list, *how, grad_loss=grad_loss)
        if all(gradient is None for gradient, _ in pairs):
            names = [variable.name for _, variable in pairs]
            raise op_error(ValueError, f"tf.train.{type(self).__name__}", f"the loss depends on none of {names}.")
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> Updates:
        """Compute pairs of a gradient, or None, and a variable.

        Args:
            loss: a tensor of a graph, or a function.
            var_list: variables; by default the trained variables of the graph, or the variables that the function
                reads.
            gate_gradients, aggregation_method: one of `GATE_NONE`, `GATE_OP` and `GATE_GRAPH`, and of
                `tf.AggregationMethod`; the gradients are the same with each.
            grad_loss: the gradient by the loss.

        Raises:
            RuntimeError: the loss is a number that was computed already.
            ValueError: there are no variables to train, or gate_gradients or aggregation_method is invalid.
        """
        title = f"tf.train.{type(self).__name__}"
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            problem = f"gate_gradients is GATE_NONE, GATE_OP or GATE_GRAPH, not {gate_gradients!r}."
            raise op_error(ValueError, title, problem)
        check_aggregation(title, aggregation_method)
        if callable(loss):
            with GradientTape() as tape:
                result = loss()
            variables = nest_flatten(list(var_list)) if var_list else tape.watched_variables()
            return list(zip(tape.gradient(result, variables, grad_loss), variables, strict=True))
        if not is_recorded(loss):
            problem = "the loss was computed already: give a function that computes it, or build a graph"
            raise op_error(RuntimeError, f"tf.train.{type(self).__name__}", f"{problem} (disable_eager_execution).")
        graph = loss.graph
        variables = nest_flatten(list(var_list or collected(outermost_of(graph), GraphKeys.TRAINABLE_VARIABLES)))
        if not variables:
            raise op_error(ValueError, f"tf.train.{type(self).__name__}", "there are no variables to train.")
        variables = [kind_of(variable).followed(variable) for variable in variables]  # Keras' hold one
        with graph_mode.inside(graph), graph.at_scope("gradients/"):
            return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """Make the operation of a step by gradients; outside of graphs, take the step at once.

        Args:
            grads_and_vars: pairs as from `compute_gradients`.
            global_step: a variable that counts the steps.

        Raises:
            ValueError: there is no gradient.
        """
        pairs = [(gradient, kind_of(v).followed(v)) for gradient, v in grads_and_vars if gradient is not None]
        if not pairs:
            raise op_error(ValueError, f"tf.train.{type(self).__name__}", "there is no gradient to apply.")
        pairs = list(zip(combined(None, [g for g, _ in pairs]), [v for _, v in pairs], strict=True))
        graph = graph_mode.graph()
        self._outside = "" if graph is None else graph.scope
        with graph_mode.inside(graph), graph_mode.name_scope(name or self._name) as whole:
            if self._applies_itself:
                return self._applied(pairs, global_step, whole)
            with graph_mode.in_program_order(graph):
                changes = (change for g, v in pairs for change in self.updates(g, v))
                done = [variable.assign(constrained(variable, new)) for variable, new in changes]
                done += [variable.assign(new) for variable, new in self.finish()]
            if global_step is not None:
                done.append(global_step.assign_add(ops.cast(1, global_step.dtype)))
            return group(*done, name=whole)

    def updates(self, gradient: Any, variable: Any) -> Updates:
        """The updates of a step for a variable and its slots: pairs of a variable and its new value."""
        problem = "it defines no step: write _apply_dense(gradient, variable), or apply_gradients."
        raise op_error(NotImplementedError, f"tf.train.{type(self).__name__}", problem)

    def finish(self) -> Updates:
        """The updates of a step for the optimizer's own variables."""
        return []

    # state

    def slot(self, variable: Any, name: str, first: Any = 0.0, op_name: str | None = None) -> Any:
        """The slot of a variable under a name; `op_name` is the end of the slot's own name."""
        key = (name, variable)
        if key not in self._slots:
            base = in_variable_scope(f"{variable.op_name}/{op_name or self._name}")
            self._slots[key] = named_variable(
                base, lambda: ops.broadcast_to(ops.convert(first, variable.dtype), variable.shape)
            )
        return self._slots[key]

    def own(self, name: str, first: float) -> Any:
        """The variable for a number in the optimizer's state."""
        if name not in self._own:
            self._own[name] = named_variable(self._outside + name, lambda: ops.constant(first, "float32"))
        return self._own[name]

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of a variable under a name; None if there is none."""
        return self._slots.get((name, var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots."""
        return sorted({name for name, _ in self._slots})

    def variables(self) -> list[Any]:
        """All variables that it made."""
        return [*self._own.values(), *self._slots.values()]


def number(given: Any, like: Any) -> Any:
    """A rate, which may be a function, in the dtype of a variable."""
    found = given() if callable(given) else given
    return ops.cast(found, like.dtype)


class GradientDescentOptimizer(Optimizer):
    """Steps against the gradient.

    Source: `tf.compat.v1.train.GradientDescentOptimizer`.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._rate = learning_rate

    def updates(self, gradient: Any, variable: Any) -> Updates:
        return [(variable, ops.subtract(variable, ops.multiply(number(self._rate, variable), gradient)))]


class MomentumOptimizer(Optimizer):
    """Steps that continue in the direction of earlier steps.

    Source: `tf.compat.v1.train.MomentumOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._momentum, self._nesterov = learning_rate, momentum, use_nesterov

    def updates(self, gradient: Any, variable: Any) -> Updates:
        rate, momentum = number(self._rate, variable), number(self._momentum, variable)
        kept = self.slot(variable, "momentum")
        new = ops.add(ops.multiply(kept, momentum), gradient)
        step = ops.add(gradient, ops.multiply(momentum, new)) if self._nesterov else new
        return [(variable, ops.subtract(variable, ops.multiply(rate, step))), (kept, new)]


class AdamOptimizer(Optimizer):
    """Steps by averages of gradients and of their squares.

    Source: `tf.compat.v1.train.AdamOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    _looks_ahead = False  # whether the momentum is Nesterov's

    def _powers(self) -> tuple[Any, Any]:
        return self.own("beta1_power", self._beta1), self.own("beta2_power", self._beta2)

    def updates(self, gradient: Any, variable: Any) -> Updates:
        beta1, beta2 = number(self._beta1, variable), number(self._beta2, variable)
        first, second = (ops.cast(power, variable.dtype) for power in self._powers())
        rate = number(self._rate, variable)
        rate = ops.divide(ops.multiply(rate, ops.sqrt(ops.subtract(1.0, second))), ops.subtract(1.0, first))
        m, v = self.slot(variable, "m"), self.slot(variable, "v")
        new_m = ops.add(m, ops.multiply(ops.subtract(gradient, m), ops.subtract(1.0, beta1)))
        new_v = ops.add(v, ops.multiply(ops.subtract(ops.square(gradient), v), ops.subtract(1.0, beta2)))
        ahead = new_m
        if self._looks_ahead:
            ahead = ops.add(ops.multiply(new_m, beta1), ops.multiply(ops.subtract(1.0, beta1), gradient))
        step = ops.divide(ops.multiply(rate, ahead), ops.add(ops.sqrt(new_v), self._epsilon))
        return [(variable, ops.subtract(variable, step)), (m, new_m), (v, new_v)]

    def finish(self) -> Updates:
        betas = (self._beta1, self._beta2)
        return [(power, ops.multiply(power, beta)) for power, beta in zip(self._powers(), betas, strict=True)]


class RMSPropOptimizer(Optimizer):
    """Steps by the gradient over the root of the average of its squares.

    Source: `tf.compat.v1.train.RMSPropOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def updates(self, gradient: Any, variable: Any) -> Updates:
        rate, momentum = number(self._rate, variable), number(self._momentum, variable)
        left = ops.subtract(1.0, number(self._decay, variable))
        squares = self.slot(variable, "rms", 1.0)
        new_squares = ops.add(squares, ops.multiply(ops.subtract(ops.square(gradient), squares), left))
        found, spread = [(squares, new_squares)], new_squares
        if self._centered:
            mean = self.slot(variable, "mg")
            new_mean = ops.add(mean, ops.multiply(ops.subtract(gradient, mean), left))
            found.append((mean, new_mean))
            spread = ops.subtract(new_squares, ops.square(new_mean))
        kept = self.slot(variable, "momentum")
        step = ops.divide(ops.multiply(rate, gradient), ops.sqrt(ops.add(spread, self._epsilon)))
        new = ops.add(ops.multiply(kept, momentum), step)
        return [(variable, ops.subtract(variable, new)), *found, (kept, new)]


class AdagradOptimizer(Optimizer):
    """Steps by the gradient over the root of the sum of its squares.

    Source: `tf.compat.v1.train.AdagradOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._first = learning_rate, initial_accumulator_value

    def updates(self, gradient: Any, variable: Any) -> Updates:
        total = self.slot(variable, "accumulator", self._first)
        new = ops.add(total, ops.square(gradient))
        step = ops.divide(ops.multiply(number(self._rate, variable), gradient), ops.sqrt(new))
        return [(variable, ops.subtract(variable, step)), (total, new)]


class AdadeltaOptimizer(Optimizer):
    """Steps whose size follows the size of earlier steps.

    Source: `tf.compat.v1.train.AdadeltaOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def updates(self, gradient: Any, variable: Any) -> Updates:
        rho = number(self._rho, variable)
        left = ops.subtract(1.0, rho)
        squares, steps = self.slot(variable, "accum"), self.slot(variable, "accum_update")
        new_squares = ops.add(ops.multiply(rho, squares), ops.multiply(left, ops.square(gradient)))
        ratio = ops.divide(ops.sqrt(ops.add(steps, self._epsilon)), ops.sqrt(ops.add(new_squares, self._epsilon)))
        step = ops.multiply(ratio, gradient)
        new_steps = ops.add(ops.multiply(rho, steps), ops.multiply(left, ops.square(step)))
        moved = ops.subtract(variable, ops.multiply(number(self._rate, variable), step))
        return [(variable, moved), (squares, new_squares), (steps, new_steps)]


class FtrlOptimizer(Optimizer):
    """Steps that follow the regularised leader.

    Source: `tf.compat.v1.train.FtrlOptimizer`; McMahan et al. 2013, "Ad click prediction: a view from the trenches".
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        self._rate, self._power, self._first = learning_rate, learning_rate_power, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._shrinkage, self._beta = l2_shrinkage_regularization_strength, beta or 0.0
        self._names = accum_name, linear_name

    def updates(self, gradient: Any, variable: Any) -> Updates:
        rate = number(self._rate, variable)
        accum_name, linear_name = self._names
        total = self.slot(variable, "accum", self._first, accum_name)
        linear = self.slot(variable, "linear", op_name=linear_name)
        new_total = ops.add(total, ops.square(gradient))
        before, after = (ops.power(t, -self._power) for t in (total, new_total))
        shrunk = ops.add(gradient, ops.multiply(2 * self._shrinkage, variable)) if self._shrinkage else gradient
        sigma = ops.divide(ops.subtract(after, before), rate)
        new_linear = ops.add(linear, ops.subtract(shrunk, ops.multiply(sigma, variable)))
        l2 = ops.add(self._l2, ops.divide(self._beta, ops.multiply(2.0, rate)))
        quadratic = ops.add(ops.divide(after, rate), ops.multiply(2.0, l2))
        moved = ops.divide(ops.subtract(ops.clip(new_linear, -self._l1, self._l1), new_linear), quadratic)
        return [(variable, moved), (total, new_total), (linear, new_linear)]


for _class in (
    Optimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    AdamOptimizer,
    RMSPropOptimizer,
    AdagradOptimizer,
    AdadeltaOptimizer,
    FtrlOptimizer,
):
    value(f"train.{_class.__name__}", _class, "v1")
