"""Process-wide settings (the default float type, the fuzz factor, the image layout)."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.context import note_change, register_context
from dovetail.core.base.errors import check_bool, did_you_mean, op_error
from dovetail.core.base.memory import keep_memory as keep_memory
from dovetail.core.base.memory import set_keep_memory as set_keep_memory
from dovetail.core.base.read_limits import read_limits as read_limits
from dovetail.core.base.read_limits import set_read_limits as set_read_limits
from dovetail.core.base.tracebacks import set_whole_tracebacks as set_whole_tracebacks
from dovetail.core.base.tracebacks import whole_tracebacks as whole_tracebacks

DEFAULTS: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}
_settings = dict(DEFAULTS)
version: tuple[object, ...] = tuple(_settings.values())  # all settings; a change makes a new tuple
of_calls: tuple[object, ...] = version  # the same for eager calls, which a profile also changes; it changes no trace
register_context(lambda: version)
_has_trials = True
is_profiled = False  # whether a profile is open, whose calls take more time

FLOATX_CHOICES = ("float16", "bfloat16", "float32", "float64")
DATA_FORMATS = ("channels_last", "channels_first")


def floatx() -> str:
    """The dtype of Python floats if nothing else decides.

    Example:
        >>> floatx()
        'float32'
    """
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """Set the default float dtype.

    Raises:
        ValueError: it is not one of `FLOATX_CHOICES`.
    """
    _set("floatx", value, FLOATX_CHOICES)


def epsilon() -> float:
    """The small number that keeps divisions and logarithms finite."""
    return _settings["epsilon"]


def set_epsilon(value: float) -> None:
    """Set the fuzz factor.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative or not finite.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise op_error(TypeError, "set_epsilon", f"it must be a number, not {value!r}.") from None
    if not 0 <= number < float("inf"):
        raise op_error(ValueError, "set_epsilon", f"it must be a finite number, 0 or more, not {value!r}.")
    _change("epsilon", number)


def image_data_format() -> str:
    """The layout that image ops assume: "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(value: str) -> None:
    """Set the default image layout.

    Raises:
        ValueError: it is not one of `DATA_FORMATS`.
    """
    _set("image_data_format", value, DATA_FORMATS)


def trials() -> bool:
    """Whether the engine "auto" prepares and tries further candidates while a program runs.

    Example:
        >>> trials()
        True
    """
    return _has_trials


def set_trials(value: bool) -> None:
    """Set whether the engine "auto" prepares and tries further candidates, from the next call on.

    Without trials, a graph stays where it is: on the engine that predictions and earlier measurements chose.

    Raises:
        TypeError: the value is no bool.
    """
    global _has_trials
    check_bool("set_trials", value)
    _has_trials = value


def note_memory() -> None:
    """Let later calls be resolved and traced anew, since engines take memory in another way."""
    _change("memory", object())


def note_profile(is_open: bool) -> None:
    """Let eager calls resolve to rules that a profile times, or to the same rules as before."""
    global of_calls, is_profiled
    is_profiled = is_open
    of_calls = (*version, "profiled") if is_open else version


def _set(setting: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        problem = f"it must be one of {', '.join(choices)}, not {value!r}. {did_you_mean(value, choices)}"
        raise op_error(ValueError, f"set_{setting}", problem.rstrip())
    _change(setting, value)


def _change(setting: str, value: object) -> None:
    global version
    _settings[setting] = value
    version = tuple(_settings.values())
    note_profile(is_profiled)
    note_change()
