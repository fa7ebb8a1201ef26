"""`tf.layers`: each class and function, scopes and reuse, losses, updates, classes of programs."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

X2, X3, X4, X5 = array(3, 4), array(2, 6, 4), array(2, 6, 5, 3), array(2, 4, 4, 3, 2)


def called(title: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A case: a function, or a class and its call, on a placeholder of an unknown batch."""

    def case(tf: Any, fed: Any) -> Any:
        settings = {key: getattr(tf.nn, v[3:]) if str(v).startswith("nn.") else v for key, v in kwargs.items()}
        if title[0].isupper():
            return getattr(tf.layers, title)(*args, **settings)(fed(x))
        return getattr(tf.layers, title)(fed(x), *args, **settings)

    return case


def trained(tf: Any, fed: Any) -> Any:
    """A layer twice by its object, twice by its scope; with losses and an activity loss."""
    x = fed(X2)
    square = lambda v: tf.reduce_sum(v * v)  # noqa: E731
    layer = tf.layers.Dense(4, tf.nn.tanh, kernel_regularizer=square, activity_regularizer=square, name="d")
    y = layer(layer(x))
    for reuse in (None, True):
        y = tf.layers.dense(y, 4, name="shared", reuse=reuse, bias_regularizer=square)
    assert len(layer.losses) == 3 and len(layer.variables) == 2 and layer.count_params() == 20
    return y, tf.add_n(tf.losses.get_regularization_losses())


def reused(tf: Any, fed: Any) -> Any:
    x = fed(X2)
    for reuse in (None, True, tf.AUTO_REUSE):
        with tf.variable_scope("net", reuse=reuse):
            y = tf.layers.dense(tf.layers.dense(x, 5, name="a"), 2, name="b")
    with tf.variable_scope("other"):
        return y, tf.layers.dense(y, 3), tf.layers.dense(y, 3), tf.layers.dense(x, 3, trainable=False)


def copied(tf: Any, fed: Any) -> Any:
    """A copy before the first call has variables of its own."""
    first = tf.layers.Dense(4)
    return copy.deepcopy(first)(first(fed(X2)))


