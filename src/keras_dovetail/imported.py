"""TensorFlow for modules of Keras that ask whether it is available: only if the program has imported it.

Keras asks on every backend, before it seeds TensorFlow and before it checks whether a value that it saves is
TensorFlow's.  Asking imports TensorFlow, which takes seconds.  A program that has not imported it has no value of it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Imported:
    """TensorFlow, which is available as soon as it is imported."""

    @property
    def available(self) -> bool:
        module = sys.modules.get("tensorflow")
        if module is None or module.__name__ != "tensorflow":  # Dovetail under that name
            return False
        return not getattr(module.__spec__, "_initializing", False)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("tensorflow"), name)


def wait_for_tensorflow(module: ModuleType) -> None:
    """Let a module of Keras ask whether TensorFlow is imported, not whether it can be.

    Args:
        module: one that has TensorFlow under the name `tf`.
    """
    module.tf = _Imported()  # type: ignore[attr-defined]
