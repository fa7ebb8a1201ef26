"""Functions whose engine is chosen, if the folder of entries cannot be used; a program for its own process.

python -m tests.choose.hostile_places CIRCUMSTANCE
"""

import os
import resource
import sys

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.choose import jobs, measured_plan, measurer, records
from dovetail.core.base import cache_folder
from tests.functions.interrupted import LONG_AGO

NOBODY = 54321  # this number belongs to no user
X = np.linspace(-1, 1, 6, dtype="float32")


def made(factor):
    return dt.function(lambda x: ops.tanh(x * factor), engine="auto")


def settle(function, factor):
    """Call a function until strategies were compared, check each result, and keep the times."""
    for _ in range(100):
        np.testing.assert_allclose(function(X), np.tanh(X * factor), rtol=1e-6)
    function.plan(X).measurer.keep()


def become_nobody():
    """Become another user without a home, who may not read this user's folders."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ.pop("HOME", None)


def fill_the_disk():
    """Let no file of this process grow beyond zero bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


CIRCUMSTANCES = {"nobody": become_nobody, "full": fill_the_disk, "plain": lambda: None}


def main(circumstance):
    jobs.later, measurer.ledger.started = lambda function: function(), LONG_AGO
    engines = [name for name in dt.list_engines() if name in ("numpy", "torch", "jax")][:2]
    measured_plan.list_candidates = lambda: engines
    said, os.environ[cache_folder.VARIABLE] = os.environ.get(cache_folder.VARIABLE), ""
    settle(made(2.0), 2.0)  # this imports all modules, which another user may not be allowed to read
    del os.environ[cache_folder.VARIABLE]
    if said is not None:
        os.environ[cache_folder.VARIABLE] = said
    CIRCUMSTANCES[circumstance]()
    for factor in (3.0, 4.0):
        settle(made(factor), factor)
    print("right", len(list(records.entries())))


if __name__ == "__main__":
    main(sys.argv[1])
