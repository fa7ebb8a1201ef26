"""The learning phase: whether it is training or testing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dovetail import backend as K
from dovetail.backend.symbolic import interop_keras, is_of_keras, learning_phase_of
from dovetail.backend.values import own, told_to_layer
from dovetail.core.base.context import note_change, register_context
from dovetail.core.base.scopes import Setting
from dovetail.core.kinds import TensorLike
from dovetail.sessions.session_graph import recording_graph

__all__ = ["in_test_phase", "in_train_phase", "learning_phase", "learning_phase_scope", "set_learning_phase"]


PHASE: Setting[Any] = Setting(None)  # as it was set; None if it was not


def forget_learning_phase() -> None:
    """Unset the learning phase."""
    PHASE.set(None)
    note_change()


def learning_phase() -> Any:
    """Whether it is training: 1 in training, 0 otherwise.

    While a layer of Keras 3 runs, it is the layer's `training` argument; otherwise the value of `K.set_learning_phase`.

    Returns:
        An int or bool; 0 if the phase is not set.  In that case, while the default graph is open, it is a bool graph
        Tensor.  That may be an input of `K.function`, and is False if it is not.  It is no KerasTensor, since each of
        those comes from others: in a functional model of Keras 3, `K.in_train_phase` follows the phase.

    Source: `tf.keras.backend.learning_phase`.

    Differs: in a running Keras layer it is the layer's `training`; in tf.keras only `in_train_phase` follows that.

    Modern: the `training` argument of `Layer.call`.

    Example:
        >>> K.learning_phase()
        0
        >>> x = K.placeholder(())
        >>> f = K.function([x, K.learning_phase()], K.in_train_phase(x, -x))
        >>> f([1., 1]), f([1., 0])
        (np.float32(1.0), np.float32(-1.0))
        >>> K.clear_session()
    """
    told = told_to_layer()
    if told is not None:
        return told
    graph = recording_graph()
    phase = PHASE.get()
    if phase is None and graph is not None:
        return learning_phase_of(graph)
    return phase or 0


register_context(PHASE.get, PHASE)


def set_learning_phase(value: Any) -> None:
    """Set whether it is training, in this thread or task, until `K.clear_session`.

    Args:
        value: 1 in training, 0 otherwise.

    Raises:
        ValueError: it is neither 0 nor 1.

    Source: `tf.keras.backend.set_learning_phase`.

    Modern: the `training` argument of `Layer.call`.

    Example:
        >>> K.set_learning_phase(1)
        >>> K.in_train_phase("training", "testing")
        'training'
        >>> K.clear_session()
    """
    PHASE.set(_checked(value))
    note_change()


def _checked(value: Any) -> Any:
    if value not in {0, 1}:
        raise ValueError(f"the learning phase is 0 or 1, not {value!r}.")
    return value


def learning_phase_scope(value: Any) -> AbstractContextManager[None]:
    """Set whether it is training, inside a `with` block.

    Args:
        value: 1 in training, 0 otherwise.

    Raises:
        ValueError: it is neither 0 nor 1.

    Source: `tf.keras.backend.learning_phase_scope`.

    Modern: the `training` argument of `Layer.call`.

    Example:
        >>> with K.learning_phase_scope(1):
        ...     K.learning_phase()
        1
        >>> K.learning_phase()
        0
    """
    return PHASE.scope(_checked(value))


def in_train_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TensorLike | None = None
) -> Any:
    """One value in training, another one otherwise.

    Args:
        x: the value in training, or a function that gives it.
        alt: the value otherwise, or a function that gives it, of the same shape.
        training: whether it is training: a bool, a number or a scalar tensor; `K.learning_phase` if not given.

    Returns:
        `x` or `alt`, or their results; only the chosen function is called.  For KerasTensors, if the phase is not set,
        both are called, and a layer of the model picks one of the results when it runs.  If both are functions, `alt`
        has to give a KerasTensor.

    Source: `tf.keras.backend.in_train_phase`.

    Modern: `x if training else alt`, with the `training` argument of `Layer.call`.

    Example:
        >>> K.in_train_phase(lambda: "training", lambda: "testing", training=True)
        'training'
    """
    if training is None:
        if _is_left_to_model(x, alt):
            return interop_keras().in_train_phase(x, alt)
        training = K.learning_phase()
    if K.is_tensor(training):
        return K.switch(training, x, alt)
    if training not in (0, 1):
        raise TypeError(f"training is a bool, 0, 1 or a scalar tensor, not {training!r}.")
    chosen = x if training else alt
    return chosen() if callable(chosen) else own(chosen)


def _is_left_to_model(x: Any, alt: Any) -> bool:
    """Whether the phase is not set now, and a model of Keras 3 may get it when it runs."""
    if PHASE.get() is not None or told_to_layer() is not None:
        return False
    if is_of_keras(x) or is_of_keras(alt):
        return True
    return callable(alt) and "dovetail.interop.keras" in sys.modules and recording_graph() is None


def in_test_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TensorLike | None = None
) -> Any:
    """One value in testing, another one in training; `K.in_train_phase` with the two exchanged.

    Args:
        x: the value in testing, or a function that gives it.
        alt: the value in training, or a function that gives it, of the same shape.
        training: whether it is training: a bool, a number or a scalar tensor; `K.learning_phase` if not given.

    Source: `tf.keras.backend.in_test_phase`.

    Modern: `alt if training else x`, with the `training` argument of `Layer.call`.

    Example:
        >>> K.in_test_phase(lambda: "testing", lambda: "training", training=True)
        'training'
    """
    return K.in_train_phase(alt, x, training=training)
