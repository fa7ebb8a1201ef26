"""Old programs run unedited by `dovetail run`, with the numbers that TensorFlow 2.21 and tf_keras print.

`oracle.py` made the expected lines.  Text must be equal, numbers within 1e-3.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import require
from tests.programs.data import write_mnist

for library in ("keras", "scipy"):
    require(library, "the programs use it")

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).parent / "old"
PROGRAMS = sorted(path.name for path in OLD.iterdir() if path.suffix in (".py", ".ipynb"))
ENGINES = ("numpy", "torch")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf")
TOLERANCE = 1e-3
# Rounding decides steps in two programs, so their later numbers differ by more.  A bias of ddpg is 0.001 less a step of
# 0.001, and its last bit switches a unit on.  A bias of image_folder stands before a batch normalization, so its
# gradient is rounding alone, of which RMSprop makes whole steps.
TOLERANCES = {"ddpg.py": 2e-2, "image_folder.py": 6e-3}
# Keras 2 numbers the first layer of a class, as Dovetail does; tf_keras, which printed the lines, does not.
NUMBERED = {"attention_k.py": ("attention_with_context", "attention_with_context_1")}


def differences(found: str, expected: str, tolerance: float = TOLERANCE) -> list[str]:
    """The lines that differ by more than the tolerance."""
    ours, theirs = found.splitlines(), expected.splitlines()
    wrong = [
        f"{mine!r} is not {its!r}" for mine, its in zip(ours, theirs, strict=False) if not alike(mine, its, tolerance)
    ]
    return wrong if len(ours) == len(theirs) else [*wrong, f"{len(ours)} lines are not {len(theirs)}"]


def alike(mine: str, its: str, tolerance: float) -> bool:
    """Whether two lines have the same text, and numbers within the tolerance."""
    if NUMBER.split(mine) != NUMBER.split(its):
        return False
    pairs = zip(NUMBER.findall(mine), NUMBER.findall(its), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= tolerance * max(1, abs(float(b))) for a, b in pairs)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, engine: str, tmp_path: Path):
    require(engine, "it runs the program")
    write_mnist(tmp_path / "MNIST_data")
    settings = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), "DOVETAIL_CACHE": ""}
    command = [sys.executable, "-m", "tests.programs.child", engine, str(OLD / name)]
    ran = subprocess.run(command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True)
    assert ran.returncode == 0, f"{ran.stdout[-500:]}\n{ran.stderr[-3000:]}"
    expected = (OLD / name).with_suffix(".txt").read_text().replace(*NUMBERED.get(name, ("", "")))
    assert not differences(ran.stdout, expected, TOLERANCES.get(name, TOLERANCE))


def test_differences_are_seen():
    assert not differences("loss 0.10001 at 3\n", "loss 0.10002 at 3\n")
    for other in ("loss 0.103 at 3\n", "loss 0.1 at 4\n", "lost 0.1 at 3\n", "loss 0.1 at 3\nend\n", ""):
        assert differences(other, "loss 0.1 at 3\n")
