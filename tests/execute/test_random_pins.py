"""Random graphs with random pins: values, gradients and variables equal the graphs' on one engine."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.transplant import copy_graph
from dovetail.ops.control.plumbing import STRUCTURAL
from tests.conftest import ENGINES, SEED
from tests.graph.random_graphs import COLUMNS, ROWS, arguments, graph_of
from tests.libraries import require

CASES = {"numpy": 264, "jax": 18, "tensorflow": 18}  # by the slowest engine that takes part; jax and tensorflow compile
LONGEST = 8


def random_graph(rng):
    steps = rng.integers(0, 100, (rng.integers(1, LONGEST + 1), 4)).tolist()
    return graph_of(steps, [ROWS, None][rng.integers(2)])


def pinned(graph, places, rng):
    """A copy of a graph with some operations, also inside branches and loops, pinned to places."""
    copy = copy_graph(graph)
    for part, share in ((copy, 0.6), *((inner, 0.2) for inner in copy.subgraphs())):
        for operation in part.operations:
            if operation.type not in STRUCTURAL and rng.random() < share:
                operation.pin = places[rng.integers(len(places))]
    return copy


def results(graph, engine):
    """A graph's results, gradients, and its variable's new value with and without a tape."""
    f = dt.function(graph)
    variable = next((op.attrs["variable"] for op in graph.operations if "variable" in op.attrs), None)
    start = np.full((ROWS, COLUMNS), 0.5, "float32")
    found = []
    with dt.engine(engine):
        given = [ops.convert(a) for a in arguments()]
        for taped in (False, True):
            if variable is not None:
                variable.assign(start)
            with dt.GradientTape() as tape:
                if taped:
                    tape.watch(given)
                values = f(*given)
                totals = map(ops.sum, values if isinstance(values, tuple) else (values,))
                total = sum(ops.convert(t, device="cpu:0") for t in totals)  # results are on several devices
            found += [v.numpy() for v in (values if isinstance(values, tuple) else (values,))]
            assert {v.engine for v in (values if isinstance(values, tuple) else (values,))} == {engine}
            if variable is not None:
                found.append(variable.numpy())
            if taped:
                found += [None if g is None else g.numpy() for g in tape.gradient(total, given)]
    return found


def check_pins(count, places):
    """Check graphs with operations pinned to engines and devices against NumPy."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    several = 0
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        graph = random_graph(rng)
        copy = pinned(graph, places, rng)
        engine, *_ = places[rng.integers(len(places))]
        expected, found = results(graph, "numpy"), results(copy, engine)
        plan = dt.function(copy).concrete(*arguments()).plan(get_engine(engine), ((ROWS, COLUMNS),) * 2)
        several += len(plan.segments) > 1
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            message = f"case {number} on {engine}:\n{copy}\n{plan}"
            assert (f is None) == (e is None), message
            if e is not None:
                np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-4, err_msg=message)
    assert several > count / 2 - 4


@pytest.mark.parametrize("slowest", [name for name in CASES if name in ENGINES])
def test_random_pins(slowest):
    require("torch", "it computes what numpy does not")
    engines = ["numpy", "torch"]
    check_pins(CASES[slowest], [(name, None) for name in dict.fromkeys([*engines, slowest])])


@pytest.mark.parametrize("name", [name for name in ("jax", "tensorflow") if name in ENGINES])
def test_devices_of_an_engine_that_has_two(name):
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.execute.several_devices", name],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
