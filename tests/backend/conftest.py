"""The option `--k-support FILE` of pytest: a record of the parity cases that passed, for `docs/k_support.py`.

`pytest tests/backend/test_parity.py --k-support FILE` writes one JSON object a line: first the versions of the
libraries, then each run of a case when it ends.
"""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.core.base.scopes import DEFAULT_GRAPH
from dovetail.core.engines.engine_registry import get_engine
from tests.backend.parity import oracle
from tests.conftest import ENGINES

PROPERTY = "k_support"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--k-support", metavar="FILE", help="write down the outcome of each parity case")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--k-support")
    if path and not hasattr(config, "workerinput"):  # pytest-xdist's workers report to the process that started them
        config.pluginmanager.register(Recorder(Path(path)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Add the name of the parity case to its test's report, so that a worker's report has it, too."""
    values = item.callspec.params if hasattr(item, "callspec") and item.config.getoption("--k-support") else {}
    if {"case", "way", "engine"} <= set(values):
        case = values["case"]
        differs = case.differs if hasattr(oracle(), case.functions[0]) else ""  # else there is no result to differ from
        said = {"case": str(case), "functions": list(case.functions), "differs": differs}
        item.user_properties.append((PROPERTY, {**said, "way": values["way"], "engine": values["engine"]}))


@pytest.fixture(autouse=True)
def _session():
    """Clear the default graph after each test; it would make the learning phase of other tests a placeholder."""
    yield
    if DEFAULT_GRAPH.get() is not None:
        K.clear_session()


class Recorder:
    """The writer of the file."""

    def __init__(self, path: Path):
        self.path = path
        path.write_text(json.dumps({"versions": versions()}) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = dict(report.user_properties).get(PROPERTY)
        if said and (report.when == "call" or report.failed):
            with self.path.open("a") as file:
                file.write(json.dumps({**said, "passed": report.passed}) + "\n")


def versions() -> dict[str, str]:
    """The versions of Python, the engines, and the oracle."""
    found = {name: get_engine(name).version() for name in ENGINES}
    ours = {"python": platform.python_version(), "dovetail": dt.__version__}
    return {**ours, **found, "tf_keras": version("tf-keras")}
