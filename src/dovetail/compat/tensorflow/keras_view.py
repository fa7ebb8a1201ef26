"""Views of Keras: `tf.keras`, `tensorflow.python.keras` and TensorFlow 2's `tf.losses` find their names in Keras.

It is Keras on Dovetail, imported when a program asks for a name; `keras.backend` is K.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dovetail.compat.autograph.status import convert_layers
from dovetail.compat.tensorflow.entries import VIEWS
from dovetail.compat.tensorflow.view import OURS, ROOT, View, inside
from dovetail.core.base.hooks import hooks

SAME = "losses", "metrics", "optimizers", "initializers"  # modules of TensorFlow 2 that are modules of Keras
VERSIONS = "keras", "keras._tf_keras.keras"  # Keras' own names, then its names for TensorFlow alone
HOMES = "", "layers", "models", "utils"  # where names of private modules are


class KerasView(View):
    """A module of Keras under TensorFlow's name.

    Args:
        name, view, prefixes: as in `View`; a name of this view of the table stands before Keras', and one of another
            view after it.
        path: the module, as "layers"; "" is Keras itself.
        private: whether it belongs to `tensorflow.python`, whose modules may be others than Keras 3 has.
    """

    def __init__(self, name: str, view: str, prefixes: Sequence[str], path: str, private: bool = False) -> None:
        super().__init__(name, view, prefixes)
        self._path, self._private = path, private

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        if (part := inside(self.__name__, name)) is not None:
            return part
        is_pythons = name.startswith("__") and name != "__version__"
        if not is_pythons and not any(prefix + name in VIEWS[self._view] for prefix in self._prefixes):
            for module in self.sources():
                if hasattr(module, name):
                    member = getattr(module, name)
                    is_inside = isinstance(member, ModuleType) and self.inside(name).sources()  # np and K are not
                    return import_module(f"{self.__name__}.{name}") if is_inside else member
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for module in self.sources() for name in dir(module))})

    def sources(self) -> list[ModuleType]:
        """The modules that have the names; the first that has a name gives it."""
        modules = [*_modules(self._path)]
        if self._private and not modules and self._path.islower():  # classes are no modules
            above = self._path.rpartition(".")[0]
            modules = [module for home in dict.fromkeys((above, *HOMES)) for module in _modules(home)]
        return modules

    def inside(self, name: str) -> KerasView:
        """A module of this one, which may have no names."""
        return KerasView(f"{self.__name__}.{name}", self._view, [], f"{self._path}.{name}".strip("."), self._private)


def _modules(path: str) -> Iterator[ModuleType]:
    """The modules of Keras on Dovetail that have a dotted path.

    Raises:
        ImportError: Keras was imported on another backend.
    """
    hooks.run_keras()
    convert_layers()
    for version in VERSIONS:
        full = f"{version}.{path}".rstrip(".")
        try:
            yield import_module(full)
        except ModuleNotFoundError as error:
            if not f"{full}.".startswith(f"{error.name}."):
                raise


class _Finder:
    """The finder of modules inside views of Keras, for import statements."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        above, _, name = fullname.rpartition(".")
        parent = sys.modules.get(above) if fullname.startswith(ROOT) else None
        is_there = isinstance(parent, KerasView) and parent.inside(name).sources()
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True) if is_there else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        above, _, name = spec.name.rpartition(".")
        parent: Any = sys.modules[above]
        return parent.inside(name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Put the views into `sys.modules`."""
    for root, view in {ROOT: "v2", f"{ROOT}.compat.v1": "v1", f"{ROOT}.compat.v2": "v2"}.items():
        for path in ("keras", "python.keras", "contrib.keras"):
            name = f"{root}.{path}"
            sys.modules.setdefault(name, KerasView(name, view, [], "", private=path == "python.keras"))
            OURS[f"{name}.backend"] = "dovetail.backend"
        if view == "v2":
            sys.modules.update(
                {f"{root}.{name}": KerasView(f"{root}.{name}", view, [f"{name}."], name) for name in SAME}
            )
    if not any(type(each) is _Finder for each in sys.meta_path):
        sys.meta_path.append(_Finder())
