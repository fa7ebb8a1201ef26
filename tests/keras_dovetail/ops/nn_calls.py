"""Sample calls of the functions of `keras.src.backend.numpy.nn`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.keras_dovetail.ops.calls import Call, bools, floats, ints

F = floats(3, 4)
P = floats(3, 4, low=0.1, high=1)
IMAGES, ROWS, VOLUMES = floats(2, 7, 8, 4), floats(2, 9, 4), floats(1, 4, 5, 6, 2)
Q, KEYS, V = floats(2, 3, 2, 4), floats(2, 5, 2, 4), floats(2, 5, 2, 4, low=0)
SCORES, LABELS = floats(2, 6, 4), np.int32([[1, 2], [3, 1]])


def call(name: str, *args: Any, same_dtype: bool = True, tolerance: float = 2e-5, **options: Any) -> Call:
    return Call("nn", name, args, options, same_dtype, tolerance)


ACTIVATIONS = "relu relu6 sigmoid sparse_sigmoid tanh tanh_shrink softplus softsign soft_shrink sparse_plus silu "
ACTIVATIONS += "squareplus log_sigmoid leaky_relu hard_sigmoid hard_silu elu selu gelu celu glu hard_tanh hard_shrink "
ACTIVATIONS += "softmax log_softmax"

CALLS = [call(name, x) for name in ACTIVATIONS.split() for x in (F, 2 * floats(2, 2, 2))]
CALLS += [call(name, F, axis=0) for name in ("softmax", "log_softmax")]
CALLS += [call("sparsemax", x, axis=axis, same_dtype=False) for x in (F, 2 * floats(2, 2, 2)) for axis in (-1, 0)]
CALLS += [
    call("gelu", F, approximate=False),
    call("celu", F, alpha=0.5),
    call("elu", F, alpha=0.5),
    call("leaky_relu", F, negative_slope=0.1),
    call("hard_shrink", F, threshold=1.0),
    call("soft_shrink", F, threshold=1.0),
    call("squareplus", F, b=2),
    call("threshold", F, 0.5, 3.0),
    call("glu", F, axis=1),
]
for name in ("max_pool", "average_pool"):
    CALLS += [
        call(name, IMAGES, 2, strides=2),
        call(name, IMAGES, (2, 3), strides=2, padding="same"),
        call(name, ROWS, 3, strides=2),
        call(name, VOLUMES, 2, strides=1),
        call(name, floats(2, 4, 7, 8), (2, 2), strides=(1, 2), data_format="channels_first"),
    ]
for name in ("adaptive_max_pool", "adaptive_average_pool"):
    CALLS += [
        call(name, IMAGES, 3),
        call(name, IMAGES, (4, 5)),
        call(name, ROWS, 4),
        call(name, VOLUMES, (2, 3, 4)),
        call(name, floats(2, 4, 7, 8), (3, 5), data_format="channels_first"),
    ]
conv = functools.partial(call, tolerance=1e-4)
CALLS += [
    conv("conv", IMAGES, floats(3, 3, 4, 5)),
    conv("conv", IMAGES, floats(3, 3, 2, 6), padding="same", strides=2),
    conv("conv", IMAGES, floats(2, 2, 4, 5), dilation_rate=2),
    conv("conv", ROWS, floats(3, 4, 5)),
    conv("conv", VOLUMES, floats(2, 2, 2, 2, 3)),
    conv("conv", floats(2, 4, 7, 8), floats(3, 3, 4, 5), data_format="channels_first"),
    conv("depthwise_conv", IMAGES, floats(3, 3, 4, 2)),
    conv("depthwise_conv", ROWS, floats(3, 4, 2), padding="same"),
    conv("separable_conv", IMAGES, floats(3, 3, 4, 2), floats(1, 1, 8, 3), padding="same"),
    conv("conv_transpose", IMAGES, floats(3, 3, 5, 4), strides=2),
    conv("conv_transpose", IMAGES, floats(3, 3, 5, 4), strides=2, padding="same", output_padding=1),
    conv("conv_transpose", ROWS, floats(3, 5, 4), padding="same"),
    call("one_hot", LABELS, 4),
    call("one_hot", LABELS - 2, 4, axis=1, dtype="int32"),
    call("multi_hot", LABELS, 4),
    call("multi_hot", LABELS[0], 4, dtype="int32"),
    call("categorical_crossentropy", P, P[::-1]),
    call("categorical_crossentropy", P, F, from_logits=True),
    call("sparse_categorical_crossentropy", ints(3, high=4), P),
    call("sparse_categorical_crossentropy", ints(3, 1, high=4), F, from_logits=True),
    call("binary_crossentropy", P, P[::-1]),
    call("binary_crossentropy", np.float32([0, 1, 1]), np.float32([1, 0, 1])),
    call("binary_crossentropy", P, F, from_logits=True),
    call("moments", F, axes=[0]),
    call("moments", IMAGES, axes=(0, 1, 2), keepdims=True),
    call("moments", F.astype("float16"), axes=1),
    call("batch_normalization", F, F[0], P[0], axis=-1),
    call("batch_normalization", IMAGES, F[0], P[0], axis=3, offset=F[1], scale=P[1], epsilon=0.1),
    call("ctc_loss", LABELS, SCORES, np.int32([2, 1]), np.int32([6, 5]), tolerance=1e-4),
    call("ctc_decode", SCORES, np.int32([6, 4])),
    call("ctc_decode", SCORES, np.int32([6, 4]), merge_repeated=False, mask_index=None),
    call("ctc_decode", SCORES, np.int32([6, 4]), strategy="beam_search", beam_width=20, top_paths=2, tolerance=1e-4),
    call("psnr", F, P, 2.0),
    call("dot_product_attention", Q, KEYS, V),
    call("dot_product_attention", Q, KEYS, V, mask=bools(2, 1, 3, 5), scale=0.3),
    call("dot_product_attention", Q, KEYS, V, bias=floats(2, 2, 3, 5), is_causal=True),
    call("unfold", floats(2, 3, 6, 7), 2),
    call("unfold", floats(2, 3, 6, 7), (2, 3), dilation=(2, 1), padding=1, stride=2),
    call("fold", floats(2, 12, 30), (6, 7), 2),
    call("fold", floats(2, 18, 12), (6, 7), (2, 3), dilation=(2, 1), padding=1, stride=2),
    call("depth_to_space", floats(2, 3, 4, 8), 2),
    call("depth_to_space", floats(2, 8, 3, 4), 2, data_format="channels_first"),
    call("space_to_depth", floats(2, 4, 6, 3), 2),
    call("space_to_depth", floats(2, 3, 4, 6), 2, data_format="channels_first"),
]
