"""The wheel and the sdist: their contents, the verdict of other tools, and Dovetail in an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.libraries import require

require("setuptools", "it builds the wheels")
pytestmark = pytest.mark.long("it installs libraries from the registry")

ROOT = Path(__file__).parents[1]
NOT_INSTALLED = ("*.egg-info", "__pycache__", ".venv*", ".git", "build", "dist")
BUILD = "from backend import build_sdist, build_wheel; build_{}({!r})"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DOVETAIL", "KERAS"))}


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that ended, with what it printed."""
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, env={**CLEAN, **variables}, cwd="/"
    )


def succeed(*command: object, **variables: str) -> str:
    """What a command printed that had to end well."""
    done = run(*command, **variables)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(kind: str, tree: Path, folder: Path) -> Path:
    """An sdist or a wheel of a tree, in a folder."""
    code = f"import os; os.chdir({str(tree)!r}); {BUILD.format(kind, str(folder))}"
    succeed(sys.executable, "-c", code, PYTHONPATH=str(tree / "build_backend"))
    (path,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sdist of this tree."""
    tree = tmp_path_factory.mktemp("tree") / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*NOT_INSTALLED, ".*", "tests", "docs", "examples"))
    return build("sdist", tree, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel that is built from the sdist alone."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"))


class Environment:
    """An environment with nothing but what a test installs."""

    def __init__(self, folder: Path) -> None:
        succeed(sys.executable, "-m", "venv", "--without-pip", folder)
        self.bin = folder / "bin"
        self.python = self.bin / "python"

    def install(self, *requirements: object) -> None:
        """Install from the registry, or from a file."""
        succeed(sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", *requirements)

    @property
    def packages(self) -> Path:
        """The folder of installed packages."""
        return Path(succeed(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


@pytest.fixture(scope="module")
def empty(wheel, tmp_path_factory):
    """An environment with Dovetail and what it needs."""
    environment = Environment(tmp_path_factory.mktemp("empty") / "env")
    environment.install(wheel)
    return environment


def test_the_wheel_has_every_file_of_the_sources(wheel):
    sources = ROOT / "src"
    tracked = {
        str(path.relative_to(sources))
        for path in sources.rglob("*")
        if path.is_file() and not {"__pycache__"} & {*path.parts} and ".egg-info" not in str(path)
    }
    with ZipFile(wheel) as file:
        packed = {name for name in file.namelist() if ".dist-info/" not in name}
    assert len(tracked) > 900 and packed == tracked | {"keras_dovetail.pth"}


def test_other_tools_find_nothing_to_say(sdist, wheel, tmp_path):
    tools = Environment(tmp_path / "tools")
    tools.install("twine", "check-wheel-contents")
    assert "PASSED" in succeed(tools.bin / "twine", "check", "--strict", sdist, wheel)
    assert "OK" in succeed(tools.bin / "check-wheel-contents", "--ignore", "W009", wheel)  # it has two packages


def test_numpy_computes_in_an_empty_environment(empty):
    assert succeed(empty.python, "-c", "import dovetail as dt; print((dt.ops.ones(2) + 1.5).numpy())") == "[2.5 2.5]\n"
    assert succeed(empty.bin / "dovetail", "--version").startswith("dovetail ")


def test_the_demo_says_what_is_missing_and_then_runs(empty, wheel, tmp_path):
    missing = run(empty.bin / "dovetail", "demo")
    assert missing.returncode == 1 and "keras" in missing.stderr and "pip install" in missing.stderr
    assert "Traceback" not in missing.stderr
    empty.install(f"{wheel}[demo]")
    succeed(empty.bin / "dovetail", "demo", "--engine", "numpy", "--epochs", "1", "--out", tmp_path / "out")
    assert list((tmp_path / "out").iterdir())
    backend = "import keras; print(keras.backend.backend())"
    assert succeed(empty.python, "-c", backend, KERAS_BACKEND="dovetail").splitlines()[-1] == "dovetail"


@pytest.fixture(scope="module")
def overwritten(wheel, tmp_path_factory):
    """An environment where another package's file lies over ours.

    The project `dovetail` of the registry, 1.0beta2, is written for Python 2, and builds on no Python 3.
    """
    environment = Environment(tmp_path_factory.mktemp("overwritten") / "env")
    environment.install(f"{wheel}[keras]")
    (environment.packages / "dovetail" / "__init__.py").write_text('name = "other"\n')
    return environment


@pytest.mark.parametrize(
    "program",
    ["from dovetail.cli.main import main", "import keras_dovetail, keras", "from dovetail.core import dtypes"],
)
def test_another_project_over_ours_is_an_error_that_says_so(overwritten, program):
    done = run(overwritten.python, "-c", program)
    assert done.returncode and "belongs to another project" in done.stderr.splitlines()[-1]
