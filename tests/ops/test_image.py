"""Resizing against `tf.image.resize`: every interpolation, up and down, both layouts, sizes known and not."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.engines import current_engine
from dovetail.ops.image import INTERPOLATIONS

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
