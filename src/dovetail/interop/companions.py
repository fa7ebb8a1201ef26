"""Modules of Dovetail's that come along when another library is imported, so that `import dovetail` imports neither.

A saved model names Dovetail's Keras operations, and Keras finds only what is registered with it; and TensorFlow
rewrites the code of whatever a `tf.function` calls, but for what it was told of, and takes tensors of the types that it
was told of.  So both are told as soon as they and Dovetail are there, in whatever order they came.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

COMPANIONS = {"keras": "dovetail.interop.keras.stock", "tensorflow": "dovetail.interop.tensorflow"}  # library → module
WANTED: dict[str, Callable[[Any], bool]] = {  # of older versions, and of Keras on Dovetail itself, nothing is said
    "keras": lambda keras: hasattr(keras, "Operation") and keras.config.backend() != "dovetail",
    "tensorflow": lambda tensorflow: hasattr(tensorflow, "function"),
}


class _Finder(MetaPathFinder):
    """Finds what the other finders find; the modules it is for are followed by their companions."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in COMPANIONS:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _follow(name)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _follow(name: str) -> None:
    if WANTED[name](sys.modules[name]):
        import_module(COMPANIONS[name])


def install() -> None:
    """Makes companions follow the libraries that are imported from now on, and those that were already."""
    sys.meta_path.insert(0, _Finder())
    for name in COMPANIONS:
        if name in sys.modules:
            _follow(name)
