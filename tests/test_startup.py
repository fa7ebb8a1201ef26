"""The wheel: its metadata, and the file by which `KERAS_BACKEND=dovetail` alone makes Keras run on Dovetail."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from dovetail.core.base.version import VERSION
from tests.libraries import require

require("setuptools", "it builds the wheels")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def backend():
    """The module that pyproject.toml names as the build backend."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    spec = importlib.util.spec_from_file_location(
        "backend", ROOT / build["backend-path"][0] / f"{build['build-backend']}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_has_the_file_and_says_so(backend, tmp_path):
    with ZipFile(tmp_path / "a-1.whl", "w") as wheel:
        wheel.writestr("a.py", "x = 1\n")
        wheel.writestr("a-1.dist-info/RECORD", "a.py,,\na-1.dist-info/RECORD,,\n")
    assert backend.with_startup(str(tmp_path), "a-1.whl") == "a-1.whl"
    assert [path.name for path in tmp_path.iterdir()] == ["a-1.whl"]
    with ZipFile(tmp_path / "a-1.whl") as wheel:
        line = wheel.read(backend.NAME)
        record = {row[0]: row[1:] for row in csv.reader(wheel.read("a-1.dist-info/RECORD").decode().splitlines())}
    digest = base64.urlsafe_b64encode(hashlib.sha256(line).digest()).rstrip(b"=").decode()
    assert record[backend.NAME] == [f"sha256={digest}", str(len(line))] and "a.py" in record


def test_the_metadata_is_read_from_the_sources(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src" / "dovetail" / "core", tmp_path / "src" / "dovetail" / "core")
    build = "from setuptools.build_meta import prepare_metadata_for_build_wheel as make; make('.')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, check=True)
    (folder,) = tmp_path.glob("*.dist-info")
    metadata = Parser().parsestr((folder / "METADATA").read_text())
    assert metadata["Name"] == "keras-dovetail" and metadata["Version"] == VERSION
    assert "dovetail = dovetail.cli.main:main" in (folder / "entry_points.txt").read_text()


def said(program: str, folder: Path, **variables: str) -> str:
    """The output of a program whose process runs the files of a folder at its start."""
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | variables
    start = f"import sys; sys.path.append({str(ROOT / 'src')!r}); import site; site.addsitedir({str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"{start}\n{program}"], capture_output=True, text=True, env=environment
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_it_looks_at_the_variable_alone(backend, tmp_path):
    (tmp_path / backend.NAME).write_text(backend.LINE)
    assert backend.LINE.count("\n") == 1 and backend.LINE.startswith("import ")  # else site reads it as a folder
    loaded = "print(sorted(m for m in sys.modules if m.startswith(('dovetail', 'keras'))))"
    assert said(loaded, tmp_path) == said(loaded, tmp_path, KERAS_BACKEND="jax") == "[]"
    assert said(loaded, tmp_path, KERAS_BACKEND="dovetail") == "['keras_dovetail', 'keras_dovetail.finder']"


@pytest.mark.parametrize("set_by", ["environment", "program"])
def test_keras_then_runs_on_dovetail_and_imports_no_engine_but_numpy(backend, tmp_path, set_by):
    require("keras", "it is Keras that runs on Dovetail")
    (tmp_path / backend.NAME).write_text(backend.LINE)
    sets = "import os; os.environ['KERAS_BACKEND'] = 'dovetail'\n" if set_by == "program" else ""
    program = (
        f"{sets}import keras\n"
        "assert type(keras.ops.ones(2)).__module__ == 'dovetail.core.tensor'\n"
        "others = {'torch', 'tensorflow', 'jax'} & sys.modules.keys()\n"
        "print(keras.backend.backend(), sorted(others))"
    )
    variables = {} if set_by == "program" else {"KERAS_BACKEND": "dovetail"}
    assert said(program, tmp_path, **variables) == "dovetail []"


def test_other_backends_stay(backend, tmp_path):
    require("keras", "it has backends")
    (tmp_path / backend.NAME).write_text(backend.LINE)
    program = "import keras\nprint(keras.backend.backend(), 'keras_dovetail' in sys.modules)"
    assert said(program, tmp_path, KERAS_BACKEND="numpy") == "numpy False"
