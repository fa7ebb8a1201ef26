"""Garbage collection: it is off while graphs are built, and restored afterwards."""

import gc

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.garbage import NoGarbageCollection, importing


@pytest.mark.parametrize("enabled", [False, True])
def test_garbage_is_collected_afterwards_as_before(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        dt.function(lambda x: [x * 2.0, enabled == gc.isenabled()][0])(ops.constant(1.0))
        assert gc.isenabled() == enabled
        with NoGarbageCollection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_what_libraries_consist_of_is_left_out():
    before = gc.get_freeze_count()
    with importing():
        assert not gc.isenabled()
        made = [[] for _ in range(1000)]
    assert gc.isenabled() and gc.get_freeze_count() >= before + len(made)
    assert not any(each is made for each in gc.get_objects())
