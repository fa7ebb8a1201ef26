"""Jacobians, jacobian-vector products and hessian-vector products."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def taped(function, *xs, **options):
    with dt.GradientTape(**options) as tape:
        tape.watch(list(xs))
        y = function(*xs)
    return tape, y


def test_jacobian(engine):
    x, b = ops.constant([1.0, 2.0, 3.0], "float64"), dt.Variable(np.zeros(2))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.square(ops.matmul(A, x[:, None])[:, 0]) + b
    found = tape.jacobian(y, {"x": x, "b": b})
    np.testing.assert_allclose(found["x"].numpy(), 2 * (A @ [1, 2, 3])[:, None] * A)
    np.testing.assert_allclose(found["b"].numpy(), np.eye(2))
    assert found["x"].engine == engine


@pytest.mark.parametrize(("target", "source"), [((), ()), ((), (2,)), ((2, 2), ()), ((0,), (2,)), ((2, 3), (0,))])
def test_jacobian_shapes(target, source):
    x = ops.ones(source)
    tape, y = taped(lambda x: ops.zeros(target) + ops.sum(x), x)
    assert tape.jacobian(y, x, unconnected_gradients="zero").shape == target + source


def test_unconnected():
    x, other = ops.ones((2,)), ops.ones((3,))
    tape, y = taped(lambda x: x * 2.0, x, persistent=True)
    assert tape.jacobian(y, other) is None and tape.jacobian(other, x) is None
    zeros = tape.jacobian(y, other, unconnected_gradients="zero").numpy()
    np.testing.assert_array_equal(zeros, np.zeros((2, 3)))
    batch = tape.batch_jacobian(ops.ones((4, 2)), ops.ones((4, 3)), unconnected_gradients="zero")
    assert batch.shape == (4, 2, 3) and not batch.numpy().any()


def test_batch_jacobian(engine):
    x = ops.constant(np.arange(6).reshape(2, 3), "float64")
    tape, y = taped(lambda x: ops.matmul(x * x, A.T)[..., None], x, persistent=True)
    found = tape.batch_jacobian(y, x).numpy()
    whole = tape.jacobian(y, x).numpy()
    assert found.shape == (2, 2, 1, 3)
    for i in range(2):
        np.testing.assert_allclose(found[i], whole[i, :, :, i])
    with pytest.raises(ValueError, match="batch of 2, the source of 3"):
        tape.batch_jacobian(y, ops.ones((3, 3)))
    with pytest.raises(ValueError, match="no first dimension"):
        tape.batch_jacobian(y, ops.ones(()))


def test_compiled_with_an_open_batch(engine):
    if engine == "jax":
        spec = dt.spec((2, 3), "float64")
    else:
        spec = dt.spec((None, 3), "float64")

    @dt.function(input_signature=[spec])
    def f(x):
        tape, y = taped(lambda x: x * x, x)
        return tape.batch_jacobian(y, x)

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(f(x).numpy(), 2 * x[:, :, None] * np.eye(3))


def test_open_target():
    @dt.function(input_signature=[dt.spec((None,))])
    def f(x):
        tape, y = taped(lambda x: x * x, x)
        return tape.jacobian(y, x)

    with pytest.raises(ValueError, match="must be known"):
        f(np.ones(3, "float32"))


def test_asked_twice():
    x = ops.ones((2,))
    tape, y = taped(lambda x: x * x, x)
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match=r"jacobian.*persistent=True"):
        tape.jacobian(y, x)


def f(x, z):
    return ops.sum(ops.exp(x) * z * z * ops.sum(x))


@pytest.mark.parametrize("compiled", [False, True])
def test_products(engine, compiled):
    """Check products against jacobians of gradients, formed whole."""
    x, z = ops.constant([0.1, 0.2, 0.3], "float64"), ops.constant([1.0, 2.0, 3.0], "float64")
    v, w = np.array([1.0, -1.0, 2.0]), np.array([0.5, 0.0, -1.0])
    with dt.GradientTape(persistent=True) as outer:
        outer.watch([x, z])
        tape, y = taped(f, x, z, persistent=True)
        gradient = tape.gradient(y, [x, z])
    hessian = [[outer.jacobian(g, s).numpy() for s in (x, z)] for g in gradient]
    wrap = dt.function if compiled else lambda g: g
    found = wrap(lambda x, z: dt.hvp(f, [x, z], [v, w]))(x, z)
    for i in range(2):
        np.testing.assert_allclose(found[i].numpy(), hessian[i][0] @ v + hessian[i][1] @ w)
    value, change = wrap(lambda x, z: dt.jvp(f, [x, z], [v, None]))(x, z)
    np.testing.assert_allclose(float(value), float(y))
    np.testing.assert_allclose(float(change), gradient[0].numpy() @ v)


def test_products_of_structures_and_variables():
    w = dt.Variable([1.0, 2.0])
    found = dt.hvp(lambda w: ops.sum(w * w * w), [w], [[1.0, 1.0]])
    assert found[0].numpy().tolist() == [6, 12]
    result, change = dt.jvp(lambda x: {"a": x * x, "b": ops.constant(1.0)}, [[1.0, 3.0]], [[1.0, 1.0]])
    assert result["a"].numpy().tolist() == [1, 9]
    assert change["a"].numpy().tolist() == [2, 6] and float(change["b"]) == 0
    linear = dt.hvp(lambda x: ops.sum(x * 2.0), [[1.0, 2.0]], [[1.0, 1.0]])
    assert linear[0].numpy().tolist() == [0, 0]
    with pytest.raises(ValueError, match="1 primals and 2 tangents"):
        dt.jvp(lambda x: x, [1.0], [1.0, 2.0])


def test_by_itself():
    """Check that a tensor that no tape follows has no derivative, not even by itself."""
    x, watched = ops.constant([1.0, 2.0]), ops.constant([1.0, 2.0])
    with dt.GradientTape(persistent=True) as tape:
        tape.watch(watched)
    assert tape.jacobian(x, x) is None and tape.gradient(x, x) is None
    assert tape.jacobian(watched, watched).numpy().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: dt.jvp([1.0], [1.0], [1.0]), r"^jvp at test_jacobian.py:\d+: function is called with the primals"),
        (lambda: dt.hvp(ops.sum, ops.constant([1.0]), [1.0]), r"^hvp at test_jacobian.py:\d+: primals is a list"),
        (lambda: dt.hvp(ops.sum, [1.0], 1.0), r"tangents is a list, with one for each argument of function"),
        (lambda: dt.gradients([], [1.0]), r"^gradients at test_jacobian.py:\d+: ys has no tensor"),
        (lambda: dt.wildcards(3), r"^wildcards at test_jacobian.py:\d+: names is a text"),
        (lambda: dt.predict_by(None, [1]), r"^predict_by at test_jacobian.py:\d+: graph is what graph_of"),
        (lambda: dt.unregister_op(["a"]), r"no op of this name was registered"),
    ],
)
def test_wrong_calls(call, problem):
    with pytest.raises((TypeError, ValueError, LookupError), match=problem):
        call()
