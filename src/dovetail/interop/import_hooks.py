"""Modules of Dovetail that are imported right after another library, so that `import dovetail` imports neither.

A saved model names Dovetail's Keras operations, and Keras finds only registered ones.  TensorFlow rewrites the code of
all functions that a `tf.function` calls, except excluded ones, and accepts tensors of registered types only.  So the
hooks register Dovetail with both libraries, in whatever order the user imports them.  Torch's compilers take a function
as it is only if it is registered; torch imports them when a program first uses one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

COMPANIONS = {  # library → module
    "keras": "dovetail.interop.keras.stock",
    "tensorflow": "dovetail.interop.tensorflow",
    "torch._dynamo": "dovetail.interop.torch_compilers",
}
WANTED: dict[str, Callable[[Any], bool]] = {  # older versions, and Keras on Dovetail itself, get no companion
    "keras": lambda keras: hasattr(keras, "Operation") and keras.config.backend() != "dovetail",
    "tensorflow": lambda tensorflow: hasattr(tensorflow, "function"),
    "torch._dynamo": lambda dynamo: hasattr(dynamo, "allow_in_graph"),
}


class _Finder:
    """A finder that asks the finders behind it, and imports a library's companion after the library."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in COMPANIONS:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in behind)), None)
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
    """Register Dovetail with libraries that are already there, and with others when they are imported."""
    sys.meta_path.insert(0, _Finder())
    for name in COMPANIONS:
        if name in sys.modules:
            _follow(name)
