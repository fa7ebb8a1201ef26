"""The functions of libraries that engines use though they are not public."""

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.core import optional_api
from dovetail.core.engine_registry import get_engine
from tests.conftest import ENGINES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ENGINES)
def test_all_is_there_in_the_version_that_is_installed(name):
    """Check that the installed version has them all; without one, the op's slower body computes.

    A new version of a library may have removed or renamed one.
    """
    get_engine(name)
    assert sorted(found for found in optional_api.GONE if found.startswith(name)) == []
    assert name != "torch" or "torch._C._nn.gelu" in optional_api.FOUND


def test_what_is_not_there_is_none():
    assert optional_api.optional_api(pytest, "no.such") is None
    assert "pytest.no.such" in optional_api.GONE
    assert optional_api.optional_api(pytest, "mark") is pytest.mark


@pytest.mark.skipif("torch" not in ENGINES, reason="it is about torch")
def test_without_them_all_is_computed():
    command = [sys.executable, "-m", "tests.core.without_optional_api"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.strip() == "the same", done.stderr[-2000:]
