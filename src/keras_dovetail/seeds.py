"""`keras.utils.set_random_seed` and TensorFlow, which is seeded once it is imported.

Keras seeds TensorFlow on every backend if it is installed, since programs may shuffle data by it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_KEEPER = "keras.src.utils.rng_utils"  # Keras' module of the seed


def seed_tensorflow(tensorflow: ModuleType) -> None:
    """Seed TensorFlow, which was just imported, with the seed that Keras got before, if it got one."""
    keeper: Any = sys.modules.get(_KEEPER)
    seed = None if keeper is None else keeper.get_random_seed()
    if seed is not None:
        tensorflow.random.set_seed(seed)
