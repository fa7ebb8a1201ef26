"""What Keras' optimizers inherit of a backend."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from keras.src.optimizers.base_optimizer import BaseOptimizer

from dovetail.core.recording import building
from dovetail.core.value_kinds import is_recorded
from keras_dovetail.scopes import computing


class DovetailOptimizer(BaseOptimizer):
    """Keras' own, whose updates of variables a program records, those in branches too."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Updates variables: at once, also while K's default graph is open, unless the gradients are recorded there."""
        with _recording() if any(map(is_recorded, grads)) else computing():
            return super().apply(grads, trainable_variables)


def _recording() -> AbstractContextManager[Any]:
    """The graph of gradients that are recorded: the one that is traced, or K's default graph."""
    return nullcontext() if building.graphs else building.default.as_default()
