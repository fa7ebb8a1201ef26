"""Views of the table: modules whose names are looked up when they are asked for."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dovetail.compat.tensorflow import private
from dovetail.compat.tensorflow.entries import VIEWS, Lazy
from dovetail.compat.tensorflow.nearest import advice

ROOT = "dovetail.compat.tensorflow"
OURS: dict[str, str] = {}  # module of TensorFlow → our module that it is, imported when a program asks for it


class View(ModuleType):
    """A module of TensorFlow, as `tf`, `tf.math` or `tf.compat.v1.nn`.

    Args:
        name: its name in import statements.
        view: "v1" or "v2", the version whose words its functions take first.
        prefixes: the beginnings of its names in the table, as "math.".
    """

    def __init__(self, name: str, view: str, prefixes: Sequence[str] = ("",)) -> None:
        super().__init__(name, f"TensorFlow's names of {name.removeprefix(ROOT)[1:]}, as Dovetail has them.")
        self.__path__: list[str] = []  # other modules may be inside this one
        self._view, self._prefixes = view, tuple(prefixes)

    def __getattr__(self, name: str) -> Any:
        return find(self._view, self._prefixes, name, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *members(self.__name__, self._prefixes)})


def find(view: str, prefixes: Sequence[str], name: str, module: ModuleType) -> Any:
    """The value of a name from one view, or else from the other; or the submodule of that name.

    Raises:
        AttributeError: the name is not offered. The message says why, and what to write.
    """
    if module.__name__.endswith(".gen_sparse_ops"):  # its functions take the parts of sparse tensors
        prefixes = ()
    for table in (VIEWS[view], *VIEWS.values()):
        for prefix in prefixes:
            if prefix + name in table:
                entry = table[prefix + name]
                return entry.make() if type(entry) is Lazy else entry
    if name == "__all__":
        return exported(module.__name__, prefixes)
    if module.__name__.rpartition(".")[2].startswith("gen_"):
        call = VIEWS["v1"]["raw_ops"].lower_case(name.removeprefix("_"))
        if call is not None:
            return call
    part = inside(module.__name__, name) or _beside(module.__name__, name)
    if part is not None:
        return part
    if name.startswith("_"):  # Python and tools ask for such names, of any module
        problem = f"the module {module.__name__!r} has no attribute {name!r}"
    else:
        within = module.__name__.removeprefix(ROOT)[1:].removeprefix("compat.v1.")
        full = (prefixes[0] if prefixes else f"{within}.") + name
        problem = f"tf.{full} is not offered. {advice(full, modules())}"
    # Without `obj`: Python would add a guess of its own to the message.
    raise AttributeError(problem, name=name, obj=None)


def inside(module: str, name: str) -> ModuleType | None:
    """The module inside another one; one of ours is imported."""
    full = f"{module}.{name}"
    return import_module(full) if full in OURS else sys.modules.get(full)


def _beside(module: str, name: str) -> ModuleType | None:
    """The private module next to another one, which may import it, so that programs find it inside."""
    package, _, _ = module.rpartition(".")
    return sys.modules.get(f"{package}.{name}") if ".python." in module else None


def members(module: str, prefixes: Sequence[str]) -> set[str]:
    """The names in a module, including its submodules."""
    pairs = [(prefix, name) for table in VIEWS.values() for name in table for prefix in prefixes]
    names = {name.removeprefix(prefix).partition(".")[0] for prefix, name in pairs if name.startswith(prefix)}
    submodules = {name for name, module in sys.modules.items() if isinstance(module, View)}
    inside = {name.removeprefix(f"{module}.") for name in submodules if name.startswith(f"{module}.")}
    return names | {name for name in inside if "." not in name}


def exported(module: str, prefixes: Sequence[str]) -> list[str]:
    """The names that `from module import *` gives: all except names that would import an optional library."""
    lazy = {name for view in VIEWS.values() for name, place in view.index.items() if place.kind == "later"}
    return sorted(
        name
        for name in members(module, prefixes)
        if not name.startswith("_") and not any(prefix + name in lazy for prefix in prefixes)
    )


def install() -> None:
    """Put the modules into `sys.modules`, where import statements find them by their dotted names."""
    roots = {f"{ROOT}.compat.{version}": version for version in VIEWS}
    for root, view in {ROOT: "v2", **roots}.items():
        for part in ["", *sorted(modules())]:
            name = f"{root}.{part}".rstrip(".")
            sys.modules.setdefault(name, View(name, view, [part and f"{part}."]))
    for root in (ROOT, f"{ROOT}.compat.v1"):
        OURS.update({f"{root}.{path}": ours for path, ours in private.OURS.items()})
        for path, prefixes in private.modules().items():
            sys.modules.setdefault(f"{root}.{path}", View(f"{root}.{path}", "v1", prefixes))
        for path in private.modules():  # in a package of TensorFlow's own, a module stands before a function
            package, _, name = f"{root}.{path}".rpartition(".")
            if path.startswith(("python.", "models.")):
                setattr(sys.modules[package], name, sys.modules[f"{root}.{path}"])
    for root in roots:  # tf.compat.v1.compat.v1 is tf.compat.v1
        sys.modules.update({f"{root}.compat.{version}": sys.modules[f"{ROOT}.compat.{version}"] for version in VIEWS})
    if not any(type(each) is _Finder for each in sys.meta_path):
        sys.meta_path.append(_Finder())


class _Finder:
    """The finder of modules of TensorFlow that are modules of ours, for import statements.

    Like `keras_view`'s, it has no base class: `importlib.abc` would be most of the time that these names take.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(fullname, loader) if fullname in OURS else None

    def create_module(self, _: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(OURS[module.__name__])


@functools.cache
def modules() -> frozenset[str]:
    """The public modules that have names: "math", "config", "config.experimental"."""
    names = set()
    for full in {*VIEWS["v1"], *VIEWS["v2"]}:
        parts = full.split(".")[:-1]
        if parts[:1] != ["python"]:
            names |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return frozenset(names)