def named(tf: Any, fed: Any) -> Any:
    """Operations by the names that programs look up."""
    x = tf.layers.conv2d(fed(X4), 2, 3, activation=tf.nn.relu)
    x = tf.layers.flatten(tf.layers.max_pooling2d(x, 2, 2))
    with tf.variable_scope("out"):
        tf.layers.dense(x, 2, tf.nn.sigmoid, name="logits")
    tf.layers.batch_normalization(x, training=True)
    updates = [op.name for op in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    assert updates == ["batch_normalization/AssignMovingAvg", "batch_normalization/AssignMovingAvg_1"], updates
    names = "conv2d/Conv2D conv2d/BiasAdd conv2d/Relu max_pooling2d/MaxPool out/logits/BiasAdd out/logits/Sigmoid"
    return [tf.get_default_graph().get_tensor_by_name(f"{name}:0") for name in names.split()]


def own_class(tf: Any, fed: Any) -> Any:
    """A class in the style of 2017: variables in `build`, one of them not trained, updates and losses."""

    class Scaled(tf.layers.Layer):
        def __init__(self, units: int, trainable: bool = True, name: Any = None, **kwargs: Any) -> None:
            super().__init__(trainable=trainable, name=name, **kwargs)
            self.units = units
            self.input_spec = tf.layers.InputSpec(ndim=2)

        def build(self, input_shape: Any) -> None:
            self.kernel = self.add_variable("kernel", shape=[input_shape[-1], self.units], regularizer=tf.nn.l2_loss)
            self.count = self.add_weight("count", [], initializer=tf.zeros_initializer(), trainable=False)
            super().build(input_shape)

        def call(self, inputs: Any, double: bool = False) -> Any:
            self.add_update(tf.assign_add(self.count, tf.reduce_sum(inputs)))
            y = tf.matmul(inputs, self.kernel)
            self.add_loss(tf.reduce_mean(y))
            return 2 * y if double else y

    x, layer = fed(X2), Scaled(4)
    y = layer.apply(layer(x), double=True)
    assert len(layer.get_updates_for(x)) == 2 and not layer.get_updates_for(None) and layer.scope_name == "scaled"
    return y, Scaled(2, trainable=False, name="fixed")(y), tf.add_n(layer.losses)


def normalized(tf: Any, fed: Any, training: Any = True, **settings: Any) -> Any:
    """A batch is normalized twice, and the averages move."""
    training = fed(training, []) if settings.pop("feeds", False) else training
    x = tf.layers.batch_normalization(fed(X4), training=training, **settings)
    y = tf.layers.batch_normalization(tf.layers.flatten(x), training=training, momentum=0.9, name="flat")
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return x, y, [tf.identity(v.read_value()) for v in tf.global_variables() if "moving" in v.name]


def dropped(tf: Any, fed: Any) -> Any:
    """Of many ones, some are kept and scaled up; none is dropped outside of training."""
    ones, on = fed(array(40, 50) * 0 + 1), fed(True, [])
    off, rate = fed(False, []), fed(np.float32(0.4), [])
    y = [tf.layers.dropout(ones, rate, training=flag) for flag in (on, True)]
    near = [tf.abs(tf.reduce_mean(v) - 1) < 0.1 for v in y]
    kinds = [tf.reduce_max(tf.abs(v * (v - 1 / 0.6))) for v in y]
    rows = tf.layers.Dropout(0.5, noise_shape=[None, 1])(ones, training=True)
    same = tf.reduce_max(tf.reduce_max(rows, 1) - tf.reduce_min(rows, 1))
    return near, kinds, same, tf.layers.dropout(ones, rate, training=off), tf.layers.dropout(ones)


def adversaries(tf: Any, fed: Any) -> Any:
    """A discriminator twice: its layers have no names, and find their variables by their order in the scope."""

    def judged(x: Any, reuse: Any = None) -> Any:
        with tf.variable_scope("judge", reuse=reuse):
            h = tf.nn.leaky_relu(tf.layers.conv2d(x, 4, 3, strides=2, padding="same"))
            h = tf.layers.batch_normalization(h, training=True)
            h = tf.layers.batch_normalization(tf.layers.conv2d(h, 4, 3), training=True, momentum=0.8)
            return tf.layers.dense(tf.layers.flatten(h), 1)

    with tf.variable_scope("maker"):
        h = tf.reshape(tf.layers.dense(fed(array(2, 5)), 18, tf.nn.relu), [-1, 3, 3, 2])
        made = tf.layers.conv2d_transpose(h, 3, [4, 4], strides=(2, 2), padding="same", activation=tf.tanh)
    first, second = judged(made), judged(fed(array(2, 6, 6, 3)), reuse=True)
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="judge")) == 8
    with tf.variable_scope("judge", reuse=True):
        kernel = tf.get_variable("conv2d_1/kernel")
    return made, first, second, tf.gradients(first, tf.trainable_variables("judge")), kernel + 0


def in_loops(tf: Any, fed: Any) -> Any:
    """Layers that are made inside of the bodies of loops, and in a template."""
    x = fed(X3)
    each = tf.map_fn(lambda v: tf.layers.dense(v, 3, name="each", reuse=tf.AUTO_REUSE), x)
    layer, cell = tf.layers.Dense(4, use_bias=False), tf.layers.Dense(4, name="cell")
    scanned = tf.scan(lambda h, v: tf.tanh(layer(v) + h), tf.transpose(x, [1, 0, 2]), tf.zeros([2, 4]))
    looped = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, cell(h)), [0, x[0]])[1]
    shared = tf.make_template("shared", lambda v: tf.layers.dense(tf.layers.dense(v, 4), 4))
    return each, scanned, looped, shared(shared(x[0]))


def built(tf: Any, fed: Any) -> Any:
    """A layer that is built by hand, and one with a scope of its own."""
    layer = tf.layers.Dense(7, use_bias=False, name="out")
    layer.build(tf.TensorShape([None, 4]))
    y, other = layer(fed(X2)), tf.layers.Dense(5, _scope="own")
    with tf.variable_scope("in"):
        return y, other(y), layer.kernel + 0


