"""Runs Keras' own tests, those that its wheel carries, with Keras on Dovetail.

    python -m tests.keras_own.run layers losses --engine numpy

copies the test files of folders of `keras/src` to a temporary folder, gives their chains of backend names the branches
that Keras itself gets, and runs them.  A file that cannot be collected counts as failed.  With `--backend jax` they run
on Keras' own backend instead.  `--sample 5` takes each fifth file.  Nothing of the tests is kept.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

KERAS = Path(find_spec("keras").origin).parent / "src"
FINDER = Path(__file__).parents[2] / "src" / "keras_dovetail" / "finder.py"

# The tests' own conftest is not in the wheel; they import this of it.
CONFTEST = '''
"""What Keras' tests import of their conftest, which the wheel does not carry."""
{first}
import os
import keras
import pytest

def skip_if_backend(given_backend, reason):
    return pytest.mark.skipif(keras.backend.backend() == given_backend, reason=reason)

def pytest_configure(config):
    config.addinivalue_line("markers", "requires_trainable_backend: mark test for trainable backend only")
    config.addinivalue_line("markers", "multi_device: mark test that requires multiple devices")
'''


def with_twins(text: str) -> str:
    """A test file's text in which the chains at its top, which import of a backend, have twins for Dovetail."""
    spec = spec_from_file_location("finder", FINDER)
    finder = module_from_spec(spec)
    spec.loader.exec_module(finder)
    tree = ast.parse(text)
    for i, statement in enumerate(tree.body):
        if isinstance(statement, ast.If):
            tree.body[i] = finder.with_twins(ast.Module([statement], []))[0].body[0]
    return ast.unparse(tree)


def copy_tests(folders: list[str], target: Path, backend: str, sample: int) -> list[Path]:
    """The copies of the test files of some folders."""
    found = [path for folder in folders for path in sorted((KERAS / folder).rglob("*_test.py"))][::sample]
    copies = []
    for path in found:
        copy = target / "own" / path.relative_to(KERAS)  # which alone would be modules of Python's, such as `random`
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        copy.write_text(with_twins(text) if backend == "dovetail" else text)
        copies.append(copy)
    first = "import keras_dovetail" if backend == "dovetail" else ""
    (target / "conftest.py").write_text(CONFTEST.format(first=first))
    return copies


def run(path: Path, target: Path, backend: str, engine: str, timeout: float) -> dict[str, str]:
    """The outcome of each test of a file: "passed", "skipped", or what it said when it failed."""
    report = path.with_suffix(".xml")
    environment = {**os.environ, "KERAS_BACKEND": backend, "DOVETAIL_ENGINE": engine, "TF_CPP_MIN_LOG_LEVEL": "3"}
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={target}", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, str(path)]
    environment["PYTHONPATH"] = os.pathsep.join([str(target), environment.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(command, env=environment, cwd=target, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"(file)": f"longer than {timeout:.0f} s"}
    if not report.exists():
        return {"(file)": (done.stdout + done.stderr)[-300:]}
    return {
        f"{case.get('classname')}.{case.get('name')}": outcome(case)
        for case in ElementTree.parse(report).iter("testcase")
    }


def outcome(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error"):
            return (child.get("message") or child.tag).splitlines()[0][:160]
        if child.tag == "skipped":
            return "skipped"
    return "passed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of keras/src: layers, losses, …; or a file")
    parser.add_argument("--engine", default="numpy", help="the engine that computes")
    parser.add_argument("--backend", default="dovetail", help="dovetail, or one of Keras' own to compare with")
    parser.add_argument("--sample", type=int, default=1, help="each nth file")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a file")
    parser.add_argument("--failures", action="store_true", help="says which tests failed, and why")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.folders:
            target = Path(folder) / name
            target.mkdir(parents=True)
            results: list[tuple[str, str, str]] = []
            for path in copy_tests([name], target, given.backend, given.sample):
                found = run(path, target, given.backend, given.engine, given.timeout)
                results += [(path.stem, test, said) for test, said in found.items()]
            passed = sum(said == "passed" for *_, said in results)
            skipped = sum(said == "skipped" for *_, said in results)
            print(
                f"{name:14} {passed:5} passed {len(results) - passed - skipped:5} failed {skipped:5} skipped",
                flush=True,
            )
            for file, test, said in results if given.failures else ():
                if said not in ("passed", "skipped"):
                    print(f"    {file} {test}: {said}")


if __name__ == "__main__":
    main()
