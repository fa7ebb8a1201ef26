"""The page of names: it is as its script writes it, and lists names that exist."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.compat.tensorflow.entries import V1, V2
from tests.compat.tensorflow.parity import program

ROOT = Path(__file__).parents[3]


def test_the_page_is_not_stale():
    run = subprocess.run([sys.executable, ROOT / "docs/tf_names.py", "--check"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


def test_no_case_fails_that_was_counted():
    support = json.loads((ROOT / "src/dovetail/compat/tensorflow/support.json").read_text())
    failed = [name for name, runs in support["names"].items() if any(fails for _, fails in runs.values())]
    assert failed == []
    assert {"matmul", "nn.conv2d", "train.AdamOptimizer"} <= set(support["names"]) <= {*V1, *V2}


def test_text_in_parentheses_is_not_counted(tmp_path):
    case = program("math.abs nn.relu (of [1, 2], apply_gradients)", lambda tf: None)
    assert case.functions == ("math.abs", "nn.relu")
    assert set(counted(tmp_path, case.functions)["names"]) == {"math.abs", "nn.relu"}


@pytest.mark.parametrize("name", ["-2]", "[0,", "apply_gradients", "compat.v1.nothing"])
def test_a_name_that_is_not_offered_is_not_counted(tmp_path, name):
    with pytest.raises(ValueError, match=re.escape(f"names {name!r}")):
        counted(tmp_path, ("matmul", name))


def counted(folder, functions):
    """The counts of docs/tf_names.py for one run."""
    lines = {"versions": {"numpy": "2"}}, {"functions": functions, "engine": "numpy", "passed": True}
    (folder / "runs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return runpy.run_path(str(ROOT / "docs/tf_names.py"))["count"](folder / "runs.jsonl")
