"""The layer functions of `tf.contrib.layers` and TF-Slim: words, names of variables, collections, normalization."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

X2, X3, X4, X5 = array(3, 4), array(2, 6, 4), array(2, 6, 5, 4), array(2, 4, 4, 3, 2)


def called(title: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A case: a function of slim on a placeholder of an unknown batch."""

    def case(tf: Any, fed: Any) -> Any:
        settings = {key: getattr(tf.nn, v[3:]) if str(v).startswith("nn.") else v for key, v in kwargs.items()}
        return getattr(tf.contrib.slim, title)(fed(x), *args, **settings)

    return case


def scoped(tf: Any, fed: Any) -> Any:
    """A net of slim: defaults by arg_scope, regularizers, normalization, reuse, end points."""
    slim, x = tf.contrib.slim, fed(X4)
    found = []
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_regularizer=slim.l2_regularizer(0.1),
        normalizer_fn=slim.batch_norm,
        normalizer_params={"decay": 0.9, "scale": True},
        outputs_collections="ends",
    ):
        for reuse in (None, True):
            with tf.variable_scope("net", reuse=reuse), slim.arg_scope([slim.batch_norm], is_training=not reuse):
                y = slim.repeat(x, 2, slim.conv2d, 3, [3, 3], scope="conv")
                y = slim.max_pool2d(y, [2, 2], scope="pool")
                y = slim.stack(slim.flatten(y), slim.fully_connected, [5, 4], scope="fc")
                found.append(slim.fully_connected(y, 2, activation_fn=None, normalizer_fn=None, scope="logits"))
    ends = slim.utils.convert_collection_to_dict("ends")
    names = ["net/conv/conv_1", "net/conv/conv_2", "net/fc/fc_1", "net/fc/fc_2", "net/logits"]
    assert list(ends) == names, list(ends)
    assert len(slim.get_variables_by_suffix("weights")) == 5 == len(tf.get_collection("regularization_losses"))
    return found, tf.add_n(tf.get_collection("regularization_losses")), list(ends.values())


