"""Cases of neural networks: activations, convolutions, pooling, normalisation, losses."""

import itertools

import numpy as np

from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import EAGER, FIXED, call, program

IMAGES = array(2, 5, 6, 3)


def sparse_ctc(tf, scores):
    """Losses of sparse labels: a sample with three labels, one with one, and one with too many for its length."""
    v1, lengths = tf.compat.v1, np.int32([6, 5])
    labels = tf.SparseTensor(np.int64([[0, 0], [0, 1], [0, 2], [1, 0]]), np.int32([1, 3, 3, 0]), [2, 3])
    many = tf.SparseTensor(np.int64([[0, 0], [0, 1], [0, 2], [1, 0]]), np.int32([2, 1, 2, 1]), [2, 3])
    short = np.int32([2, 5])
    return [
        tf.nn.ctc_loss(labels, scores, None, lengths, blank_index=4),
        tf.nn.ctc_loss(labels, scores, None, lengths, blank_index=2),
        tf.nn.ctc_loss(labels, tf.transpose(scores, [1, 0, 2]), None, lengths, False, blank_index=-1),
        v1.nn.ctc_loss(labels, scores, lengths),
        v1.nn.ctc_loss(labels, tf.transpose(scores, [1, 0, 2]), lengths, time_major=False),
        v1.nn.ctc_loss(many, scores, short, ignore_longer_outputs_than_inputs=True),
        v1.nn.ctc_loss_v2(labels, scores, None, lengths, blank_index=4),
    ]


