"""What Keras' optimizers inherit of a backend."""

from __future__ import annotations

from keras.src.optimizers.base_optimizer import BaseOptimizer


class DovetailOptimizer(BaseOptimizer):
    """Keras' own, whose updates of variables a program records, those in branches too."""
