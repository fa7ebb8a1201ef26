"""Damage: files that were changed at random, and saves that were killed at each line and at each system call."""

import os
import subprocess
import sys

import pytest

from tests.formats.mutations import mutations


def test_changed_files_are_read_or_refused(tmp_path):
    found = mutations(1000, 0, tmp_path)
    assert found["document: read"] > 20 and found["document: refused"] > 200 and found["cut: refused"] > 50


has_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
WAYS = ["file", "bundle"]


def kills(*arguments):
    """The rows of a run: the name of a call → how often the old value was found, and the new one."""
    command = [sys.executable, "-m", "tests.formats.kills", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "no process can be traced here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: (int(old), int(new)) for name, _, old, new in rows}


@has_fork
@pytest.mark.parametrize("way", WAYS)
def test_a_save_killed_at_any_line_leaves_the_old_file_or_the_new_one(tmp_path, way):
    old, new = kills(way, tmp_path)["line"]
    assert old > 30 and (new > 0) == (way == "bundle")  # a bundle's old shards are removed at last


@has_fork
@pytest.mark.parametrize("way", WAYS)
def test_a_save_killed_at_any_system_call_leaves_the_old_file_or_the_new_one(tmp_path, way):
    found = kills(way, tmp_path, "--calls")
    files = 1 if way == "file" else 2  # the shard and the index
    assert found["rename"] == (files, 0) and found["fsync"] == (files, 0) and found["write"][0] >= 2
    assert found["exit_group"] == (0, 1)
