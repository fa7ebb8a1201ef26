"""NumPy's global generator while engines are imported."""

# ruff: noqa: NPY002  # it is the subject

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np

from dovetail.core.base.global_random import without_draws
from tests.conftest import ENGINES


def test_other_threads_draw_on_while_one_imports():
    np.random.seed(3)
    expected = np.random.rand(6)
    np.random.seed(3)
    found = [np.random.rand()]
    with without_draws():
        np.random.rand(5)
        thread = threading.Thread(target=lambda: found.extend(np.random.rand(4)))
        thread.start()
        thread.join()
    np.testing.assert_array_equal([*found, np.random.rand()], expected)


def test_after_an_error_this_thread_draws_again():
    np.random.seed(3)
    try:
        with without_draws():
            raise ImportError
    except ImportError:
        found = np.random.rand()
    np.random.seed(3)
    assert found == np.random.rand()


PROGRAM = """
import sys
import numpy as np
from dovetail.core.engines.engine_registry import get_engine
np.random.seed(3)
for name in sys.argv[1:]:
    get_engine(name)
found = np.random.rand()
np.random.seed(3)
assert found == np.random.rand()
"""


def test_importing_engines_draws_no_numbers():
    done = subprocess.run([sys.executable, "-c", PROGRAM, *ENGINES], capture_output=True, text=True)
    assert not done.returncode, done.stderr
