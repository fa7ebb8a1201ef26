"""Work in the background: it keeps its order, whatever fails; and a program that ends does not wait for it."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import pytest

from dovetail.choose.background import later
from dovetail.core.base.ending import stop_if_ending

UNENDING = """
import sys, threading, time
from dovetail.core.base.ending import stop_if_ending
from dovetail.choose.background import later

begun = threading.Event()

def importing():
    sys.modules.pop("colorsys", None)
    try:
        import colorsys
    except BaseException:  # as libraries do: they go on, and import something else
        import colorsys

def unending():
    begun.set()
    while True:
        {body}

later(unending)
begun.wait()
later(lambda: print("nobody asks for it any more"))
print("the program is done")
"""
BODIES = {"importing": "importing()", "between two steps": "time.sleep(0.01); stop_if_ending()"}
IN_A_LIBRARY = """
import threading, time
from dovetail.choose.background import later

begun = threading.Event()

def step():
    begun.set()
    try:
        for _ in range(100):
            time.sleep(0.005)
        print("the step is done")
    except BaseException as error:
        print("interrupted by", repr(error))

later(step)
begun.wait()
print("the program is done")
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("kind", BODIES)
def test_a_program_ends_while_something_is_prepared(kind):
    done = ended(UNENDING.format(body=BODIES[kind]))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout == "the program is done\n"


def test_nothing_is_raised_in_a_step():
    done = ended(IN_A_LIBRARY)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.splitlines() == ["the program is done", "the step is done"]


def test_stopping_elsewhere_does_nothing():
    stop_if_ending()


def test_a_program_ends_while_nothing_is_prepared():
    done = ended("from dovetail.choose.background import later\nlater(lambda: print('prepared'))")
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_what_is_raised_is_logged_and_the_next_is_called(caplog):
    called = threading.Event()

    def failing():
        raise ValueError("no such plan")

    with caplog.at_level(logging.ERROR, "dovetail.plan"):
        later(failing)
        later(called.set)
        assert called.wait(60)
    assert "no such plan" in caplog.text
