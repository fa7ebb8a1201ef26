"""TF-Slim's own tests, unchanged, by `dovetail run --map tf_slim` and on TensorFlow.

    python -m tests.compat.tf_slim_tests [FILES]

It prints a row for each file, and writes the table `tf_slim_tests.json`: the tests that do not pass on TensorFlow, by
file, and those that do not pass here alone, by reason.  A new one of these has the reason "?", which a person replaces.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compat.suites import SETTINGS, results

TABLE = Path(__file__).with_suffix(".json")
TENSORFLOW = sys.executable, "-m", "pytest"
HERE = (
    *(sys.executable, "-m", "dovetail", "run", "--as", "tf1", "--map", "tf_slim"),
    *("--engine", "numpy", "-m", "pytest"),
)


def package() -> Path:
    """The folder of the installed package, which has its tests."""
    spec = find_spec("tf_slim")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def outcomes(command: tuple[str, ...], files: list[str]) -> dict[str, bool]:
    """Whether each test passes that a command runs, by name: "layers.layers_test.FlattenTest.testUnknownDims".

    Raises:
        AssertionError: pytest wrote no report; the message has what it printed.
    """
    home = package()
    with TemporaryDirectory() as folder:
        options = "--rootdir", str(home.parent), *(str(home / file) for file in files)
        run = subprocess.run(
            [*command, *options, "-q", "-p", "no:cacheprovider", "-W", "ignore", "--junitxml", f"{folder}/report.xml"],
            cwd=folder,
            env=os.environ | SETTINGS,
            capture_output=True,
            text=True,
        )
        report = Path(folder, "report.xml")
        assert report.exists(), run.stdout[-2000:] + run.stderr[-2000:]
        found = results(report)
    names = ((name.removeprefix("tf_slim."), tags) for name, tags in found.items())
    return {name: not tags for name, tags in names if not ({"skipped"} & tags or name.endswith(".test_session"))}


def main(files: list[str]) -> None:
    """Run the files that are given, or all, and replace their rows of the table."""
    table = json.loads(TABLE.read_text())
    print("| file | TensorFlow | of these here | here alone |\n| --- | --- | --- | --- |")
    for file in files or sorted(str(path.relative_to(package())) for path in package().rglob("*_test.py")):
        wanted, found = outcomes(TENSORFLOW, [file]), outcomes(HERE, [file])
        passing, ours = ({name for name, good in side.items() if good} for side in (wanted, found))
        table["TensorFlow"][file] = sorted({*wanted, *found} - passing)
        for names in table["here"].values():
            names[:] = [name for name in names if name not in ours]
        known = {name for names in table["here"].values() for name in names}
        table["here"].setdefault("?", []).extend(sorted(passing - ours - known))
        table["here"] = {reason: names for reason, names in table["here"].items() if names}
        row = f"{len(passing)} of {len(wanted)}", len(passing & ours), len(ours - passing)
        print(f"| {file} |", " | ".join(map(str, row)), "|", flush=True)
        TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
