"""Old programs in several processes, as `dovetail run --processes` starts them, and the lines that they print."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from tests.distributed.ranks import LIMIT

OLD = Path(__file__).with_name("old")


def printed(program, *arguments, processes=2, engine="numpy"):
    """The words of the lines that all processes of an old program print, by their first word."""
    command = [sys.executable, "-m", "dovetail", "run", "--processes", str(processes), "--engine", engine]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DOVETAIL_CACHE": ""}
    done = subprocess.run(
        [*command, str(OLD / program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = defaultdict(list)
    for line in filter(None, done.stdout.splitlines()):
        found[line.split()[0]].append(line.split()[1:])
    return dict(found)


def numbers(words):
    """The numbers among words."""
    return np.array([float(word) for word in words if word[-1].isdigit()])
