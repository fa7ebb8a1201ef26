"""Calls that wait for a person: they return if nobody is there."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from dovetail.compat import running
from dovetail.compat.run import waits


def test_input_is_read_and_then_empty(tmp_path, monkeypatch, capsys):
    (tmp_path / "old.py").write_text("import tensorflow as tf\ntf.placeholder\nx = raw_input('a'), input('b'), input()")
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n"))
    with running(tmp_path / "old.py") as program:
        assert program.run()["x"] == ("3", "", "")
    assert capsys.readouterr().err == "dovetail: nobody answers input(), so the answer is empty\n"


def test_a_loop_that_asks_until_it_likes_the_answer_ends(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ask = waits.asking()
    with pytest.raises(EOFError):
        while ask() != "y":
            pass


WAITS = """
import os, numpy as np
import matplotlib.pyplot as plt
import tensorflow as tf
tf.placeholder(tf.float32)
plt.plot([1, 2]); plt.draw(); plt.show()
print(plt.waitforbuttonpress(), plt.ginput(timeout=-1), repr(input("go on?")), np.float)
"""


@pytest.mark.parametrize("strict", [False, True])
def test_a_program_ends_without_display_and_terminal(tmp_path, strict):
    pytest.importorskip("matplotlib")
    (tmp_path / "old.py").write_text(
        WAITS.replace("plt.waitforbuttonpress(), plt.ginput(timeout=-1)", "0") if strict else WAITS
    )
    settings = {name: value for name, value in os.environ.items() if name not in (*waits.DISPLAYS, "MPLBACKEND")}
    command = [sys.executable, "-m", "dovetail", "run", "--engine", "numpy", *["--strict"] * strict, "old.py"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if strict:
        assert done.returncode == 1 and "module 'numpy' has no attribute 'float'" in done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, "go on?\nNone [] '' <class 'float'>\n"), done.stderr
        assert "has no numpy.float: builtins.float stands for it; --strict leaves it an error" in done.stderr
