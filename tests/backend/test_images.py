"""Resized images and locally connected layers: gradients, programs for any batch, and error messages."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

IMAGES = np.arange(24, dtype="float32").reshape(1, 4, 3, 2)


def test_the_default_layout_of_local_layers_is_that_of_the_settings(engine):
    dt.config.set_image_data_format("channels_first")
    assert K.local_conv1d(K.ones((2, 3, 5)), K.ones((4, 6, 7)), (2,), (1,)).shape == (2, 7, 4)
    assert K.local_conv2d(K.ones((2, 3, 4, 5)), K.ones((12, 12, 7)), (2, 2), (1, 1), (3, 4)).shape == (2, 7, 3, 4)


def test_a_program_for_any_batch_and_size(engine):
    @dt.function(input_signature=[dt.spec((None, None, None, 2))])
    def program(x):
        enlarged = K.resize_images(x, 2, 2, "channels_last", "bilinear")
        return K.local_conv2d(enlarged, K.ones((4, 8, 3)), (2, 2), (1, 1), (2, 2), "channels_last")

    assert program(IMAGES).shape == (1, 2, 2, 3)
    assert program(np.ones((3, 2, 2, 2), "float32")).shape == (3, 2, 2, 3)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "area"])
def test_gradients_of_enlarged_images_are_spread_evenly(engine, interpolation):
    x = K.variable(IMAGES)
    with dt.GradientTape() as tape:
        loss = K.sum(K.resize_images(x, 2, 3, "channels_last", interpolation))
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), np.full(IMAGES.shape, 6), rtol=1e-5)


def test_gradients_of_local_layers(engine):
    x, kernel = K.variable(IMAGES[:, :, 0]), K.variable(np.arange(12).reshape(3, 4, 1))
    with dt.GradientTape() as tape:
        loss = K.sum(K.local_conv1d(x, kernel, (2,), (1,), "channels_last"))
    dx, dk = tape.gradient(loss, [x, kernel])
    np.testing.assert_allclose(dx.numpy(), [[[0, 1], [2 + 4, 3 + 5], [6 + 8, 7 + 9], [10, 11]]])
    np.testing.assert_allclose(dk.numpy()[..., 0], [IMAGES[0, i : i + 2, 0].ravel() for i in range(3)])


REFUSED = {
    "layout": (lambda: K.resize_images(IMAGES, 2, 2, None), r"K\.resize_images at .*data_format must be"),
    "a fraction": (lambda: K.resize_images(IMAGES, 1.5, 2, "channels_last"), r"positive integers, not \(1\.5, 2\)"),
    "a negative factor": (lambda: K.resize_images(IMAGES, 2, -1, "channels_last"), r"positive integers, not \(2, -1\)"),
    "interpolation": (
        lambda: K.resize_images(IMAGES, 2, 2, "channels_last", "cubic"),
        r"interpolation must be one of area, bicubic, .*; got 'cubic'",
    ),
    "one image": (lambda: K.resize_images(IMAGES[0], 2, 2, "channels_last"), "x must have 4 axes, not 3"),
    "no pixels": (lambda: K.resize_images(IMAGES[:, :0], 2, 2, "channels_last"), r"K\.resize_images.*no pixels"),
    "images as volumes": (lambda: K.resize_volumes(IMAGES, 2, 2, 2, "channels_last"), "x must have 5 axes, not 4"),
    "windows": (
        lambda: K.local_conv1d(IMAGES[0], K.ones((3, 4, 1)), (2,), (1,), "channels_last"),
        r"K\.local_conv1d.*there are \(2,\) windows",
    ),
    "sizes": (
        lambda: K.local_conv1d(IMAGES[0], K.ones((2, 4, 1)), (2, 2), (1,), "channels_last"),
        r"kernel_size must have 1 numbers, not \(2, 2\)",
    ),
    "strides": (
        lambda: K.local_conv1d(IMAGES[0], K.ones((2, 4, 1)), (2,), (0,), "channels_last"),
        r"K\.local_conv1d.*the strides must be 1 positive integers",
    ),
    "one sequence": (
        lambda: K.local_conv1d(IMAGES[0, 0], K.ones((2, 4, 1)), (2,), (1,), "channels_last"),
        "inputs must have 3 axes, not 2",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(engine, name):
    call, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        call()


def test_the_number_of_windows_must_be_known(engine):
    program = dt.function(
        lambda x, kernel: K.local_conv1d(x, kernel, (2,), (1,), "channels_last"),
        input_signature=[dt.spec((None, 3, 2)), dt.spec((None, 4, 1))],
    )
    with pytest.raises(ValueError, match="the first dimension of the kernel, the number of windows, must be known"):
        program(IMAGES[0], K.ones((2, 4, 1)))
