"""The table of transformations: each kind of calls of K under what an engine's library does with a program.

The transformed call gives the numbers of the plain call on the engine's own values, and the library's gradients agree.
`REFUSED` has the calls that a library refuses.  A random call draws other numbers in each run.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tests.interop.k_calls import BATCH, CALLS, Call
from tests.libraries import Library

torch, dynamo, jax, export, tf = map(Library, ("torch", "torch._dynamo", "jax", "jax.export", "tensorflow"))
onnxruntime = Library("onnxruntime")

OTHER = 7  # another size of the batch
Arrays = list[np.ndarray]
Way = Callable[[Call], None]


def close(found: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def has_batch(array: np.ndarray, batch: int = BATCH) -> bool:
    return array.ndim > 0 and len(array) == batch


def agree(call: Call, run: Callable[..., Any], plain: Callable[..., Any], arrays: Arrays) -> None:
    """Compare a transformed call with the plain one; random ones draw other numbers in each run."""
    found = np.asarray(run(*arrays))
    if not call.is_random:
        close(found, plain(*arrays))
        return
    assert found.shape == np.asarray(plain(*arrays)).shape and np.isfinite(found).all()
    assert not np.array_equal(found, np.asarray(run(*arrays))), "each run draws other numbers"


# -- torch ------------------------------------------------------------------------------------------------------------


def tensors(arrays: Arrays, count: int = 0, is_open: bool = False) -> list[Any]:
    """Tensors, of which the first ones have gradients; the size of a batch may be open to torch.compile."""
    made = [torch.tensor(a, requires_grad=i < count) for i, a in enumerate(arrays)]
    for tensor, array in zip(made, arrays, strict=True):
        if is_open and (has_batch(array) or has_batch(array, OTHER)):
            dynamo.mark_dynamic(tensor, 0)
    return made


def on_torch(function: Callable[..., Any], is_open: bool = False) -> Callable[..., np.ndarray]:
    return lambda *arrays: function(*tensors([*arrays], 0, is_open)).detach().numpy()


def gradients_on_torch(call: Call, function: Callable[..., Any], arrays: Arrays, is_open: bool) -> Arrays:
    given = tensors(arrays, len(call.shapes), is_open)
    result = function(*given)
    if not result.requires_grad:
        return []
    found = torch.autograd.grad(torch.sin(result).sum(), given[: len(call.shapes)], allow_unused=True)
    return [np.zeros(()) if g is None else g.numpy() for g in found]


def torch_compile(call: Call, is_open: bool = False) -> None:
    torch.compiler.reset()
    compiled = torch.compile(call.function, fullgraph=True, backend="aot_eager")
    for batch in (BATCH, OTHER) if is_open else (BATCH,):
        arrays = call.arrays(batch)
        agree(call, on_torch(compiled, is_open), on_torch(call.function), arrays)
        if not call.is_random:
            found, wanted = (gradients_on_torch(call, f, arrays, is_open) for f in (compiled, call.function))
            for x, y in zip(found, wanted, strict=True):
                close(x, y)


def exported(call: Call, strict: bool) -> Any:
    class Module(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, *given: Any) -> Any:
            return call.function(*given)

    arrays = call.arrays()
    dims = tuple({0: torch.export.Dim.DYNAMIC} if has_batch(a) else None for a in arrays)
    given = tuple(map(torch.tensor, arrays))
    return torch.export.export(Module(), given, dynamic_shapes=(dims,), strict=strict)


def torch_export(call: Call, strict: bool) -> None:
    program = exported(call, strict).module()
    for batch in (BATCH, OTHER):
        agree(call, on_torch(program), on_torch(call.function), call.arrays(batch))


def torch_onnx(call: Call) -> None:
    program = torch.onnx.export(exported(call, False), dynamo=True, verbose=False)
    held = io.BytesIO()
    program.save(held)
    session = onnxruntime.InferenceSession(held.getvalue(), providers=["CPUExecutionProvider"])

    def run(*arrays: np.ndarray) -> Any:
        return session.run(None, {x.name: a for x, a in zip(session.get_inputs(), arrays, strict=True)})[0]

    for batch in (BATCH, OTHER):
        agree(call, run, on_torch(call.function), call.arrays(batch))


# -- jax --------------------------------------------------------------------------------------------------------------


def on_jax(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    return lambda *arrays: np.asarray(function(*map(jax.numpy.asarray, arrays)))


def plain_jax(call: Call, *arrays: Any) -> np.ndarray:
    return on_jax(call.function)(*arrays)


def total(call: Call, others: Arrays) -> Callable[..., Any]:
    """The sum of the sines of a call's result, as a function of the differentiable arguments."""
    return lambda *floats: jax.numpy.sin(call.function(*floats, *others)).sum()


