"""Checks of plans with collectives, for each rank of two; `test_exchanges.py` starts them, on an engine each."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose.measurer import Measurer

dt.distributed.init(timeout=30)
RANK = dt.distributed.rank()
X = np.float32([[1, 2], [3, 4]]) + RANK


@dt.function
def step(x):
    gradient = ops.all_reduce(ops.tanh(x), "mean")
    ops.cond(ops.sum(x) > 0.0, lambda: ops.all_reduce(x), lambda: x)
    return x - gradient


def texts(folder: str) -> None:
    """Each text about a plan shows the exchanges, with bytes and ranks; no rank waits for another one meanwhile."""
    if RANK == 0:
        printed, told = str(step.plan(X)), str(dt.explain(step, X))
        assert printed.count("16 B, ranks 0, 1") == 2, printed
        assert "AllReduce 'AllReduce': 16 B, ranks 0, 1\n" in printed, printed
        assert printed.endswith("  steps run one by one, not in groups, since each one waits for other ranks"), printed
        assert told.count("  exchange  16 B, ranks 0, 1") == 2, told
        step.plan(X).show(f"{folder}/plan.json")
        with open(f"{folder}/plan.json") as file:
            assert "16 B, ranks 0, 1" in file.read()
    with dt.profile() as profile:
        step(X)
    assert sum(row.calls for row in profile.rows if "AllReduce" in row.types) == 2, profile


def replays() -> None:
    """A rank that finds a NaN computes the call again by itself, with the numbers that the others gave."""

    @dt.function(check_numerics=True)
    def f(x):
        largest = ops.all_reduce(x, "max")
        return ops.log(ops.all_gather(x) - largest[0, 0]) if RANK == 0 else ops.all_gather(x)

    if RANK == 0:  # of the gathered rows, all but the last one have no logarithm after the subtraction
        with pytest.raises(dt.NumericsError, match=r"Log .* made float32\[4,2\]") as raised:
            f(X)
        assert [fault.type for fault in raised.value.faults] == ["Log"]
    else:
        f(X)
    np.testing.assert_array_equal(ops.all_reduce(X), 2 * X + 1 - 2 * RANK)  # no exchange was left over

    @dt.function(check_numerics=True)
    def g(x):
        return ops.all_reduce(x / (1.0 - RANK))

    with pytest.raises(dt.NumericsError) as raised:
        g(X)
    assert [fault.type for fault in raised.value.faults] == ["RealDiv" if RANK else "AllReduce"], raised.value


def constants() -> None:
    """A collective of a constant is computed in each call, by all ranks."""

    @dt.function
    def f():
        return ops.all_reduce(ops.ones(2) * (1.0 + RANK))

    if RANK == 0:
        f.plan()
    assert [f().numpy().tolist() for _ in range(2)] == [[3.0, 3.0]] * 2


def groups() -> None:
    """Steps with a collective are not grouped, others are."""
    for compiled, size in ((step, 1), (dt.function(ops.tanh), 8)):
        measurer = Measurer(compiled.graph(X), [X.shape], keeps=False)
        measurer.allow_groups(8, joins=False)
        assert measurer.group_size == size


if __name__ == "__main__":
    import sys

    texts(sys.argv[1])
    print("checked texts", flush=True)
    for check in (replays, constants, groups):
        check()
        print("checked", check.__name__, flush=True)
