"""Tests of `ranks`, by which other tests start several processes."""

from __future__ import annotations

import sys
import time

import pytest

from tests.distributed import ranks

WORDY = "import os, sys; [print('x' * 99, file=sys.stderr) for _ in range(5000)]; print(os.environ['ANSWER'])"


def test_a_rank_that_prints_much_ends_before_somebody_reads(tmp_path):
    rank = ranks.Rank([sys.executable, "-c", WORDY], {"ANSWER": "42"}, tmp_path / "output")
    end = time.monotonic() + 60
    while rank.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert rank.poll() == 0
    assert rank.printed(1).endswith("42\n") and rank.is_ready()


def test_a_rank_that_ends_without_a_line(tmp_path):
    rank = ranks.Rank([sys.executable, "-c", "import sys; sys.stderr.write('why')"], {}, tmp_path / "output")
    with pytest.raises(AssertionError, match="why"):
        ranks.after_ready([rank], 0, ranks.stop)


def test_ranks_that_do_not_end():
    with pytest.raises(AssertionError, match=r"did not end within 0 s; they printed:\n(.*\n)*---"):
        ranks.run("http.server", ("numpy", "numpy"), "0", "--bind", "127.0.0.1", limit=0)
