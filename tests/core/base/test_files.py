"""Replacing files, whole or not at all, and locks."""

from __future__ import annotations

import os
import stat
import threading
import time

import pytest

from dovetail.core.base import files
from dovetail.core.base.files import locked, replacing


def test_the_new_file_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"ne")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "numbers"):
        pass
    assert stat.S_IMODE((tmp_path / "numbers").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_the_mask_of_the_process_is_read_by_the_system_alone(tmp_path, monkeypatch):
    """Setting it, for however short a time, changes files that another thread makes."""
    monkeypatch.setattr(os, "umask", None)
    with replacing(tmp_path / "numbers") as file:
        file.write(b"1")
    assert (tmp_path / "numbers").read_bytes() == b"1"


def test_a_lock_waits_for_its_holder(tmp_path):
    path, order = tmp_path / "lock", []

    def later():
        with locked(path):
            order.append("second")

    with locked(path):
        waiting = threading.Thread(target=later)
        waiting.start()
        time.sleep(0.1)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_a_lock_does_not_wait_for_ever(tmp_path, monkeypatch):
    """Check what a signal's handler needs that has interrupted the holder itself."""
    monkeypatch.setattr(files, "WAIT", 0.05)
    with locked(tmp_path / "lock"), locked(tmp_path / "lock"):
        pass


def test_an_interrupted_block_gives_its_lock_up(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "WAIT", 60.0)

    def interrupted(file):
        take(file)
        raise KeyboardInterrupt

    take = files._take
    with monkeypatch.context() as patch:
        patch.setattr(files, "_take", interrupted)
        with pytest.raises(KeyboardInterrupt) as kept, locked(tmp_path / "lock"):
            pass
    start = time.monotonic()
    with locked(tmp_path / "lock"):
        assert time.monotonic() - start < 30 and kept.value.__traceback__ is not None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "none"])
def test_without_a_lock_the_block_runs(tmp_path, kind):
    path = tmp_path / "lock"
    make = {
        "link": lambda p: p.symlink_to(tmp_path / "x"),
        "pipe": os.mkfifo,
        "folder": os.mkdir,
        "none": lambda p: None,
    }
    make[kind](path)
    with locked(path / "missing" if kind == "none" else path):
        pass
    assert not (tmp_path / "x").exists()
