"""Convolutions against PyTorch's: many geometries, both layouts, every engine; and errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import Library

torch = Library("torch")

PADDINGS = ("valid", "same", "pairs")
GEOMETRIES = [
    # sizes, window, strides, dilations
    ((11,), (4,), (3,), (1,)),
    ((9,), (3,), (1,), (2,)),
    ((7, 8), (3, 3), (2, 2), (1, 1)),
    ((8, 9), (2, 3), (1, 3), (1, 1)),
    ((9, 10), (3, 2), (1, 1), (2, 3)),
    ((11, 9), (3, 3), (2, 2), (2, 1)),
    ((5, 6), (1, 1), (2, 2), (1, 1)),
    ((5, 6, 4), (2, 3, 2), (2, 1, 2), (1, 1, 1)),
    ((6, 5, 5), (2, 2, 1), (1, 1, 1), (2, 1, 1)),
]
cases = pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
paddings = pytest.mark.parametrize("padding", PADDINGS)


def same_pads(n, k, s, d):
    """TensorFlow's padding, as its documentation states it."""
    span = (k - 1) * d + 1
    out = (n + s - 1) // s
    total = max((out - 1) * s + span - n, 0)
    return total // 2, total - total // 2


def pads_of(padding, sizes, window, strides, dilations):
    if padding == "valid":
        return [(0, 0)] * len(sizes)
    if padding == "same":
        return [same_pads(*axis) for axis in zip(sizes, window, strides, dilations, strict=True)]
    return [(1, 2), (0, 1), (2, 0)][: len(sizes)]


def oracle(x, kernel, strides, pads, dilations, groups):
    """torch's convolution of channels-last arrays in float64, with all padding applied before."""
    rank = len(strides)
    x = torch.nn.functional.pad(x.movedim(-1, 1), [n for pair in reversed(pads) for n in pair])
    convolve = getattr(torch.nn.functional, f"conv{rank}d")
    y = convolve(x, kernel.permute(-1, -2, *range(rank)), None, strides, 0, dilations, groups)
    return y.movedim(1, -1)


def to_layout(a, data_format):
    return a if data_format == "channels_last" else np.moveaxis(a, -1, 1)


