"""What Keras' optimizers inherit of a backend."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from keras.src.optimizers.base_optimizer import BaseOptimizer

from dovetail.core.value_kinds import is_recorded
from keras_dovetail.scopes import computing


class DovetailOptimizer(BaseOptimizer):
    """Keras' own, whose updates of variables a program records, those in branches too."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Updates variables: at once, also while K's default graph is open, if the gradients are not recorded."""
        with nullcontext() if any(map(is_recorded, grads)) else computing():
            return super().apply(grads, trainable_variables)
