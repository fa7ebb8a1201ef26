"""Resizing against `tf.image.resize`: every interpolation, up and down, both layouts, known and unknown sizes."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine
from dovetail.ops.image.resize import INTERPOLATIONS

SIZES = [((5, 7), (10, 21)), ((8, 6), (3, 4)), ((4, 9), (7, 2)), ((1, 3), (5, 1)), ((2, 2), (3, 3))]


def reference(x, size, interpolation, antialias):
    tf = pytest.importorskip("tensorflow", reason="the reference")
    return tf.image.resize(x, size, interpolation, antialias=antialias).numpy()


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_resize(engine, rng, interpolation, sizes, antialias):
    old, new = sizes
    x = rng.normal(size=(2, *old, 3)).astype("float32")
    expected = reference(x, new, interpolation, antialias)
    given = ops.convert(x)

    @dt.function(input_signature=[dt.spec((None,) * 4), dt.spec((2,), "int32")])
    def unknown(x, size):
        return ops.resize(x, new if current_engine().static_shapes else size, interpolation, antialias, "channels_last")

    first = ops.resize(ops.transpose(given, (0, 3, 1, 2)), new, interpolation, antialias, "channels_first")
    for found in (
        ops.resize(given, new, interpolation, antialias, "channels_last"),
        ops.transpose(first, (0, 2, 3, 1)),
        unknown(given, np.array(new, "int32")),
    ):
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5, atol=2e-5)


def test_one_image(engine, rng):
    x = rng.normal(size=(3, 4, 2)).astype("float32")
    batch = ops.resize(x[None], (6, 5), data_format="channels_last")
    np.testing.assert_array_equal(ops.resize(x, (6, 5), data_format="channels_last").numpy(), batch.numpy()[0])


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "uint8"])
def test_dtypes(engine, dtype):
    x = np.arange(12).reshape(1, 3, 4, 1).astype(dtype)
    assert ops.resize(x, (6, 8), "nearest").dtype == dtype
    assert ops.resize(x, (6, 8)).dtype == (dtype if dtype.startswith("float") else "float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic", "area"])
def test_images_and_their_gradients_are_those_of_numpy_in_every_dtype(engine, rng, interpolation, data_format, dtype):
    old, new = ((6, 5), (12, 7)) if data_format == "channels_last" else ((7, 6), (4, 9))
    shapes = [(2, *size, 3) if data_format == "channels_last" else (2, 3, *size) for size in (old, new)]
    x, g = (rng.uniform(-1, 1, shape) for shape in shapes)

    def both(x, g):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.resize(x, new, interpolation, data_format=data_format)
        return y, tape.gradient(y, x, output_gradients=g)

    with dt.engine("numpy"):
        expected = [t.numpy() for t in both(ops.convert(x), ops.convert(g))]
    given = [ops.convert(a, dtype=dtype) for a in (x, g)]
    tolerance = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    if interpolation in ("bicubic", "area"):  # their weights are TensorFlow's, in float32
        tolerance = max(tolerance, 1e-5)
    for run in (both, dt.function(both)):
        for found, wanted in zip(run(*given), expected, strict=True):
            assert found.dtype == dtype
            np.testing.assert_allclose(found.numpy().astype("float64"), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_images_without_samples_or_channels(engine, interpolation):
    for shape in [(0, 2, 3, 1), (2, 2, 3, 0)]:
        x = ops.convert(np.zeros(shape, "float32"))
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.resize(x, (4, 7), interpolation, data_format="channels_last")
        assert y.shape == (shape[0], 4, 7, shape[3])
        assert tape.gradient(y, x).shape == shape


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint32", "int64", "complex64"])
@pytest.mark.parametrize("new", [(4, 6), (5, 2)])
def test_nearest_takes_every_dtype(engine, new, dtype):
    x = (np.arange(12).reshape(1, 2, 3, 2) % 3).astype(dtype)
    rows, columns = (((np.arange(n) + 0.5) * old / n).astype(int) for n, old in zip(new, (2, 3), strict=True))
    found = ops.resize(x, new, "nearest", data_format="channels_last").numpy()
    np.testing.assert_array_equal(found, x[:, rows][:, :, columns], strict=True)


def test_errors(engine):
    x = np.ones((1, 2, 2, 1), "float32")
    for call, words in [
        (lambda: ops.resize(x, (2, 2), "cubic"), "interpolation must be one of area, bicubic"),
        (lambda: ops.resize(x, (0, 2)), "two positive integers"),
        (lambda: ops.resize(x, (2, 2, 2)), "two positive integers"),
        (lambda: ops.resize(x[:, :0], (2, 2)), "no pixels"),
        (lambda: ops.resize(x[0, 0], (2, 2)), "rank 4"),
        (lambda: ops.resize(x, (2, 2), data_format="NHWC"), "data_format must be one of"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("interpolation", ["bilinear", "area", "lanczos3", "nearest"])
def test_integers_become_floats_where_the_size_is_a_tensor(engine, interpolation):
    images, graph = np.arange(20, dtype="int32").reshape(1, 4, 5, 1), dt.Graph()
    with graph.as_default():
        x, size = graph.placeholder(dt.spec([None] * 4, "int32")), graph.placeholder(dt.spec((2,), "int32"))
        y = ops.resize(x, [size[0], size[1]], interpolation, data_format="channels_last")
    found = dt.Session(graph).run(y, {x: images, size: np.int32([4, 6])})
    wanted = ops.resize(images, (4, 6), interpolation, data_format="channels_last").numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
