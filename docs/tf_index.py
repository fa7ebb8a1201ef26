"""The index of TensorFlow's names, src/dovetail/compat/tensorflow/names/index.txt: which module declares a name.

- `python docs/tf_index.py` writes it: run it when a name comes, goes, or moves to another module.
- `python docs/tf_index.py --check` says whether it is stale; status 1 if so.

A line has a name, its views, the kind of its value, and the module.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from dovetail.compat import tensorflow as tensorflow  # puts the views into sys.modules
from dovetail.compat.tensorflow import names
from dovetail.compat.tensorflow.entries import INDEX, NAMES, VIEWS, Lazy
from dovetail.compat.tensorflow.nearest import kind_of

FILE = Path(__file__).parent.parent / "src/dovetail/compat/tensorflow" / INDEX


class Declarations(dict[str, Any]):
    """The entries of a view, which note the module whose import adds them."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        frame: Any = sys._getframe()
        while frame.f_code.co_name != "<module>":
            frame = frame.f_back
        self.modules[name] = frame.f_globals["__name__"].removeprefix(f"{NAMES}.")
        super().__setitem__(name, value)


def index() -> str:
    """The text of the index, from imports of all modules of names: in a process that has imported none of them."""
    made = {view: Declarations() for view in VIEWS}
    for view, entries in VIEWS.items():
        if entries.declared:
            raise RuntimeError("modules of names are imported already: make the index in a process of its own.")
        entries.index, entries.declared = {}, made[view]
    for module in pkgutil.walk_packages(names.__path__, f"{NAMES}."):
        importlib.import_module(module.name)
    found: dict[tuple[str, str, str], list[str]] = {}
    for view, entries in made.items():
        for name, module in entries.modules.items():
            value = VIEWS[view][name]
            kind = "later" if type(value) is Lazy else kind_of(value)
            found.setdefault((name, kind, module), []).append(view)
    return "".join(
        f"{name} {'+'.join(views)} {kind} {module}\n" for (name, kind, module), views in sorted(found.items())
    )


def main(arguments: list[str]) -> int:
    text = index()
    if arguments == ["--check"]:
        stale = not FILE.is_file() or FILE.read_text() != text
        print(f"{FILE.name} is stale: run python docs/tf_index.py" if stale else "", end="\n" * stale)
        return int(stale)
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
