"""Convolutions beyond parity: calls on which the oracle fails differently, or ends the process."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K


def ones(*shape):
    return np.ones(shape, "float32")


IMAGES, KERNEL = ones(2, 5, 6, 3), ones(2, 2, 3, 4)
REFUSED = {
    "no images": (lambda: K.conv2d(IMAGES[0], KERNEL), r"K\.conv2d.*the input must have rank 4"),
    "a kernel of sequences": (lambda: K.conv2d(IMAGES, KERNEL[0]), r"K\.conv2d.*the kernel must have rank 4"),
    "no sequences": (lambda: K.conv1d(IMAGES, KERNEL[0]), r"K\.conv1d.*the input must have rank 3"),
    "no volumes": (lambda: K.conv3d(IMAGES, ones(1, 1, 1, 3, 2)), r"K\.conv3d.*the input must have rank 5"),
    "padding": (lambda: K.conv2d(IMAGES, KERNEL, padding="full"), r"padding must be one of valid, same, not 'full'"),
    "layout": (lambda: K.conv2d(IMAGES, KERNEL, data_format="NHWC"), r"K\.conv2d at .*data_format must be one of"),
    "strides": (lambda: K.conv2d(IMAGES, KERNEL, (1, 2, 1)), r"strides must be one number or 2, not \(1, 2, 1\)"),
    "strides and dilation": (
        lambda: K.depthwise_conv2d(IMAGES, KERNEL, (2, 2), dilation_rate=(2, 2)),
        r"the strides \(2, 2\) and the dilation_rate \(2, 2\) must not both be above 1",
    ),
    "strides and dilation, separable": (
        lambda: K.separable_conv2d(IMAGES, KERNEL, ones(1, 1, 12, 2), (2, 1), dilation_rate=(1, 2)),
        r"must not both be above 1",
    ),
    "strides and dilation, transposed": (
        lambda: K.conv2d_transpose(IMAGES, ones(2, 2, 4, 3), (2, 10, 12, 4), (2, 2), "same", dilation_rate=(2, 2)),
        r"must not both be above 1",
    ),
    "dilation": (
        lambda: K.conv2d_transpose(IMAGES, ones(2, 2, 4, 3), (2, 5, 6, 4), dilation_rate=(1, 2)),
        r"the dilation_rate must be the same along rows and columns, not \(1, 2\)",
    ),
    "channels": (lambda: K.conv2d(IMAGES, ones(2, 2, 2, 4)), r"the input has 3 channels, not a multiple of"),
    "pointwise kernel": (
        lambda: K.separable_conv2d(IMAGES, KERNEL, ones(2, 1, 12, 2)),
        r"K\.separable_conv2d.*the pointwise kernel must have the shape",
    ),
    "sizes": (
        lambda: K.conv2d_transpose(IMAGES, ones(2, 2, 4, 3), (2, 9, 7, 4)),
        r"K\.conv2d_transpose.*the shape must be",
    ),
    "batch": (
        lambda: K.conv2d_transpose(IMAGES, ones(2, 2, 4, 3), (3, 6, 7, 4)),
        r"K\.conv2d_transpose.*the shape must be",
    ),
    "sizes of volumes": (
        lambda: K.conv3d_transpose(ones(1, 2, 2, 2, 3), ones(2, 2, 2, 4, 3), (1, 3, 3, 4, 4)),
        r"K\.conv3d_transpose.*the shape must be",
    ),
    "shape": (
        lambda: K.conv2d_transpose(IMAGES, ones(2, 2, 4, 3), (2, 6, 7)),
        r"the output_shape must have 4 numbers, of which only the first may be None",
    ),
    "bias": (lambda: K.bias_add(IMAGES, ones(6, 3)), r"K\.bias_add.*the bias must have 1 or 3 axes, not 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(engine, name):
    call, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        call()


def test_the_default_layout_is_that_of_the_settings(engine):
    dt.config.set_image_data_format("channels_first")
    assert K.conv2d(np.moveaxis(IMAGES, -1, 1), KERNEL).shape == (2, 4, 4, 5)
    assert K.conv2d_transpose(np.moveaxis(IMAGES, -1, 1), ones(2, 2, 4, 3), (None, 4, 6, 7)).shape == (2, 4, 6, 7)
    assert K.bias_add(np.moveaxis(IMAGES, -1, 1), ones(3)).shape == (2, 3, 5, 6)


def test_a_program_for_any_batch_and_size(engine):
    @dt.function(input_signature=[dt.spec((None, None, None, 3))])
    def enlarge(x):
        shape = K.shape(x)
        y = K.conv2d(x, KERNEL, padding="same", data_format="channels_last")
        return K.conv2d_transpose(
            y, ones(2, 2, 3, 4), (None, 2 * shape[1], 2 * shape[2], 3), (2, 2), "same", "channels_last"
        )

    for shape in ((2, 5, 6, 3), (1, 3, 2, 3)):
        assert enlarge(ones(*shape)).shape == (shape[0], 2 * shape[1], 2 * shape[2], 3)
