"""The networks of `tf.contrib.slim.nets` against those of TF-Slim: variables, and outputs by name."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from tests.libraries import require

NETWORKS = "vgg.vgg_a", "vgg.vgg_16", "alexnet.alexnet_v2"


def libraries():
    """Dovetail's names and TF-Slim's: TensorFlow, `arg_scope`, and the modules of networks."""
    require("tf_slim", "it is the oracle")
    import tensorflow
    import tf_slim
    from tf_slim.nets import alexnet, vgg

    slim = tf.contrib.slim
    yield tf, slim.arg_scope, {"alexnet": slim.nets.alexnet, "vgg": slim.nets.vgg}
    yield tensorflow.compat.v1, tf_slim.arg_scope, {"alexnet": alexnet, "vgg": vgg}


@pytest.mark.parametrize("name", NETWORKS)
def test_plain_networks(name):
    module, function = name.split(".")
    found = []
    for lib, arg_scope, nets in libraries():
        made = getattr(nets[module], function)
        with lib.Graph().as_default():
            images = lib.placeholder(lib.float32, [2, 224, 224, 3])
            with arg_scope(getattr(nets[module], "vgg_arg_scope" if module == "vgg" else "alexnet_v2_arg_scope")()):
                net, points = made(images, 7, is_training=False, spatial_squeeze=False)
            variables = [(v.op.name, v.shape.as_list()) for v in lib.trainable_variables()]
            losses = len(lib.get_collection(lib.GraphKeys.REGULARIZATION_LOSSES))
            found.append((variables, sorted(points), net.shape.as_list(), losses, made.default_image_size))
    assert found[0] == found[1]


def test_the_size_of_a_residual_network():
    """The trained numbers of the published network, whose convolutions have no biases."""
    with tf.Graph().as_default(), tf.contrib.slim.arg_scope(tf.contrib.slim.nets.resnet_utils.resnet_arg_scope()):
        made = tf.contrib.slim.nets.resnet_v1.resnet_v1_50
        net, points = made(tf.placeholder(tf.float32, [None, 224, 224, 3]), 1000)
        assert sum(v.shape.num_elements() for v in tf.trainable_variables()) == 25_557_032
        assert net.shape.as_list() == [None, 1, 1, 1000] and made.default_image_size == 224
        assert points["resnet_v1_50/block4"].shape.as_list() == [None, 7, 7, 2048]


def test_values_of_a_plain_network():
    """The default squeezes the axes of the image."""
    with tf.Graph().as_default(), tf.contrib.slim.arg_scope(tf.contrib.slim.nets.vgg.vgg_arg_scope()):
        net, points = tf.contrib.slim.nets.vgg.vgg_a(tf.placeholder(tf.float32, [None, 224, 224, 3]), 5)
        assert net.shape.as_list() == [None, 5] and points["vgg_a/fc8"] is net


def test_a_stride_that_is_not_possible():
    with tf.Graph().as_default():
        resnet, image = tf.contrib.slim.nets.resnet_v1, np.zeros((1, 33, 33, 3), "float32")
        with pytest.raises(ValueError, match="multiple of 4, not 6"):
            resnet.resnet_v1_50(image, output_stride=6)
        with pytest.raises(ValueError, match="cannot be 16"):
            resnet.resnet_v1(image, [resnet.resnet_v1_block("a", 1, 1, 1)], output_stride=64)
