"""Libraries that may not be installed, and their functions that engines use though they are not public."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dovetail.core.base import optional_api
from dovetail.core.engines.engine_registry import get_engine
from tests.conftest import ENGINES

ROOT = Path(__file__).parents[3]


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


class Refusal:
    """A finder that refuses libraries, as tests of programs install it."""

    def __init__(self, *names, error=ImportError):
        self.names, self.error = names, error

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise self.error(f"{name} is refused")


@pytest.mark.parametrize("error", [ImportError, AssertionError, RuntimeError])
def test_a_library_that_a_finder_refuses_is_not_installed(monkeypatch, error):
    monkeypatch.setattr(sys, "meta_path", [Refusal("no_library", error=error), *sys.meta_path])
    assert optional_api.spec_of("no_library") is None and optional_api.spec_of("no_library.part") is None


def test_a_module_without_a_spec_is_no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "no_library", ModuleType("no_library"))
    assert optional_api.spec_of("no_library") is None


REFUSED = """
import sys
import dovetail as dt
from dovetail.core.engines.engine_registry import BUILT_IN
from tests.core.base.test_optional_api import Refusal

sys.meta_path.insert(0, Refusal(*[each.library for name, each in BUILT_IN.items() if name != "numpy"]))
graph = dt.SessionGraph()
with graph.as_default():
    x = graph.placeholder(dt.spec((2,)))
    y = dt.ops.exp(x)
with dt.engine("auto"):
    computed = dt.function(lambda x: x + 1)(dt.ops.ones(2)).numpy().tolist()
print(dt.list_engines(), dt.Session(graph).run(y, {x: [0.0, 0.0]}).tolist(), computed)
dt.set_engine("tensorflow")
"""


def test_sessions_and_auto_run_where_a_finder_refuses_the_other_libraries():
    """Check that an engine that is asked for by name says how to install it."""
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.strip() == "['numpy'] [1.0, 1.0] [2.0, 2.0]", done.stderr
    *_, message, _ = done.stderr.splitlines()  # the last one names the file of the whole traceback
    assert message.endswith("tensorflow, which is not installed: pip install tensorflow")


@pytest.mark.skipif("torch" not in ENGINES, reason="it is about torch")
def test_without_them_all_is_computed():
    command = [sys.executable, "-m", "tests.core.without_optional_api"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.strip() == "the same", done.stderr[-2000:]