@cases
@paddings
@pytest.mark.parametrize(("groups", "data_format"), [(1, "channels_last"), (2, "channels_first"), (4, "channels_last")])
def test_convolution_and_gradients_are_torchs(engine, rng, geometry, padding, groups, data_format):
    sizes, window, strides, dilations = geometry
    x = rng.normal(size=(2, *sizes, 4))
    kernel = rng.normal(size=(*window, 4 // groups, 8))
    pads = pads_of(padding, sizes, window, strides, dilations)
    native = [torch.tensor(a, requires_grad=True) for a in (x, kernel)]
    expected = oracle(*native, strides, pads, dilations, groups)
    g = rng.normal(size=tuple(expected.shape))
    expected.backward(torch.tensor(g))

    tensors = [ops.convert(to_layout(x, data_format)), ops.convert(kernel)]
    given = padding if padding != "pairs" else pads
    with dt.GradientTape() as tape:
        tape.watch(tensors)
        y = ops.conv(*tensors, strides, given, data_format, dilations)
    found = tape.gradient(y, tensors, to_layout(g, data_format))
    wanted = (expected.detach(), native[0].grad, native[1].grad)
    for f, e, moved in zip((y, *found), wanted, (True, True, False), strict=True):
        e = to_layout(e.numpy(), data_format) if moved else e.numpy()
        np.testing.assert_allclose(f.numpy(), e, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_each_float_dtype(engine, rng, dtype):
    x, kernel = rng.normal(size=(2, 6, 6, 3)), rng.normal(size=(3, 3, 3, 5))
    wide = [ops.cast(ops.cast(a, dtype), "float64") for a in (x, kernel)]
    narrow = [ops.cast(a, dtype) for a in wide]
    tolerance = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-5}[dtype]
    results = []
    for tensors in (wide, narrow):
        with dt.GradientTape() as tape:
            tape.watch(tensors)
            y = ops.conv(*tensors, 2, "same", "channels_last")
        results.append([y, *tape.gradient(y, tensors)])
    for w, n in zip(*results, strict=True):
        assert n.dtype == dtype
        np.testing.assert_allclose(n.numpy().astype("float64"), w.numpy(), rtol=tolerance, atol=tolerance * 10)


@cases
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_transposed_convolution_is_the_gradient_of_the_convolution(engine, rng, geometry, padding):
    sizes, window, strides, dilations = geometry
    kernel = rng.normal(size=(*window, 3, 2))
    g = rng.normal(size=(2, *sizes, 2))
    large = ops.conv_transpose(g, kernel, strides, padding, None, "channels_last", dilations)
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    wanted = [
        n * s if padding == "same" else (n - 1) * s + max(span, s)
        for n, s, span in zip(sizes, strides, spans, strict=True)
    ]
    assert large.shape == (2, *wanted, 3)
    x = torch.zeros(large.shape, dtype=torch.float64, requires_grad=True)
    pads = pads_of(padding, wanted, window, strides, dilations)
    oracle(x, torch.tensor(kernel), strides, pads, dilations, 1).backward(torch.tensor(g))
    np.testing.assert_allclose(large.numpy(), x.grad.numpy(), rtol=1e-10, atol=1e-10)


def test_output_padding_and_output_shape_of_a_transposed_convolution(engine, rng):
    x, kernel = rng.normal(size=(1, 4, 4, 2)), rng.normal(size=(3, 3, 3, 2))
    by_padding = ops.conv_transpose(x, kernel, 2, "valid", 1, "channels_last")
    assert by_padding.shape == (1, 10, 10, 3)
    by_shape = ops.conv_transpose(x, kernel, 2, "valid", data_format="channels_last", output_shape=(1, 10, 10, 3))
    np.testing.assert_array_equal(by_padding.numpy(), by_shape.numpy())
    assert ops.conv_transpose(x, kernel, 2, "same", 0, "channels_last").shape == (1, 7, 7, 3)
    with pytest.raises(ValueError, match="the shape must be"):
        ops.conv_transpose(x, kernel, 2, "same", data_format="channels_last", output_shape=(1, 12, 12, 3))
    with pytest.raises(ValueError, match="output_shape must be given"):
        ops.conv_transpose(x, kernel, 2, ((1, 1), (0, 0)))


def test_unknown_batch_and_spatial_dimensions(engine, rng):
    kernel = rng.normal(size=(3, 3, 2, 4)).astype("float32")
    back = rng.normal(size=(2, 2, 3, 4)).astype("float32")

    @dt.function(input_signature=[dt.spec((None, None, None, 2))])
    def step(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.conv(x, kernel, 2, "same", "channels_last")
            y = ops.conv_transpose(y, back, 2, "same", None, "channels_last")
        return y, tape.gradient(y, x)

    for shape in ((2, 5, 6, 2), (1, 8, 7, 2)):
        x = rng.normal(size=shape).astype("float32")
        y, g = step(x)
        eager = ops.conv_transpose(
            ops.conv(x, kernel, 2, "same", "channels_last"), back, 2, "same", None, "channels_last"
        )
        np.testing.assert_allclose(y.numpy(), eager.numpy(), rtol=1e-5, atol=1e-5)
        assert g.shape == shape


def test_second_order(engine, rng):
    """Check the gradient of the squared norm of a gradient against torch's double backward."""
    x, kernel = rng.normal(size=(1, 5, 6, 2)), rng.normal(size=(3, 2, 2, 3))
    native = [torch.tensor(a, requires_grad=True) for a in (x, kernel)]
    y = oracle(*native, (2, 2), [(1, 1), (0, 1)], (1, 1), 1)
    first = torch.autograd.grad((y**3).sum(), native, create_graph=True)
    expected = torch.autograd.grad(sum((g**2).sum() for g in first), native)
    tensors = [ops.convert(a) for a in (x, kernel)]
    with dt.GradientTape() as outer:
        outer.watch(tensors)
        with dt.GradientTape() as inner:
            inner.watch(tensors)
            y = ops.conv(*tensors, 2, ((1, 1), (0, 1)), "channels_last")
            total = ops.sum(y * y * y)
        norm = sum(ops.sum(g * g) for g in inner.gradient(total, tensors))
    for f, e in zip(outer.gradient(norm, tensors), expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-8)


def test_depthwise_and_separable(engine, rng):
    x, depth, point = rng.normal(size=(2, 6, 7, 3)), rng.normal(size=(3, 3, 3, 2)), rng.normal(size=(1, 1, 6, 5))
    found = ops.depthwise_conv(x, depth, 1, "same", "channels_last")
    for c, m in itertools.product(range(3), range(2)):
        alone = ops.conv(x[..., c : c + 1], depth[:, :, c : c + 1, m : m + 1], 1, "same", "channels_last")
        np.testing.assert_allclose(found.numpy()[..., 2 * c + m], alone.numpy()[..., 0], rtol=1e-10, atol=1e-12)
    mixed = ops.separable_conv(x, depth, point, 1, "same", "channels_last")
    np.testing.assert_allclose(mixed.numpy(), found.numpy() @ point[0, 0], rtol=1e-10, atol=1e-12)


def test_causal_outputs_do_not_see_later_inputs(engine, rng):
    x, kernel = rng.normal(size=(1, 8, 2)), rng.normal(size=(3, 2, 4))
    before = ops.conv(x, kernel, 1, "causal", "channels_last", 2).numpy()
    x[:, 5:] += 1
    after = ops.conv(x, kernel, 1, "causal", "channels_last", 2).numpy()
    assert before.shape == (1, 8, 4)
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert np.abs(before - after)[:, 5:].min() > 0


def test_an_engines_own_autograd_sees_through():
    x, kernel = torch.randn(2, 5, 6, 2, requires_grad=True), torch.randn(3, 3, 2, 4, requires_grad=True)
    y = ops.conv(x, kernel, 2, "same", "channels_last")
    assert isinstance(y, torch.Tensor)
    expected = oracle(x, kernel, (2, 2), [same_pads(5, 3, 2, 1), same_pads(6, 3, 2, 1)], (1, 1), 1)
    for f, e in zip(
        torch.autograd.grad(y.sum(), (x, kernel)), torch.autograd.grad(expected.sum(), (x, kernel)), strict=True
    ):
        torch.testing.assert_close(f, e)


def test_the_default_data_format_is_read_at_each_call(engine, rng):
    x, kernel = rng.normal(size=(1, 3, 5, 5)), rng.normal(size=(2, 2, 3, 4))
    dt.config.set_image_data_format("channels_first")
    assert ops.conv(x, kernel).shape == (1, 4, 4, 4)
    dt.config.set_image_data_format("channels_last")
    with pytest.raises(ValueError, match="5 channels, not a multiple of the kernel's 3"):
        ops.conv(x, kernel)


@pytest.mark.parametrize(
    ("shape", "kernel", "options", "message"),
    [
        ((1, 5, 5, 3), (3, 3, 2, 4), {}, "3 channels, not a multiple of the kernel's 2"),
        ((1, 5, 5, 4), (3, 3, 2, 3), {}, "cannot be split into 2 groups"),
        ((1, 2, 2, 3), (3, 3, 3, 4), {}, "does not fit"),
        ((1, 5, 3), (3, 3, 3, 4), {}, "must have rank 4"),
        ((1, 5, 5, 3), (3, 3), {}, "kernel must have rank 3, 4 or 5"),
        ((1, 5, 5, 3), (3, 3, 3, 4), {"strides": 0}, "positive integers"),
        ((1, 5, 5, 3), (3, 3, 3, 4), {"padding": "reflect"}, "valid"),
        ((1, 5, 5, 3), (3, 3, 3, 4), {"padding": ((1, 1),)}, "2 pairs"),
        ((1, 5, 5, 3), (3, 3, 3, 4), {"data_format": "NHWC"}, "channels_last, channels_first"),
    ],
)
def test_what_does_not_fit_is_refused(engine, shape, kernel, options, message):
    with pytest.raises(ValueError, match=message):
        ops.conv(np.ones(shape, "float32"), np.ones(kernel, "float32"), **{"data_format": "channels_last", **options})


def test_an_empty_batch(engine):
    x, kernel = ops.zeros((0, 5, 5, 2)), ops.ones((3, 3, 2, 4))
    with dt.GradientTape() as tape:
        tape.watch([x, kernel])
        y = ops.conv(x, kernel, 1, "same", "channels_last")
    dx, dk = tape.gradient(y, [x, kernel])
    assert y.shape == (0, 5, 5, 4)
    assert dx.shape == (0, 5, 5, 2)
    np.testing.assert_array_equal(dk.numpy(), np.zeros((3, 3, 2, 4)))
