"""The kinds of files: the contents decide, not the name; a file of no kind is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

from dovetail.core.errors import FormatError
from dovetail.formats import safetensors
from dovetail.formats.summary.kinds import summarize


def test_the_contents_decide_not_the_name(tmp_path):
    safetensors.write(tmp_path / "x.npz", {"a": np.zeros(2)}, {})
    assert summarize(tmp_path / "x.npz").kind == "safetensors"
    np.savez(tmp_path / "y.npz", a=np.zeros(2))
    (tmp_path / "y.npz").rename(tmp_path / "x.safetensors")
    assert summarize(tmp_path / "x.safetensors").kind == "NumPy's arrays (npz)"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x", b"\x00\x01\x02 something", "found the bytes b'.*needed: a file of one of these kinds: Dovetail's own"),
        ("x", b"", "nothing, the file is empty"),
        ("x.safetensors", b"\xff" * 20, "the first 8 bytes"),
        ("x.npz", b"PK", "the archive"),
    ],
)
def test_files_of_no_kind(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        summarize(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="no regular file"):
        summarize(tmp_path / "pipe")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        summarize(tmp_path / "gone")
