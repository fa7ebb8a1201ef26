"""Files of released versions in each format: they open, and compute what they did when they were written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dovetail.choose import records
from dovetail.distributed import checkpoints
from dovetail.formats import saved
from dovetail.graph import document
from tests.formats.releases import FORMATS, RELEASED, as_data, check, others, results_of
from tests.formats.releases import own as own  # it declares formats, as `others` and `training` do
from tests.formats.releases import training as training
from tests.keras_backends import BACKENDS
from tests.libraries import require

FILES = [path / name for path in sorted(RELEASED.iterdir()) if path.is_dir() for name in results_of(path)]


def identifier(file: Path) -> str:
    return f"{file.parent.name}-{file.name}"


def copied(file: Path, folder: Path) -> Path:
    """A copy of a file or folder: opening some of them changes the folder."""
    copy = shutil.copytree if file.is_dir() else shutil.copyfile
    return Path(copy(file, folder / file.name))


@pytest.mark.each("file", engines=("numpy",))
@pytest.mark.parametrize("file", FILES, ids=identifier)
def test_files_of_released_versions(tmp_path, engine, file):
    one = FORMATS[file.name]
    require(one.needs, "it reads the file")
    found = {name: as_data(value) for name, value in one.read(copied(file, tmp_path)).items()}
    check(found, results_of(file.parent)[file.name])


@pytest.mark.parametrize("backend", BACKENDS)
def test_archives_of_released_versions_on_backends_of_keras(backend):
    for library in ("keras", backend):
        require(library, "it reads the archive")
    for file in FILES:
        if file.name == "control.keras":
            found = others.run_keras(file, backend)
            check({name: as_data(value) for name, value in found.items()}, results_of(file.parent)[file.name])


def test_each_format_has_its_file_and_each_file_a_reader():
    assert {file.name for file in FILES} == FORMATS.keys()
    assert [file.name for file in FILES if not file.exists()] == []


VERSIONS = {  # kind of file → how it says its version, and the version that is written now
    "document": (rb'\{\\"version\\":(\d+),\\"release', saved.VERSION),
    "graph": (rb'"version\\?":(\d+),\\?"name', document.VERSION),
    "checkpoint": (rb'"dovetail": "checkpoint", "version": (\d+)', checkpoints.VERSION),
    "records": (rb'\{"format": (\d+)', records.FORMAT),
}


@pytest.mark.parametrize("kind", VERSIONS)
def test_the_version_that_is_written_now_has_a_file(kind):
    """Check that a change of a version adds files: write them by `python -m tests.formats.releases`."""
    pattern, now = VERSIONS[kind]
    files = [file for file in RELEASED.rglob("*") if file.is_file()]
    assert now in {int(number) for file in files for number in re.findall(pattern, file.read_bytes())}
