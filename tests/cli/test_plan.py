"""`dovetail plan`: lists, shows and forgets the records of measurements."""

from __future__ import annotations

import json
import sys

import pytest

from dovetail.choose import records
from dovetail.choose.report import Report
from dovetail.cli.main import main
from dovetail.core.base import cache_folder
from dovetail.execute.choice import Row, Strategy

KEYS = ["ab" * 20, "cd" * 20]


@pytest.fixture(autouse=True)
def _kept(monkeypatch, tmp_path):
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["/home/ada/fit.py", "--fast"])
    for key, name in zip(KEYS, ["train", "predict"], strict=True):
        records.append(key, name, Strategy("jax", "patches"), [0.002, 0.001, 0.003], 40)
        records.append(key, name, Strategy("torch"), [0.003, 0.002, 0.004, 0.002, 0.004], 40)


def test_list(capsys):
    assert main(["plan", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    row = next(line for line in lines if "train" in line)
    assert (
        row.split()[:2] == ["abababab", "fit.py"]
        and row.split()[2] == "train"
        and "jax patches" in row
        and " 2  " in row
    )


def test_lines_of_programs_that_noted_no_name(capsys, tmp_path):
    file = tmp_path / f"{KEYS[0]}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines() if line]
    file.write_text("\n".join(json.dumps({k: v for k, v in line.items() if k != "script"}) for line in lines))
    assert main(["plan", "list"]) == 0
    assert "abababab  -        train" in capsys.readouterr().out


def test_show(capsys):
    assert main(["plan", "show", "abab"]) == 0
    said = capsys.readouterr().out
    assert "train of fit.py, measured" in said and "40 steps" in said and "predict, " not in said
    rows = [line.strip() for line in said.splitlines()]
    assert "torch: not predicted, measured 3 ms in 5 calls" in rows and "jax patches: not predicted" in said
    assert main(["plan", "show"]) == 0
    assert "predict" in capsys.readouterr().out


def test_show_the_rows_of_the_process(capsys):
    """Check that it shows the rows of `print(plan)`: predictions, the reason to wait, the ledger, the latest times."""
    rows = [Row(Strategy("torch"), 0.004, 0.5, 9), Row(Strategy("numpy"), 0.002, gain=3.0, cost=12.0)]
    records.append_report(KEYS[0], "train", 80, Report(rows, 0.25, 60.0))
    assert main(["plan", "show", "abab"]) == 0
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert said[0].endswith(", 80 steps") and said[1:] == [
        "jax patches: not predicted, measured 2 ms in 3 calls",
        "torch: predicted 4 ms, measured 3 ms in 5 calls",
        "numpy: predicted 2 ms, not measured, gain 3 s < cost 12 s",
        "learning has cost 0.25 s of 60 s",
        "",
    ]


def test_show_what_is_not_there(capsys):
    assert main(["plan", "show", "ffff"]) == 1
    assert "dovetail plan list" in capsys.readouterr().err


def test_clear_one(capsys):
    assert main(["plan", "clear", "abab"]) == 0
    assert capsys.readouterr().out.startswith("forgot 1 of ") and [entry.key for entry in records.entries()] == KEYS[1:]
    assert main(["plan", "clear", "abab"]) == 1
    assert "'abab'" in capsys.readouterr().err


def test_clear(capsys):
    assert main(["plan", "clear"]) == 0
    assert capsys.readouterr().out.startswith("forgot 2 of ")
    for action in ("list", "show", "clear"):
        assert main(["plan", action]) == 0
        assert "nothing is kept in" in capsys.readouterr().out


def test_where_nothing_is_kept(capsys, monkeypatch):
    monkeypatch.setenv(cache_folder.VARIABLE, "")
    for action in ("list", "show", "clear"):
        assert main(["plan", action]) == 0
        assert f'{cache_folder.VARIABLE} is ""' in capsys.readouterr().out
