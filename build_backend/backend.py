"""Builds wheels by setuptools, and adds the file by which `KERAS_BACKEND=dovetail` alone makes Keras run on Dovetail.

When Python starts it runs the lines of `.pth` files beside installed packages.  This one looks at the variable, also
when Keras is imported, since programs set it in their first lines.  setuptools puts no such file into wheels, so it is
added to those that it has built, editable ones too.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # the other hooks are setuptools' own

NAME = "keras_dovetail.pth"
IS_ASKED = '__import__("os").environ.get("KERAS_BACKEND") == "dovetail"'
FIND = '__import__("keras_dovetail").finder.installed().find_spec(name, *rest)'
LINE = (
    f'import sys; __import__("keras_dovetail") if {IS_ASKED} else sys.meta_path.insert(0, type("KerasOnDovetail", (), '
    f'{{"find_spec": staticmethod(lambda name, *rest: {FIND} if name == "keras" and {IS_ASKED} else None)}}))\n'
)


def build_wheel(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """Builds a wheel; see PEP 517."""
    return with_startup(directory, build_meta.build_wheel(directory, settings, metadata))


def build_editable(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """Builds a wheel that leads to the sources; see PEP 660."""
    return with_startup(directory, build_meta.build_editable(directory, settings, metadata))


def with_startup(directory: str, wheel: str) -> str:
    """Adds the file to a wheel, and to the list of its files; returns the wheel's name."""
    path = Path(directory, wheel)
    built = path.rename(path.with_suffix(".built"))
    digest = base64.urlsafe_b64encode(hashlib.sha256(LINE.encode()).digest()).rstrip(b"=").decode()
    with ZipFile(built) as old, ZipFile(path, "w", ZIP_DEFLATED) as new:
        new.writestr(NAME, LINE)
        for item in old.infolist():
            content = old.read(item)
            if item.filename.endswith(".dist-info/RECORD"):
                content += f"{NAME},sha256={digest},{len(LINE)}\n".encode()
            new.writestr(item, content)
    built.unlink()
    return wheel
