"""The wrappers of an engine's methods: composed by kind, in any order of pushes, and gone without a trace."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.engines.around import KINDS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import EAGER

X = np.ones(5000, "float32")


def is_bare(engine):
    return engine.eager_rules is engine.rules.layer(EAGER) and not {"asarray", "copy", "allocate"} & vars(engine).keys()


def named(kind):
    """A wrapper whose `asarray` gives its kind and then what the inner form gives, if that is a wrapper's, too."""

    def form(run):
        def asarray(*args):
            inner = run(*args)
            return [kind, *(inner if isinstance(inner, list) else [])]

        return asarray

    return {"asarray": form}


@pytest.mark.parametrize("order", list(itertools.permutations(KINDS)), ids="-".join)
def test_the_order_of_wrappers_is_that_of_the_kinds(order):
    engine = get_engine("numpy")
    try:
        for kind in order:
            engine.around.push(kind, named(kind))
        assert engine.asarray(1, dt.dtypes.as_dtype("int32")) == list(reversed(KINDS))
        for kind in order[:2]:
            engine.around.pop(kind)
        assert engine.asarray(1, dt.dtypes.as_dtype("int32")) == [order[2]]
    finally:
        for kind in KINDS:
            engine.around.pop(kind)
    assert is_bare(engine)


class Counting:
    """An allocator that counts its arrays."""

    made = 0

    def allocate(self, shape, dtype, device):
        self.made += 1
        return np.empty(shape, dtype.numpy)

    def release(self, array):
        pass


@pytest.mark.parametrize("closes_first", [False, True])
def test_a_profile_and_an_allocator_overlap(closes_first):
    """Check the case in which one began inside of the other and ended after it: both see all calls of their time."""
    counting, engine = Counting(), get_engine("numpy")
    double = lambda: dt.ops.convert(X) * 2.0  # noqa: E731
    with dt.engine("numpy"):
        if closes_first:
            with dt.profile() as profile:
                dt.set_allocator(counting, "numpy")
                double()
        else:
            dt.set_allocator(counting, "numpy")
            with dt.profile() as profile:
                double()
                dt.set_allocator(None, "numpy")
                double()
        before = counting.made
        double()
        dt.set_allocator(None, "numpy")
    assert before >= 1 and (counting.made > before) == closes_first
    assert "Mul" in str(profile)
    assert is_bare(engine)


@pytest.mark.parametrize("first", ["profile", "limit"])
def test_a_profile_and_a_limit_of_memory_overlap(first):
    engine = get_engine("numpy")
    with dt.engine("numpy"):
        limit = dt.memory_info("cpu:0")[0].bytes + 10**6
        if first == "limit":
            dt.set_memory_limit(limit, "numpy")
        with dt.profile() as profile:
            if first == "profile":
                dt.set_memory_limit(limit, "numpy")
            kept = dt.ops.convert(X) * 2.0
        assert "Mul" in str(profile) and dt.memory_info("cpu:0")[0].peak >= X.nbytes
        with pytest.raises(MemoryError):
            dt.ops.zeros((10**6,)) + 1.0
        dt.set_memory_limit(None, "numpy")
    assert is_bare(engine) and kept.shape == X.shape
