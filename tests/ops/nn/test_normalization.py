"""Normalizations against their definitions in NumPy, in every layout, with gradients also by engines' autodiff."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def standardized(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def test_moments(engine, rng):
    x = rng.normal(size=(4, 5, 3)) + 7
    for axes in (0, (0, 1), None, -1):
        mean, variance = ops.moments(x, axes)
        np.testing.assert_allclose(mean.numpy(), x.mean(axes))
        np.testing.assert_allclose(variance.numpy(), x.var(axes))
    assert [t.shape for t in ops.moments(x, (0, 1), keepdims=True)] == [(1, 1, 3)] * 2


def test_moments_of_halves_do_not_overflow(engine):
    mean, variance = ops.moments(np.full(1000, 300.0, "float16"), 0)
    assert (mean.dtype, float(mean), float(variance)) == ("float16", 300.0, 0.0)


def test_moments_of_large_means(engine, rng):
    """Check that the variance is exact to float32, if the mean is a thousand times the deviation."""
    x = (rng.normal(size=10_000) + 1000).astype("float32")
    assert float(ops.moments(x, 0)[1]) == pytest.approx(x.astype("float64").var(), rel=1e-4)


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("rank", [2, 4])
def test_batch_normalization(engine, rng, axis, rank):
    x = rng.normal(size=(3,) * rank)
    mean, variance, offset, scale = rng.normal(size=3), rng.uniform(0.5, 2, 3), rng.normal(size=3), rng.normal(size=3)
    shape = [3 if i == axis % rank else 1 for i in range(rank)]
    m, v, o, s = (a.reshape(shape) for a in (mean, variance, offset, scale))
    found = ops.batch_normalization(x, mean, variance, axis, offset, scale, 0.01)
    np.testing.assert_allclose(found.numpy(), (x - m) / np.sqrt(v + 0.01) * s + o, rtol=1e-10)
    plain = ops.batch_normalization(x, mean, variance, axis)
    np.testing.assert_allclose(plain.numpy(), (x - m) / np.sqrt(v + 0.001), rtol=1e-10, atol=1e-12)


def test_batch_normalization_while_training(engine, rng):
    """Check that moments and normalization together have no gradient along mean and variance."""
    x = ops.convert(rng.normal(size=(6, 4)))
    with dt.GradientTape() as tape:
        tape.watch(x)
        mean, variance = ops.moments(x, 0)
        y = ops.batch_normalization(x, mean, variance, epsilon=0.0)
        total = ops.sum(y * y * y)
    g = tape.gradient(total, x).numpy()
    np.testing.assert_allclose(y.numpy(), standardized(x.numpy(), 0, 0), rtol=1e-10)
    np.testing.assert_allclose(g.sum(0), 0, atol=1e-12)
    np.testing.assert_allclose((g * y.numpy()).sum(0), 0, atol=1e-12)


@pytest.mark.parametrize("axis", [-1, 1, (1, 2), (0, -1)])
def test_layer_normalization(engine, rng, axis):
    x = rng.normal(size=(3, 4, 5))
    axes = tuple(a % 3 for a in (axis if isinstance(axis, tuple) else (axis,)))
    sizes = [x.shape[a] for a in axes]
    gamma, beta = rng.normal(size=sizes), rng.normal(size=sizes)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    expected = standardized(x, axes, 1e-3) * gamma.reshape(shape) + beta.reshape(shape)
    np.testing.assert_allclose(ops.layer_normalization(x, gamma, beta, axis).numpy(), expected, rtol=1e-9, atol=1e-9)


def test_layer_normalization_under_a_users_own_autograd(rng):
    torch = pytest.importorskip("torch")
    values = [rng.normal(size=s) for s in ((3, 4), (4,), (4,))]
    native = [torch.tensor(v, requires_grad=True) for v in values]
    expected = torch.autograd.grad((torch.layer_norm(native[0], (4,), *native[1:], 1e-3) ** 2).sum(), native)
    by_hand = torch.autograd.grad((ops.layer_normalization(*native) ** 2).sum(), native)
    tensors = [ops.convert(v) for v in values]
    with dt.GradientTape() as tape:
        tape.watch(tensors)
        y = ops.layer_normalization(*tensors)
        total = ops.sum(y * y)
    for e, b, t in zip(expected, by_hand, tape.gradient(total, tensors), strict=True):
        np.testing.assert_allclose(b.numpy(), e.numpy(), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(t.numpy(), e.numpy(), rtol=1e-8, atol=1e-10)


def test_batch_normalization_under_a_users_own_autograd(rng):
    """Check that the gradient reaches mean and variance; torch's own batch_norm would not pass it on."""
    torch = pytest.importorskip("torch")
    x = torch.tensor(rng.normal(size=(6, 4)), requires_grad=True)
    mean, variance = ops.moments(x, 0)
    y = ops.batch_normalization(x, mean, variance)
    expected = torch.nn.functional.batch_norm(x, None, None, training=True, eps=1e-3)
    torch.testing.assert_close(y, expected)
    (found,) = torch.autograd.grad((y**3).sum(), x)
    (wanted,) = torch.autograd.grad((expected**3).sum(), x)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("axis", [-1, 1])
def test_group_normalization(engine, rng, axis):
    x = rng.normal(size=(2, 6, 3, 6))
    gamma, beta = rng.normal(size=6), rng.normal(size=6)
    first = np.moveaxis(x, axis, 1)
    grouped = first.reshape(2, 3, 2, *first.shape[2:])
    expected = np.moveaxis(standardized(grouped, (2, 3, 4), 1e-3).reshape(first.shape), 1, axis)
    shape = [6 if i == axis % 4 else 1 for i in range(4)]
    found = ops.group_normalization(x, 3, gamma, beta, axis)
    np.testing.assert_allclose(
        found.numpy(), expected * gamma.reshape(shape) + beta.reshape(shape), rtol=1e-9, atol=1e-9
    )


def test_rms_and_l2(engine, rng):
    x, scale = rng.normal(size=(3, 4)), rng.normal(size=4)
    expected = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-7) * scale
    np.testing.assert_allclose(ops.rms_normalization(x, scale).numpy(), expected)
    np.testing.assert_allclose(ops.l2_normalize(x, 0).numpy(), x / np.linalg.norm(x, axis=0))
    np.testing.assert_array_equal(ops.l2_normalize(np.zeros(3, "float32")).numpy(), np.zeros(3))


def test_bias_in_both_layouts(engine, rng):
    x, bias = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=5)
    np.testing.assert_allclose(ops.bias_add(x, bias, "channels_last").numpy(), x + bias)
    bias = rng.normal(size=3)
    np.testing.assert_allclose(ops.bias_add(x, bias, "channels_first").numpy(), x + bias[:, None, None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.bias_add(x, np.ones(5)), "5 elements for 4 channels"),
        (lambda x: ops.batch_normalization(x, np.ones(5), np.ones(4)), "shape must be"),
        (lambda x: ops.layer_normalization(x, np.ones(3)), "shape must be"),
        (lambda x: ops.group_normalization(x, 3), "cannot be split into 3 groups"),
    ],
    ids=["bias", "batch", "layer", "group"],
)
def test_what_does_not_fit_is_refused(engine, call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((2, 4)))
