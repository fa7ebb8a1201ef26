"""The option `--tf-support FILE` of `pytest tests/compat/tensorflow`: passed cases, for `docs/tf_names.py`."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from dovetail.core.engines.engine_registry import get_engine
from tests.conftest import ENGINES

PROPERTY = "tf_support"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tf-support", metavar="FILE", help="write down the outcome of each case of TensorFlow's names")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--tf-support")
    if path:
        config.pluginmanager.register(Recorder(Path(path)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Add the tested names and the engine of a case to its test's report."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    if {"case", "way", "engine"} <= set(values) and item.config.getoption("--tf-support"):
        said = {"functions": list(values["case"].functions), "way": values["way"], "engine": values["engine"]}
        item.user_properties.append((PROPERTY, said))


class Recorder:
    """The writer of the file: one JSON object a line, first the versions of the libraries."""

    def __init__(self, path: Path):
        self.path = path
        versions = {name: get_engine(name).version() for name in ENGINES} | {"oracle": version("tensorflow-cpu")}
        path.write_text(json.dumps({"versions": versions}) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = dict(report.user_properties).get(PROPERTY)
        if said and (report.when == "call" or report.failed):
            with self.path.open("a") as file:
                file.write(json.dumps({**said, "passed": report.passed}) + "\n")
