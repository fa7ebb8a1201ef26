"""Pools: the default layout, programs for images of any size, and error messages."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

IMAGES = np.ones((2, 4, 6, 3), "float32")


def test_the_default_layout_is_that_of_the_settings(engine):
    dt.config.set_image_data_format("channels_first")
    assert K.pool2d(IMAGES, (2, 2), (2, 2)).shape == (2, 4, 3, 1)


def test_a_program_for_any_size(engine):
    pool = dt.function(lambda x: K.pool2d(x, (2, 2), (2, 2), "same"), input_signature=[dt.spec((None,) * 4)])
    assert pool(IMAGES).shape == (2, 2, 3, 3)
    assert pool(IMAGES[:1, :3]).shape == (1, 2, 3, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pool_size": (2,)}, r"K\.pool2d at .*pool_size must have 2 numbers, not \(2,\)"),
        ({"strides": (1, 1, 1)}, r"strides must have 2 numbers, not \(1, 1, 1\)"),
        ({"strides": (0, 1)}, r"K\.pool2d.*the strides must be 2 positive integers"),
        ({"pool_size": (0, 1)}, r"K\.pool2d.*a window must have positive sizes"),
        ({"pool_size": (9, 1)}, r"K\.pool2d.*does not fit"),
        ({"padding": "full"}, "the padding must be one of valid, same, not 'full'"),
        ({"pool_mode": "sum"}, "the pool_mode must be one of max, avg, not 'sum'"),
        ({"data_format": "NCHW"}, "data_format must be one of .*; got 'NCHW'"),
        ({"x": IMAGES[0]}, "x must have 4 axes, not 3"),
    ],
)
def test_refused(engine, options, words):
    with pytest.raises(ValueError, match=words):
        K.pool2d(**{"x": IMAGES, "pool_size": (2, 2), **options})
