"""The registration of Dovetail with TensorFlow.

AutoGraph must leave Dovetail's code as it is, since that works in `tf.function` unchanged.  TensorFlow's functions take
tensors and variables.  On the tensorflow engine they take the native values, so that TensorFlow's own tapes follow
them.
"""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.core import config
from tensorflow.python.framework.type_spec import register_type_spec_from_value_converter

from dovetail.core.base.errors import is_inside, is_of_user
from dovetail.core.tensor import Tensor
from dovetail.core.values.variable import Variable
from dovetail.graph.operation import GraphTensor
from dovetail.ops.numpy_calls import warn_of_loss

config.CONVERSION_RULES = (config.DoNotConvert("dovetail"), *config.CONVERSION_RULES)

# Functions that convert because the user asks for it; and the wrappers around each TensorFlow function.
_CONVERSIONS = frozenset(["convert_to_tensor", "convert_to_tensor_v2_with_dispatch", "constant"])
_WRAPPERS = frozenset(["error_handler", "op_dispatch_handler", "wrapper", "wrapped", "new_func", "binary_op_wrapper"])


def _convert(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    tensor = value.read() if isinstance(value, Variable) else value
    called = _called()
    if called not in _CONVERSIONS and type(tensor) is Tensor:
        warn_of_loss("tf", called, [value])
    if type(tensor) is Tensor and tensor.engine == "tensorflow" and dtype in (None, tensor.value.dtype):
        return tensor.value
    return tf.constant(tensor.__array__(), dtype, name=name)


def _called() -> str:
    """The name of the TensorFlow function that the user called."""
    frame, name = sys._getframe(1), "convert_to_tensor"
    while frame.f_back is not None and not is_of_user(frame):
        if frame.f_code.co_name not in _WRAPPERS and not is_inside(frame.f_code):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name.removeprefix("_").removesuffix("_dispatch_factory")  # operators' names have these affixes


# After the conversion that `interop.keras` registers for variables (100), before TensorFlow's for any object (200).
tf.register_tensor_conversion_function((Tensor, Variable, GraphTensor), _convert, priority=150)
# TensorFlow's loops ask for a value's type spec first.  Without this, they would hide the error of a graph's tensor.
register_type_spec_from_value_converter(GraphTensor, lambda tensor: tensor.__array__())
