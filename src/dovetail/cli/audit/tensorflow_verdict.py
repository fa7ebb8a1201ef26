"""The verdict on each TensorFlow name that a program uses: whether it works, per engine."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from dovetail.cli.audit.k_verdict import FAILS, WORKS, Verdict
from dovetail.compat import tensorflow as tf
from dovetail.compat.source.uses import Use


@functools.cache
def support() -> dict[str, Any]:
    """The counts that docs/tf_names.py wrote when the cases ran."""
    return json.loads(files("dovetail.compat.tensorflow").joinpath("support.json").read_text())


def tested_engines() -> list[str]:
    """The engines that the cases ran on."""
    return support()["engines"]


def judge(uses: Iterable[Use], engines: Sequence[str]) -> dict[str, Verdict]:
    """The verdict on each name.

    Args:
        uses: the uses of all names.
        engines: the engines to judge for.
    """
    return {name: _judge(name, engines) for name in sorted({use.name for use in uses})}


def _judge(name: str, engines: Sequence[str]) -> Verdict:
    place: Any = tf.compat.v1
    for part in name.split("."):
        if not hasattr(type(place), "__path__") and not _is_module(place):
            break  # a method or an attribute of a name that is there, such as tf.Variable.assign
        try:
            place = getattr(place, part)
        except AttributeError as error:
            return Verdict(dict.fromkeys(engines, FAILS), (_reason(error),))
    runs = support()["names"].get(name, {})
    states = {engine: FAILS if runs.get(engine, [0, 0])[1] else WORKS for engine in engines}
    return Verdict(states)


def _is_module(place: Any) -> bool:
    return hasattr(place, "__path__") or hasattr(place, "__spec__")


def _reason(error: AttributeError) -> str:
    return str(error).partition("is not offered. ")[2] or str(error)
