"""Memory that stays with the process: the C library's setting, its effect, and the error if it cannot be set."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import dovetail as dt
from dovetail.core.base import memory
from tests.memory import STATM

ALLOCATE = """
    import resource
    import numpy as np
    def faults(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(rounds):
            np.empty(5_000_000, "float32")[::512] = 1.0  # a page each
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    faults(3)
    print(faults(20))
"""

needsglibc = pytest.mark.skipif(memory.glibc() is None, reason="the C library here is not glibc, which it is about")


def printed(program: str, **environment: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout


@needsglibc
def test_blocks_stay():
    freed = int(printed(f"    import dovetail{ALLOCATE}", DOVETAIL_KEEP_MEMORY="0"))
    kept = int(printed(f"    import dovetail{ALLOCATE}", DOVETAIL_KEEP_MEMORY="1"))
    assert kept < freed / 5


@needsglibc
def test_blocks_go_again():
    program = "    import dovetail.core.base.config as c; c.set_keep_memory(True); c.set_keep_memory(False)"
    freed = int(printed(f"    import dovetail{ALLOCATE}"))
    assert int(printed(f"{program}{ALLOCATE}")) > freed / 2


@pytest.mark.parametrize(
    "environment, set_first, kept",
    [(None, "", True), ("0", "", False), ("1", "", True), (None, "dt.config.set_keep_memory(False)", False)],
)
@needsglibc
def test_who_decides(environment, set_first, kept):
    made = "import dovetail as dt; from dovetail.core.base import memory"
    program = f"{made}; {set_first}\nmemory.keep_by_default(); print(dt.config.keep_memory())"
    said = {} if environment is None else {memory.VARIABLE: environment}
    assert printed(program, **said).strip() == str(kept)


def test_off_in_a_library():
    assert printed("import dovetail as dt; print(dt.config.keep_memory())").strip() == "False"


THREADS = """
    import threading
    import numpy as np
    ready, go = threading.Event(), threading.Event()
    def of_thread():
        np.empty(100)  # so it has its heap
        ready.set()
        go.wait()
        for size in (5_000_000, 12_000_000):
            block = np.empty(size, "float32")
            block[::512] = 1.0
            del block
            before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
            for _ in range(10):
                np.empty(size, "float32")[::512] = 1.0
            print(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    thread = threading.Thread(target=of_thread)
    thread.start()
    ready.wait()
    import resource
    import dovetail as dt
    dt.config.set_keep_memory(KEPT)
    go.set()
    thread.join()
"""


@needsglibc
def test_blocks_of_threads_stay_that_allocated_before():
    kept, freed = ([int(n) for n in printed(THREADS.replace("KEPT", str(value))).split()] for value in (True, False))
    assert all(a < b / 5 for a, b in zip(kept, freed, strict=True)), (kept, freed)


@needsglibc
@pytest.mark.skipif(not STATM.exists(), reason="the system does not say how many pages are in memory")
def test_what_is_kept_can_be_given_back():
    program = f"""
        import dovetail as dt
        from dovetail.core.base import memory
        def used():
            return int(open({str(STATM)!r}).read().split()[1])
        def take():
            blocks = [bytearray(2**20) for _ in range(100)]
            for block in blocks:
                block[:] = bytes(b"1") * 2**20
        memory.give_back()
        for kept in (False, True):
            dt.config.set_keep_memory(kept)
            take()
        before = used()
        memory.give_back()
        print(before, used())
    """
    before, after = map(int, printed(program).split())
    assert (before - after) * os.sysconf("SC_PAGE_SIZE") > 50 * 2**20


def test_another_library(monkeypatch, caplog):
    monkeypatch.setattr(memory, "glibc", lambda: None)
    monkeypatch.setattr(memory, "_is_chosen", False)
    memory._note.cache_clear()
    for _ in range(2):
        memory.set_keep_memory(True)
    assert len(caplog.records) == 1 and "glibc" in caplog.text
    assert not dt.config.keep_memory()


@pytest.mark.parametrize("value", [1, "yes", None])
def test_wrong_values(value):
    with pytest.raises(TypeError, match="True or False"):
        dt.config.set_keep_memory(value)


def test_wrong_environment():
    command = [sys.executable, "-c", "import dovetail"]
    done = subprocess.run(command, env=os.environ | {memory.VARIABLE: "yes"}, capture_output=True, text=True)
    assert "ValueError" in done.stderr and "must be 0 or 1 in the environment, not 'yes'" in done.stderr
