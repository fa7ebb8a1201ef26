"""`custom_gradient` and `recompute_grad` on engines' own values, differentiated by the engines."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.autodiff.test_custom import log1pexp, loud


def test_on_jax_values():
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    assert float(jax.grad(log1pexp)(100.0 * jnp.ones(()))) == 1
    assert float(jax.jit(jax.grad(log1pexp))(jnp.float32(100.0))) == 1
    np.testing.assert_allclose(jax.vmap(jax.grad(log1pexp))(jnp.array([0.0, 100.0])), [0.5, 1])
    np.testing.assert_allclose(jax.grad(jax.grad(log1pexp))(0.5 * jnp.ones(())), 0.2350037, rtol=1e-5)
    assert [float(g) for g in jax.grad(loud, (0, 1))(jnp.float32(3), jnp.float32(4))] == [10, 3]

    @dt.custom_gradient
    def structured(batch, n):
        return {"y": batch["x"] * 2.0, "n": n + 1}, lambda gn, gy: ({"x": gy * 5.0}, None)

    def use(x, n):
        result = structured({"x": x}, n)
        return jnp.sum(result["y"]) * result["n"]

    for way in (jax.grad(use), jax.jit(jax.grad(use))):
        np.testing.assert_allclose(way(jnp.ones(2), jnp.int32(2)), [15, 15])

    block = dt.recompute_grad(lambda x: ops.sum(ops.tanh(ops.tanh(x))))
    x = jnp.array([0.1, 0.2])
    np.testing.assert_allclose(jax.grad(block)(x), jax.grad(lambda x: jnp.tanh(jnp.tanh(x)).sum())(x), rtol=1e-6)
    assert "remat" in str(jax.make_jaxpr(block)(x)) or "checkpoint" in str(jax.make_jaxpr(block)(x))
    np.testing.assert_allclose(jax.grad(lambda x: ops.sum(ops.stop_gradient(x) * x))(x), x)


def test_on_torch_values():
    torch = pytest.importorskip("torch")

    x = torch.tensor([0.5, 100.0], requires_grad=True)
    (slope,) = torch.autograd.grad(log1pexp(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(slope.detach(), [0.62245935, 1])
    (curvature,) = torch.autograd.grad(slope[0], x)
    np.testing.assert_allclose(curvature[0], 0.2350037, rtol=1e-5)
    a, b = torch.tensor(3.0, requires_grad=True), torch.tensor(4.0, requires_grad=True)
    assert [float(g) for g in torch.autograd.grad(loud(a, b), (a, b))] == [10, 3]
    assert float(torch.func.grad(loud)(torch.tensor(3.0), torch.tensor(4.0))) == 10

    @dt.custom_gradient
    def structured(batch, n):
        return {"y": batch["x"] * 2.0, "n": n + 1}, lambda gn, gy: ({"x": gy * 5.0}, None)

    result = structured({"x": x}, torch.tensor(2))
    (result["y"].sum() * result["n"]).backward()
    np.testing.assert_allclose(x.grad, [15, 15])

    block = dt.recompute_grad(lambda x: ops.sum(ops.tanh(ops.tanh(x))))
    (found,) = torch.autograd.grad(block(x), x)
    (expected,) = torch.autograd.grad(torch.tanh(torch.tanh(x)).sum(), x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    (found,) = torch.autograd.grad(ops.sum(ops.stop_gradient(x) * x), x)
    np.testing.assert_allclose(found, x.detach())
