"""Views of the table: modules whose names are looked up when they are asked for."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from dovetail.compat.tensorflow.table import ABSENT, VIEWS

ROOT = "dovetail.compat.tensorflow"


class View(ModuleType):
    """A module of TensorFlow, as `tf`, `tf.math` or `tf.compat.v1.nn`.

    Args:
        name: as it is imported.
        view: whose words its functions take first, "v1" or "v2".
        prefix: what its names begin with in the table, as "math.".
    """

    def __init__(self, name: str, view: str, prefix: str = "") -> None:
        super().__init__(name, f"TensorFlow's names {prefix or 'of the top level'}, as Dovetail has them.")
        self.__path__: list[str] = []  # others may be inside of it
        self._view, self._prefix = view, prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return find(self._view, self._prefix, name, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *members(self._view, self._prefix)})


def find(view: str, prefix: str, name: str, module: ModuleType) -> Any:
    """What a name stands for, in one view or, where it is not in that, in the other; parts of the table are modules.

    Raises:
        AttributeError: it is not offered; says why and what to write, or which name is like it.
    """
    full = prefix + name
    for table in (VIEWS[view], *VIEWS.values()):
        if full in table:
            return table[full]
    part = sys.modules.get(f"{module.__name__}.{name}")
    if part is None:
        raise AttributeError(f"tf.{full} is not offered. {advice(full)}", name=name, obj=module)
    return part


def members(view: str, prefix: str) -> set[str]:
    """The names of a module."""
    names = {name for table in VIEWS.values() for name in table if name.startswith(prefix)}
    return {name.removeprefix(prefix).partition(".")[0] for name in names}


def advice(full: str) -> str:
    """Why a name is not offered, and what to write."""
    parts = full.split(".")
    for count in range(len(parts), 0, -1):
        known = ".".join(parts[:count])
        for key in (known, f"{known}."):
            if key in ABSENT and (key.endswith(".") or count == len(parts)):
                return ABSENT[key]
    names = sorted({*VIEWS["v1"], *VIEWS["v2"]})
    same = [name for name in names if name.rpartition(".")[2] == parts[-1]]
    close = same or get_close_matches(full, names, 1) or get_close_matches(parts[-1], names, 1)
    hint = f"Did you mean tf.{close[0]}? " if close else ""
    return f"{hint}dovetail.ops and dovetail.backend (K) have more functions."


def install() -> None:
    """Makes the modules, which programs may also import by their dotted names."""
    for root, view in {ROOT: "v2", f"{ROOT}.compat.v1": "v1", f"{ROOT}.compat.v2": "v2"}.items():
        for part in ["", *sorted(modules())]:
            name = f"{root}.{part}".rstrip(".")
            sys.modules.setdefault(name, View(name, view, part and f"{part}."))
    sys.modules.setdefault(f"{ROOT}.compat", View(f"{ROOT}.compat", "v2"))


def modules() -> set[str]:
    """The modules that have names: "math", "config", "config.experimental"."""
    found = set()
    for full in {*VIEWS["v1"], *VIEWS["v2"]}:
        parts = full.split(".")[:-1]
        found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return found
