"""Large models: external data stays in the mapped file, and a file beyond the limit of protobuf is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import LONGEST
from tests.parts import WHOLE

SIZE = 2**30 if WHOLE else 2**27


@pytest.mark.deeper
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell the most memory")
def test_large_weights_are_loaded_and_saved_in_little_memory():
    command = [sys.executable, "-m", "tests.formats.onnx.large_checks", str(SIZE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert max(map(int, done.stdout.split())) < 64 << 20


def test_a_file_beyond_the_limit_of_protobuf_is_refused(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(LONGEST + 1)
    with pytest.raises(FormatError, match="write the weights as external data"):
        dt.onnx.load(path)
