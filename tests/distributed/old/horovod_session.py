# A line through points, with a session and hooks, in the words of 2017.

import os

import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_string("folder", "", "where rank 0 keeps its checkpoints")
tf.app.flags.DEFINE_integer("steps", 12, "steps of training")


def batches(x, y, rows):
    while True:
        for start in range(0, len(x), rows):
            yield x[start : start + rows], y[start : start + rows]


def main(_):
    hvd.init()
    rng = np.random.RandomState(5)
    points = rng.normal(size=(24, 3)).astype("float32")
    heights = points.dot([2.0, -1.0, 0.5]).astype("float32") + 3
    mine = slice(hvd.rank(), None, hvd.size())

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    with tf.variable_scope("line"):
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(float(hvd.rank())))
        b = tf.get_variable("b", [1], initializer=tf.constant_initializer(hvd.rank() + 1.0))
    loss = tf.losses.mean_squared_error(y, tf.squeeze(tf.matmul(x, w) + b, 1))

    opt = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.05 * hvd.size(), 0.5))
    global_step = tf.train.get_or_create_global_step()
    gradients, variables = zip(*opt.compute_gradients(loss))
    gradients, norm = tf.clip_by_global_norm(gradients, 2.0)
    train_op = opt.apply_gradients(zip(gradients, variables), global_step=global_step)
    mean_loss = hvd.allreduce(loss)
    with tf.control_dependencies([train_op]):
        weights = tf.concat([tf.reshape(w.read_value(), [-1]), b.read_value()], axis=0)

    config = tf.ConfigProto()
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=FLAGS.steps)]
    checkpoint_dir = FLAGS.folder if hvd.rank() == 0 else None
    data = batches(points[mine], heights[mine], 4)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=checkpoint_dir, hooks=hooks, config=config) as session:
        while not session.should_stop():
            x_, y_ = next(data)
            norm_, loss_, weights_ = session.run([norm, mean_loss, weights], feed_dict={x: x_, y: y_})
    report("norm %.6f loss %.6f" % (norm_, loss_))
    report("weights", " ".join("%.6f" % number for number in weights_))
    if hvd.rank() == 0:
        report("last checkpoint", os.path.basename(tf.train.latest_checkpoint(FLAGS.folder)))


if __name__ == "__main__":
    tf.app.run()
