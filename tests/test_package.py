"""The package `dovetail`: what its attributes are, and what is imported with it."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail as dt

OF_LIBRARIES = tuple(
    f"dovetail.{name}" for name in ("engines.torch", "engines.jax", "engines.tensorflow", "interop.keras")
)
SOURCE = Path(dt.__file__).parent
PACKAGES = [
    name
    for path in sorted(SOURCE.rglob("*/__init__.py"))
    if not (name := ".".join(path.parent.relative_to(SOURCE.parent).parts)).startswith(OF_LIBRARIES)
]


def test_a_package_is_not_hidden_by_a_name():
    assert {"dovetail.engines", "dovetail.ops", "dovetail.backend"} <= set(PACKAGES)
    for name in PACKAGES:
        module = importlib.import_module(name)
        parent, _, last = name.rpartition(".")
        assert getattr(sys.modules[parent], last) is module, name


def test_the_backend_is_imported_when_it_is_used():
    program = "import sys, dovetail as dt; assert 'dovetail.backend' not in sys.modules; assert dt.backend.floatx()"
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dt.nonsense
