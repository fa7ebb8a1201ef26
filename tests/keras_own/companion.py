"""The `conftest.py` beside the copies of Keras' tests: the names they import from it, and reports for the runner.

Each test runs on one engine after another: collecting Keras' tests takes longer than running a sample of them.

It writes at once a line of JSON for each test that starts, and for each report of it. So the results of a process
survive its end. Tests whose results the file has already are not run again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

BACKEND = os.environ.get("KERAS_BACKEND", "")
FOLDER = "keras/src"  # the copies are modules of Keras there, in which it finds classes by name
TOLD = "KERAS_OWN_TOLD"  # the environment variables that the runner sets
SAMPLES = "KERAS_OWN_SAMPLES"  # {engine: n}, which runs one test in n
SECONDS = "KERAS_OWN_SECONDS"
ENGINES = pytest.StashKey[list[str]]()


def skip_if_backend(given_backend: str, reason: str) -> Any:
    """Skip a test on a backend; Keras' tests import this function."""
    return pytest.mark.skipif(given_backend == BACKEND, reason=reason)


def pytest_configure(config: pytest.Config) -> None:
    if BACKEND == "dovetail":
        import keras_dovetail  # noqa: F401  # before Keras
    import keras  # noqa: F401  # before pytest imports a file, and takes the folders above it for Keras

    config.addinivalue_line("markers", "requires_trainable_backend: not for backends without gradients")
    config.addinivalue_line("markers", "multi_device: needs several devices")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests that are in the sample of an engine, and were not run."""
    done = {(line["engine"], line["test"]) for line in told(Path(os.environ[TOLD]))}
    samples = json.loads(os.environ[SAMPLES])

    def is_run(engine: str, test: str) -> bool:
        return zlib.crc32(test.encode()) % samples[engine] == 0 and (engine, test) not in done

    for item in items:
        item.stash[ENGINES] = [engine for engine in samples if is_run(engine, name(item.nodeid))]
    items[:] = [item for item in items if item.stash[ENGINES]]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test on each of its engines."""
    for engine in item.stash[ENGINES]:
        with _on(engine):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runtestprotocol(item, nextitem=nextitem)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@contextmanager
def _on(engine: str) -> Iterator[None]:
    """Report for an engine, which is current if Dovetail is the backend."""
    global _engine
    _engine = engine
    if BACKEND != "dovetail":
        yield
        return
    import dovetail as dt

    with dt.engine(engine):
        yield


_engine = ""  # the engine that runs a test; "" while tests are collected


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        for engine in json.loads(os.environ[SAMPLES]):
            _tell(report.nodeid, engine, outcome="failed", said=_last_line(report), seconds=0.0)


def pytest_runtest_logstart(nodeid: str) -> None:
    _tell(nodeid, _engine, outcome="died", said="the process ended while it ran", seconds=0.0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _tell(report.nodeid, _engine, outcome=report.outcome, said=_last_line(report), seconds=report.duration)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _limited(int(os.environ[SECONDS])):
        return (yield)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Interrupt a test after a time limit; the handler runs in the main thread, as the tests do."""

    def interrupt(number: int, frame: Any) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _last_line(report: pytest.CollectReport | pytest.TestReport) -> str:
    """The last line of an error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr or "")).strip().splitlines() or [""]
    return (lines[0] if crash else lines[-1])[:300]


def name(nodeid: str) -> str:
    """A test's name, "layers/core/dense_test.py::DenseTest::test_dense_basics", the same in each process."""
    return re.sub("0x[0-9a-f]+", "0x", nodeid.removeprefix(FOLDER + "/"))  # functions are at different addresses


def _tell(nodeid: str, engine: str, **said: Any) -> None:
    with open(os.environ[TOLD], "a") as file:
        file.write(json.dumps({"engine": engine, "test": name(nodeid)} | said) + "\n")


def told(path: Path) -> list[dict[str, Any]]:
    """The reports of tests so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
