"""Programs that need a backend of Keras: a process has one, so each backend has its own.

Each process of tests starts one process a backend, since importing a backend takes seconds. A module of programs ends
with `main(globals())`, which offers its functions; `result` runs one of them on a backend, and `check` one
that returns nothing. Other modules print results by `tell`, for tests that compare backends.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dovetail.choose import ledger, policy
from dovetail.core.engines.engine_registry import list_engines, set_engine
from dovetail.interop import privates
from tests.libraries import version_of_keras
from tests.memory import Memory

CHOSEN = os.environ.get("DOVETAIL_TEST_ENGINES", "jax,torch,tensorflow").split(",")
BACKENDS = tuple(name for name in ("jax", "torch", "tensorflow") if name in CHOSEN)
_TESTED = CHOSEN if "DOVETAIL_TEST_ENGINES" in os.environ else list_engines()
ENGINES = tuple(e for e in ("numpy", "torch", "jax", "tensorflow") if e in _TESTED)  # Dovetail's, to check
ALL = (*BACKENDS, "dovetail")  # Keras' own backends, and Dovetail
_TOLD, _ENDED = "told: ", "ended: "


def main(names: Mapping[str, Any]) -> None:
    """Offer the functions of a module to `result`; in a process that serves no test, run the checks among them."""
    programs = {name: value for name, value in names.items() if callable(value)}
    if _offers is None:
        tell({name: _outcome(program)[1] for name, program in programs.items() if name.startswith("check_")})
    else:
        _offers.append(programs)


def tell(found: Any) -> None:
    """Print a module's results, for `told` to read."""
    print("\n" + _TOLD + json.dumps(found), flush=True)


def _outcome(program: Callable[[], Any]) -> tuple[Any, str]:
    """The numbers and texts that a program returns, and its traceback, or ""."""
    Memory.freeze()  # else each collection by Keras looks through the libraries' objects for half a second
    Memory.bound()
    try:
        return _plain(program()), ""
    except (Exception, pytest.fail.Exception):
        return None, traceback.format_exc()


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
    return value if value is None or isinstance(value, str) else np.asarray(value, "float64").tolist()


class _Backend:
    """A process with a backend of Keras that runs modules as programs, and their checks, one after the other.

    Args:
        backend: its name.
        alone: whether it runs one module, which may change Keras.
    """

    def __init__(self, backend: str, alone: bool) -> None:
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.name, self.errors = backend, tempfile.TemporaryFile("w+")  # noqa: SIM115  which is open as long
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import {__name__}; {__name__}.serve({alone})"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def end(self) -> None:
        """End the process. Python keeps the pipes of one that it does not wait for, so it would stay for ever."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def run(self, module: str, *arguments: str, program: str = "", engine: str = "") -> str:
        """The text that a module prints by `tell`, or the outcome of one of its programs, on an engine."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps([program, engine, module, *arguments]), file=self.process.stdin, flush=True)
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


_processes: dict[str, tuple[str, _Backend]] = {}  # backend, or "alone" → what it is for, and the process


def _process(backend: str, module: str, alone: bool) -> _Backend:
    """The process of a backend; or, of those that run one module alone, the latest."""
    key, purpose = ("alone", f"{module} on {backend}") if alone else (backend, backend)
    if key not in _processes or _processes[key][0] != purpose:
        if key in _processes:
            _processes.pop(key)[1].end()
        _processes[key] = purpose, _Backend(backend, alone)
    return _processes[key][1]


def end_processes() -> None:
    """End the processes that wait for modules; the results of finished modules stay."""
    while _processes:
        _processes.popitem()[1][1].end()


_offers: list[dict[str, Callable[[], Any]]] | None = None  # the programs of the module that runs, if a test is served


def serve(alone: bool) -> None:
    """Run the modules and programs that lines of JSON name, with the modules' arguments, until there are no more."""
    global _offers
    is_dovetail = os.environ["KERAS_BACKEND"] == "dovetail"
    if is_dovetail:
        import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail
    ledger.SHARE = ledger.MOST = 0.0  # only special checks measure engines; on a slow machine, any check would
    policy.GUESS_SECONDS = 0.0  # and small programs stay on numpy
    _offers = []
    offered: dict[tuple[str, ...], dict[str, Callable[[], Any]]] = {}  # of a module with its arguments
    for line in sys.stdin:
        assert alone or not changes_keras(), f"{sys.argv[0]} gave Keras 2's names to Keras; it needs a process `alone`"
        (program, engine, *sys.argv), problem = json.loads(line), ""
        if is_dovetail:
            set_engine(engine or "numpy")  # `auto` may choose another one at any step, which rounds in another way
        key = tuple(sys.argv)
        try:
            if not program or key not in offered:
                runpy.run_module(key[0], None, "__main__", alter_sys=True)
            if program:
                sys.argv = list(key)
                offered.setdefault(key, _offers[-1] if _offers else {})
                _offers.clear()
                tell(_outcome(offered[key][program]) if program in offered[key] else None)
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
        return _process(backend, module, alone).run(module, *arguments), ""
    except AssertionError as problem:
        return "", str(problem)


def told(module: str, backend: str, *arguments: str, alone: bool = False) -> Any:
    """A module's results on a backend; `alone` in a process, if it changes Keras."""
    written, problem = _written(module, backend, *arguments, alone=alone)
    assert not problem, problem
    return json.loads(written)


@functools.cache
def _outcome_of(module: str, name: str, backend: str, *arguments: str, engine: str, alone: bool) -> Any:
    return json.loads(_process(backend, module, alone).run(module, *arguments, program=name, engine=engine))


def result(module: str, name: str, backend: str, *arguments: str, engine: str = "", alone: bool = False) -> Any:
    """Run a program of a module on a backend, and on an engine of Dovetail; return its lists of numbers and texts.

    It runs once for all tests that ask. A module that changes Keras needs a process `alone`. If the module does not
    offer the program on this backend, the test is skipped; if the program fails, the test does.
    """
    outcome = _outcome_of(module, name, backend, *arguments, engine=engine, alone=alone)
    if outcome is None:
        pytest.skip(f"{module} does not offer it on {backend}")
    found, problem = outcome
    assert not problem, problem
    return found


def check(module: str, name: str, backend: str, *arguments: str, alone: bool = False) -> None:
    """Run a program that returns nothing, as `result` does."""
    if backend == "dovetail" and version_of_keras() < privates.TESTED[0]:
        pytest.skip(f"Dovetail is a backend of Keras {privates.TESTED[0]} and newer")
    assert result(module, name, backend, *arguments, alone=alone) is None
