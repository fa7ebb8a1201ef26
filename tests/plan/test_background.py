"""Work in the background: in order, whatever fails; and a program that ends does not wait for it."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import pytest

from dovetail.plan.background import later

UNENDING = """
import threading, time
from dovetail.plan.background import later

begun = threading.Event()
caught = []

def catching():
    try:
        time.sleep(0.01)
    except BaseException as error:  # as libraries do: the first time it goes on
        caught.append(error)
        if len(caught) > 1:
            raise

def unending():
    begun.set()
    while True:
        {body}

later(unending)
begun.wait()
print("the program is done")
"""
BODIES = {
    "busy": "pass",
    "waiting": "time.sleep(0.01)",
    "catching": "catching()",
}


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("kind", BODIES)
def test_a_program_ends_while_something_is_prepared(kind):
    done = ended(UNENDING.format(body=BODIES[kind]))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.startswith("the program is done")


def test_a_program_ends_while_nothing_is_prepared():
    done = ended("from dovetail.plan.background import later\nlater(lambda: print('prepared'))")
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
