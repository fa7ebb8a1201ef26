"""`keras.utils.set_random_seed` without importing TensorFlow, which takes seconds: once that is imported, it is seeded.

Keras seeds TensorFlow wherever it is installed, whatever its backend is, since programs may shuffle data by it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_KEEPER = "keras.src.utils.rng_utils"  # Keras' module of the seed


class _Imported:
    """TensorFlow as far as it is imported, for Keras' module of the seed."""

    @property
    def available(self) -> bool:
        module = sys.modules.get("tensorflow")
        return module is not None and not getattr(module.__spec__, "_initializing", False)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["tensorflow"], name)


def wait_for_tensorflow(keeper: ModuleType) -> None:
    """Makes Keras' module of the seed take TensorFlow as it is, imported or not.

    Args:
        keeper: `keras.src.utils.rng_utils`.
    """
    keeper.tf = _Imported()  # type: ignore[attr-defined]


def seed_tensorflow(tensorflow: ModuleType) -> None:
    """Seeds TensorFlow, which was just imported, as Keras was seeded before; if it was."""
    keeper: Any = sys.modules.get(_KEEPER)
    seed = None if keeper is None else keeper.get_random_seed()
    if seed is not None:
        tensorflow.random.set_seed(seed)
