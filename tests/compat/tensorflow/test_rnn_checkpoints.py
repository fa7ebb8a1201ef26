"""Checkpoints of recurrent networks, which TensorFlow writes and reads, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np

from tests.compat.tensorflow.legacy import array, oracle
from tests.compat.tensorflow.rnn_by_hand import BATCH, UNITS
from tests.libraries import require


def network(tf: Any) -> Any:
    cells = [tf.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True), tf.nn.rnn_cell.GRUCell(2)]
    stack = tf.nn.rnn_cell.MultiRNNCell(cells)
    return tf.nn.dynamic_rnn(stack, tf.constant(array(BATCH, 5, 4)), dtype=tf.float32, scope="net")[0]


def exchange(tf: Any, first: str, folder: str) -> list[Any]:
    """The outputs with the values of a checkpoint, and with others, which are saved."""
    with tf.Graph().as_default(), tf.Session() as session:
        y, saver = network(tf), tf.train.Saver()
        saver.restore(session, os.path.join(folder, first))
        found = [session.run(y).tolist()]
        for v in tf.global_variables():
            v.load(2 * session.run(v), session)
        saver.save(session, os.path.join(folder, f"after-{first}"), write_meta_graph=False)
        return [*found, session.run(y).tolist()]


def test_checkpoints_go_to_tensorflow_and_come_back(tmp_path):
    for library in ("tensorflow", "tf_keras", "tf_slim"):
        require(library, "the oracle")
    with tf.Graph().as_default(), tf.Session() as session:
        y = network(tf)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "ours"), write_meta_graph=False)
        ours = session.run(y)
    settings = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", __name__, str(tmp_path)]
    ran = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    theirs = json.loads(ran.stdout.splitlines()[-1])
    np.testing.assert_allclose(theirs[0], ours, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exchange(tf, "after-ours", str(tmp_path))[0], theirs[1], rtol=1e-5, atol=1e-6)


def test_names_of_variables_before_1_2_restore(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        network(tf)
        session.run(tf.global_variables_initializer())
        wanted = session.run(tf.global_variables())
        old = {v.op.name.replace("kernel", "weights").replace("bias", "biases"): v for v in tf.global_variables()}
        path = tf.train.Saver(old).save(session, str(tmp_path / "old"), write_meta_graph=False)
        session.run([v.assign(0 * v) for v in tf.global_variables()])
        tf.train.Saver().restore(session, path)
        for mine, right in zip(session.run(tf.global_variables()), wanted, strict=True):
            np.testing.assert_array_equal(mine, right)


if __name__ == "__main__":
    print("\n" + json.dumps(exchange(oracle(), "ours", sys.argv[1])))
