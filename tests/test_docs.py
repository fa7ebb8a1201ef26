"""The README and the guides as programs: their Python blocks run, in order, and print the pages' texts.

A block of text right after a block of Python is the output of that Python. A Python block whose first line is a comment
that names a file (`# checked.py`) is that file, importable from then on. A TOML block is a package that is installed,
with its entry points. A block of shell with text right after it runs in the folder of those files.
"""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.libraries import require

require("torch", "the pages show every engine")
require("jax", "the pages show every engine")

from dovetail.cli.sample import SAMPLES
from dovetail.core.base.table import OPS
from dovetail.core.calls import gradients
from dovetail.core.calls.user_ops import unregister_op
from tests.packages import install

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs" / "README.md"
LANDING = ROOT / "docs" / "index.md"  # of the site
GUIDES = sorted({*INDEX.parent.glob("*.md")} - {INDEX, LANDING})
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", LANDING, *GUIDES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$\n*(?:^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
NEEDED = {"embedded.md": "gcc", "federated.md": "openssl"}  # page → a program that it runs
FILE = re.compile(r"# (\w+)\.py\n")


@pytest.fixture
def undisturbed(monkeypatch, tmp_path):
    """A folder to import from; the op table, gradients and engines are restored after the test."""
    module = sys.modules["dovetail.core.engines.engine_registry"]
    monkeypatch.setattr(module, "_loaded", dict(module._loaded))
    monkeypatch.setattr(module, "_default", None)
    monkeypatch.setattr(module, "_chooses", False)
    monkeypatch.setattr(gradients, "REGISTERED", {})  # pages share names of gradients
    monkeypatch.syspath_prepend(tmp_path)
    gc.collect()  # a page that counts memory must not see what other tests left in cycles
    for name in SAMPLES:  # as `dovetail sample` writes them; blocks may write there
        shutil.copytree(ROOT / "src/dovetail/cli/samples" / name, tmp_path / name)
    before = set(OPS)
    yield tmp_path
    for name in set(OPS) - before:
        if OPS[name].is_users:
            unregister_op(name)
        else:
            del OPS[name]


def test_the_index_names_each_page_and_each_script_of_the_folder():
    text = INDEX.read_text()
    rows = re.findall(r"^\| \[[^]]+\]\((\w+\.md)\) \| .+ \|$", text, re.MULTILINE)
    assert sorted(rows) == [page.name for page in GUIDES]
    assert {path.name for path in INDEX.parent.glob("*.py")} <= {*re.findall(r"\w+\.py", text)}


@pytest.mark.each("page")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, undisturbed):
    if not shutil.which(NEEDED.get(page.name, "python3")):
        pytest.skip(f"{NEEDED[page.name]} is not installed")
    text = page.read_text()
    names: dict[str, object] = {"__name__": page.stem}
    for found in BLOCK.finditer(text):
        language, code, expected = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if language == "toml":
            install(tomllib.loads(code), undisturbed)
        elif language == "python" and (file := FILE.match(code)):
            (undisturbed / f"{file[1]}.py").write_text(code)
        elif language == "python" or (language == "sh" and expected is not None):
            try:
                with contextlib.chdir(undisturbed):  # blocks may write files there
                    printed = run(code, names) if language == "python" else shell(code)
                assert expected is None or printed == expected
            except Exception as error:
                error.add_note(f"in the block at line {line} of {page.name}")
                raise


def run(code: str, names: dict[str, object]) -> str:
    """Run a block, and return its output."""
    linecache.cache["example.py"] = len(code), None, code.splitlines(keepends=True), "example.py"  # as a file has it
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "example.py", "exec"), names)
    return output.getvalue()


def shell(code: str) -> str:
    """Run a block of shell with this Python's commands first on the path, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(["bash", "-c", code], env=environment, stdout=subprocess.PIPE, text=True).stdout
