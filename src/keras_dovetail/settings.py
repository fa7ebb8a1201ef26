"""The settings that Keras shares with Dovetail and K: float type, fuzz factor and layout of images."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from dovetail.core.base import config


def set_image_data_format(data_format: str) -> None:
    """Set the default layout of images: "channels_last" or "channels_first", in any case; else raise a ValueError."""
    config.set_image_data_format(str(data_format).lower())


_SHARED: dict[str, Callable[..., Any]] = {
    "floatx": config.floatx,
    "set_floatx": config.set_floatx,
    "epsilon": config.epsilon,
    "set_epsilon": config.set_epsilon,
    "image_data_format": config.image_data_format,
    "set_image_data_format": set_image_data_format,
}


def share(keras_config: ModuleType) -> None:
    """Replace the functions of Keras' module of settings by Dovetail's.

    Dovetail takes the values of Keras' configuration file, except for settings that the program has changed before.

    Args:
        keras_config: `keras.src.backend.config`, before other modules have imported its functions.

    Raises:
        ImportError: it lacks one of the functions.
    """
    missing = [name for name in _SHARED if not hasattr(keras_config, name)]
    if missing:
        raise ImportError(f"{keras_config.__name__} has no {', '.join(missing)}.")
    for name, default in config.DEFAULTS.items():
        if _SHARED[name]() == default:
            _SHARED[f"set_{name}"](getattr(keras_config, name)())
    vars(keras_config).update(_SHARED)


class _Narrowing(dict[str, str]):
    """The narrowing of dtypes of 64 bits, which keeps floats if `floatx` is "float64"."""

    def get(self, dtype: str, default: Any = None) -> Any:
        return dtype if dtype == config.floatx() else super().get(dtype, default)


def keep_floatx(dtypes: ModuleType) -> None:
    """Keep floats of 64 bits if they are the default, as on Keras' tensorflow backend.

    Args:
        dtypes: `keras.src.backend.common.dtypes`, which promotes dtypes.
    """
    narrowed: Any = dtypes
    narrowed.BIT64_TO_BIT32_DTYPE = _Narrowing(narrowed.BIT64_TO_BIT32_DTYPE)
