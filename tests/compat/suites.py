"""Tests of packages of the registry, unchanged, by `dovetail run` and on tf_keras: how many pass.

    python -m tests.compat.suites FOLDER [NAMES]

It downloads the packages' sources into FOLDER and prints a table.  Nothing of theirs is kept here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

SUITES = {  # requirement → the package, and the folder of its tests
    "keras-self-attention==0.51.0": ("keras_self_attention", "tests"),
    "keras-pos-embd==0.13.0": ("keras_pos_embd", "tests"),
    "tf-explain==0.3.1": ("tf_explain", "tests"),
    "keras-rl==0.4.2": ("rl", "tests"),
    "innvestigate==1.0.9": ("innvestigate", "innvestigate/tests"),
}
ALSO = "opencv-python-headless", "pytest-mock"  # which the tests of tf-explain import
OPTIONS = "-q", "-p", "no:cacheprovider", "-W", "ignore", "--junitxml"
ON_TF_KERAS = "import sys, tf_keras, pytest; sys.modules['keras'] = tf_keras; sys.exit(pytest.main(sys.argv[1:]))"
PROBLEMS = "failure", "error", "skipped"
SETTINGS = {"TF_KERAS": "1", "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "MPLBACKEND": "Agg"}


def unpacked(requirement: str, folder: Path) -> Path:
    """The folder of a package's source, which is downloaded if it is not there.

    Raises:
        subprocess.CalledProcessError: the registry does not have it.
    """
    name = requirement.replace("==", "-")
    if not (folder / name).exists():
        options = "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-q", "-d", str(folder)
        subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / name


def results(report: Path) -> dict[str, set[str]]:
    """The tests of a report of pytest → what went wrong: "failure", "error", also at the end, or "skipped"."""
    problems = dict[str, set[str]]()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        problems.setdefault(name, set()).update(child.tag for child in case if child.tag in PROBLEMS)
    return problems


def passed(command: list[str], source: Path, extra: Path) -> str:
    """How many tests pass, of how many that are not skipped, "3 of 4"; "none" if the package does not import."""
    report = extra / "report.xml"
    report.unlink(missing_ok=True)
    path = os.pathsep.join([str(source), str(extra), os.environ.get("PYTHONPATH", "")])
    settings = os.environ | SETTINGS | {"PYTHONPATH": path}
    subprocess.run([*command, *OPTIONS, str(report)], cwd=source, env=settings, stdout=sys.stderr)
    if not report.exists():
        return "none"
    run = [tags for tags in results(report).values() if "skipped" not in tags]
    return f"{run.count(set())} of {len(run)}" if set() in run else "none"


def main(folder: Path, names: list[str]) -> None:
    """Run the suites whose names are given, or all, and print a row for each."""
    extra = folder / "extra"
    if not extra.exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(extra), *ALSO]
        subprocess.run(command, check=True)
    print("| package | Dovetail | tf_keras 2.21 |\n| --- | --- | --- |")
    for requirement, (package, tests) in SUITES.items():
        if names and requirement.partition("==")[0] not in names:
            continue
        source = unpacked(requirement, folder)
        ours = [sys.executable, "-m", "dovetail", "run", "--as", "keras2", "--engine", "numpy", "--map", package]
        found = passed([*ours, "-m", "pytest", tests], source, extra)
        wanted = passed([sys.executable, "-c", ON_TF_KERAS, tests], source, extra)
        print(f"| {requirement.replace('==', ' ')} | {found} | {wanted} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
