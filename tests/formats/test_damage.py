"""Damage: files that were changed at random, and saves that were killed at each line."""

import os
import subprocess
import sys

import pytest

from tests.formats.mutations import mutations


def test_changed_files_are_read_or_refused(tmp_path):
    found = mutations(1000, 0, tmp_path)
    assert found["document: read"] > 20 and found["document: refused"] > 200 and found["cut: refused"] > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_killed_save_leaves_the_old_file_or_the_new_one(tmp_path):
    command = [sys.executable, "-m", "tests.formats.kills", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    killed, old, new = map(int, done.stdout.split())
    assert killed > 30 and old > 30 and new >= 1 and old + new == killed + 1