def parts_of(tf, table, ids, strategy, count):
    """Rows of a table whose parts TensorFlow 1 divides in two ways."""
    size = 7
    if strategy == "mod":
        parts = [tf.gather(table, list(range(i, size, count))) for i in range(count)]
    else:
        ends = [(size * i + count - 1) // count for i in range(count + 1)]
        parts = [table[a:b] for a, b in itertools.pairwise(ends)]
    return tf.compat.v1.nn.embedding_lookup(parts, ids, partition_strategy=strategy)


def activations():
    for name in (
        "relu",
        "relu6",
        "elu",
        "selu",
        "softsign",
        "leaky_relu",
        "gelu",
        "silu",
        "swish",
        "crelu",
        "softmax",
        "log_softmax",
    ):
        yield call(f"nn.{name}", array(3, 4, low=-4, high=8))
    yield call("nn.leaky_relu", array(3, 4), alpha=0.3)
    yield call("nn.gelu", array(3, 4), True)
    yield call("nn.silu", array(3, 4), 2.0)
    yield call("nn.crelu", array(3, 4), axis=0)
    yield call("nn.softmax", array(3, 4), axis=0)
    yield call("compat.v1.nn.softmax", array(3, 4), dim=0)
    yield call("compat.v1.nn.log_softmax", array(3, 4), -1, "name")
    yield call("nn.relu", ints(4, low=-3, high=3))
    yield call("nn.dropout", array(3, 4), 0)
    yield call("nn.dropout", array(3), 1.5, raises=True)
    yield call("compat.v1.nn.dropout", array(3, 4), keep_prob=1.0)
    yield call("compat.v1.nn.dropout", array(3, 4), raises=True)


def convolutions():
    yield call("nn.conv2d", IMAGES, array(3, 3, 3, 4), 1, "SAME")
    yield call("nn.convolution", IMAGES, array(3, 2, 3, 4), padding="SAME", strides=[2, 1])
    yield call("nn.convolution", array(2, 6, 3), array(3, 3, 4), dilations=[2])
    yield call("compat.v1.nn.convolution", IMAGES, array(3, 2, 3, 4), "VALID", None, [1, 2])
    yield call("nn.conv2d", IMAGES, array(3, 2, 3, 4), [1, 2, 2, 1], "VALID")
    yield call("nn.conv2d", IMAGES, array(3, 3, 3, 2), [2, 1], "SAME")
    yield call("nn.conv2d", IMAGES, array(2, 2, 3, 2), 1, "SAME", dilations=2)
    yield call("nn.conv2d", IMAGES, array(2, 2, 3, 2), 1, [[0, 0], [1, 2], [0, 1], [0, 0]])
    yield call("nn.conv2d", IMAGES, array(2, 2, 3, 2), 1, "AROUND", raises=True)
    yield call("nn.conv2d", IMAGES, array(2, 2, 4, 2), 1, "SAME", raises=True, ways=FIXED)
    yield call("compat.v1.nn.conv2d", IMAGES, filter=array(3, 3, 3, 4), strides=[1, 1, 1, 1], padding="SAME")
    yield call("nn.conv1d", array(2, 6, 3), array(3, 3, 4), 2, "SAME")
    yield call("compat.v1.nn.conv1d", array(2, 6, 3), array(3, 3, 4), 1, "VALID")
    yield call("nn.conv3d", array(1, 4, 4, 4, 2), array(2, 2, 2, 2, 3), [1, 1, 2, 1, 1], "SAME")
    yield call("compat.v1.nn.conv3d", array(1, 4, 4, 4, 2), array(2, 2, 2, 2, 3), [1, 1, 1, 1, 1], "VALID")
    yield call("nn.conv2d_transpose", array(2, 3, 3, 4), array(3, 3, 2, 4), [2, 6, 6, 2], 2)
    yield call("nn.conv2d_transpose", array(2, 3, 3, 4), array(3, 3, 2, 4), [2, 5, 5, 2], [1, 1, 1, 1], "VALID")
    yield call("compat.v1.nn.conv2d_transpose", array(1, 2, 2, 1), array(2, 2, 1, 1), [1, 4, 4, 1], [1, 2, 2, 1])


def gradients_of_convolutions():
    x, kernel, out, one, two = [2, 6, 6, 2], [3, 3, 2, 4], array(2, 3, 3, 4), [1, 1, 1, 1], [1, 2, 2, 1]
    names = [f"compat.v1.nn.{name}" for name in ("conv2d_backprop_input", "conv2d_backprop_filter")]
    yield call(names[0], x, array(*kernel), out, two, "SAME")
    yield call(names[0], [2, 5, 5, 2], array(*kernel), out, one, "VALID", True, "NHWC", one)
    yield call(names[1], array(*x), kernel, out, two, "SAME")
    yield call(names[1], array(2, 5, 5, 2), kernel, out, one, "VALID")
    for name in ("conv3d_backprop_filter", "conv3d_backprop_filter_v2"):
        volume, moves = array(1, 4, 4, 4, 1), [1, 1, 1, 1, 1]
        yield call(f"compat.v1.nn.{name}", volume, [2, 2, 2, 1, 3], array(1, 3, 3, 3, 3), moves, "VALID")
    for name in ("depthwise_conv2d_backprop", "depthwise_conv2d_native_backprop"):
        yield call(f"compat.v1.nn.{name}_input", x, array(3, 3, 2, 2), out, two, "SAME")
        yield call(f"compat.v1.nn.{name}_filter", array(*x), [3, 3, 2, 2], out, two, "SAME")
    yield call("nn.conv3d_transpose", array(1, 2, 2, 2, 2), array(2, 2, 2, 1, 2), [1, 4, 4, 4, 1], 2)
    yield call("nn.depthwise_conv2d", IMAGES, array(3, 3, 3, 2), [1, 1, 1, 1], "SAME")
    yield call("compat.v1.nn.depthwise_conv2d", IMAGES, array(2, 2, 3, 1), [1, 1, 1, 1], "VALID", [2, 2])
    yield call("nn.separable_conv2d", IMAGES, array(3, 3, 3, 2), array(1, 1, 6, 4), [1, 1, 1, 1], "SAME")
    yield call("nn.atrous_conv2d", IMAGES, array(2, 2, 3, 2), 2, "SAME")
    yield call("nn.atrous_conv2d_transpose", array(2, 6, 6, 3), array(2, 2, 2, 3), [2, 6, 6, 2], 2, "SAME")
    yield call("nn.conv1d_transpose", array(2, 3, 4), array(3, 2, 4), [2, 6, 2], 2)
    yield call("nn.conv1d_transpose", array(2, 3, 4), array(3, 2, 4), [2, 7, 2], 2, "VALID")
    for name in ("max_pool", "avg_pool"):
        yield call(f"nn.{name}", IMAGES, 2, 2, "VALID")
        yield call(f"nn.{name}2d", IMAGES, [1, 3, 2, 1], [1, 1, 2, 1], "SAME")
        yield call(f"compat.v1.nn.{name}", IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        yield call(f"nn.{name}3d", array(1, 4, 4, 4, 2), 2, 2, "VALID")
        yield call(f"nn.{name}1d", array(2, 6, 3), 3, 2, "SAME")
        yield call(f"nn.{name}", IMAGES, 2, 2, "AROUND", raises=True)
    yield call("nn.bias_add", IMAGES, array(3))
    yield call("nn.bias_add", array(2, 3, 4), array(3), "NCHW")
    yield call("nn.bias_add", IMAGES, array(2), raises=True, ways=FIXED)
    steps, volumes = array(2, 7, 3), array(1, 4, 4, 4, 2)
    filters_of = {1: (steps, array(2, 3, 4)), 2: (IMAGES, array(2, 2, 3, 4)), 3: (volumes, array(2, 2, 2, 2, 3))}
    for rank, (x, filters) in filters_of.items():
        yield call("nn.convolution", x, filters)
        yield call("nn.convolution", x, filters, strides=2, padding="SAME")
        yield call("compat.v1.nn.convolution", x, filters, "VALID", None, 2)
        for kind in ("MAX", "AVG"):
            yield call("nn.pool", x, [2] * rank, kind, strides=[2] * rank, padding="SAME")
            yield call("compat.v1.nn.pool", x, [2] * rank, kind, "VALID")
            if rank < 3:  # TensorFlow's blocks on the processor have two axes
                yield call("nn.pool", x, [2] * rank, kind, dilations=[2, 3][:rank])
                yield call("nn.pool", x, [2] * rank, kind, padding="SAME", dilations=[2, 3][:rank], raises=True)
        yield call("compat.v1.nn.pool", x, [2] * rank, "AVG", "VALID", [2] * rank, [2] * rank, raises=True)
    yield call("compat.v1.nn.pool", IMAGES, [2, 3], "AVG", "VALID", [2, 1])


def normalisation():
    yield call("nn.moments", array(4, 3), [0])
    yield call("nn.moments", array(4, 3), 1, keepdims=True)
    yield call("compat.v1.nn.moments", array(4, 3), [0], None, "name", True)
    yield call("nn.batch_normalization", array(4, 3), array(3), array(3, low=0.5), array(3), array(3), 1e-3)
    yield call("nn.batch_normalization", array(4, 3), array(3), array(3, low=0.5), None, None, 1e-3)
    yield call("nn.weighted_moments", array(4, 3), [0], array(4, 1, low=0.5))
    yield call("nn.weighted_moments", array(4, 3), [0, 1], array(3, low=0.5), keepdims=True)
    yield call("compat.v1.nn.weighted_moments", array(4, 3), [1], array(4, 3, low=0.5), "name", True)
    channels = array(3, low=0.5), array(3)
    for more in ({}, {"epsilon": 0.01, "mean": array(3), "variance": array(3, low=0.5), "is_training": False}):
        yield call("compat.v1.nn.fused_batch_norm", IMAGES, *channels, **more)
    yield call("nn.lrn", array(1, 2, 2, 7), 2, 1.0, 0.5, 0.75)
    yield call("nn.local_response_normalization", array(1, 2, 2, 3))
    yield call("nn.embedding_lookup", array(5, 3), ints(2, 4, high=5))
    yield call("nn.embedding_lookup", array(5, 3), ints(4, high=5), max_norm=1.0)
    yield call("compat.v1.nn.embedding_lookup", array(5, 3), ints(4, high=5), "div", "name")
    yield call("nn.embedding_lookup", [array(3, 2), array(2, 2)], ints(2, 3, high=5), ways=EAGER)
    for strategy in ("mod", "div"):
        for count in (2, 3):
            yield program(
                f"nn.embedding_lookup ({strategy} {count})",
                lambda tf, x, ids, s=strategy, n=count: parts_of(tf, x, ids, s, n),
                array(7, 2),
                ints(2, 4, high=7),
                ways=FIXED,
            )


OTHER_SHAPES = (  # shapes of labels and logits: the same samples in the same order, or one side has one sample for all
    ((1, 3, 4), (3, 4)), ((3, 4), (1, 3, 4)), ((6, 4), (2, 3, 4)), ((2, 3, 4), (6, 4)), ((1, 4), (4,)),
    ((3, 2, 4), (2, 3, 4)), ((1, 2, 3, 4), (2, 3, 4)), ((3, 4), (3, 4)),
)  # fmt: skip
RAISES = {"raises": True, "ways": FIXED}


def gradient_of_cross_entropy(tf, labels, logits):
    """The gradient for labels that do not add up to 1."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.compat.v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tape.gradient(loss, logits)


def losses():
    labels = array(3, 4, low=0, high=1)
    yield call("nn.sigmoid_cross_entropy_with_logits", labels=labels, logits=array(3, 4, low=-9, high=9))
    yield call("nn.sigmoid_cross_entropy_with_logits", labels=labels, logits=array(3, 5), raises=True, ways=FIXED)
    yield call("nn.sigmoid_cross_entropy_with_logits", labels=labels, raises=True)
    yield call("nn.weighted_cross_entropy_with_logits", labels, array(3, 4, low=-9, high=9), 2.0)
    yield call("compat.v1.nn.weighted_cross_entropy_with_logits", labels, array(3, 4), 0.5)
    yield call("nn.softmax_cross_entropy_with_logits", labels, array(3, 4))
    yield call("nn.softmax_cross_entropy_with_logits", labels, array(3, 4), axis=0)
    yield call("compat.v1.nn.softmax_cross_entropy_with_logits", labels=labels, logits=array(3, 4))
    yield call("compat.v1.nn.softmax_cross_entropy_with_logits_v2", labels=labels, logits=array(3, 4), dim=0)
    for of_labels, of_logits in OTHER_SHAPES:
        for name in ("nn.softmax_cross_entropy_with_logits", "compat.v1.nn.softmax_cross_entropy_with_logits_v2"):
            yield call(name, labels=array(*of_labels, low=0), logits=array(*of_logits))
        yield program(
            f"compat.v1.nn.softmax_cross_entropy_with_logits (gradient {of_labels} {of_logits})",
            gradient_of_cross_entropy,
            array(*of_labels, low=0),
            array(*of_logits),
        )
    for of_labels, of_logits in ((2, 1, 4), (2, 3, 4)), ((2, 4), (3, 4)), ((3, 4), (3, 5)):
        shapes = {"labels": array(*of_labels), "logits": array(*of_logits), "raises": True, "ways": FIXED}
        yield call("nn.softmax_cross_entropy_with_logits", **shapes)
        yield call("nn.weighted_cross_entropy_with_logits", **shapes, pos_weight=2.0)
        yield call("compat.v1.losses.sigmoid_cross_entropy", array(*of_labels), array(*of_logits), **RAISES)
        yield call("compat.v1.losses.mean_squared_error", array(*of_labels), array(*of_logits), **RAISES)
    yield call("compat.v1.losses.mean_squared_error", array(3), array(3, 1), **RAISES)
    yield call("nn.sigmoid_cross_entropy_with_logits", labels=array(3), logits=array(3, 1), raises=True)
    yield call("nn.sparse_softmax_cross_entropy_with_logits", labels=ints(1, 3), logits=array(3, 4), raises=True)
    yield call("nn.sparse_softmax_cross_entropy_with_logits", ints(3, high=4), array(3, 4))
    yield call(
        "nn.sparse_softmax_cross_entropy_with_logits", labels=ints(2, 3, high=4, dtype="int64"), logits=array(2, 3, 4)
    )
    yield call("nn.l2_loss", array(3, 4))
    yield call("nn.zero_fraction", ints(3, 4, high=2))
    yield call("math.in_top_k", ints(3, high=4), array(3, 4, gap=0.1), 2)
    yield call("compat.v1.nn.in_top_k", array(3, 4, gap=0.1), ints(3, high=4), 2)
    yield program("nn.ctc_loss (sparse)", sparse_ctc, array(6, 2, 5), ways=EAGER)
    yield call("nn.ctc_loss", ints(2, 3, low=1, high=5), array(6, 2, 5), np.int32([3, 2]), np.int32([6, 5]), ways=EAGER)
    yield call(
        "nn.ctc_loss",
        ints(2, 3, high=4),
        array(2, 6, 5),
        np.int32([3, 2]),
        np.int32([6, 6]),
        False,
        blank_index=-1,
        ways=EAGER,
    )
    yield program(
        "compat.v1.nn.xw_plus_b",
        lambda tf, x, w, b: tf.compat.v1.nn.xw_plus_b(x, w, b),
        array(2, 3),
        array(3, 4),
        array(4),
    )


CASES = [*activations(), *convolutions(), *gradients_of_convolutions(), *normalisation(), *losses()]
