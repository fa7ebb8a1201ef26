"""The incomplete gamma function: SciPy is the oracle, over many orders of magnitude, and at the ends."""

import numpy as np
import pytest
from scipy import special

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS

ORDERS = np.array([1e-3, 0.5, 1.0, 2.5, 10.0, 100.0, 3e3, 1e5])
SHARES = np.array([1e-3, 0.3, 0.9, 1.0, 1.02, 1.5, 4.0, 100.0])  # of the order, where the integral ends
A, X = (grid.ravel() for grid in np.meshgrid(ORDERS, SHARES))
X = X * A


def by_order(a, x):
    """The derivative by the order, from differences with a step for each order."""
    step = 1e-5 * np.maximum(np.sqrt(a), 1e-3)
    return (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)


def test_values(engine):
    np.testing.assert_allclose(ops.igamma(A, X).numpy(), special.gammainc(A, X), rtol=1e-9, atol=1e-12)


def test_the_sum_gives_the_values():
    """Check the body, which engines with a rule of their own do not run."""
    found = OPS["Igamma"].body(ops.convert(A), ops.convert(X))
    np.testing.assert_allclose(found.numpy(), special.gammainc(A, X), rtol=1e-8, atol=1e-12)


def test_the_derivative_by_the_order(engine):
    a = ops.convert(A)
    with dt.GradientTape() as tape:
        tape.watch(a)
        y = ops.igamma(a, X)
    np.testing.assert_allclose(tape.gradient(y, a).numpy() * np.sqrt(A), by_order(A, X) * np.sqrt(A), atol=2e-6)


@pytest.mark.parametrize("a", [1.0, 7.0])
def test_ends(engine, a):
    x = ops.convert([0.0, np.inf, -1.0, np.nan], "float32")
    np.testing.assert_array_equal(ops.igamma(a, x).numpy(), np.float32([0, 1, np.nan, np.nan]))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.igamma(a, x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy()[:1], np.float32([a == 1]))


def test_torch_differentiates_it_by_itself():
    """Check values of torch, whose own function has no derivative by the order."""
    torch = pytest.importorskip("torch")
    a, x = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([2.0, 5.0], [3.0, 4.0]))
    ops.igamma(a, x).sum().backward()
    orders, ends = a.detach().numpy(), x.detach().numpy()
    np.testing.assert_allclose(a.grad, by_order(orders, ends), atol=1e-8)
    np.testing.assert_allclose(x.grad, ends ** (orders - 1) * np.exp(-ends) / special.gamma(orders), rtol=1e-9)
