"""Stands as `conftest.py` beside the copies of Keras' tests: what they import of it, and what the runner is told.

It writes a line of JSON for each test that starts and each report of it, as they come: so what a process did is known
also when it died.  Tests of which the file tells already are not run again.
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

BACKEND = os.environ.get("KERAS_BACKEND", "")
FOLDER = "keras/src"  # of the copies, which are modules of Keras so: by their names it finds the classes in them
TOLD = "KERAS_OWN_TOLD"  # the variables of the environment by which the runner speaks
SAMPLE = "KERAS_OWN_SAMPLE"
SECONDS = "KERAS_OWN_SECONDS"


def skip_if_backend(given_backend: str, reason: str) -> Any:
    """Keras' tests import it."""
    return pytest.mark.skipif(given_backend == BACKEND, reason=reason)


def pytest_configure(config: pytest.Config) -> None:
    if BACKEND == "dovetail":
        import keras_dovetail  # noqa: F401  # before Keras
    import keras  # noqa: F401  # before pytest imports a file, and takes the folders above it for Keras

    config.addinivalue_line("markers", "requires_trainable_backend: not for backends without gradients")
    config.addinivalue_line("markers", "multi_device: needs several devices")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests a sample, always the same, without those that were run."""
    done = {line["test"] for line in told(Path(os.environ[TOLD]))}
    one_in = int(os.environ[SAMPLE])

    def is_run(item: pytest.Item) -> bool:
        test = name(item.nodeid)
        return zlib.crc32(test.encode()) % one_in == 0 and test not in done

    items[:] = filter(is_run, items)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _tell(report.nodeid, outcome="failed", said=_last_line(report), seconds=0.0)


def pytest_runtest_logstart(nodeid: str) -> None:
    _tell(nodeid, outcome="died", said="the process ended while it ran", seconds=0.0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _tell(report.nodeid, outcome=report.outcome, said=_last_line(report), seconds=report.duration)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _limited(int(os.environ[SECONDS])):
        return (yield)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Interrupts what takes longer; the handler runs in the main thread, which is where tests run."""

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
    """What was raised, in short."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr or "")).strip().splitlines() or [""]
    return (lines[0] if crash else lines[-1])[:300]


def name(nodeid: str) -> str:
    """A test's name, "layers/core/dense_test.py::DenseTest::test_dense_basics", the same in each process."""
    return re.sub("0x[0-9a-f]+", "0x", nodeid.removeprefix(FOLDER + "/"))  # of functions, which are at other addresses


def _tell(nodeid: str, **said: Any) -> None:
    with open(os.environ[TOLD], "a") as file:
        file.write(json.dumps({"test": name(nodeid)} | said) + "\n")


def told(path: Path) -> list[dict[str, Any]]:
    """What was told of tests so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
