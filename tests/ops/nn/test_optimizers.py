"""Steps of optimizers: against the formula, for any memory layout, and in programs that train."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.engines.rows import BLOCK, MANY, SMALL
from dovetail.ops.control.host_calls import require

SHAPES = [(40, 30), (), (7,), (0, 3), (SMALL + 1,), (2, 2), (BLOCK // 300, 301)]


def adam_formula(variable, gradient, mean, square_mean, rate, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square_mean = beta_2 * square_mean + (1 - beta_2) * gradient**2
    return variable - rate * mean / (np.sqrt(square_mean) + epsilon), mean, square_mean


def sgd_formula(variable, gradient, *others):
    """The formula with a momentum, if there are four more arguments; else with the rate alone."""
    if len(others) == 1:
        return (variable - gradient * others[0],)
    change, rate, momentum, nesterov = others
    change = change * momentum - gradient * rate
    return variable + (change * momentum - gradient * rate if nesterov else change), change


# step → (op, formula of one variable, the number of arrays for each variable, numbers)
STEPS = {
    "adam": (ops.adam_step, adam_formula, 4, (0.3, 0.8, 0.95, 0.01)),
    "sgd": (lambda v, g, rate: ops.sgd_step(v, g, [], rate), sgd_formula, 2, (0.3,)),
    "momentum": (ops.sgd_step, sgd_formula, 3, (0.3, 0.8, False)),
    "nesterov": (ops.sgd_step, sgd_formula, 3, (0.3, 0.8, True)),
}


def expected(formula, given, numbers):
    """The expected arrays after the step: all variables, then the state of each kind for all variables."""
    after = [formula(*(np.asarray(a, "float64") for a in one), *numbers) for one in zip(*given, strict=True)]
    return [array for kind in zip(*after, strict=True) for array in kind]


def check(found, wanted, tolerance):
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a.numpy(), "float64"), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-2), ("float32", 1e-5), ("float64", 1e-12)])
def test_a_step_is_its_formula(engine, rng, name, dtype, tolerance):
    step, formula, count, numbers = STEPS[name]
    given = [[rng.uniform(0.5, 2, shape).astype(dtype) for shape in SHAPES] for _ in range(count)]
    for way in (step, dt.function(step)):
        found = way(*given, *numbers)
        assert {tensor.dtype for tensor in found} == {dtype}
        check(found, expected(formula, given, numbers), tolerance)


@pytest.mark.parametrize("name", STEPS)
def test_bfloat16(engine, rng, name):
    step, formula, count, numbers = STEPS[name]
    given = [[rng.uniform(0.5, 2, shape) for shape in ((2, 3), (5,))] for _ in range(count)]
    found = step(*[[ops.cast(a, "bfloat16") for a in arrays] for arrays in given], *numbers)
    assert {tensor.dtype for tensor in found} == {"bfloat16"}
    check([ops.cast(tensor, "float32") for tensor in found], expected(formula, given, numbers), 0.05)


@pytest.mark.parametrize("name", STEPS)
def test_tensors_are_promoted_to_a_common_dtype(engine, rng, name):
    step, formula, count, numbers = STEPS[name]
    given = [[rng.uniform(0.5, 2, 3).astype(dtype) for dtype in ("float32", "float64")] for _ in range(count)]
    found = step(*given, *numbers)
    assert {tensor.dtype for tensor in found} == {"float64"}
    check(found, expected(formula, given, numbers), 1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_of_arrays_that_are_transposed(engine, rng, name):
    """Check transposed arrays, as gradients of kernels are; a kernel must not read them as rows."""
    step, formula, count, numbers = STEPS[name]
    given = [[rng.uniform(0.5, 2, shape) for shape in [(40, 30), (3, 2), (2, 3), (150, 120)] * 6] for _ in range(count)]

    @dt.function
    def transposed(*turned):
        return step(*[[ops.transpose(a) for a in arrays] for arrays in turned], *numbers)

    check(transposed(*[[a.T.copy() for a in arrays] for arrays in given]), expected(formula, given, numbers), 1e-9)


@pytest.mark.parametrize("name", STEPS)
def test_what_is_not_finite_stays_where_it_is(engine, rng, name):
    step, _, count, numbers = STEPS[name]
    given = [[rng.uniform(0.5, 2, 3), rng.uniform(0.5, 2, 2)] for _ in range(count)]
    given[1][0][1], given[1][1][0] = np.nan, np.inf
    found = [tensor.numpy() for tensor in step(*given, *numbers)]
    assert [np.isnan(array).tolist() for array in found[::2]] == [[False, True, False]] * (len(found) // 2)
    assert [np.isfinite(array).tolist() for array in found[1::2]] == [[False, True]] * (len(found) // 2)


@pytest.mark.parametrize("shapes", [[(3,)], [(), (2000,), (SMALL + 1,), *[(2, 3)] * MANY]])
@pytest.mark.parametrize("name", STEPS)
def test_in_a_program_that_trains(engine, rng, name, shapes):
    """Check that steps write into arrays that variables gave up, and that values read before stay."""
    step, formula, count, numbers = STEPS[name]
    arrays = [[rng.uniform(0.5, 2, shape) for shape in shapes] for _ in range(count)]
    wanted = arrays.pop(1)
    slots = [[dt.Variable(a) for a in each] for each in arrays]

    @dt.function
    def train(rate):
        variables, *others = [[slot.value for slot in each] for each in slots]
        gradients = [2 * (v - w) for v, w in zip(variables, wanted, strict=True)]
        after = step(variables, gradients, *others, rate, *numbers[1:])
        for slot, value in zip([slot for each in slots for slot in each], after, strict=True):
            slot.assign(value)

    for number in range(6):
        held = [slot.numpy() for slot in slots[0][number % 2 :]]  # even steps hold all; odd ones find known arrays
        kept = [array.copy() for array in held]
        train(0.5)
        gradients = [2 * (v - w) for v, w in zip(arrays[0], wanted, strict=True)]
        after = expected(formula, [arrays[0], gradients, *arrays[1:]], (0.5, *numbers[1:]))
        arrays = [after[i : i + len(shapes)] for i in range(0, len(after), len(shapes))]
        check([slot.value for each in slots for slot in each], after, 1e-9)
        for array, copy in zip(held, kept, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_changes_nothing(engine, rng, name):
    step, _, count, numbers = STEPS[name]
    slots = [
        [dt.Variable(rng.uniform(0.5, 2, shape)) for shape in [(3,), (50, 40)] * (MANY // 2)] for _ in range(count)
    ]

    @dt.function
    def train(fine):
        after = step(*[[slot.value for slot in each] for each in slots], *numbers)
        require(fine, [after[0]], "no")
        for slot, value in zip([s for i, each in enumerate(slots) if i != 1 for s in each], after, strict=True):
            slot.assign(value)

    for _ in range(4):
        train(True)
    before = [slot.numpy().copy() for each in slots for slot in each]
    with pytest.raises(ValueError, match="no"):
        train(False)
    for slot, array in zip([slot for each in slots for slot in each], before, strict=True):
        np.testing.assert_array_equal(slot.numpy(), array)
    train(True)
    assert not np.array_equal(slots[0][0].numpy(), before[0])


@pytest.mark.parametrize(("name", "step"), [("AdamStep", ops.adam_step), ("SgdStep", ops.sgd_step)])
def test_wrong_lists_are_refused(name, step):
    count = 4 if name == "AdamStep" else 3
    x = np.ones((2, 3), "float32")
    for wrong in range(1, count):
        given = [[x] for _ in range(count)]
        given[wrong] = [x[:, :1]]
        with pytest.raises(ValueError, match=rf"{name}.*shape"):
            step(*given, 0.1)
        given[wrong] = [x, x]
        with pytest.raises(ValueError, match=rf"{name}.*as many as variables, which are 1, not 2"):
            step(*given, 0.1)
    with pytest.raises(ValueError, match=rf"{name}.*at least one"):
        step(*[[]] * count, 0.1)
    with pytest.raises(ValueError, match=name):
        step(*[[x]] * count, [0.1])
    with pytest.raises(TypeError, match=rf"{name}.*list of tensors"):
        step(*[1.0] * count, 0.1)
