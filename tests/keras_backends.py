"""Checks that need a backend of Keras: a process has one, so each backend has its own.

Tests of one backend stand together, since each process that runs tests makes those of a backend once.

A module of checks ends with `main(globals())`; run with a backend, it prints what each of its functions `check_…` said.
A module of other things `tell`s them, for tests that compare backends.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

BACKENDS = ("jax", "torch", "tensorflow")
ALL = (*BACKENDS, "dovetail")  # Keras' own, and Dovetail
_MARK = "told: "
_ON_DOVETAIL = [
    "-c",
    "import keras_dovetail, runpy, sys; del sys.argv[0]; runpy.run_module(sys.argv[0], None, '__main__', True)",
]


def main(names: dict[str, Any]) -> None:
    """Runs the checks of a module, and prints the tracebacks of those that fail."""
    checks = {name: value for name, value in names.items() if name.startswith("check_")}
    tell({name: _outcome(check) for name, check in checks.items()})


def tell(found: Any) -> None:
    """Prints what a module found, for `told` to read."""
    print(_MARK + json.dumps(found))


def _outcome(check: Callable[[], None]) -> str:
    gc.collect()
    gc.freeze()  # what libraries are takes half a second to look through, and Keras does so as often as it is told
    try:
        check()
    except (Exception, pytest.fail.Exception):
        return traceback.format_exc()
    return ""


@functools.cache  # also of one that died, so that it is not run again for each of its tests
def _done(module: str, backend: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, *(_ON_DOVETAIL if backend == "dovetail" else ["-m"]), module, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def told(module: str, backend: str, *arguments: str) -> Any:
    """What a module tells on a backend."""
    done = _done(module, backend, *arguments)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    assert lines, f"{module} on {backend} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return json.loads(lines[-1].removeprefix(_MARK))


def outcomes(module: str, backend: str, *arguments: str) -> dict[str, str]:
    """What the checks of a module say on a backend: for each its traceback, or nothing."""
    return told(module, backend, *arguments)
