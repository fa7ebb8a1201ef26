"""`examples/fpga.py`: one type of operation on a registered engine, by its device."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import dovetail as dt

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("fpga")


def test_products_run_on_the_accelerator_and_the_rest_elsewhere(program, engine, capsys):
    found = program.main(["--engine", engine])
    assert 0 < found["error"] <= found["bound"] and found["layer error"] <= found["bound"]
    assert found["devices"]["MatMul"] == "/device:FPGA:0" and found["devices"]["Tanh"] == ""
    assert found["cycles"] == 3 * 2 * (32 + 30)  # tiles of 40 x 20, each with 32 inner numbers
    first, last = found["losses"]
    assert last < 0.5 * first and found["products"] == 5
    lines = found["plan"].splitlines()
    assert sum("fpga (fpga:0): MatMul" in line for line in lines) >= 3
    assert all("MatMul" not in line or "fpga" in line or "move" in line for line in lines)
    printed = capsys.readouterr()
    assert "372 cycles" in printed.out
    assert "(MatMul): /job:localhost/replica:0/task:0/device:FPGA:0" in printed.err
    assert "fpga" not in dt.list_engines()


def test_numbers_are_limited_to_sixteen_bits(program):
    import numpy as np

    found = program.fixed(np.float32([0.0, 1 / 512, 0.25, 1000.0, -1000.0]))
    assert found.tolist() == [0, 0, 64, 2**15 - 1, -(2**15)]
