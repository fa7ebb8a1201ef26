"""Warnings of settings and arguments of TensorFlow that do nothing here: each comes once a process."""

from __future__ import annotations

from dovetail.core.base.errors import warn

_warned: set[str] = set()


class UnusedSettingWarning(UserWarning):
    """A warning that a setting of a program does nothing here, or holds for more than the program said."""


def warn_once(title: str, why: str) -> None:
    """Warn that a setting or an argument does nothing here, unless that was said before.

    Args:
        title: its name, with the function or class that takes it.
        why: the reason, and a replacement if there is one.
    """
    if title not in _warned:
        _warned.add(title)
        warn(UnusedSettingWarning, title, why)
