"""`K.experimental`: whether tf.keras drew random numbers from generators; here that changes nothing."""

from __future__ import annotations

__all__ = ["disable_tf_random_generator", "enable_tf_random_generator", "is_tf_random_generator_enabled"]

_enabled = False


def is_tf_random_generator_enabled() -> bool:
    """The setting of `enable_tf_random_generator` and `disable_tf_random_generator`; nothing depends on it.

    Source: `tf.keras.backend.experimental.is_tf_random_generator_enabled`.

    Modern: none; Keras 3 always draws from generators.

    Example:
        >>> is_tf_random_generator_enabled()
        False
    """
    return _enabled


def enable_tf_random_generator() -> None:
    """Make `is_tf_random_generator_enabled` return True; nothing depends on it.

    Source: `tf.keras.backend.experimental.enable_tf_random_generator`.

    Modern: none; Keras 3 always draws from generators.

    Example:
        >>> enable_tf_random_generator()
        >>> is_tf_random_generator_enabled()
        True
        >>> disable_tf_random_generator()
    """
    global _enabled
    _enabled = True


def disable_tf_random_generator() -> None:
    """Make `is_tf_random_generator_enabled` return False; nothing depends on it.

    Source: `tf.keras.backend.experimental.disable_tf_random_generator`.

    Modern: none; Keras 3 always draws from generators.

    Example:
        >>> disable_tf_random_generator()
        >>> is_tf_random_generator_enabled()
        False
    """
    global _enabled
    _enabled = False
