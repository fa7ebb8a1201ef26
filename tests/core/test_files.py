"""Replacing files: whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from dovetail.core.files import replacing


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
