"""TensorFlow's names that ask how a program computes, and settings of it that have one value here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dovetail.autodiff.custom import custom_gradient
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.names.graph.graph import control_dependencies
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.scopes import not_building
from dovetail.core.values.value_kinds import is_recorded

ANSWERS = {  # questions, and the one answer that they have here
    "resource_variables_enabled": True,
    "control_flow_v2_enabled": True,
    "config.experimental.tensor_float_32_execution_enabled": False,
    "config.experimental.get_synchronous_execution": True,
    "config.optimizer.get_jit": "",
    "test.is_built_with_rocm": False,
    "test.is_built_with_xla": False,
    "debugging.is_traceback_filtering_enabled": True,
}
SETTINGS = """
enable_control_flow_v2 disable_control_flow_v2 enable_tensor_equality disable_tensor_equality enable_v2_tensorshape
debugging.enable_traceback_filtering debugging.disable_traceback_filtering config.experimental.enable_op_determinism
config.experimental.disable_mlir_bridge config.experimental.enable_mlir_bridge
config.experimental.enable_tensor_float_32_execution config.experimental.set_synchronous_execution
config.experimental.set_device_policy config.optimizer.set_jit config.optimizer.set_experimental_options
"""


def _answer(name: str, answer: Any) -> None:
    def ask() -> Any:
        return answer

    ask.__doc__ = f"""{answer!r}: there is no other way here.

    Source: `tf.{name}`.
    """
    function(name)(ask)


for _name, _only in ANSWERS.items():
    _answer(_name, _only)


def _set(*args: Any, **kwargs: Any) -> None:
    """Do nothing: the setting changes how TensorFlow computes, and no result."""


value(SETTINGS, _set)


@function("init_scope")
def init_scope() -> AbstractContextManager[Any]:
    """A scope that leaves the function that is being traced, and control dependencies.

    Source: `tf.init_scope`.
    """
    return control_dependencies(None) if graph_mode.graph() is not None else not_building()


@function("executing_eagerly_outside_functions", "v1")
def executing_eagerly_outside_functions() -> bool:
    """Whether calls outside of functions are computed at once.

    Source: `tf.compat.v1.executing_eagerly_outside_functions`.
    """
    return graph_mode.is_eager()


@function("inside_function")
def inside_function() -> bool:
    """Whether a function is being traced.

    Source: `tf.inside_function`.
    """
    return graph_mode.current_graph() is not None and graph_mode.graph() is None


@function("is_symbolic_tensor")
def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether a tensor is of a graph, so that only a run knows its value.

    Source: `tf.is_symbolic_tensor`.
    """
    return is_recorded(tensor)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of one tensor, so that gradients go through it as they are.

    Source: `tf.grad_pass_through`.
    """

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs), lambda *arriving: arriving[0] if len(arriving) == 1 else arriving

    return passing


value("grad_pass_through", grad_pass_through)
second("get_static_value", "python.framework.tensor_util.constant_value", "v1 v2")
for _name in ("Callable", "ConcreteFunction", "GenericFunction", "PolymorphicFunction", "TensorLike"):
    value(f"types.experimental.{_name}", Any)  # for annotations
