"""Variants of rules: each gives the results of its op's plain rule, on every sample that it fits."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, POOLS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import PROGRAM
from dovetail.execute.plan import Plan
from tests.conftest import ENGINES
from tests.libraries import require
from tests.ops.table import draw, float_arrays, leaves, replace_arrays

TOLERANCE = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 2e-5, "float64": 1e-12}


CONVOLVED = [name for names in CONVOLUTIONS.values() for name in names]
POOLED = [f"{name}{of}" for name in POOLS["MaxPool"] for of in ("", "Grad")]
# engine → variant → its ops, for variants that programs use only if they are preferred
FURTHER = {
    "jax": {"columns": ["Sum", "Mean"], "patches": CONVOLVED, "shifted": CONVOLVED, "comparison": POOLED},
    "torch": {"benchmark": [*CONVOLVED, "FusedConv"]},
}
CASES = [
    (engine, name, variant)
    for engine in ENGINES
    for variant, names in FURTHER.get(engine, {}).items()
    for name in names
]


@pytest.mark.parametrize("engine", ENGINES)
def test_all_are_tested(engine):
    rules = get_engine(engine).rules
    found = {(engine, name, v.name) for name in OPS for v in rules.variants(name, PROGRAM) if v.is_further}
    assert found == {case for case in CASES if case[0] == engine}


def traced(op, number, rng):
    """A sample as a graph of its float arrays, and these arrays."""
    args, kwargs = draw(op.samples[number], rng)
    arrays = float_arrays(args, kwargs)

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return leaves(op(*moved, **named))

    return dt.function(call).graph(*(dt.spec(a.shape, a.dtype) for a in arrays)), arrays


@pytest.mark.parametrize(("engine", "name", "variant"), CASES)
def test_as_the_plain_rule(engine, name, variant, rng):
    op, found = OPS[name], get_engine(engine)
    fitting = 0
    for number in range(len(op.samples)):
        graph, arrays = traced(op, number, rng)
        operation = next((each for each in graph.operations if each.type == name), None)
        chosen = operation and found.rules.fitting(operation, preferred=[variant])
        if chosen is None or chosen.name != variant:
            continue
        fitting += 1
        given = [found.asarray(a, dt.dtypes.as_dtype(a.dtype)) for a in arrays]
        plain, other = (Plan(graph, found, variants=names)(given) for names in ((), (variant,)))
        for a, b in zip(plain, other, strict=True):
            a, b = found.to_numpy(a), found.to_numpy(b)
            assert a.dtype == b.dtype
            bound = TOLERANCE.get(str(a.dtype), 0)
            np.testing.assert_allclose(b.astype("float64"), a.astype("float64"), rtol=bound, atol=bound)
    assert fitting


def test_cudnn_measures_its_algorithms_within_a_rule():
    torch = pytest.importorskip("torch")
    from dovetail.engines.torch import convolution

    seen = []
    rule = convolution._benchmarked(lambda x: seen.append((torch.backends.cudnn.benchmark, x)))
    before = torch.backends.cudnn.benchmark
    rule(3)
    assert seen == [(True, 3)] and torch.backends.cudnn.benchmark is before is False


@pytest.mark.parametrize("name", CONVOLVED)
def test_depthwise_convolutions_are_shifted(name, rng):
    require("jax", "it has the variants")
    rules = get_engine("jax").rules
    graph, _ = traced(OPS[name], -1, rng)
    (operation,) = [each for each in graph.operations if each.type == name]
    assert rules.fitting(operation, preferred=["shifted"]).name == "shifted"
    assert rules.fitting(operation, preferred=["patches"]).name != "patches"
