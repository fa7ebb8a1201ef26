"""Other libraries in tests, imported when a test first uses them: collecting the tests imports none of them."""

from __future__ import annotations

import ast
import functools
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

QUICKLY = (  # XLA's flags without optimizations, for small programs
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
OTHERS = ("jax", "keras", "onnxruntime", "tensorflow", "tf_keras", "torch")


class Library:
    """A library that is imported at its first use; a test that uses it is skipped if it is not installed.

    Args:
        name: the name to import, "jax.numpy".
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks for these in each name of a module
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)


def require(name: str, reason: str) -> None:
    """Skip the calling module if a library is not installed; finding out does not import the library."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed: {reason}", allow_module_level=True)


def compile_quickly() -> None:
    """Turn off XLA's optimizations in this process and its children, which takes a third off the time."""
    os.environ.setdefault("XLA_FLAGS", QUICKLY)


def checks_of(module: str, prefix: str = "check_") -> list[str]:
    """The functions `check_…` at the top of a module of checks, in order; the module is not imported."""
    tree = ast.parse(Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text())
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith(prefix)]


@functools.cache
def version_of_keras() -> str:
    """The version of the Keras that is installed, or that comes first; it is not imported."""
    spec = find_spec("keras")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "src" / "version.py").read_text()
    return re.findall(r'^__version__ = "(.+)"', text, re.MULTILINE)[0]
