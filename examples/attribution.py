"""The pixels of an image that a net looks at, in TensorFlow 1's style: two ways to find them, on an imported graph.

    DOVETAIL_ENGINE=jax python examples/attribution.py

A small convolutional net learns handwritten digits. The program freezes its graph and imports it into another one, as
programs do with somebody else's trained graph. There, guided backpropagation lets no negative gradient through a relu:
the import replaces each relu by one with another gradient. Integrated gradients add up the gradients on the way from a
black image: their sum is the whole difference that the image makes.

Source: Springenberg et al. 2015, "Striving for simplicity: the all convolutional net"; Sundararajan et al. 2017,
"Axiomatic attribution for deep networks".

Only one line is new:  import tensorflow as tf  is now  import dovetail.compat.tensorflow as tf
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import dovetail.compat.tensorflow as tf

PATH = 50  # number of images on the way from a black one


def layer(x, name, build, shape, random):
    """A layer: the result of `build` for x and a kernel of a given shape, plus a bias."""
    with tf.variable_scope(name):
        first = random.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape).astype("float32")
        kernel = tf.get_variable("kernel", shape, initializer=tf.constant_initializer(first))
        bias = tf.get_variable("bias", shape[-1:], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(build(x, kernel), bias)


def trained(images, digits, steps):
    """Train a net on digits; return its graph without variables, and the losses."""
    random, losses = np.random.RandomState(0), []
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [None, 8, 8, 1], "images"), tf.placeholder(tf.int32, [None], "digits")
        wide = layer(x, "conv1", lambda x, k: tf.nn.conv2d(x, k, strides=1, padding="SAME"), [3, 3, 1, 8], random)
        small = layer(
            tf.nn.relu(wide, "relu1"),
            "conv2",
            lambda x, k: tf.nn.conv2d(x, k, strides=2, padding="SAME"),
            [3, 3, 8, 16],
            random,
        )
        flat = tf.reshape(tf.nn.relu(small, "relu2"), [-1, 4 * 4 * 16])
        logits = tf.identity(layer(flat, "dense", tf.matmul, [4 * 4 * 16, 10], random), "logits")
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                some = random.randint(0, len(digits), 64)
                losses.append(session.run([loss, step], {x: images[some], y: digits[some]})[0])
            return tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["logits"]), losses


def score_of(definition, image, digit, replaced=None):
    """Import a net for images, and return its score for a digit.

    Args:
        replaced: name of a tensor of the definition → the tensor that replaces it.
    """
    (logits,) = tf.import_graph_def(definition, {"images:0": image, **(replaced or {})}, ["logits:0"])
    return tf.gather(logits, digit, axis=1)


@tf.RegisterGradient("GuidedRelu")
def guided_relu(op, gradient):
    """The gradient of relu, without its negative elements."""
    return tf.where(op.outputs[0] > 0, tf.maximum(gradient, 0.0), tf.zeros_like(gradient))


def guided_gradient(definition, image, digit):
    """The pixels of an image that speak for a digit, by guided backpropagation."""
    replaced = {}
    for relu in [node for node in definition.node if node.op == "Relu"]:
        taken = {"images:0": image, **replaced}
        (before,) = tf.import_graph_def(definition, taken, [f"{relu.input[0]}:0"])
        with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
            replaced[f"{relu.name}:0"] = tf.nn.relu(before)
    return tf.gradients(score_of(definition, image, digit, replaced), image)[0]


def integrated_gradient(definition, image, digit):
    """The contribution of each pixel to a digit's score; and the expected sum of these."""
    parts = tf.reshape((tf.range(PATH, dtype=tf.float32) + 0.5) / PATH, [PATH, 1, 1, 1])
    path = parts * image
    gradient = tf.gradients(score_of(definition, path, digit), path)[0]
    ends = score_of(definition, tf.concat([image, tf.zeros_like(image)], axis=0), digit)
    return image[0] * tf.reduce_mean(gradient, axis=0), ends[0] - ends[1]


def drawn(image):
    """An image in characters: darker ones for larger numbers, blanks for negative ones."""
    levels = (np.clip(image / image.max(), 0, 1) * 4).round().astype(int)
    return ["".join(" .:*#"[level] for level in row) for row in levels]


def main(arguments=None):
    """Train, explain one digit, and show it; return the losses and the explanations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="how long the net learns (300)")
    steps = parser.parse_args(arguments).steps
    images, digits = load_digits(return_X_y=True)
    images = (images / 16.0).reshape(-1, 8, 8, 1).astype("float32")
    definition, losses = trained(images, digits, steps)
    print(f"The loss fell from {losses[0]:.2f} to {losses[-1]:.2f}")
    with tf.Graph().as_default():
        image, digit = tf.placeholder(tf.float32, [1, 8, 8, 1]), tf.placeholder(tf.int32, [])
        plain = tf.gradients(score_of(definition, image, digit), image)[0][0]
        guided = guided_gradient(definition, image, digit)[0]
        integrated, whole = integrated_gradient(definition, image, digit)
        with tf.Session() as session:
            found = session.run([plain, guided, integrated, whole], {image: images[:1], digit: digits[0]})
    plain, guided, integrated, whole = found
    print("image     gradient  guided    integrated")
    for row in zip(*(drawn(x[..., 0]) for x in (images[0], plain, guided, integrated)), strict=True):
        print("  ".join(row))
    print(f"The integrated gradients add up to {integrated.sum():.3f} of {whole:.3f}")
    return {"losses": losses, "gradient": plain, "guided": guided, "integrated": integrated, "whole": whole}


if __name__ == "__main__":
    main()
