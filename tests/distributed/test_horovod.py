"""A program of 2018 with Horovod's names runs unedited in several processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.distributed.ranks import LIMIT
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

PROGRAM = Path(__file__).with_name("old_horovod.py")


def test_an_old_program_trains_in_two_processes(tmp_path):
    command = [sys.executable, "-m", "dovetail", "run", "--processes", "2", "--engine", "numpy"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DOVETAIL_CACHE": ""}
    run = subprocess.run(
        [*command, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, timeout=LIMIT, env=environment
    )
    assert run.returncode == 0, run.stdout + run.stderr
    printed = re.findall(r"(weights|loss|rate|accuracy) (\d+\.\d+)", run.stdout)
    found = dict(printed)
    assert Counter(printed) == {(name, found[name]): 1 if name == "accuracy" else 2 for name in found}, run.stdout
    assert found.keys() == {"weights", "loss", "rate", "accuracy"}
    assert float(found["rate"]) == 0.2  # the sum of both ranks', after the warm-up
    assert float(found["accuracy"]) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["model-0.h5"]
