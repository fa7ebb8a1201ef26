"""The generated suite: every op of the table on every engine: value and dtype, repeated calls, and compilation."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.calls import dispatch, infer_call
from dovetail.core.engines.engine_registry import current_engine
from dovetail.ops.control.plumbing import HOST_CALLS, STRUCTURAL
from tests.ops.table import (
    CASES,
    cases,
    draw,
    float_arrays,
    leaves,
    replace_arrays,
    unknown_dimensions,
    unknown_ranks,
)

# the last one has a gradient that is an error
PLUMBING = {*STRUCTURAL, *HOST_CALLS, "Call", "If", "While", "Scan", "WhileGrad", "PreventGradient"}


def test_every_op_has_samples():
    assert [name for name, op in OPS.items() if not op.samples and name not in PLUMBING] == []


def test_every_primitive_has_a_rule(engine):
    rules = current_engine().rules
    assert [n for n, op in OPS.items() if op.body is None and n not in rules and n not in PLUMBING] == []


def test_there_are_few_primitives():
    assert sum(op.body is None for op in OPS.values()) <= 130


def check_same(found, expected):
    for f, e in zip(found, expected, strict=True):
        assert (f.engine, f.dtype, f.shape) == (e.engine, e.dtype, e.shape)
        assert f.numpy().tobytes() == e.numpy().tobytes()


def check_close(found, expected, tolerance):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    found, expected = (
        found.astype("complex128" if found.dtype.kind == "c" else "float64"),
        expected.astype("complex128" if found.dtype.kind == "c" else "float64"),
    )
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.each("op")
@cases(CASES)
def test_value_and_type(engine, op, number, rng):
    """Check the value against the NumPy engine's, and shape and dtype against the type rule.

    A second call must give the same bits.
    """
    sample = op.samples[number]
    args, kwargs = draw(sample, rng)
    found = leaves(op(*args, **kwargs))
    tensors = replace_arrays(args, kwargs, [dt.ops.convert(x) for x in float_arrays(args, kwargs)])
    for again in ((args, kwargs), tensors, tensors):
        check_same(leaves(op(*again[0], **again[1])), found)
    with dt.engine("numpy"):
        expected = leaves(op(*args, **kwargs))
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        assert f.engine == current_engine().name
        check_close(f.numpy(), e.numpy(), sample.tolerance)
    if op.infer is not None:
        values = dispatch.resolve(op, op.bind(args, dict(kwargs)), current_engine())[1]
        specs = infer_call.infer(op, values)
        for f, s in zip(found, specs if op.returns_tuple else [specs], strict=True):
            shape = (
                f.shape
                if s.shape is None
                else tuple(a if b is None else b for a, b in zip(f.shape, s.shape, strict=True))
            )
            assert (f.shape, f.dtype) == (shape, s.dtype)


@pytest.mark.each("op", engines=("numpy", "torch"))
@cases(CASES)
def test_compiled_is_eager(engine, op, number, rng):
    """Check `function` against the eager call, with known and unknown dimensions, and unknown ranks."""
    sample = op.samples[number]
    args, kwargs = draw(sample, rng)
    arrays = float_arrays(args, kwargs)
    with dt.engine("numpy"):  # `test_value_and_type` shows that the engine's values are the same
        expected = leaves(op(*args, **kwargs))

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return op(*moved, **named)

    if sample.dynamic and arrays and current_engine().static_shapes:
        with pytest.raises(ValueError, match="depends on the values"):
            dt.function(call)(*arrays)
        return
    for signature in (None, unknown_dimensions(arrays), unknown_ranks(arrays)):
        found = leaves(dt.function(call, input_signature=signature)(*arrays))
        for f, e in zip(found, expected, strict=True):
            check_close(f.numpy(), e.numpy(), sample.tolerance)
