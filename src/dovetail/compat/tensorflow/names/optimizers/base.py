"""TensorFlow 1's optimizers: gradients, steps and slots"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.graph.gradients import check_aggregation, gradients, in_graph
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, group
from dovetail.compat.tensorflow.names.graph.lookups import dense, in_rows, rows_of
from dovetail.compat.tensorflow.names.optimizers.custom import CustomStepMixin, constrained
from dovetail.compat.tensorflow.names.variables.partitions import take_part
from dovetail.compat.tensorflow.names.variables.variable_scope import in_variable_scope
from dovetail.compat.tensorflow.names.variables.variables import IndexedSlices, named_variable
from dovetail.compat.tensorflow.table import constructor
from dovetail.compat.tf_graph.graph import collected
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_recorded, kind_of
from dovetail.distributed.replicas import combined
from dovetail.graph.nesting import outermost_of
from dovetail.ops.nn.optimizer_rules import Rule

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
        given = [(g, kind_of(v).followed(v)) for g, v in grads_and_vars if g is not None]
        pairs = [(dense(g.values, g.indices, v) if isinstance(g, IndexedSlices) else in_graph(g), v) for g, v in given]
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
            take_part(self._slots[key], variable)
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
    rate = given() if callable(given) else given
    return ops.cast(rate, like.dtype)


_ARGUMENTS = {  # the word of a rule → the argument
    "alpha": "learning_rate",
    "lr": "learning_rate",
    "lr_power": "learning_rate_power",
    "l1": "l1_regularization_strength",
    "l2": "l2_regularization_strength",
    "l2_shrinkage": "l2_shrinkage_regularization_strength",
}


class Row(Optimizer):
    """An optimizer that a row says: its arguments, its slots, and the rule of a step.

        class MomentumOptimizer(Row, rule=rules.momentum, takes="learning_rate momentum name='Momentum'"): ...

    Words for arguments are TensorFlow's, in its order; they become attributes with an underscore in front.

    Attributes:
        rule: the function of a step, of `ops.nn.optimizer_rules`.
        words: the word of the rule for a number → the argument, where `_ARGUMENTS` does not have it.
        slots: name → the first value, or the argument that says it; in the order of the rule.
        powers: name of an own variable → the argument that it begins with, and that multiplies it in each step.
        is_lazy: whether a step leaves rows of a variable and its slots as they are that no lookup took.
    """

    rule: Rule
    words: ClassVar[Mapping[str, str]] = {}
    slots: ClassVar[Mapping[str, str | float]] = {}
    powers: ClassVar[Mapping[str, str]] = {}
    is_lazy: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, *_args: Any, **_kwargs: Any) -> None: ...

        def __getattr__(self, argument: str) -> Any:
            return argument

    def __init_subclass__(cls, takes: str = "", place: str = "train", rule: Rule | None = None) -> None:
        if rule is not None:
            cls.rule = staticmethod(rule)
        if takes:  # a program's class has none
            cls.__init__ = constructor(takes, Row._begin)  # type: ignore[method-assign]
            value(f"{place}.{cls.__name__}", cls, "v1")

    def _begin(self, given: dict[str, Any]) -> None:
        Optimizer.__init__(self, name=given["name"])
        vars(self).update({f"_{key}": one for key, one in given.items()})

    def numbers(self, variable: Any) -> dict[str, Any]:
        """The arguments and powers that the rule takes, by its words, as tensors of a variable's dtype."""
        powers = {name: self.power(name) for name in self.powers}
        numbers = {}
        for word in inspect.getfullargspec(self.rule).kwonlyargs:
            given = powers.get(word, getattr(self, f"_{self.words.get(word) or _ARGUMENTS.get(word, word)}", None))
            if given is not None:
                numbers[word] = given if isinstance(given, bool) else number(given, variable)
        return numbers

    def updates(self, gradient: Any, variable: Any) -> Updates:
        numbers, before = self.numbers(variable), [variable, *self._kept(variable)]
        after = self.rule(variable, gradient, *before[1:], **numbers)
        pairs = zip(before, after, strict=True)
        rows = rows_of(gradient) if self.is_lazy else None
        return [(one, in_rows(rows, new, one)) for one, new in pairs]

    def _kept(self, variable: Any) -> list[Any]:
        """The slots of a variable."""
        firsts = {name: getattr(self, f"_{x}") if isinstance(x, str) else x for name, x in self.slots.items()}
        return [self.slot(variable, name, first) for name, first in firsts.items()]

    def finish(self) -> Updates:
        powers = [(self.power(name), getattr(self, f"_{argument}")) for name, argument in self.powers.items()]
        return [(power, power * factor) for power, factor in powers]

    def power(self, name: str) -> Any:
        """The variable of one of `powers`."""
        return self.own(name, getattr(self, f"_{self.powers[name]}"))


value("train.Optimizer", Optimizer, "v1")