def is_differentiable(call: Call) -> bool:
    return bool(call.shapes) and plain_jax(call, *call.arrays()).dtype.kind == "f"


def jax_jit(call: Call) -> None:
    agree(call, on_jax(jax.jit(call.function)), partial(plain_jax, call), call.arrays())


def jax_vmap(call: Call) -> None:
    arrays = call.arrays()
    pairs = [np.stack([a, a[::-1] if i < len(call.shapes) else a]) for i, a in enumerate(arrays)]
    found = on_jax(jax.vmap(call.function))(*pairs)
    for i in range(2):
        close(found[i], plain_jax(call, *[pair[i] for pair in pairs]))


def split(call: Call) -> tuple[list[Any], list[Any]]:
    arrays = list(map(jax.numpy.asarray, call.arrays()))
    return arrays[: len(call.shapes)], arrays[len(call.shapes) :]


def differentiated(call: Call, transform: Callable[..., Any]) -> None:
    """Compare a gradient under a transformation with differences of the plain call along one direction."""
    if not is_differentiable(call):
        return
    with jax.enable_x64(True):
        floats, others = split(call)
        floats = [x.astype("float64") for x in floats]
        f = total(call, others)
        gradients = transform(jax.grad)(f, tuple(range(len(floats))))(*floats)
        rng = np.random.default_rng(zlib.crc32(call.name.encode()))
        vs = [rng.normal(size=x.shape) * 1e-6 for x in floats]
        there, back = (f(*[x + sign * v for x, v in zip(floats, vs, strict=True)]) for sign in (1, -1))
        along = sum((g * v).sum() for g, v in zip(gradients, vs, strict=True))
        np.testing.assert_allclose(along * 1e6, (there - back) / 2 * 1e6, rtol=1e-4, atol=1e-4)


def jax_grad(call: Call) -> None:
    differentiated(call, lambda grad: grad)


def jax_checkpoint(call: Call) -> None:
    differentiated(call, lambda grad: lambda f, argnums: grad(jax.checkpoint(f), argnums))


def jax_hessian(call: Call) -> None:
    if not is_differentiable(call):
        return
    floats, others = split(call)
    f = lambda x: total(call, others)(x.reshape(floats[0].shape), *floats[1:])  # noqa: E731
    x, v = floats[0].reshape(-1), jax.numpy.ones(floats[0].size)
    found = jax.hessian(f)(x) @ v
    close(found, jax.grad(lambda x: jax.grad(f)(x) @ v)(x), 1e-3)


def jax_scan(call: Call) -> None:
    arrays = call.arrays()
    stacked = tuple(np.stack([a, a, a]) for a in arrays)
    _, found = jax.lax.scan(lambda count, given: (count + 1, call.function(*given)), 0, stacked)
    close(found[2], plain_jax(call, *arrays))


def jax_cond(call: Call) -> None:
    wanted = plain_jax(call, *call.arrays())
    nothing = lambda *given: jax.numpy.zeros(wanted.shape, wanted.dtype)  # noqa: E731
    chosen = jax.jit(lambda flag, *given: jax.lax.cond(flag, call.function, nothing, *given))
    close(chosen(True, *call.arrays()), wanted)
    close(chosen(False, *call.arrays()), np.zeros_like(wanted))


def jax_while_loop(call: Call) -> None:
    wanted = plain_jax(call, *call.arrays())
    given = tuple(map(jax.numpy.asarray, call.arrays()))
    start = 0, jax.numpy.zeros(wanted.shape, wanted.dtype), given
    body = lambda state: (state[0] + 1, call.function(*state[2]), state[2])  # noqa: E731
    close(jax.lax.while_loop(lambda state: state[0] < 2, body, start)[1], wanted)


def jax_export(call: Call) -> None:
    scope = export.SymbolicScope()
    specs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(["b", *map(str, a.shape[1:])]), scope=scope), a.dtype)
        if has_batch(a)
        else jax.ShapeDtypeStruct(a.shape, a.dtype)
        for a in call.arrays()
    ]
    program = export.export(jax.jit(call.function))(*specs)
    for batch in (BATCH, OTHER):
        agree(call, program.call, partial(plain_jax, call), call.arrays(batch))


# -- TensorFlow -------------------------------------------------------------------------------------------------------


