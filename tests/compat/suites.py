"""Tests of other people's packages, unchanged, by `dovetail run` and on tf_keras: how many pass.

    python -m tests.compat.suites FOLDER [NAMES]

It downloads the packages' sources into FOLDER and prints a table.  Nothing of theirs is kept here.  The tests that the
registry lacks come from the repository of the package; without that, they may be put into FOLDER by hand.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen
from xml.etree import ElementTree


class Suite(NamedTuple):
    """The tests of a package.

    Attributes:
        tests: the folder of its tests, in its source.
        repository: "owner/name/commit", for a package, or tests, that the registry lacks.
        lacks: a folder of the tests that the registry's source lacks, where it has others.
        also: the packages that the tests import and that Dovetail does not need.
        options: pytest's.
    """

    tests: str = "tests"
    repository: str = ""
    lacks: str = ""
    also: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


OF_BERT = {
    "transformer": "0.40.0",
    "embed-sim": "0.10.0",
    "layer-normalization": "0.16.0",
    "multi-head": "0.29.0",
    "pos-embd": "0.13.0",
    "position-wise-feed-forward": "0.8.0",
    "self-attention": "0.51.0",
}
SUITES = {  # requirement of the registry, or name → the suite
    "keras-self-attention==0.51.0": Suite(),
    "keras-pos-embd==0.13.0": Suite(),
    "keras-bert==0.89.0": Suite(also=tuple(f"keras-{name}=={version}" for name, version in OF_BERT.items())),
    "keras-contrib": Suite(repository="keras-team/keras-contrib/3fc5ef709e061416f4bc8a92ca3750c824b5d2b0"),
    "keras-retinanet==1.0.0": Suite(
        also=("keras-resnet==0.2.0", "cython", "opencv-python-headless", "progressbar2", "python-utils")
    ),
    "keras-rl==0.4.2": Suite(),
    "tf-explain==0.3.1": Suite(also=("opencv-python-headless", "pytest-mock")),
    "deeplift==0.6.13.0": Suite(repository="kundajelab/deeplift/master", also=("pynose", "pyyaml")),
    "innvestigate==1.0.9": Suite("innvestigate/tests"),
    "innvestigate==2.1.2": Suite(
        repository="albermax/innvestigate/19451925ee7b244eabe4932c3aa4a5c89fd8893f",
        options=("-o", "addopts=", "-m", "fast"),
    ),
    "spektral==1.3.1": Suite(
        repository="danielegrattarola/spektral/master",
        lacks="test_layers",
        also=("lxml", "pandas", "pytz", "python-dateutil", "six"),
        options=("--ignore", "tests/test_datasets.py"),  # it downloads them
    ),
}
OPTIONS = "-q", "-p", "no:cacheprovider", "-W", "ignore", "--junitxml"
ON_TF_KERAS = "import sys, tf_keras, pytest; sys.modules['keras'] = tf_keras; sys.exit(pytest.main(sys.argv[1:]))"
PROBLEMS = "failure", "error", "skipped"
SETTINGS = {"TF_KERAS": "1", "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "MPLBACKEND": "Agg"}
PIP = sys.executable, "-m", "pip", "-q"


def unpacked(requirement: str, suite: Suite, folder: Path) -> Path:
    """The folder of a package's source with its tests, which are downloaded if they are not there.

    Raises:
        subprocess.CalledProcessError: the registry does not have the source.
        OSError: the repository cannot be read; the message says what to do.
    """
    name, _, version = requirement.partition("==")
    source = folder / requirement.replace("==", "-")
    if version and not source.exists():
        subprocess.run([*PIP, "download", "--no-deps", "--no-binary", name, "-d", str(folder), requirement], check=True)
        _extract(folder / f"{source.name}.tar.gz", folder)
    if suite.repository and not (source / suite.tests / suite.lacks).exists():
        whole = _of_repository(suite.repository, folder, source)
        parts = (whole / suite.tests, source / suite.tests) if version else (whole, source)
        shutil.copytree(*parts, dirs_exist_ok=True)
    return source


def _of_repository(repository: str, folder: Path, wanted: Path) -> Path:
    """The folder of a repository's files at a commit."""
    owner, name, commit = repository.split("/")
    address = f"https://github.com/{owner}/{name}/archive/{commit}.tar.gz"
    archive = folder / f"{name}-{commit}.tar.gz"
    try:
        with urlopen(address, timeout=60) as answer:
            archive.write_bytes(answer.read())
    except OSError as problem:
        advice = f"unpack it elsewhere, and put its tests, or all of it, into {wanted}; or leave {wanted.name} out"
        raise OSError(
            f"the registry lacks tests of {wanted.name}, and {address} is not there ({problem}): {advice}."
        ) from problem
    found = _extract(archive, folder)
    print(f"{wanted.name} has the tests of the commit {found or commit} of {owner}/{name}.", file=sys.stderr)
    return folder / f"{name}-{commit}"


