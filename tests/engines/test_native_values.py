"""Engines' own values: ops take and return them, and the engines' own transformations differentiate the ops.

jax (under `jit`), torch's autograd and TensorFlow's tape (eagerly, and inside `tf.function`) differentiate every
differentiable op of the table. The numbers equal the gradients of Dovetail's tape.
"""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import Library
from tests.ops.table import CASES, draw, float_arrays, identifier, is_differentiable, leaves, replace_arrays

jax, jnp, torch, tf = map(Library, ("jax", "jax.numpy", "torch", "tensorflow"))

DIFFERENTIABLE = [case for case in CASES if is_differentiable(*case)]
SYMMETRIC = ("Cholesky", "SelfAdjointEigV2")  # read one triangle; the libraries spread the gradient over both
LOOPS = ("IgammaGradA", "MatrixExponential")  # the length of a loop depends on values, which tracers do not have
EIGENVECTORS = ("MatrixSquareRoot",)  # JAX differentiates those of any matrix only for who asks for it
TRACED = [(op, n) for op, n in DIFFERENTIABLE if op.name not in LOOPS]


class Case:
    """An op's sample as a number-valued function of float64 arrays, and its gradients by the tape."""

    def __init__(self, op, number, rng):
        args, kwargs = draw(op.samples[number], rng, "float64")
        self.symmetric = op.name in SYMMETRIC
        self.arrays = float_arrays(args, kwargs)

        def call(arrays):
            moved, named = replace_arrays(args, kwargs, list(arrays))
            return [r for r in leaves(op(*moved, **named)) if is_float(r)]

        with dt.engine("numpy"):
            self.tensors = [ops.convert(a) for a in self.arrays]
            with dt.GradientTape() as tape:
                tape.watch(self.tensors)
                results = call(self.tensors)
                self.weights = [rng.uniform(0.5, 1.5, r.shape) for r in results]
                total = self.total(results)
            self.value = total.numpy()
            self.gradients = [g.numpy() for g in tape.gradient(total, self.tensors, unconnected_gradients="zero")]
        self.call = lambda arrays: self.total(call(arrays))

    def total(self, results):
        total = 0.0
        for result, weight in zip(results, self.weights, strict=True):
            total = ops.add(total, ops.sum(ops.multiply(result, weight)))
        return total

    def check(self, value, gradients):
        np.testing.assert_allclose(value, self.value, rtol=1e-6, atol=1e-8)
        for found, expected in zip(gradients, self.gradients, strict=True):
            if self.symmetric:
                found, expected = (g + np.swapaxes(g, -1, -2) for g in (found, expected))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def is_float(value):
    return dt.dtypes.as_dtype(value.dtype).is_floating


@pytest.mark.parametrize(("op", "number"), [one for one in TRACED if one[0].name not in EIGENVECTORS], ids=identifier)
def test_jax(op, number, rng):
    case = Case(op, number, rng)
    differentiated = jax.jit(jax.value_and_grad(case.call))
    with jax.enable_x64(True):
        arrays = [jnp.array(a) for a in case.arrays]
        if op.samples[number].dynamic:  # the shape of the result depends on values, which jit does not have
            with pytest.raises(jax.errors.ConcretizationTypeError):
                differentiated(arrays)
            return
        value, gradients = differentiated(arrays)
        assert isinstance(value, jax.Array) and value.dtype == "float64"
        case.check(np.asarray(value), [np.asarray(g) for g in gradients])


@pytest.mark.parametrize(("op", "number"), DIFFERENTIABLE, ids=identifier)
def test_torch(op, number, rng):
    case = Case(op, number, rng)
    values = [torch.tensor(a, requires_grad=True) for a in case.arrays]
    value = case.call(values)
    assert isinstance(value, torch.Tensor)
    if value.requires_grad:
        gradients = torch.autograd.grad(value, values, allow_unused=True)
    else:
        gradients = [None] * len(values)
    case.check(
        value.detach().numpy(),
        [np.zeros(a.shape) if g is None else g.numpy() for g, a in zip(gradients, case.arrays, strict=True)],
    )


# TensorFlow needs known channels and kernel sizes, and differentiates QR and SVD of known sizes only.
NEED_SIZES = {name for kind in ("", "BackpropInput", "BackpropFilter") for name in CONVOLUTIONS[kind]}
NEED_SIZES |= {"FusedConv", "Cofactors", "Pinv", "Qr", "Svd", "MatrixSquareRoot"}
OVERWRITTEN = ("MaxPool3DGrad", 1)  # its MaxPoolGradGrad overwrites its argument if a pool keeps the shape
WAYS = [
    *(("eager", *case) for case in DIFFERENTIABLE),
    *(("traced", op, n) for op, n in TRACED if (op.name, n) != OVERWRITTEN),
    *(("open", op, n) for op, n in TRACED if op.name not in NEED_SIZES and (op.name, n) != OVERWRITTEN),
]