def normalized(tf: Any, fed: Any, x: Any = X4, training: Any = True, **settings: Any) -> Any:
    """A batch is normalized twice, and the averages move."""
    slim = tf.contrib.slim
    training = fed(training, []) if settings.pop("feeds", False) else training
    y = slim.batch_norm(fed(x), is_training=training, scope="norm", **settings)
    y = slim.batch_norm(y, is_training=training, **{**settings, "decay": 0.5})
    keys = settings.get("updates_collections", tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies([y, *(tf.get_collection(keys) if keys else [])]):
        return y, [tf.identity(v.read_value()) for v in tf.global_variables() if "moving" in v.name]


def dropped(tf: Any, fed: Any) -> Any:
    slim, ones = tf.contrib.slim, fed(array(40, 50) * 0 + 1)
    keep = fed(np.float32(0.6), [])
    y = [slim.dropout(ones, keep, is_training=on) for on in (True, fed(True, []))]
    near = [tf.abs(tf.reduce_mean(v) - 1) < 0.1 for v in y]
    kinds = [tf.reduce_max(tf.abs(v * (v - 1 / 0.6))) for v in y]
    return (
        near,
        kinds,
        slim.dropout(ones, is_training=False, outputs_collections="dropped"),
        tf.get_collection("dropped"),
    )


def collected(tf: Any, fed: Any) -> Any:
    """Variables and outputs in collections of the program's own."""
    layers, x = tf.contrib.layers, fed(X2)
    kinds = {"weights": ["w"], "biases": ["b", "all"]}
    y = layers.fully_connected(x, 3, variables_collections=kinds, outputs_collections=["y"], trainable=False)
    y = layers.linear(layers.relu(y, 3, variables_collections=["all"], scope="relu"), 2)
    sizes = [len(tf.get_collection(key)) for key in ("w", "b", "all", "y")]
    return y, tf.constant(sizes), tf.get_collection("y"), layers.relu6(x, 2), layers.elu(x, 2)


def scaled_gradient(tf: Any, fed: Any) -> Any:
    w = tf.get_variable("w", [3, 4])
    return tf.contrib.slim.layers.scale_gradient(w, fed(X2))


def dense_to_sparse(tf: Any, fed: Any) -> Any:
    found = tf.contrib.layers.dense_to_sparse(fed(np.int32([[3, 0, 2], [0, 0, 1]])), eos_token=0)
    return [found.indices, found.values, found.dense_shape]


CASES = {
    "fully_connected": called("fully_connected", X2, 5),
    "fully_connected_cube": called("fully_connected", X3, 5, activation_fn=None, biases_initializer=None),
    "conv1d": called("conv1d", X3, 3, 3),
    "conv2d": called("conv2d", X4, 3, [3, 2], stride=2, padding="VALID"),
    "conv2d_atrous": called("convolution2d", X4, 3, 3, rate=2, activation_fn="nn.elu", scope="c"),
    "conv3d": called("convolution3d", X5, 2, 2),
    "convolution": called("convolution", X4, 2, 3),
    "wrong_rank": called("conv2d", X3, 3, 3),
    "conv2d_transpose": called("conv2d_transpose", X4, 2, 3, stride=2),
    "conv3d_transpose": called("conv3d_transpose", X5, 2, 3, stride=2, padding="VALID"),
    "separable_conv2d": called("separable_conv2d", X4, 3, [3, 3], 2, stride=2),
    "separable_conv2d_depth": called("separable_conv2d", X4, None, 3, depth_multiplier=2),
    "conv2d_in_plane": called("conv2d_in_plane", X4, [3, 2], scope="plane"),
    "max_pool2d": called("max_pool2d", X4, [2, 2]),
    "max_pool2d_same": called("max_pool2d", X4, 3, stride=1, padding="SAME"),
    "avg_pool2d": called("avg_pool2d", X4, [3, 3], 2),
    "max_pool3d": called("max_pool3d", X5, 2),
    "avg_pool3d": called("avg_pool3d", X5, [2, 2, 2], 1),
    "scoped": scoped,
    "collected": collected,
    "normalized": normalized,
    "normalized_scaled": functools.partial(normalized, scale=True, center=False, epsilon=0.1, decay=0.9),
    "normalized_fed": functools.partial(normalized, feeds=True),
    "normalized_off": functools.partial(normalized, training=False, feeds=True, activation_fn=abs),
    "normalized_rows": functools.partial(normalized, x=X2, scale=True),
    "normalized_at_once": functools.partial(normalized, updates_collections=None, decay=0.9),
    "normalized_at_once_fed": functools.partial(normalized, updates_collections=None, feeds=True),
    "normalized_rows_fed": functools.partial(normalized, x=X2, updates_collections=None, feeds=True, training=False),
    "normalized_cube": functools.partial(normalized, x=X3, updates_collections="own"),
    "normalized_debiased": functools.partial(normalized, zero_debias_moving_mean=True),
    "normalized_plain": functools.partial(normalized, fused=False, param_regularizers={"beta": lambda v: v[0] * v[0]}),
    "layer_norm": called("layer_norm", X4, activation_fn="nn.relu"),
    "layer_norm_rows": called("layer_norm", X2, center=False, scope="ln"),
    "layer_norm_axes": called("layer_norm", array(2, 3, 4), begin_norm_axis=2, begin_params_axis=1),
    "instance_norm": called("instance_norm", X4),
    "instance_norm_first": called("instance_norm", X4, data_format="NCHW", scale=False),
    "group_norm": called("group_norm", X4, 2),
    "group_norm_first": called("group_norm", X4, groups=3, channels_axis=1, reduction_axes=(2, 3)),
    "group_norm_wrong": called("group_norm", X4, groups=3),
    "bias_add": called("bias_add", X4, activation_fn="nn.relu"),
    "dropped": dropped,
    "flatten": called("flatten", X4),
    "one_hot_encoding": called("one_hot_encoding", np.array([2, 0, 1]), 4, on_value=2.0),
    "softmax": called("softmax", X3),
    "spatial_softmax": called("spatial_softmax", X4, temperature=0.5),
    "spatial_softmax_first": called("spatial_softmax", X4, data_format="NCHW", trainable=False),
    "spatial_softmax_unknown": lambda tf, fed: tf.contrib.layers.spatial_softmax(fed(X4, [None, None, None, 4])),
    "unit_norm": called("unit_norm", X3, 1),
    "maxout": called("maxout", X4, 2),
    "images_to_sequence": called("images_to_sequence", X4),
    "images_to_sequence_first": called("images_to_sequence", X4, data_format="NCHW"),
    "sequence_to_images": lambda tf, fed: tf.contrib.slim.sequence_to_images(tf.constant(array(4, 6, 3)), 3),
    "legacy_fully_connected": called("legacy_fully_connected", X2, 5, activation_fn="nn.tanh"),
    "legacy_relu": called("legacy_relu", X2, 3, name="old", bias_init=None),
    "scaled_gradient": scaled_gradient,
    "dense_to_sparse": dense_to_sparse,
}