def _extract(archive: Path, folder: Path) -> str:
    """Unpack an archive; its note is the commit, also where a branch was asked for."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
        return packed.pax_headers.get("comment", "")


def prepare(suite: Suite, source: Path, extra: Path) -> None:
    """Install what a suite imports, each package without its own dependencies, and build its extensions."""
    for requirement in suite.also:
        mark = extra / f".{requirement}"
        if not mark.exists():
            subprocess.run([*PIP, "install", "--no-deps", "--upgrade", "--target", str(extra), requirement], check=True)
            mark.touch()
    if any(source.rglob("*.pyx")) and not any(source.rglob("*.so")):
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(build, cwd=source, env=os.environ | {"PYTHONPATH": str(extra)}, check=True, stdout=sys.stderr)


def results(report: Path) -> dict[str, set[str]]:
    """The tests of a report of pytest → what went wrong: "failure", "error", also at the end, or "skipped"."""
    problems = dict[str, set[str]]()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        problems.setdefault(name, set()).update(child.tag for child in case if child.tag in PROBLEMS)
    return problems


def passed(command: list[str], suite: Suite, source: Path, extra: Path) -> str:
    """How many tests pass, of how many that are not skipped, "3 of 4"; "none" if the package does not import."""
    report = extra / "report.xml"
    report.unlink(missing_ok=True)
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    of_others = [each for each in given if not (Path(each) / "tests").is_dir()]  # the suite's `tests` may be no package
    path = os.pathsep.join([str(source), str(source / "src"), str(extra), *of_others])
    settings = os.environ | SETTINGS | {"PYTHONPATH": path}
    options = *suite.options, *OPTIONS, str(report)
    subprocess.run([*command, suite.tests, *options], cwd=source, env=settings, stdout=sys.stderr)
    if not report.exists():
        return "none"
    run = [tags for tags in results(report).values() if "skipped" not in tags]
    return f"{run.count(set())} of {len(run)}" if set() in run else "none"


def main(folder: Path, names: list[str]) -> None:
    """Run the suites whose names are given, or all, and print a row for each."""
    extra = folder / "extra"
    extra.mkdir(parents=True, exist_ok=True)
    print("| package | Dovetail | tf_keras 2.21 |\n| --- | --- | --- |")
    for requirement, suite in SUITES.items():
        if names and not {requirement, requirement.partition("==")[0]} & {*names}:
            continue
        try:
            source = unpacked(requirement, suite, folder)
        except OSError as problem:
            print(problem, file=sys.stderr)
            continue
        prepare(suite, source, extra)
        ours = [sys.executable, "-m", "dovetail", "run", "--engine", "numpy", "-m", "pytest"]
        counts = [passed(each, suite, source, extra) for each in (ours, [sys.executable, "-c", ON_TF_KERAS])]
        print(f"| {requirement.replace('==', ' ')} | {counts[0]} | {counts[1]} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.compat.suites", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="takes the packages' sources")
    parser.add_argument("names", nargs="*", help=f"packages (all): {', '.join(SUITES)}")
    given = parser.parse_args()
    main(given.folder.resolve(), given.names)
