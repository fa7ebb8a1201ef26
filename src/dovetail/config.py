"""Process-wide settings: the default float type, the fuzz factor and the image layout."""

from __future__ import annotations

from typing import Any

_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}
_version: tuple[object, ...] = tuple(_settings.values())

FLOATX_CHOICES = ("float16", "bfloat16", "float32", "float64")
DATA_FORMATS = ("channels_last", "channels_first")


def floatx() -> str:
    """The dtype that Python floats become when nothing else decides.

    Example:
        >>> floatx()
        'float32'
    """
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """Sets the default float dtype.

    Raises:
        ValueError: it is not one of `FLOATX_CHOICES`.
    """
    _set("floatx", value, FLOATX_CHOICES)


def epsilon() -> float:
    """The small number that keeps divisions and logarithms finite."""
    return _settings["epsilon"]


def set_epsilon(value: float) -> None:
    """Sets the fuzz factor."""
    _change("epsilon", float(value))


def image_data_format() -> str:
    """The layout that image ops assume: "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(value: str) -> None:
    """Sets the default image layout.

    Raises:
        ValueError: it is not one of `DATA_FORMATS`.
    """
    _set("image_data_format", value, DATA_FORMATS)


def version() -> tuple[object, ...]:
    """All settings: what compiled functions were traced under."""
    return _version


def _set(setting: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{setting} must be one of {', '.join(choices)}; got {value!r}.")
    _change(setting, value)


def _change(setting: str, value: object) -> None:
    global _version
    _settings[setting] = value
    _version = tuple(_settings.values())
