"""The interface of a program's own optimizers for TensorFlow 1: subclasses, and optimizers around others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph.graph import control_dependencies, group
from dovetail.compat.tensorflow.names.variables.variables import named_variable


def constrained(variable: Any, new: Any) -> Any:
    """The new value of a variable, as its constraint changes it."""
    return new if variable.constraint is None else variable.constraint(new)


class CustomStepMixin:
    """Steps by `_apply_dense`, or `_resource_apply_dense`: (gradient, variable) → assignment.

    A program's optimizer defines one of them; those of Dovetail take the step of their `updates`.

    Source: `tf.compat.v1.train.Optimizer`.
    """

    _slots: dict[tuple[str, Any], Any]
    _own: dict[str, Any]
    _outside: str

    def updates(self, gradient: Any, variable: Any) -> Sequence[tuple[Any, Any]]:
        """The variables that a step changes, and their new values."""
        raise NotImplementedError

    def finish(self) -> Sequence[tuple[Any, Any]]:
        """The optimizer's own variables that a step changes, and their new values."""
        raise NotImplementedError

    # methods that subclasses may define, and that optimizers around this one call

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return group(*(changed.assign(constrained(changed, new)) for changed, new in self.updates(grad, var)))

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._apply_dense(grad, handle)

    def _prepare(self) -> None:
        """Make tensors of settings, before a step."""

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of variables."""

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """Make the operation that runs after all variables have changed."""
        with control_dependencies(update_ops):
            return group(*update_ops, *(own.assign(new) for own, new in self.finish()), name=name_scope)

    # methods that subclasses use

    def slot(self, variable: Any, name: str, first: Any = 0.0, op_name: str | None = None) -> Any:
        """The slot of a variable: its state under a name."""
        raise NotImplementedError

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        return self.slot(var, slot_name, op_name=op_name)

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        return self.slot(var, slot_name, val, op_name)

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any = None) -> Any:
        if name not in self._own:
            self._own[name] = named_variable(self._outside + name, lambda: ops.convert(initial_value))
        return self._own[name]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._own.get(name)

    @staticmethod
    def _call_if_callable(param: Any) -> Any:
        return param() if callable(param) else param

    # a step

    @property
    def _applies_itself(self) -> bool:
        return self._defines("_apply_dense") or self._defines("_resource_apply_dense")

    def _defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(CustomStepMixin, method)

    def _applied(self, pairs: Sequence[Any], global_step: Any, name: str) -> Any:
        """Take a step by pairs of gradients and variables."""
        apply = self._resource_apply_dense if self._defines("_resource_apply_dense") else self._apply_dense
        self._create_slots([variable for _, variable in pairs])
        self._prepare()
        graph, updates = graph_mode.graph(), [apply(gradient, variable) for gradient, variable in pairs]
        done = self._finish(updates, name if global_step is None else "update")
        if global_step is None:
            return done
        if graph is None:
            return global_step.assign_add(ops.cast(1, global_step.dtype))
        with control_dependencies([done]):
            counted = global_step.assign_add(ops.cast(1, global_step.dtype))
        return group(done, counted, name=name)
