"""Run Keras' own tests, which its wheel contains, with Keras on Dovetail.

    python -m tests.keras_own.run layers losses --engine numpy

This copies the test files of folders of `keras/src` to a temporary folder. It adds to their chains of backend names the
branches that Keras itself gets, and runs them. A file that cannot be collected counts as failed. `excluded.toml` lists
the tests that do not pass. The command fails if another one fails, one of these passes, or too few of a folder pass.

    python -m tests.keras_own.run layers losses --backend jax --save jax.json
    python -m tests.keras_own.run layers losses --engine torch --against jax.json

These commands run the tests on Keras' own backend, then count on Dovetail only tests that pass there. `--sample 5` runs
one test in five, always the same. No copies of the tests are kept. The wheels of Keras' nightly builds have no tests;
`--tests` names the folder `keras/src` of another version, whose tests run instead.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.keras_own import companion
from tests.keras_own.exclusions import Exclusion, exclusion_of, read

KERAS = Path(find_spec("keras").origin).parent / "src"
TWINS = Path(__file__).parents[2] / "src" / "keras_dovetail" / "twins.py"
FILES = 30  # files of each process, or as many tests of more files: compiled programs fill its memory


class Outcome(NamedTuple):
    """The outcome of a test."""

    outcome: str  # "passed", "failed", "skipped", or "died" if the process ended
    said: str
    seconds: float


def with_twins(text: str) -> str:
    """The text of a test file, with Dovetail added to its knowledge of backends.

    The chains at its top, which import by backend, get twins; a table by backends' names gets jax' entry twice.
    """
    spec = spec_from_file_location("twins", TWINS)
    twins = module_from_spec(spec)
    spec.loader.exec_module(twins)
    tree = ast.parse(text)
    for i, statement in enumerate(tree.body):
        if isinstance(statement, ast.If):
            tree.body[i] = twins.with_twins(ast.Module([statement], []))[0].body[0]
    return ast.unparse(_Tables().visit(tree))


class _Tables(ast.NodeTransformer):
    """A transformer that adds an entry for Dovetail, the same as jax', to tables by the names of backends."""

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        pairs = zip(node.keys, node.values, strict=True)
        values = {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}
        if {"jax", "torch"} <= values.keys():
            node.keys.append(ast.Constant("dovetail"))
            node.values.append(values["jax"])
        return node


def copy_tests(folders: list[str], target: Path, backend: str, tests: Path) -> list[Path]:
    """Copies of the test files of some folders of `tests`, or of single files."""
    found = [path for folder in folders for path in files_of(tests / folder)]
    copies = []
    for path in found:
        copy = target / companion.FOLDER / path.relative_to(tests)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        copy.write_text(with_twins(text) if backend == "dovetail" else text)
        copies.append(copy)
    shutil.copy(companion.__file__, target / "conftest.py")
    return copies


def files_of(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*_test.py"))


def run(paths: list[Path], target: Path, backend: str, samples: dict[str, int], seconds: int) -> Iterator[dict]:
    """Run test files in one process, and go on in another if a test ends it; return the reports of tests.

    Args:
        samples: the engines, and one test in how many runs there.
    """
    told = Path(tempfile.mkstemp(dir=target, suffix=".jsonl")[1])
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "DOVETAIL_ENGINE": next(iter(samples)),  # the engine for computations at import
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")]),
        companion.TOLD: str(told),
        companion.SAMPLES: json.dumps(samples),
        companion.SECONDS: str(seconds),
    }
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"]
    options += ["--import-mode=importlib", f"--rootdir={target}"]
    command = [sys.executable, "-m", "pytest", *options, *map(str, paths)]
    while True:
        before = len(companion.told(told))
        done = subprocess.run(command, env=environment, cwd=target, capture_output=True, text=True)
        lines = companion.told(told)
        if done.returncode in (0, 1, 2, 5) or len(lines) == before:
            break
    if not lines and done.returncode not in (0, 5):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    yield from lines


def outcomes(lines: Iterator[dict]) -> dict[str, dict[str, Outcome]]:
    """The outcome of each test on each engine; if one of several parts of a test fails, it fails."""
    found: defaultdict[str, dict[str, Outcome]] = defaultdict(dict)
    for line in lines:
        of_engine, test = found[line.pop("engine")], line.pop("test")
        if test not in of_engine or of_engine[test].outcome in ("died", "passed"):
            of_engine[test] = Outcome(**line)
    return found


