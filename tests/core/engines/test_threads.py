"""The number of threads with which engines compute, one setting for all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import dovetail as dt
from tests.conftest import ENGINES

# The processor's time per elapsed time: with one thread, at most 1.
PRODUCTS = """
    import time
    import numpy as np
    import dovetail as dt
    {first}
    x = np.ones((1500, 1500), "float32")
    with dt.engine({engine!r}):
        product = dt.function(lambda x: dt.ops.matmul(x, x))
        product(x).numpy()
        start, used = time.perf_counter(), time.process_time()
        for _ in range(5):
            product(x).numpy()
        print((time.process_time() - used) / (time.perf_counter() - start))
"""
ONE = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


def share(engine, first="", **environment):
    program = textwrap.dedent(PRODUCTS.format(engine=engine, first=first))
    inherited = {name: value for name, value in os.environ.items() if name not in ONE}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name in ("numpy", "torch", "jax", "tensorflow")])
def test_one_thread(engine):
    assert share(engine, "dt.set_threads(1)") < 1.2


def test_one_thread_by_the_environment():
    assert share("numpy", DOVETAIL_THREADS="1") < 1.2


@pytest.mark.skipif("jax" not in ENGINES, reason="it is about an engine that makes its threads once")
def test_too_late():
    program = """
        import logging, sys
        logging.basicConfig(stream=sys.stdout)
        import dovetail as dt
        with dt.engine("jax"):
            dt.ops.ones(2)
        dt.set_threads(1)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert "jax keeps its number of threads" in done.stdout and "numpy keeps" not in done.stdout


@pytest.mark.parametrize("count", [1.5, "2", None, True])
def test_no_number(count):
    with pytest.raises(TypeError, match="whole number"):
        dt.set_threads(count)


def test_no_thread():
    with pytest.raises(ValueError, match="one thread or more"):
        dt.set_threads(0)


def test_wrong_environment():
    environment = os.environ | {"DOVETAIL_THREADS": "many"}
    program = [sys.executable, "-c", "import dovetail as dt; dt.ops.ones(2)"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert "1 or more, in the environment, not 'many'" in done.stderr
