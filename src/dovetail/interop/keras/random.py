"""Random numbers in a functional model: different ones in each call, as from Keras' own layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from dovetail.core.op import Op
from dovetail.interop.privates import global_state


@keras.saving.register_keras_serializable("dovetail")
class RandomKey(keras.layers.Layer):
    """A layer that gives a different key in each call; its generator's seed is part of the model's state.

    Args:
        seed: an integer of 31 bits.
    """

    def __init__(self, seed: int, **options: Any) -> None:
        super().__init__(autocast=False, **options)
        self.seed = seed
        self.generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, like: Any) -> Any:
        """The next key: two int32 words.

        Args:
            like: any tensor of the model; its value does not count.
        """
        return keras.ops.cast(self.generator.next(), "int32")

    def compute_output_spec(self, like: Any) -> Any:
        return keras.KerasTensor((2,), "int32")

    def compute_mask(self, *args: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self.seed}


def key_of_step(next_key: Callable[[], np.ndarray]) -> Any:
    """A key that differs in each run of a step that Keras compiles with JAX; None outside such a step.

    Args:
        next_key: a function that returns the key; the step calls it in each run.
    """
    if keras.backend.backend() != "jax" or global_state.get_global_attribute("stateless_scope") is None:
        return None
    import jax
    from jax.experimental import io_callback

    return io_callback(next_key, jax.ShapeDtypeStruct((2,), "int32"))


def fresh_key(seed: int, like: Any) -> Any:
    """A key that differs in each call of the model.

    Args:
        seed: the start of the sequence of keys; only its lower 31 bits count.
        like: any tensor of the model.
    """
    return RandomKey(seed & 0x7FFFFFFF)(like)


def with_fresh_key(op: Op, values: list[Any]) -> list[Any]:
    """The arguments of a call, with a key that differs in each run instead of a constant key."""
    position = next((i for i, param in enumerate(op.params) if param.name == "key"), None)
    if position is None or isinstance(values[position], keras.KerasTensor):
        return values
    high, low = np.asarray(values[position]).view(np.uint32).tolist()
    like = next(v for v in keras.tree.flatten(values) if isinstance(v, keras.KerasTensor))
    values = list(values)
    values[position] = fresh_key(high ^ low, like)
    return values
