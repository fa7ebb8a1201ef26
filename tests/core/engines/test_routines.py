"""What libraries in C write: some lines are caught, others pass."""

from __future__ import annotations

import os

from dovetail.core.engines.routines import native_output


def test_lines_of_libraries_are_caught_and_others_pass(capfd):
    with native_output("library,") as written:
        os.write(1, b"library,one\nother\nlibrary,two\n")
        assert written() == ["library,one", "library,two"]
        assert written() == []
        os.write(1, b"library,three\n")
    assert capfd.readouterr().out == "other\n"


def test_a_process_without_standard_output(capfd):
    saved = os.dup(1)
    os.close(1)
    try:
        with native_output("library,") as written:
            assert written() == []
    finally:
        os.dup2(saved, 1)
        os.close(saved)