def measured(
    folders: list[str], backend: str, samples: dict[str, int], seconds: int, tests: Path | None = None
) -> dict[str, dict[str, Outcome]]:
    """The outcome of each test of some folders on each engine."""
    with tempfile.TemporaryDirectory() as target:
        copies = copy_tests(folders, Path(target), backend, tests or KERAS)
        size = FILES * min(samples.values())
        parts = [copies[i : i + size] for i in range(0, len(copies), size)]
        told = (run(part, Path(target), backend, samples, seconds) for part in parts)
        return outcomes(chain.from_iterable(told))


@dataclass(frozen=True)
class Row:
    """The counts of a folder, of tests that pass on Keras' own backend and do not skip themselves here."""

    passed: int
    skipped: int
    excluded: int
    wrong: dict[str, str]  # tests that fail and are not excluded, or pass and are excluded → a message

    @property
    def share(self) -> float:
        """The share of the counted tests that pass."""
        counted = self.passed + self.excluded + len(self.wrong)
        return self.passed / counted if counted else 1.0

    def __str__(self) -> str:
        not_passed = f"{self.excluded:4} excluded {len(self.wrong):4} wrong {self.skipped:4} skipped"
        return f"{self.passed:5} passed {not_passed} {100 * self.share:6.1f} %"


def row(found: dict[str, Outcome], exclusions: list[Exclusion], stock: dict[str, Outcome] | None = None) -> Row:
    """Compare the outcomes of tests with the exclusions.

    Args:
        found: the tests' outcomes on an engine.
        exclusions: the tests that do not pass there.
        stock: the outcomes on one of Keras' own backends; only tests that pass there count. Without them, the
            exclusions name the tests that do not pass there.
    """
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for test, (outcome, said, _) in found.items():
        known = exclusion_of(test, exclusions)
        if outcome == "passed" and known:
            wrong[test] = f"passes, but is excluded: {known.reason}"
        elif (known and known.stock) or (stock is not None and (test not in stock or stock[test].outcome != "passed")):
            counts["stock"] += 1
        elif outcome in ("passed", "skipped"):
            counts[outcome] += 1
        elif known:
            counts["excluded"] += 1
        else:
            wrong[test] = said
    return Row(counts["passed"], counts["skipped"], counts["excluded"], wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of keras/src: layers, losses, …; or a file")
    parser.add_argument("--engine", default="numpy", help="the engine that computes")
    parser.add_argument("--backend", default="dovetail", help="dovetail, or one of Keras' own to compare with")
    parser.add_argument("--sample", type=int, default=1, help="one test in so many, always the same")
    parser.add_argument("--seconds", type=int, default=120, help="the time for a test")
    parser.add_argument("--save", type=Path, help="a file to which the outcomes are added")
    parser.add_argument("--against", type=Path, help="outcomes on a backend of Keras: what passes there counts")
    parser.add_argument("--least", type=float, default=97, help="the per cent of a folder's tests that must pass")
    parser.add_argument("--tests", type=Path, default=KERAS, help="the folder keras/src that has the tests")
    parser.add_argument("--failures", action="store_true", help="says which tests are wrong, and why")
    given = parser.parse_args()
    exclusions = read(given.engine) if given.backend == "dovetail" else []
    stock = None if given.against is None else _saved(given.against)
    good = True
    for folder in given.folders:
        found = measured([folder], given.backend, {given.engine: given.sample}, given.seconds, given.tests)[
            given.engine
        ]
        if given.save:
            given.save.write_text(json.dumps(_saved(given.save) | found, indent=0))
        counted = row(found, exclusions, stock)
        good &= not counted.wrong and 100 * counted.share >= given.least
        print(f"{folder:14} {counted} {sum(each.seconds for each in found.values()):7.0f} s", flush=True)
        for test, said in counted.wrong.items() if given.failures else ():
            print(f"    {test}: {said}")
    sys.exit(not good)


def _saved(path: Path) -> dict[str, Outcome]:
    return {test: Outcome(*each) for test, each in json.loads(path.read_text()).items()} if path.exists() else {}


if __name__ == "__main__":
    main()
