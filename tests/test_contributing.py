"""CONTRIBUTING.md: its section on adding an op, done in a copy of the source, and its map."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "src" / "dovetail"
ROW = re.compile(r"^\| `([\w./]+/)` \| (.*) \|$", re.MULTILINE)
FILE = re.compile(r"`((?:[\w*]+/)*[\w*]+(?:/|\.py))`")
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


def test_the_map_names_each_room_and_no_file_that_is_gone():
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text().partition("## The layout")[2])
    rooms = {f"{path.parent.name}/" for path in HOUSE.glob("*/__init__.py")}
    assert rooms == {name for name, _ in rows if name.count("/") == 1}
    for room in ("formats", "compat"):  # whose folders have rows of their own
        inside = {f"{room}/{path.parent.name}/" for path in HOUSE.glob(f"{room}/*/__init__.py")}
        assert inside == {name for name, _ in rows if name.startswith(f"{room}/") and name.count("/") == 2}
    for room, text in rows:
        folder = (HOUSE / room).resolve()
        assert folder.is_dir(), room
        names = FILE.findall(text)
        named = [HOUSE / name for name in names if name.endswith("/")]
        places = [*(p for p in (folder, *folder.rglob("*")) if p.is_dir()), *named, HOUSE, ROOT]
        missing = [name for name in names if not any(any(place.glob(name)) for place in places)]
        assert missing == [], room


def test_the_page_of_execution_names_what_there_is():
    page = (ROOT / "docs" / "execution.md").read_text()
    missing = [name for name in FILE.findall(page) if not any(HOUSE.glob(name))]
    assert missing == []
    drawn = re.findall(r"^[ └]*(\w+)  .*  (\w+/\w+\.py)$", page, re.MULTILINE)
    assert len(drawn) >= 7
    for name, file in drawn:
        assert re.search(rf"^class {name}\b", (HOUSE / file).read_text(), re.MULTILINE), (name, file)
