"""Variables of Dovetail in what Keras compiles: they are read when it runs, as `K.set_value` in a callback expects.

Loss functions weigh their terms with variables that callbacks change from epoch to epoch.  While JAX or TensorFlow
traces a training step, the value of such a variable would become a constant of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from dovetail.core import worlds
from dovetail.core.engine_registry import tracing_engine
from dovetail.core.op import Op
from dovetail.core.recording import is_recorded, recording
from dovetail.core.variable import Variable


def _of_jax(variable: Variable) -> Any:
    """What calls back for the value."""
    import jax

    dtype = jax.dtypes.canonicalize_dtype(variable.dtype.numpy)
    kind = jax.ShapeDtypeStruct(variable.shape, dtype)
    return jax.pure_callback(lambda: np.asarray(variable.numpy(), dtype), kind)


def _of_tensorflow(variable: Variable) -> Any:
    """The value of a variable of TensorFlow's that is given each value of this one."""
    import tensorflow as tf

    def make(value: np.ndarray) -> Any:
        with tf.init_scope():
            return tf.Variable(value, trainable=False)

    return variable.follow("tensorflow", make).value()


_READ: dict[str, Callable[[Variable], Any]] = {"jax": _of_jax, "tensorflow": _of_tensorflow}


def _live(variable: Variable) -> Any:
    """What reads the value when what is traced now runs; None if an engine's library traces nothing."""
    engine = None if recording.tapes or is_recorded(variable) else tracing_engine()
    read = engine and _READ.get(engine.name)
    return read and read(variable)


def _prepare(op: Op, values: list[Any]) -> list[Any]:
    """The arguments with what reads the variables among the tensors, while an engine's library traces."""
    found = list(values)
    for index, _ in op.tensor_positions:
        found[index] = _with_live(values[index])
    return found if any(a is not b for a, b in zip(found, values, strict=True)) else values


def _with_live(value: Any) -> Any:
    """An argument with what reads it, or the members of a list; itself where there is no such thing."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Variable) for v in value):
        found = [_with_live(v) for v in value]
        return value if all(a is b for a, b in zip(found, value, strict=True)) else found
    live = _live(value) if isinstance(value, Variable) else None
    return value if live is None else live


def register() -> None:
    """From now on Dovetail's ops, and the operators of JAX's and TensorFlow's tensors, take variables so."""
    for world in (worlds.STATE, worlds.NATIVE):
        world.prepare = _prepare
    as_jax = Variable.__jax_array__

    def __jax_array__(variable: Variable) -> Any:
        live = _live(variable)
        return as_jax(variable) if live is None else live

    setattr(Variable, "__jax_array__", __jax_array__)  # noqa: B010
    if keras.backend.backend() == "tensorflow":
        _teach_tensorflow()


def _teach_tensorflow() -> None:
    import tensorflow as tf

    def as_tensor(variable: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
        live = _live(variable)
        return live if live is not None and dtype in (None, live.dtype) else NotImplemented

    tf.register_tensor_conversion_function(Variable, as_tensor)
