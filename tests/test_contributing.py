"""The section of CONTRIBUTING.md on adding an op, done in a copy of the source: pasted and tested as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECTION = re.compile(r"at the end of `(\S+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def clone(tmp_path):
    """A copy of the files that `pytest` reads."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_an_op_that_is_pasted_where_the_page_says(clone):
    where, code = SECTION.search((ROOT / "CONTRIBUTING.md").read_text()).groups()
    path = clone / "src" / "dovetail" / where
    path.write_text(f"{path.read_text()}\n\n{code}")
    environment = {
        **os.environ,
        "PYTHONPATH": str(clone / "src"),
        "DOVETAIL_TEST_ENGINES": "numpy",
        "DOVETAIL_TEST_PART": "",
    }
    command = [sys.executable, "-m", "pytest", "tests/ops", "-k", "Snake", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 10, done.stdout
    program = "from dovetail import ops; print(ops.snake([0.0, 1.0]).numpy().round(3))"
    printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert printed.stdout == "[0.    1.708]\n"
