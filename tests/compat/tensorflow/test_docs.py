"""The page of names is as its script writes it, and is of names that are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_is_not_stale():
    run = subprocess.run([sys.executable, ROOT / "docs/tf_names.py", "--check"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


def test_no_case_fails_that_was_counted():
    support = json.loads((ROOT / "src/dovetail/compat/tensorflow/support.json").read_text())
    failed = [name for name, runs in support["names"].items() if any(fails for _, fails in runs.values())]
    assert failed == []
    assert {"matmul", "nn.conv2d", "train.AdamOptimizer"} <= set(support["names"])
