"""Dovetail's variables in programs that Keras compiles: each run reads them, as `K.set_value` in a callback expects.

Loss functions weigh their terms with variables that callbacks change from epoch to epoch.  While JAX or TensorFlow
traces a training step, the value of such a variable would become a constant of it.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from dovetail.core.base.hooks import hooks
from dovetail.core.values.variable import STATE, Variable


def _of_jax(variable: Variable) -> Any:
    """A JAX value that calls back for the variable's value in each run."""
    import jax

    dtype = jax.dtypes.canonicalize_dtype(variable.dtype.numpy)
    kind = jax.ShapeDtypeStruct(variable.shape, dtype)
    return jax.pure_callback(lambda: np.asarray(variable.numpy(), dtype), kind)


def _of_tensorflow(variable: Variable) -> Any:
    """The value of a TensorFlow variable that follows each assignment to this one."""
    import tensorflow as tf

    def make(value: np.ndarray) -> Any:
        with tf.init_scope():
            return tf.Variable(value, trainable=False)

    return variable.follow("tensorflow", make).value()


def register() -> None:
    """Make Dovetail's ops, and the operators of JAX's and TensorFlow's tensors, read variables this way."""
    hooks.reads.update({"jax": _of_jax, "tensorflow": _of_tensorflow})
    if keras.backend.backend() == "tensorflow":
        _teach_tensorflow()


def _teach_tensorflow() -> None:
    import tensorflow as tf

    def as_tensor(variable: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
        live = STATE.live(variable)
        return live if live is not variable and dtype in (None, live.dtype) else NotImplemented

    tf.register_tensor_conversion_function(Variable, as_tensor)
