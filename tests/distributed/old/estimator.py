# An estimator that a strategy trains, in the words of 2019.

import os
import sys

import numpy as np
import tensorflow as tf


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


strategy = tf.distribute.MirroredStrategy()
BATCH_SIZE = 8 // strategy.num_replicas_in_sync  # an input function gives the batches of one replica
rng = np.random.RandomState(3)
x = rng.normal(size=(44, 3))
y = x @ [2.0, -1.0, 0.5] + 3


def train_input_fn():
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    return data.batch(BATCH_SIZE, drop_remainder=True)  # two replicas leave the last of 11 batches out


def eval_input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(11)


def model_fn(features, labels, mode):
    start = tf.constant_initializer(float(os.environ.get("RANK", 0)))  # only the first one's counts
    w = tf.get_variable("w", [3], tf.float64, start)
    b = tf.get_variable("b", [], tf.float64, start)
    found = tf.reduce_sum(features["x"] * w, axis=1) + b
    loss = tf.losses.mean_squared_error(labels, found)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.5)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, found)}
    return tf.estimator.EstimatorSpec(mode, found, loss, train_op, metrics)


class Losses(tf.train.SessionRunHook):
    def begin(self):
        self.loss = tf.get_default_graph().get_collection(tf.GraphKeys.LOSSES)[0]

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.loss)


config = tf.estimator.RunConfig(save_checkpoints_steps=4, train_distribute=strategy)
regressor = tf.estimator.Estimator(model_fn, sys.argv[1] if len(sys.argv) > 1 else None, config)
regressor.train(train_input_fn, hooks=[Losses()])
report("first", *("%.12f" % regressor.evaluate(eval_input_fn)[name] for name in ("error", "loss")))
regressor.train(train_input_fn, steps=3)  # from the checkpoint
train_spec = tf.estimator.TrainSpec(train_input_fn, max_steps=10)
tf.estimator.train_and_evaluate(regressor, train_spec, tf.estimator.EvalSpec(eval_input_fn, steps=None))
weights = [regressor.get_variable_value(name) for name in ("w", "b")]
report("weights", *("%.12f" % number for number in np.append(*weights)))
report("step", regressor.get_variable_value("global_step"))
report("folder", regressor.model_dir)
try:
    regressor.train(tf.estimator.inputs.numpy_input_fn({"x": x}, y, BATCH_SIZE, shuffle=False), steps=1)
except ValueError as error:
    report("refused", error)