@pytest.mark.parametrize(("way", "op", "number"), WAYS, ids=identifier)
def test_tensorflow(way, op, number, rng):
    """Check TensorFlow eagerly, and traced with known dimensions and with unknown ones."""
    case = Case(op, number, rng)

    def differentiated(*values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            value = case.call(values)
        return value, tape.gradient(value, values, unconnected_gradients="zero")

    if way != "eager":
        shapes = [[None] * a.ndim if way == "open" else a.shape for a in case.arrays]
        differentiated = tf.function(differentiated, [tf.TensorSpec(s, "float64") for s in shapes], autograph=False)
    value, gradients = differentiated(*map(tf.constant, case.arrays))
    assert isinstance(value, tf.Tensor) and value.dtype == "float64"
    case.check(value.numpy(), [tf.convert_to_tensor(g).numpy() for g in gradients])


# -- in-place changes of torch's tensors by its users ----------------------------------------------------------------


@pytest.mark.parametrize(("op", "number"), CASES, ids=identifier)
def test_results_share_no_memory_with_torch_s_tensors_a16(op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    arrays = float_arrays(args, kwargs)
    given = [torch.tensor(a) for a in arrays]
    moved, named = replace_arrays(args, kwargs, list(given))
    starts = {x.untyped_storage().data_ptr() for x in given if x.numel()}
    for result in leaves(op(*moved, **named)):
        assert not isinstance(result, torch.Tensor) or result.untyped_storage().data_ptr() not in starts


VIEWS = {
    "op": lambda x: ops.transpose(x),
    "several results": lambda x: ops.split(x, 2)[1],
    "switch": lambda x: ops.switch(True, x, x * 2),
    "cond": lambda x: ops.cond(torch.tensor(True), lambda: x, lambda: x * 2),
    "no step of a loop": lambda x: ops.while_loop(lambda i, v: i < 0, lambda i, v: (i + 1, v), (0, x))[1],
    "one step of a fold": lambda x: ops.foldl(lambda total, row: row, x[:1]),
    "custom gradient": dt.custom_gradient(lambda x: (x, lambda g: g)),
    "recompute": dt.recompute_grad(lambda x: ops.reshape(x, (4,))),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("trained", [False, True])
def test_what_a_user_writes_to_a_result_leaves_the_weight_a16(name, trained):
    weight = torch.ones((2, 2), requires_grad=trained)
    result = VIEWS[name](weight)
    result /= 4.0
    assert (weight == 1).all() and (result == 0.25).all()
    if trained:
        result.sum().backward()
        assert weight.grad.max() == 0.25


def test_what_a_user_writes_to_what_a_loop_gives_leaves_the_weight_a16():
    weight = torch.ones((2, 2))

    def step(total, row):
        row /= 2.0
        total += row
        return total, row

    total, rows = ops.scan(step, weight[0], weight)
    assert (weight == 1).all() and total.tolist() == [2, 2] and rows.tolist() == [[0.5, 0.5]] * 2


# -- transformations --------------------------------------------------------------------------------------------------


def model(x, w):
    """A model of primitives and composites, broadcasting, numbers, indexing and a reduction."""
    hidden = ops.relu(ops.matmul(x, w) + 1.5)
    return ops.mean(ops.square(hidden[..., 1:])) + ops.sum(ops.softmax(x)) * 2


def arrays():
    return np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3), np.linspace(1, -2, 12, dtype="float32").reshape(3, 4)


def expected():
    x, w = map(ops.convert, arrays())
    with dt.GradientTape() as tape:
        tape.watch([x, w])
        y = model(x, w)
    return y.numpy(), [g.numpy() for g in tape.gradient(y, [x, w])]


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_on", [False, True])
def test_jax_transformations(is_on):
    x, w = map(jnp.asarray, arrays())
    value, gradients = expected()
    with jax.enable_x64(is_on):
        close(model(x, w), value)
        close(jax.jit(model)(x, w), value)
        for found, wanted in zip(jax.jit(jax.grad(model, (0, 1)))(x, w), gradients, strict=True):
            close(found, wanted)
        close(jax.vmap(model, (0, None))(x[:, None], w), [float(model(row[None], w)) for row in x])
        close(
            jax.jvp(model, (x, w), (x, w))[1],
            sum(float(np.sum(g * a)) for g, a in zip(gradients, arrays(), strict=True)),
        )
        per_row = jax.vmap(jax.grad(model), (0, None))(x[:, None], w)
        close(per_row[:, 0], [jax.grad(model)(row[None], w)[0] for row in x])

        def step(carry, row):
            carry = ops.tanh(carry * row + 1.0)
            return carry, ops.sum(carry)

        carry, sums = jax.lax.scan(step, jnp.zeros(3, "float32"), x)
        state = np.zeros(3, "float32")
        for row, total in zip(arrays()[0], sums, strict=True):
            state = np.tanh(state * row + 1)
            close(total, state.sum())
        close(carry, state)
        assert jax.eval_shape(model, x, w).shape == ()
    assert (ops.tanh(x).dtype, ops.argmax(x).dtype) == ("float32", ops.argmax(x).dtype)


def test_torch_transformations():
    x, w = map(torch.tensor, arrays())
    value, gradients = expected()
    close(model(x, w), value)
    for found, wanted in zip(torch.func.grad(model, (0, 1))(x, w), gradients, strict=True):
        close(found, wanted)
    close(torch.func.vmap(model, (0, None))(x[:, None], w), [float(model(row[None], w)) for row in x])
    x.requires_grad_()
    (slope,) = torch.autograd.grad(model(x, w), x, create_graph=True)
    assert slope.requires_grad
    close(torch.autograd.functional.vjp(lambda x: model(x, w), x)[1], gradients[0])
    module = torch.nn.Linear(3, 2)
    ops.sum(ops.relu(module(x))).backward()
    assert module.weight.grad is not None


MAKE = {"jax": lambda x: jnp.asarray(x), "torch": lambda x: torch.tensor(x), "tensorflow": lambda x: tf.constant(x)}


@pytest.mark.parametrize("library", MAKE)
def test_mixed_with_other_values(library):
    """Check that the result is the engine's own value, beside Tensors of any engine, variables, arrays and numbers."""
    x = MAKE[library](np.array([1.0, 2.0], "float32"))
    kind = type(x)
    for name in dt.list_engines():
        with dt.engine(name):
            for other in (ops.constant([3.0, 4.0]), dt.Variable([3.0, 4.0]), np.array([3, 4]), [3, 4]):
                for found in (ops.multiply(x, other), ops.multiply(other, x)):
                    assert isinstance(found, kind) and np.asarray(found).tolist() == [3, 8]
            assert isinstance(x * ops.constant([3.0, 4.0]), kind) and isinstance(dt.Variable([3.0, 4.0]) * x, kind)
            assert isinstance(ops.concatenate([x, [5.0]]), kind) and isinstance(ops.where([True, False], x, 0.0), kind)
            # values that a body makes without inputs belong to the engine, too
            assert isinstance(ops.one_hot(ops.cast(x, "int32"), 3), kind)
    assert isinstance(ops.split(x, 2)[0], kind)
    assert ops.reshape(x, (2, 1)).shape == (2, 1) and np.asarray(ops.shape(x)).tolist() == [2]


def test_a_graph_takes_native_numbers_as_constants():
    f = dt.function(lambda x: x * jnp.asarray([1.0, 2.0]) + torch.tensor([1.0, 1.0]))
    assert f(ops.constant([3.0, 3.0])).numpy().tolist() == [4, 7]
    with pytest.raises(TypeError, match="without numbers yet"):
        jax.jit(lambda t: dt.function(lambda x: x * t)(ops.constant(1.0)))(1.0)


def test_two_engines():
    with pytest.raises(TypeError, match=r"jax and torch values.*convert"):
        ops.add(jnp.ones(2), torch.ones(2))


def test_compiled_functions_take_part():
    """Check that a `function` of an engine's own values runs inside that engine's program."""
    w = dt.Variable(2.0)
    f = dt.function(lambda x: ops.sum(ops.tanh(x) * w))
    x = jnp.array([0.1, 0.2])
    close(jax.jit(jax.grad(f))(x), 2 * (1 - np.tanh(x) ** 2))
    t = torch.tensor([0.1, 0.2], requires_grad=True)
    f(t).backward()
    close(t.grad, 2 * (1 - np.tanh(x) ** 2))


def test_tracers_do_not_leak():
    """Check that numbers made inside a trace are not kept for later calls."""
    for _ in range(2):
        assert float(jax.jit(lambda x: ops.maximum(x * 2.0, 1.25) + 3)(1.0)) == 5
        close(ops.maximum(jnp.ones(2) * 2.0, 1.25) + 3, [5, 5])
        with dt.engine("jax"):
            assert float(ops.maximum(ops.constant(1.0) * 2.0, 1.25) + 3) == 5
    with jax.checking_leaks():
        jax.jit(lambda x: ops.mean(ops.square(x * 7.5)))(jnp.ones(3))


def test_engines_know_when_they_trace():
    seen = []

    def look(x):
        seen.append(get_engine("jax").is_tracing())
        return x

    jax.jit(look)(1.0)
    jax.lax.scan(lambda carry, x: (look(carry), x), 1.0, jnp.ones(2))
    jax.grad(look)(1.0)
    look(1.0)
    assert seen == [True, True, False, False]
    assert not get_engine("torch").is_tracing()
    assert [get_engine(name).fresh_key(0) for name in ("numpy", "torch", "jax")] == [None, None, None]


def test_errors_are_the_same():
    for x in (jnp.ones((2, 3)), torch.ones(2, 3), tf.ones((2, 3))):
        with pytest.raises(ValueError, match=r"MatMul at test_native_values.py:\d+.*inner dimensions"):
            ops.matmul(x, x)
        with pytest.raises(TypeError, match="float"):
            ops.bitwise_and(x, x)
