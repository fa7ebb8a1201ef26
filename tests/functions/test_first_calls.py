"""First calls: frames of Python functions for tracing, passes, lowering and the plan."""

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.execute import plan
from dovetail.execute.optimize import optimized_copy
from tests.conftest import ENGINES
from tests.frames import frames

# function → the most frames of its first call, 10 % more than when this was written
MOST = {
    "one op": (lambda x: ops.tanh(x), 630),
    "two ops": (lambda x: ops.exp(x) + x, 770),
    "a composite": (lambda x: ops.softmax(x), 1110),
}


@pytest.fixture(autouse=True)
def _without_codec(monkeypatch):
    """Run graphs as they are, since the codec has frames of its own."""
    monkeypatch.setattr(plan, "optimized_copy", optimized_copy)


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("engine", [name for name in ENGINES if name in ("numpy", "torch")])
def test_frames(engine, name):
    function, most = MOST[name]
    with dt.engine(engine):
        x = ops.ones((4, 4))
        dt.function(function)(x)  # libraries and tables need this once
        first = dt.function(lambda x: function(x))
        taken = frames(lambda: first(x))
        assert taken <= most
        assert frames(lambda: first(x)) < taken / 10


def test_frames_grow_with_the_operations(engine):
    """Check that no part of the work looks at all operations for each operation."""

    def chain(count):
        def function(x):
            for _ in range(count):
                x = ops.tanh(x) + x
            return x

        return function

    x = ops.ones((4, 4))
    dt.function(chain(2))(x)
    small, large = (frames(lambda count=count: dt.function(chain(count)).optimized_graph(x)) for count in (20, 200))
    assert large < 11 * small
