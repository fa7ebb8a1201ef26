"""TensorFlow's names for files of this machine."""

from __future__ import annotations

import glob
import os
import shutil
from typing import Any

from dovetail.compat.tensorflow.entries import value


def GFile(name: str, mode: str = "r") -> Any:
    """A file of this machine; `size()` gives its bytes.

    Source: `tf.io.gfile.GFile`.
    """
    file: Any = open(name, mode)  # noqa: SIM115  the program closes it
    file.size = lambda: os.path.getsize(name)
    return file


def found_files(pattern: Any) -> list[str]:
    """The files that fit a pattern, or several."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return [path for one in patterns for path in sorted(glob.glob(one))]


def _remove(path: str) -> None:
    """Delete a file."""
    os.remove(path)


for _new, _old, _function in (
    ("GFile", "GFile Open FastGFile", GFile),
    ("exists", "Exists", os.path.exists),
    ("isdir", "IsDirectory", os.path.isdir),
    ("listdir", "ListDirectory", os.listdir),
    ("makedirs", "MakeDirs", lambda path: os.makedirs(path, exist_ok=True)),
    ("mkdir", "MkDir", os.mkdir),
    ("glob", "Glob", found_files),
    ("remove", "Remove", _remove),
    ("rmtree", "DeleteRecursively", shutil.rmtree),
    ("rename", "Rename", os.replace),
    ("copy", "Copy", shutil.copyfile),
):
    value(f"io.gfile.{_new}", _function)
    value(" ".join(f"gfile.{name}" for name in _old.split()), _function, "v1")