def unknown_sizes(tf: Any, fed: Any) -> Any:
    x = tf.layers.conv2d(fed(X4, [None, None, None, 3]), 2, 3, padding="same")
    x = tf.layers.conv2d_transpose(tf.layers.max_pooling2d(x, 2, 2), 3, 3, strides=2, padding="same")
    wide = tf.layers.conv2d_transpose(x, 3, 3, strides=2)
    y = tf.layers.batch_normalization(tf.layers.separable_conv2d(x, 3, 3), training=True)
    return x, wide, tf.nn.relu(y), tf.layers.flatten(x)


def dtypes(tf: Any, fed: Any) -> Any:
    """Variables of float64, and of float16 but for normalization."""
    x, y = (tf.layers.dense(fed(X2.astype(kind)), 3) for kind in ("float64", "float16"))
    y = tf.layers.batch_normalization(y, training=True)
    return x, tf.layers.batch_normalization(x, training=True), tf.shape(y)


def regular(tf: Any, fed: Any) -> Any:
    """A regularizer of the scope besides those of layers; and a constraint, which optimizers apply."""
    l1, l2 = tf.contrib.layers.l1_regularizer(0.2), tf.contrib.layers.l2_regularizer(0.1)
    with tf.variable_scope("net", regularizer=l2, initializer=tf.constant_initializer(0.2)):
        y = tf.layers.dense(fed(X2), 3, kernel_regularizer=l1, kernel_constraint=lambda v: tf.clip_by_value(v, 0, 0.1))
        y = tf.contrib.layers.fully_connected(y, 2)
    loss = tf.reduce_sum(y) + tf.losses.get_regularization_loss()
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
        return [tf.identity(v.read_value()) for v in tf.trainable_variables()]


POOLS = {
    f"{word}_pooling{n}d{end}": called(f"{word}_pooling{n}d", x, 2, 1, padding=padding)
    for word in ("max", "average")
    for n, x in ((1, X3), (2, X4), (3, X5))
    for end, padding in (("", "same"), ("_valid", "VALID"))
}
CASES = {
    "dense": called("dense", X2, 5),
    "dense_cube": called("dense", X3, 5, activation="nn.relu", use_bias=False),
    "dense_word": called("dense", X2, 5, activation="elu", kernel_initializer="he_normal", bias_initializer="ones"),
    "Dense": called("Dense", X2, 5, name="fc"),
    "conv1d": called("conv1d", X3, 3, 3, strides=2, padding="same"),
    "conv2d": called("conv2d", X4, 2, (3, 2), (2, 1), "SAME", activation="nn.relu"),
    "conv2d_dilated": called("conv2d", X4, 2, 2, dilation_rate=(2, 1)),
    "conv3d": called("conv3d", X5, 2, 2, strides=(1, 2, 1)),
    "conv2d_transpose": called("conv2d_transpose", X4, 2, 3, strides=2, padding="same"),
    "conv2d_transpose_valid": called("Conv2DTranspose", X4, 2, 3, strides=2),
    "conv3d_transpose": called("conv3d_transpose", X5, 2, 3, strides=2, padding="same"),
    "separable_conv1d": called("separable_conv1d", X3, 2, 3, depth_multiplier=2, padding="same"),
    "separable_conv2d": called("separable_conv2d", X4, 2, 3, depth_multiplier=2, activation="nn.tanh"),
    **POOLS,
    "MaxPooling2D": called("MaxPooling2D", X4, 2, 2),
    "flatten": called("flatten", X4),
    "flatten_first": called("Flatten", X4, data_format="channels_first"),
    "trained": trained,
    "reused": reused,
    "copied": copied,
    "named": named,
    "own_class": own_class,
    "normalized": normalized,
    "normalized_fed": functools.partial(normalized, training=True, feeds=True),
    "normalized_off": functools.partial(normalized, training=False, feeds=True),
    "normalized_later": functools.partial(normalized, training=False, scale=False),
    "normalized_rows": functools.partial(normalized, fused=False, center=False, trainable=False),
    "normalized_first": functools.partial(normalized, axis=1, momentum=0.5, epsilon=0.1),
    "dropped": dropped,
    "adversaries": adversaries,
    "in_loops": in_loops,
    "built": built,
    "unknown_sizes": unknown_sizes,
    "dtypes": dtypes,
    "regular": regular,
    "no_scope_to_reuse": called("dense", X2, 5, name="missing", reuse=True),
    "unknown_channels": lambda tf, fed: tf.layers.dense(fed(X2, [None, None]), 2),
}
