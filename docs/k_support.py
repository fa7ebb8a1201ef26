"""The count of the functions of K that work on each engine, from the runs of the parity suite.

pytest tests/backend/test_parity.py --k-support runs.jsonl -n 2
python docs/k_support.py runs.jsonl

If the suite was run in parts, give all files.  With --update, the script counts functions again if all their cases were
run with the versions of the file, and keeps the others.  The result is src/dovetail/backend/support.json:

- versions: of Python, the engines and the oracle
- functions, compared: name → way → engine → numbers of cases
- functions, not compared: name → "uncompared": the reason
- functions that K lacks: name → "absent": the reason

The three numbers are the cases that agree or that tf.keras refuses, that differ as pinned, and that fail.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.backend.test_parity import RUNS

from dovetail.backend import legacy
from dovetail.backend.docstring import read, says, takes_more
from dovetail.backend.table import FUNCTIONS

FILE = ROOT / "src/dovetail/backend/support.json"
AGREES, DIFFERS, FAILS = range(3)

OLD = "tf.keras has no such function; tests/backend/{} tests it"
UNCOMPARED = {
    "backend": "it names the engine, and tf.keras always says tensorflow",
    "control_dependencies": OLD.format("test_symbolic.py"),
    "eager": OLD.format("test_symbolic.py"),
    "get_session": OLD.format("test_session.py"),
    "is_placeholder": OLD.format("test_symbolic.py"),
    "is_symbolic": OLD.format("test_symbolic.py"),
    "is_tensor": OLD.format("test_symbolic.py"),
    "is_variable": OLD.format("test_symbolic.py"),
    "set_backend_name": "Dovetail's own; its docstring's example tests it",
    "set_session": OLD.format("test_session.py"),
    "symbolic": OLD.format("test_symbolic.py"),
    "v1_variable_initialization": "it does nothing",
}


def read_runs(paths: Iterable[Path]) -> tuple[dict[str, str], dict[tuple[str, str, str], dict[str, Any]]]:
    """The versions that ran, and (case, way, engine) → its run; the last run of a case counts."""
    versions: dict[str, str] = {}
    runs = {}
    for path in paths:
        for line in path.read_text().splitlines():
            said = json.loads(line)
            if "versions" in said:
                versions |= said["versions"]
            else:
                runs[said["case"], said["way"], said["engine"]] = said
    return versions, runs


def count(runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The entry of each function."""
    found: dict[str, Any] = {name: {} for name in FUNCTIONS}
    for said in runs:
        for name in said["functions"]:
            if name in FUNCTIONS:
                counts = found[name].setdefault(said["way"], {}).setdefault(said["engine"], [0, 0, 0])
                counts[outcome(name, said)] += 1
    found |= {name: {"uncompared": why} for name, why in UNCOMPARED.items()}
    return found | {name: {"absent": why} for name, why in legacy.ABSENT.items()}


def outcome(name: str, said: dict[str, Any]) -> int:
    """The index of the function's count to which a run belongs."""
    if not said["passed"]:
        return FAILS
    sentences = [text for text in read(FUNCTIONS[name]).differences if says(text, said["differs"])]
    return DIFFERS if said["differs"] and not any(map(takes_more, sentences)) else AGREES


def main(arguments: list[str]) -> int:
    """Write the file, unless the runs lack cases of the suite, or of the functions to update."""
    update, paths = "--update" in arguments, [path for path in arguments if path != "--update"]
    if not paths:
        print(__doc__)
        return 2
    versions, runs = read_runs(map(Path, paths))
    engines = sorted({engine for _, _, engine in runs})
    versions = {
        name: number for name, number in versions.items() if name in (*engines, "python", "dovetail", "tf_keras")
    }
    wanted = [(str(case), way, engine) for case, way in RUNS for engine in engines]
    missing = [run for run in wanted if run not in runs]
    functions = count(runs[run] for run in wanted if run in runs)
    if update:
        known = json.loads(FILE.read_text())
        if known["versions"] != versions:
            print(f"the file is of {known['versions']}, not of {versions}: run the whole suite")
            return 1
        left = {case for case, _, _ in missing}
        partly = {name for case, _ in RUNS if str(case) in left for name in case.functions}
        functions |= {name: known["functions"].get(name, {}) for name in partly & set(FUNCTIONS)}
        missing = []
    untested = [name for name, entry in functions.items() if not entry]
    for case, way, engine in missing[:5]:
        print(f"one of {len(missing)} that were not run: on {engine}, {way}, {case}")
    for name in untested:
        print(f"no case tests {name}: write one, or say why not in UNCOMPARED")
    if missing or untested:
        return 1
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions))
    FILE.write_text(f'{{"versions": {json.dumps(versions)},\n "functions": {{\n{lines}\n }}}}\n')
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
