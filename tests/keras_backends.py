"""Checks that need a backend of Keras: a process has one, so each backend has its own.

Each process of tests starts one process a backend, which runs module after module, since importing a backend takes
seconds. A module of checks ends with `main(globals())`; run with a backend, it prints the result of each of its
functions `check_…`. Other modules print results by `tell`, for tests that compare backends.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.core.engine_registry import list_engines, set_engine
from dovetail.plan import ledger, policy
from tests.memory import Memory

CHOSEN = os.environ.get("DOVETAIL_TEST_ENGINES", "jax,torch,tensorflow").split(",")
BACKENDS = tuple(name for name in ("jax", "torch", "tensorflow") if name in CHOSEN)
_TESTED = CHOSEN if "DOVETAIL_TEST_ENGINES" in os.environ else list_engines()
ENGINES = tuple(e for e in ("numpy", "torch", "jax", "tensorflow") if e in _TESTED)  # Dovetail's, to check
ALL = (*BACKENDS, "dovetail")  # Keras' own backends, and Dovetail
_TOLD, _ENDED = "told: ", "ended: "


def main(names: dict[str, Any]) -> None:
    """Run the checks of a module, and print the tracebacks of failures."""
    checks = {name: value for name, value in names.items() if name.startswith("check_")}
    tell({name: _outcome(check) for name, check in checks.items()})


def tell(found: Any) -> None:
    """Print a module's results, for `told` to read."""
    print("\n" + _TOLD + json.dumps(found), flush=True)


def _outcome(check: Callable[[], None]) -> str:
    Memory.freeze()  # else each collection by Keras looks through the libraries' objects for half a second
    Memory.bound()
    try:
        check()
    except (Exception, pytest.fail.Exception):
        return traceback.format_exc()
    return ""


class _Backend:
    """A process with a backend of Keras that runs modules as programs, one after the other."""

    def __init__(self, backend: str) -> None:
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.name, self.errors = backend, tempfile.TemporaryFile("w+")  # noqa: SIM115  which is open as long
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import {__name__}; {__name__}.serve()"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def run(self, module: str, *arguments: str) -> str:
        """The text that a module prints by `tell`."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps([module, *arguments]), file=self.process.stdin, flush=True)
        found = ""
        for line in self.process.stdout:
            if line.startswith(_TOLD):
                found = line.removeprefix(_TOLD)
            elif line.startswith(_ENDED):
                problem = json.loads(line.removeprefix(_ENDED)) or (not found and "it tells nothing")
                assert not problem, f"{module} on {self.name}: {problem}"
                return found
        self.errors.seek(0)
        ended = f"{module} on {self.name} ended its process with {self.process.wait()}"
        end_processes()  # later modules get another process
        raise AssertionError(f"{ended}:\n{self.errors.read()[-4000:]}")


_process = functools.cache(_Backend)


def end_processes() -> None:
    """End the processes that wait for modules; the results of finished modules stay."""
    _process.cache_clear()  # this also closes their pipes


def serve() -> None:
    """Run the modules that lines of JSON name, with their arguments, until there are no more."""
    if os.environ["KERAS_BACKEND"] == "dovetail":
        import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

        set_engine("numpy")  # `auto` may choose another one at any step, which rounds in another way
    ledger.SHARE = 0.0  # only special checks measure engines; on a slow machine, any check would
    policy.GUESS_SECONDS = 0.0  # and small programs stay on numpy
    for line in sys.stdin:
        assert not changes_keras(), f"{sys.argv[0]} left the names of Keras 2 in Keras; it needs a process `alone`"
        sys.argv, problem = json.loads(line), ""
        try:
            runpy.run_module(sys.argv[0], None, "__main__", alter_sys=True)
        except BaseException:
            problem = traceback.format_exc()
        Memory.freeze()
        Memory.bound()
        print("\n" + _ENDED + json.dumps(problem), flush=True)


def changes_keras() -> bool:
    """Whether this process gave Keras 3 the names of Keras 2, which later modules would meet."""
    keras2 = sys.modules.get("dovetail.compat.keras2")
    return keras2 is not None and keras2.is_installed()


@functools.cache
def _written(module: str, backend: str, *arguments: str, alone: bool) -> tuple[str, str]:
    """A module's printed results, or the problem. Both are kept, so that each module runs once for all its tests."""
    try:
        return (_Backend if alone else _process)(backend).run(module, *arguments), ""
    except AssertionError as problem:
        return "", str(problem)


def told(module: str, backend: str, *arguments: str, alone: bool = False) -> Any:
    """A module's results on a backend; `alone` in a process, if it changes Keras."""
    written, problem = _written(module, backend, *arguments, alone=alone)
    assert not problem, problem
    return json.loads(written)


def outcomes(module: str, backend: str, *arguments: str, alone: bool = False) -> dict[str, str]:
    """The results of a module's checks on a backend: for each its traceback, or ""."""
    return told(module, backend, *arguments, alone=alone)
