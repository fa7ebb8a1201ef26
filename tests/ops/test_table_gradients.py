"""The generated suite of gradients of every op.

It checks gradients of gradients, unknown dimensions, complex numbers and halves. NumPy computes the expected values.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import current_engine
from tests.ops.table import (
    CASES,
    Function,
    cases,
    complex_arguments,
    draw,
    draw_complex,
    finite_differences,
    float_arrays,
    is_differentiable,
    leaves,
    projected,
    replace_arrays,
    require_shapes,
    taped,
    unknown_dimensions,
    unknown_ranks,
)

DIFFERENTIABLE = [case for case in CASES if is_differentiable(*case)]
COMPLEX = [case for case in CASES if complex_arguments(*case)]
HALVES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def check(found, expected, where, tolerance=1e-4):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e, rtol=tolerance, atol=tolerance, err_msg=f"on {where}")


@pytest.mark.each("op", engines=("numpy", "torch"))
@cases(DIFFERENTIABLE)
def test_gradient(engine, op, number, rng):
    """Check gradients against finite differences in float64: taped, compiled, of compiled functions, of constants."""
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
    compiled = dt.function(value)

    def gradient_of_compiled(*new):
        with dt.GradientTape() as tape:
            tape.watch(list(new))
            y = compiled(*new)
        return tape.gradient(y, list(new), unconnected_gradients="zero")

    ways = [gradient]
    if not (sample.dynamic and current_engine().static_shapes):
        ways.append(gradient_of_compiled)
    if not current_engine().compiles_programs:  # on other engines `test_second_order` compiles it
        of_constants = dt.function(lambda: gradient(*map(dt.ops.convert, arrays)))
        ways += [dt.function(gradient), lambda *new: of_constants()]
    for way in ways:
        for f, e in zip(way(*map(dt.ops.convert, arrays)), expected, strict=True):
            np.testing.assert_allclose(f.numpy(), e, rtol=1e-4, atol=1e-5)


@cases(DIFFERENTIABLE)
def test_second_order(engine, op, number, rng):
    """Check a product with the Hessian against differences of the gradient; compiled, with unknown dimensions."""
    require_shapes(op, number)
    sample = op.samples[number]
    function = Function(op, *draw(sample, rng, "float64"), rng)
    with dt.engine("numpy"):
        once = [g.numpy() for g in function.first(*function.arrays)]
        twice = function.differences()
        check(function.second(*function.arrays), twice, "numpy")
    signature = None if sample.known else unknown_dimensions(function.arrays)
    both = dt.function(lambda *new: (function.first(*new), function.second(*new)), input_signature=signature)
    for found, expected in zip(both(*function.arrays), (once, twice), strict=True):
        check(found, expected, engine)


@cases([(op, number) for op, number in DIFFERENTIABLE if not op.samples[number].known])
def test_unknown_ranks(engine, op, number, rng):
    """Check the gradient of arrays whose ranks are unknown when it is recorded against a tape's."""
    require_shapes(op, number)
    function = Function(op, *draw(op.samples[number], rng, "float64"), rng)
    with dt.engine("numpy"):
        expected = function.first(*function.arrays)
    gradient = dt.function(function.first, input_signature=unknown_ranks(function.arrays))
    check(gradient(*function.arrays), [g.numpy() for g in expected], engine)


@cases(COMPLEX)
def test_complex_numbers(engine, op, number, rng):
    """Check gradients and second derivatives against differences along the real and the imaginary axis."""
    require_shapes(op, number)
    function = Function(op, *draw_complex(op, number, rng), rng)
    with dt.engine("numpy"):
        once = finite_differences(lambda new: float(function.curved(*new)), function.arrays)
        check(function.first(*function.arrays), once, "numpy", 1e-5)
        check(function.second(*function.arrays), function.differences(), "numpy")
    check(dt.function(function.first)(*function.arrays), once, engine, 1e-5)


@cases(DIFFERENTIABLE)
def test_halves(engine, op, number, rng):
    """Check values and gradients against float32, up to a few roundings of the largest element."""
    require_shapes(op, number)
    functions = {name: Function(op, *draw(op.samples[number], rng, dtype), rng) for name, dtype in HALVES.items()}
    arrays = {name: function.arrays for name, function in functions.items()}

    def compute(arrays):
        return [
            (function.results(*arrays[name]), taped(function.value, arrays[name]))
            for name, function in functions.items()
        ]

    with dt.engine("numpy"):
        wide = compute({name: [x.astype("float32") for x in given] for name, given in arrays.items()})
    narrow = (dt.function(compute) if current_engine().compiles_programs else compute)(arrays)
    for name, (results, gradients), expected in zip(HALVES, narrow, wide, strict=True):
        assert {r.dtype for r in results} <= {name, *(e.dtype for e in expected[0])}
        assert {g.dtype for g in gradients} == {name}
        for f, e in zip([*results, *gradients], [*expected[0], *expected[1]], strict=True):
            check_halves(f.numpy().astype("float32"), e.numpy(), as_dtype(name).eps, engine)


def check_halves(found, expected, eps, where):
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=8 * eps * (1 + largest), err_msg=f"on {where}")
