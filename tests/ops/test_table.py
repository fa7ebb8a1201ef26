"""The generated suite: every op of the table on every engine, by value, dtype, gradient, and compiled as eager."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.core import checks, dispatch
from dovetail.core.engine_registry import current_engine
from dovetail.core.table import OPS
from tests.ops.table import (
    CASES,
    draw,
    finite_differences,
    float_arrays,
    identifier,
    is_differentiable,
    leaves,
    projected,
    replace_arrays,
    unknown_dimensions,
)

cases = pytest.mark.parametrize(("op", "number"), CASES, ids=identifier)
differentiable = pytest.mark.parametrize(
    ("op", "number"), [case for case in CASES if is_differentiable(*case)], ids=identifier
)
PLUMBING = {"Placeholder", "Const", "ReadVariableOp", "AssignVariableOp", "Call", "If", "While", "Scan", "WhileGrad"}


def test_every_op_has_samples():
    assert [name for name, op in OPS.items() if not op.samples and name not in PLUMBING] == []


def test_every_primitive_has_a_rule(engine):
    rules = current_engine().rules
    assert [n for n, op in OPS.items() if op.is_primitive and n not in rules and n not in PLUMBING] == []


def test_there_are_few_primitives():
    assert sum(op.is_primitive for op in OPS.values()) <= 130


def check_close(found, expected, tolerance):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    found, expected = (
        found.astype("complex128" if found.dtype.kind == "c" else "float64"),
        expected.astype("complex128" if found.dtype.kind == "c" else "float64"),
    )
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@cases
def test_value_and_type(engine, op, number, rng):
    """The value agrees with the NumPy engine's, shape and dtype with the type rule."""
    sample = op.samples[number]
    args, kwargs = draw(sample, rng)
    found = leaves(op(*args, **kwargs))
    with dt.engine("numpy"):
        expected = leaves(op(*args, **kwargs))
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        assert f.engine == engine
        check_close(f.numpy(), e.numpy(), sample.tolerance)
    if op.infer is not None:
        values = dispatch.resolve(op, op.bind(args, dict(kwargs)), current_engine())[1]
        specs = checks.infer(op, values)
        for f, s in zip(found, specs if op.returns_tuple else [specs], strict=True):
            shape = (
                f.shape
                if s.shape is None
                else tuple(a if b is None else b for a, b in zip(f.shape, s.shape, strict=True))
            )
            assert (f.shape, f.dtype) == (shape, s.dtype)


@cases
def test_compiled_is_eager(engine, op, number, rng):
    """`function` gives what the eager call gives, with known dimensions and, where the sample allows, unknown ones."""
    sample = op.samples[number]
    args, kwargs = draw(sample, rng)
    arrays = float_arrays(args, kwargs)
    expected = leaves(op(*args, **kwargs))

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return op(*moved, **named)

    if sample.dynamic and arrays and current_engine().static_shapes:
        with pytest.raises(ValueError, match="depends on the values"):
            dt.function(call)(*arrays)
        return
    for signature in (None, unknown_dimensions(arrays)):
        found = leaves(dt.function(call, input_signature=signature)(*arrays))
        for f, e in zip(found, expected, strict=True):
            check_close(f.numpy(), e.numpy(), sample.tolerance)


@differentiable
def test_gradient(engine, op, number, rng):
    """The gradient agrees with finite differences in float64: taped, compiled, of what was compiled, of constants."""
    sample = op.samples[number]
    args, kwargs = draw(sample, rng, "float64")
    arrays = float_arrays(args, kwargs)
    results = [r for r in leaves(op(*args, **kwargs)) if r.dtype.is_floating]
    weights = [rng.uniform(0.5, 1.5, r.shape) for r in results]

    def value(*new):
        return projected(op, *replace_arrays(args, kwargs, list(new)), weights)

    def gradient(*new):
        with dt.GradientTape() as tape:
            tape.watch(list(new))
            y = value(*new)
        return tape.gradient(y, list(new), unconnected_gradients="zero")

    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(value(*new)), arrays)
    tensors = [dt.ops.convert(a) for a in arrays]
    compiled = dt.function(value)

    def gradient_of_compiled(*new):
        with dt.GradientTape() as tape:
            tape.watch(list(new))
            y = compiled(*new)
        return tape.gradient(y, list(new), unconnected_gradients="zero")

    ways = [gradient, dt.function(gradient), gradient_of_compiled]
    if not current_engine().compiles_programs:  # with arrays that are made inside the function
        ways.append(lambda *new: dt.function(lambda: gradient(*map(dt.ops.convert, arrays)))())
    if sample.dynamic and current_engine().static_shapes:  # it cannot be compiled there; another test sees to the error
        ways = ways[:1]
    for found in (way(*tensors) for way in ways):
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(f.numpy(), e, rtol=1e-4, atol=1e-5)
