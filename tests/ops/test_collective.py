"""Collectives: by two processes, with an engine each; in one process, they give what they get."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.distributed import ranks
from tests.libraries import require

X = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize("pair", [("numpy", "torch"), ("tensorflow", "jax")], ids="-".join)
def test_two_ranks_on_different_engines_compute_together(pair):
    for name in ("torch", *pair):
        require(name, "a rank computes with it")
    for printed in ranks.run("tests.ops.collective_checks", pair):
        assert printed.count("checked") == 11, printed


def test_groups_of_four_ranks_compute_every_dtype_on_all_engines():
    engines = ("numpy", "torch", "jax", "tensorflow")
    for name in engines:
        require(name, "a rank computes with it")
    for printed in ranks.run("tests.ops.group_checks", engines):
        assert printed.count("checked") == 6, printed


def test_a_plan_keeps_collectives_in_the_order_of_the_program(engine):
    @dt.function
    def f(x):
        first = ops.all_reduce(ops.exp(x), "max")
        ops.barrier(x)
        return ops.all_gather(x), first

    f(X)
    types = [op.type for segment in f.plan(X).segments for op in segment.graph.operations]
    assert [name for name in types if name in ("AllReduce", "CollectiveBarrier", "AllGather")] == [
        "AllReduce",
        "CollectiveBarrier",
        "AllGather",
    ]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ops.all_reduce([1, 2], "mean"), TypeError, r"AllReduce at .*: the mean of int32"),
        (lambda: ops.all_reduce([True]), TypeError, "bools have no sum"),
        (lambda: ops.all_reduce([1j], "max"), TypeError, "complex64 has no max"),
        (lambda: ops.all_gather(1.0), ValueError, "a scalar has no rows"),
        (lambda: ops.all_reduce(1.0, ranks=(0, 1)), ValueError, "ranks must be different numbers from 0 to 0"),
        (lambda: ops.broadcast_from(1.0, root=1), ValueError, r"root must be one of the ranks \(0,\), not 1"),
        (lambda: ops.all_reduce(1.0, "product"), ValueError, "product"),
    ],
)
def test_wrong_calls_say_what_is_needed(call, error, words):
    with pytest.raises(error, match=words):
        call()
