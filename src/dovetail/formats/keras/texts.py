"""Texts of configurations in files of Keras, whose numbers are counted before Keras makes lists of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail.core.base.read_limits import fold
from dovetail.formats.strict_json import parse, room_of

LISTS = ("num_thresholds", "num_oov_indices", "num_classes")  # arguments of which a constructor makes a list of numbers
NUMBER = 40  # bytes of a number in a list


def config_of(text: str | bytes, file: Path, place: str) -> Any:
    """The configuration that a text of JSON is.

    Raises:
        FormatError: it is not JSON.
        PastLimit: constructors would make large lists of its numbers.

    Example:
        >>> config_of('{"class_name": "AUC", "config": {"num_thresholds": 200}}', Path("x"), "metrics")["config"]
        {'num_thresholds': 200}
    """
    config = parse(text, file, place, room_of(len(text)), infinite=True)
    parts = [config]
    for part in parts:
        inner = part.values() if isinstance(part, dict) else part
        parts += [each for each in inner if isinstance(each, (dict, list))]
        for name in LISTS if isinstance(part, dict) else ():
            if isinstance(size := part.get(name), int):
                fold(NUMBER * max(size, 0), name)
    return config
