"""Cases of the names of Keras 1: the oracle's results of today's functions."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, oracle, program

RENAMED = {"differs": "tf.keras has the new name alone"}
IMAGE, IMAGE_FIRST = array(1, 4, 5, 2), array(1, 2, 4, 5)
KERNEL, KERNEL_FIRST = array(3, 2, 2, 3), array(3, 2, 3, 2)


def ordering(K):
    """The settings under each of their names."""
    K.set_image_dim_ordering("th")
    told = [K.image_data_format(), K.image_dim_ordering()]
    K.set_image_dim_ordering("tf")
    return np.array([*told, K.image_data_format(), K.image_dim_ordering()])


def last(kernel):
    """A kernel with its channels in front, transposed for the oracle."""
    return np.transpose(kernel, (2, 3, 1, 0))


def swapped(kernel):
    """A kernel for transposed convolution."""
    return np.transpose(kernel, (0, 1, 3, 2))


CASES = [
    call("lesser", array(2, 3), array(3), **RENAMED, expected=np.less),
    call("lesser_equal", ints(6, high=3), 1, **RENAMED, expected=lambda x: x <= 1),
    call("pack", [array(2), array(2)], **RENAMED, expected=lambda *xs: np.stack(xs)),
    program(
        "get_variable_shape",
        lambda K: np.array(K.get_variable_shape(K.zeros((2, 3)))),
        ways=("eager",),
        **RENAMED,
        expected=lambda: np.array([2, 3]),
    ),
    program(
        "image_dim_ordering set_image_dim_ordering",
        ordering,
        ways=("eager",),
        **RENAMED,
        expected=lambda: np.array(["channels_first", "th", "channels_last", "tf"]),
    ),
    call("normalize_axis", -1, 3, ways=("eager",), **RENAMED, expected=lambda: np.array(2)),
    call(
        "asymmetric_temporal_padding",
        array(2, 3, 2),
        1,
        2,
        **RENAMED,
        expected=lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0))),
    ),
    call(
        "asymmetric_spatial_2d_padding",
        IMAGE,
        1,
        0,
        2,
        1,
        **RENAMED,
        expected=lambda x: np.pad(x, ((0, 0), (1, 0), (2, 1), (0, 0))),
    ),
    call(
        "asymmetric_spatial_2d_padding",
        IMAGE_FIRST,
        1,
        0,
        2,
        1,
        "th",
        **RENAMED,
        expected=lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 1))),
    ),
    call(
        "atrous_conv2d",
        IMAGE,
        KERNEL,
        2,
        "same",
        **RENAMED,
        expected=lambda x, k: oracle().conv2d(x, k, padding="same", dilation_rate=(2, 2)),
    ),
    call(
        "atrous_conv2d",
        IMAGE_FIRST,
        KERNEL_FIRST,
        dim_ordering="th",
        **RENAMED,
        expected=lambda x, k: oracle().conv2d(x, last(k), data_format="channels_first"),
    ),
    call(
        "deconv2d",
        IMAGE,
        KERNEL,
        (1, 6, 6, 3),
        **RENAMED,
        expected=lambda x, k: oracle().conv2d_transpose(x, swapped(k), (1, 6, 6, 3)),
    ),
    call(
        "deconv2d",
        IMAGE,
        KERNEL,
        (None, 8, 10, 3),
        (2, 2),
        "same",
        "tf",
        **RENAMED,
        expected=lambda x, k: oracle().conv2d_transpose(x, swapped(k), (1, 8, 10, 3), (2, 2), "same"),
    ),
    call(
        "deconv2d",
        IMAGE_FIRST,
        KERNEL_FIRST,
        (1, 3, 6, 6),
        dim_ordering="th",
        **RENAMED,
        expected=lambda x, k: oracle().conv2d_transpose(
            x, swapped(last(k)), (1, 3, 6, 6), data_format="channels_first"
        ),
    ),
]
