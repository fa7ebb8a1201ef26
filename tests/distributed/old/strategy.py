# A classifier by a strategy: by fit, and by a loop of its own, in the words of 2020.

import sys

import numpy as np
import tensorflow as tf


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if sys.argv[1] == "mirrored":
    strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())
else:
    ring = tf.distribute.experimental.CollectiveCommunication.RING
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(communication=ring)
tf.keras.backend.set_floatx("float64")

BATCH_SIZE = 16
rng = np.random.RandomState(3)
x_train = rng.normal(size=(56, 4))
y_train = (x_train[:, 0] * x_train[:, 1] > 0).astype("int64")
np.random.seed(7)  # of fit's shuffles


def build_model():
    init = tf.keras.initializers.GlorotUniform(seed=2)
    hidden = tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=init, input_shape=(4,))
    return tf.keras.Sequential([hidden, tf.keras.layers.Dense(2, kernel_initializer=init)])


with strategy.scope():
    model = build_model()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss=loss, metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=BATCH_SIZE, epochs=3, verbose=0).history
report("fit", " ".join("%.12f" % value for name in ("loss", "accuracy") for value in history[name]))

dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(BATCH_SIZE)
with strategy.scope():
    own = build_model()
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=tf.keras.losses.Reduction.NONE
    )
    train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    def train_step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            logits = own(images, training=True)
            loss = tf.nn.compute_average_loss(loss_object(labels, logits), global_batch_size=BATCH_SIZE)
        gradients = tape.gradient(loss, own.trainable_variables)
        optimizer.apply_gradients(zip(gradients, own.trainable_variables))
        train_accuracy.update_state(labels, logits)
        return loss

    @tf.function
    def distributed_train_step(inputs):
        per_replica = strategy.run(train_step, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    for epoch in range(3):
        total = 0.0
        for inputs in strategy.experimental_distribute_dataset(dataset):
            total += float(distributed_train_step(inputs))
        found = strategy.reduce("MEAN", train_accuracy.result(), axis=None)
        train_accuracy.reset_states()
        report("epoch %d loss %.12f accuracy %.6f" % (epoch, total, float(found)))

weights = [np.ravel(weight) for weight in model.get_weights() + own.get_weights()]
report("weights", " ".join("%.12f" % number for number in np.concatenate(weights)))
report("replicas", strategy.num_replicas_in_sync)
