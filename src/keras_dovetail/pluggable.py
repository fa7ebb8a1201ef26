"""Dovetail among Keras' pluggable backends: Keras 3.16 imports `keras_dovetail.src` and modules in it by name."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def add(config: ModuleType) -> None:
    """Add the name to Keras' pluggable backends, if this version of Keras has them.

    Args:
        config: `keras.src.backend.config`, before other modules have imported the set of names.
    """
    settings: Any = config
    if hasattr(settings, "PLUGGABLE_BACKENDS"):
        settings.PLUGGABLE_BACKENDS |= {"dovetail"}


def inherit(optimizer: ModuleType) -> None:
    """Let Keras' optimizers inherit from Dovetail's base class; Keras asks none of other backends than its own.

    Args:
        optimizer: `keras.src.optimizers.optimizer`, which has just been imported.
    """
    from keras_dovetail.src.optimizer import BackendOptimizer  # it inherits from Keras' base class

    empty: Any = optimizer
    empty.BackendOptimizer.__bases__ = (BackendOptimizer,)
