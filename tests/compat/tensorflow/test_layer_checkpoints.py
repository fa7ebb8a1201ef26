"""Checkpoints of one program with layers, by name: TensorFlow's restores here, and ours in TensorFlow."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.compat.tensorflow import legacy
from tests.libraries import require

for library in ("tensorflow", "tf_keras", "tf_slim"):
    require(library, "the oracle")

X = legacy.array(4, 6, 6, 3)


def outputs(tf: Any, restored: str, saved: str) -> list[Any]:
    """Train a step and save, if no checkpoint is there to be restored; then the outputs of the program."""
    slim = tf.contrib.slim
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder("float32", [None, 6, 6, 3])
        y = tf.layers.batch_normalization(tf.layers.conv2d(x, 4, 3), training=True, name="norm")
        with tf.variable_scope("head"), slim.arg_scope([slim.batch_norm], is_training=True):
            y = slim.fully_connected(slim.flatten(y), 5, normalizer_fn=slim.batch_norm)
        y = tf.layers.dense(y, 2, name="logits")
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)))
        saver = tf.train.Saver()
        if restored:
            saver.restore(session, restored)
        else:
            session.run(tf.global_variables_initializer())
            session.run(step, {x: X})
            saver.save(session, saved)
        return [
            y.eval({x: X}, session).tolist(),
            *(np.asarray(v.eval(session)).tolist() for v in tf.global_variables()),
        ]


def test_each_restores_the_checkpoint_of_the_other(tmp_path):
    import dovetail.compat.tensorflow.compat.v1 as tf

    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    mine = outputs(tf, "", ours)
    restored, own = legacy.answer(__name__, ours, theirs)
    for one, other in ((restored, mine), (outputs(tf, theirs, ""), own)):
        assert len(one) == len(other) > 20
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


if __name__ == "__main__":
    tf = legacy.oracle()
    print("\n" + json.dumps([outputs(tf, sys.argv[1], ""), outputs(tf, "", sys.argv[2])]))
