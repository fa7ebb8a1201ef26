"""`keras.utils.set_random_seed` and TensorFlow, which is seeded once it is imported.

Keras seeds TensorFlow on every backend if it is installed, since programs may shuffle data by it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dovetail.interop import privates


def seed_tensorflow(tensorflow: ModuleType) -> None:
    """Seed TensorFlow, which was just imported, with the seed that Keras got before, if it got one."""
    keeper: Any = privates.loaded("rng_utils")
    seed = None if keeper is None else keeper.get_random_seed()
    if seed is not None:
        tensorflow.random.set_seed(seed)