def on_tensorflow(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    return lambda *arrays: function(*map(tf.constant, arrays)).numpy()


def tf_function(call: Call, **options: Any) -> None:
    run = tf.function(call.function, **options)
    agree(call, on_tensorflow(run), on_tensorflow(call.function), call.arrays())


def specs(call: Call) -> list[Any]:
    return [tf.TensorSpec((None, *a.shape[1:]) if has_batch(a) else a.shape, a.dtype) for a in call.arrays()]


def tf_unknown_batch(call: Call) -> None:
    run = tf.function(call.function, input_signature=specs(call))
    for batch in (BATCH, OTHER):
        agree(call, on_tensorflow(run), on_tensorflow(call.function), call.arrays(batch))


def tf_vectorized_map(call: Call) -> None:
    arrays = (
        call.arrays()
    )  # of which those without a batch, as TensorFlow needs for kernels, are the same in all slices
    pairs = {i: np.stack([a, a[::-1]]) for i, a in enumerate(arrays) if has_batch(a)}
    if not pairs:
        return

    def run(slices: Any) -> Any:
        return call.function(*[slices.get(str(i), a) for i, a in enumerate(arrays)])

    given = {str(i): tf.constant(pair) for i, pair in pairs.items()}
    found = tf.vectorized_map(run, given, fallback_to_while_loop=False).numpy()
    for n in range(2):
        close(found[n], on_tensorflow(call.function)(*[pairs[i][n] if i in pairs else a for i, a in enumerate(arrays)]))


def tf_saved_model(call: Call) -> None:
    module = tf.Module()
    module.run = tf.function(call.function, input_signature=specs(call))
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        run = tf.saved_model.load(folder).run
    for batch in (BATCH, OTHER):
        agree(call, on_tensorflow(run), on_tensorflow(call.function), call.arrays(batch))


# -- the table --------------------------------------------------------------------------------------------------------

WAYS: dict[str, Way] = {
    "torch.compile": torch_compile,
    "torch.compile of an unknown batch": partial(torch_compile, is_open=True),
    "torch.export": partial(torch_export, strict=False),
    "torch.export(strict=True)": partial(torch_export, strict=True),
    "torch.onnx.export": torch_onnx,
    "jax.jit": jax_jit,
    "jax.grad": jax_grad,
    "jax.vmap": jax_vmap,
    "jax.hessian": jax_hessian,
    "jax.checkpoint": jax_checkpoint,
    "jax.lax.scan": jax_scan,
    "jax.lax.cond": jax_cond,
    "jax.lax.while_loop": jax_while_loop,
    "jax.export": jax_export,
    "tf.function": tf_function,
    "tf.function(jit_compile=True)": partial(tf_function, jit_compile=True),
    "tf.function of an unknown batch": tf_unknown_batch,
    "tf.vectorized_map": tf_vectorized_map,
    "tf.saved_model": tf_saved_model,
}

WITHOUT_DRAWS = ("jax", "tf.vectorized_map")  # JAX's programs keep no state; slices of random numbers have no oracle
REFUSED = {  # (transformation, call) → the library's own error
    ("torch.onnx.export", "conv2d_transpose"): "No ONNX function found for .*aten.convolution_backward",
    ("tf.vectorized_map", "depthwise_conv2d"): "'DepthwiseConv2dNative' expected to be not loop invariant",
    ("tf.vectorized_map", "separable_conv2d"): "'DepthwiseConv2dNative' expected to be not loop invariant",
}
TABLE = [(way, call) for call in CALLS for way in WAYS if not (call.is_random and way.startswith(WITHOUT_DRAWS))]


@pytest.mark.parametrize(("way", "call"), TABLE, ids=lambda value: getattr(value, "name", value))
def test_transformations(way, call):
    problem = REFUSED.get((way, call.name))
    if problem is None:
        WAYS[way](call)
    else:
        with pytest.raises(Exception, match=problem):
            WAYS[way](call)


@pytest.mark.parametrize("call", [call for call in CALLS if call.is_random], ids=lambda call: call.name)
def test_jax_refuses_draws_that_would_be_the_same_in_each_run(call):
    with pytest.raises(ValueError, match="would draw the same numbers in each of its runs; pass seed="):
        jax.jit(call.function)(*call.arrays())


MODEL = """
import keras
import numpy as np
import torch
from dovetail import backend as K

class Normalized(keras.layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), name="kernel")

    def call(self, x):
        return K.dot(K.l2_normalize(x, -1), self.kernel) + K.mean(x, axis=-1, keepdims=True)

model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(6), Normalized(), keras.layers.Dense(2)])
given = torch.rand(4, 6), torch.rand(7, 6)
program = torch.export.export(model, given[:1], dynamic_shapes=(({0: torch.export.Dim.DYNAMIC},),)).module()
for x in given:
    np.testing.assert_allclose(program(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
"""


def test_a_model_of_keras_on_torch_with_a_layer_of_k_is_exported():
    for library in ("torch", "keras"):
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    subprocess.run([sys.executable, "-c", MODEL], check=True, env=os.environ | {"KERAS_BACKEND": "torch"})
