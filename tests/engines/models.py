"""The op table on an engine that computes models of ONNX."""

from __future__ import annotations

import numpy as np

import dovetail as dt
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.plan import Plan
from tests.ops.table import draw, float_arrays, leaves, replace_arrays
from tests.ops.test_table import check_close


def check_case(engine, op, number, tolerance):
    """Compile a call of an op for an engine, and compare its values with those of single calls, which NumPy computes.

    Raises:
        NotClaimed: the engine does not claim it.
    """
    args, kwargs = draw(op.samples[number], np.random.default_rng(0))
    arrays = float_arrays(args, kwargs)

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return op(*moved, **named)

    plan = Plan(dt.function(call).graph(*arrays), get_engine(engine))
    with dt.engine(engine):
        expected = leaves(call(*arrays))
    assert {tensor.engine for tensor in expected} <= {"numpy"}
    for found, wanted in zip(plan(arrays), expected, strict=True):
        check_close(found, wanted.numpy(), max(op.samples[number].tolerance, tolerance))
