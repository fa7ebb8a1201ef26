"""Packages that a program finds by `sys.path`, and that are neither Python's nor installed, as those of PYTHONPATH."""

from __future__ import annotations

import functools
import os
import re
import sys
from itertools import islice
from pathlib import Path

OURS = {"dovetail", "keras_dovetail"}  # packages that are never the program's
INSTALLED = ("site-packages", "dist-packages")
TAKES_KERAS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:tensorflow|tf_keras|keras)\b", re.MULTILINE)
STANDARD = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")  # Python's own library
COMPILED = (".so", ".pyd")
MOST_FILES = 3000  # of a package that is looked through


def folders() -> tuple[str, ...]:
    """The folders of `sys.path` that are neither Python's nor of installed packages, with a separator at the end."""
    return _outside(tuple(sys.path))


@functools.lru_cache(4)
def _outside(places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        os.path.join(place, "") for place in dict.fromkeys(map(os.path.realpath, places)) if _is_outside(place)
    )


@functools.cache
def _is_outside(place: str) -> bool:
    parts = place.split(os.sep)
    if not os.path.isdir(place) or not {*INSTALLED}.isdisjoint(parts) or os.path.join(place, "").startswith(STANDARD):
        return False
    return not any(name.endswith(".dist-info") for name in os.listdir(place))


def folder_of(name: str) -> Path | None:
    """The folder outside with the package or module of a dotted name, if that imports TensorFlow or Keras."""
    root = name.partition(".")[0]
    if root in OURS:
        return None
    for folder in map(Path, folders()):
        for place in (folder / root, folder / f"{root}.py"):
            if place.exists():
                return folder if takes_keras(place) else None
    return None


@functools.cache
def takes_keras(package: Path) -> bool:
    """Whether a file of a package, or a module, imports TensorFlow or Keras, and nothing in it is compiled."""
    files = [package]
    if package.is_dir():
        files = [Path(folder, name) for folder, _, names in os.walk(package) for name in names]
    if any(file.suffix in COMPILED for file in files):
        return False
    sources = islice((file for file in files if file.suffix == ".py"), MOST_FILES)
    return any(TAKES_KERAS.search(file.read_bytes()) for file in sources)
