"""Pressure of other programs, on a virtual clock and beside a real program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dovetail.choose import pressure
from dovetail.choose.pressure import LASTING, WINDOW, Pressure


class Machine:
    """Counters of a kernel: in each second, threads wait for `waiting` seconds, and others compute for `using`."""

    def __init__(self, monkeypatch, waiting=0.0, using=0.0):
        self.now, self.waiting, self.using, self.counts = 0.0, waiting, using, [0.0, 0.0]
        self.pressure = Pressure()
        monkeypatch.setattr(pressure, "waited", lambda: self.counts[0])
        monkeypatch.setattr(pressure, "used_by_others", lambda: self.counts[1])
        self.pressure.look(0.0)

    def run(self, windows=1):
        for _ in range(windows):
            self.now += 1.01 * WINDOW
            self.counts = [c + WINDOW * rate for c, rate in zip(self.counts, (self.waiting, self.using), strict=True)]
            self.pressure.look(self.now)
        return self.pressure.is_high, self.pressure.lasts


@pytest.mark.parametrize(
    ("waiting", "using", "is_high"), [(0.9, 1.5, True), (0.9, 0.0, False), (0.0, 1.5, False), (0.1, 0.1, False)]
)
def test_others_press_a_program_that_waits_while_they_compute(monkeypatch, waiting, using, is_high):
    """Check that a program whose own threads wait for each other is not pressed."""
    assert Machine(monkeypatch, waiting, using).run(LASTING) == (is_high, is_high)


def test_pressure_lasts_after_some_windows_and_ends_after_as_many(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.0)
    assert machine.run(LASTING - 1) == (True, False)
    assert machine.run() == (True, True)
    machine.waiting = 0.0
    assert machine.run(LASTING - 1) == (False, True)
    assert machine.run() == (False, False)


def test_a_look_within_a_window_reads_nothing(monkeypatch):
    machine = Machine(monkeypatch)
    monkeypatch.setattr(pressure, "waited", lambda: pytest.fail("it reads"))
    assert not machine.pressure.look(WINDOW / 2)


@pytest.mark.parametrize("missing", [("_delays",), ("_delays", "_stalls"), ("_delays", "_stalls", "_switches")])
def test_systems_that_count_less_have_another_way(monkeypatch, missing):
    def fail():
        raise FileNotFoundError("this system has no such file")

    for name in missing:
        monkeypatch.setattr(pressure, name, fail)
    before = pressure.waited()
    assert pressure.waited() >= before >= 0.0


def test_use_by_others_is_the_clock_where_it_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(pressure, "PROCESSORS", tmp_path / "none")
    assert pressure.used_by_others() < pressure.used_by_others()


BESIDE = """
import os, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the other program runs on this core, too
from dovetail.choose.pressure import pressure
hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    end = time.perf_counter() + 20
    while not pressure.lasts and time.perf_counter() < end:
        pressure.look(time.perf_counter())
finally:
    hog.kill()
print(pressure.lasts)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin a program to a core")
def test_a_program_on_the_same_core_presses():
    assert subprocess.check_output([sys.executable, "-c", BESIDE], text=True).strip() == "True"
