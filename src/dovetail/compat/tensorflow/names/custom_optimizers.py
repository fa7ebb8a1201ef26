"""The interface of a program's own optimizers for TensorFlow 1, which define a step in `_apply_dense`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph import control_dependencies, group
from dovetail.compat.tensorflow.names.variables import named_variable


class CustomStepMixin:
    """Steps of an optimizer that defines `_apply_dense`, or `_resource_apply_dense`: (gradient, variable) → assignment.

    Source: `tf.compat.v1.train.Optimizer`.
    """

    _slots: dict[tuple[str, Any], Any]
    _own: dict[str, Any]
    _outside: str
    _apply_dense: Any = None
    _resource_apply_dense: Any = None

    # methods that subclasses may define

    def _prepare(self) -> None:
        """Make tensors of settings, before a step."""

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of variables."""

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """Make the operation that runs after all variables have changed."""
        return group(*update_ops, name=name_scope)

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
        return self._apply_dense is not None or self._resource_apply_dense is not None

    def _applied(self, pairs: Sequence[Any], global_step: Any, name: str) -> Any:
        """Take a step by pairs of gradients and variables."""
        apply = self._apply_dense if self._resource_apply_dense is None else self._resource_apply_dense
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
