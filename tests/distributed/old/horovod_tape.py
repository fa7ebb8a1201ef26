# A line through points, with a tape and a function, in the words of 2019.

import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


hvd.init()
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

rng = np.random.RandomState(5)
points = rng.normal(size=(24, 3)).astype("float32")
heights = points.dot([2.0, -1.0, 0.5]).astype("float32") + 3
mine = slice(hvd.rank(), None, hvd.size())
dataset = tf.data.Dataset.from_tensor_slices((points[mine], heights[mine])).repeat().batch(4)

first = tf.constant_initializer(float(hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=first, input_shape=(3,))])
loss_object = tf.losses.MeanSquaredError()
opt = tf.optimizers.SGD(0.05 * hvd.size(), momentum=0.5)
checkpoint = tf.train.Checkpoint(model=model, optimizer=opt)


@tf.function
def training_step(x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_object(y, tf.squeeze(model(x, training=True), 1))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(opt.variables(), root_rank=0)
    return loss


for batch, (x, y) in enumerate(dataset.take(24 // hvd.size())):
    loss = training_step(x, y, batch == 0)

total = hvd.allreduce(loss, average=False)
every = hvd.allgather(tf.reshape(loss, [1]))
np.testing.assert_allclose(total, tf.reduce_sum(every), rtol=1e-6)
report("loss %.6f" % (float(total) / hvd.size()))
report("weights", " ".join("%.6f" % number for weight in model.get_weights() for number in weight.ravel()))
if hvd.rank() == 0:
    checkpoint.save(sys.argv[1] + "/line")
