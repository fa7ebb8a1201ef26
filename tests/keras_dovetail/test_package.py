"""The layers of `keras_dovetail`: it imports Dovetail and common parts of Keras' backends, for all engines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src"
OF_BACKENDS = tuple(f"keras.src.backend.{name}" for name in ("jax", "torch", "tensorflow", "numpy", "openvino"))
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_dovetail_does_not_import_it():
    above = [name for name, path in FILES.items() if name.startswith("dovetail/")]
    assert len(above) > 200
    assert [name for name in above if any(each.startswith("keras_dovetail") for each in imported(FILES[name]))] == []


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("keras_dovetail/")])
def test_it_knows_no_other_backend_and_no_engine(name):
    path = FILES[name]
    assert [each for each in imported(path) if each.startswith(OF_BACKENDS)] == []
    tests = [ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare)]
    engines = ("'numpy'", "'torch'", "'tensorflow'", "'jax'")
    assert [test for test in tests if "engine" in test and test.endswith(engines)] == []
