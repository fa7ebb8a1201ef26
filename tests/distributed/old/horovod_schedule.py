# A line through points, with a learning rate that rises and falls by steps, in the words of 2018.

import sys

import horovod.keras as hvd
import keras
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
K.set_session(tf.Session(config=config))

rng = np.random.RandomState(5)
points = rng.normal(size=(24, 3)).astype("float32")
heights = points.dot([2.0, -1.0, 0.5]).astype("float32") + 3
mine = slice(hvd.rank(), None, hvd.size())
resumed = hvd.broadcast(3 if hvd.rank() == 0 else 0, 0, name="resume_from_epoch") - 3

inputs = Input(shape=(3,))
outputs = Dense(1, kernel_initializer=keras.initializers.Constant(hvd.rank()))(inputs)
model = Model(inputs=inputs, outputs=outputs)
opt = keras.optimizers.SGD(lr=0.05 * hvd.size(), momentum=0.5)
opt = hvd.DistributedOptimizer(opt)
model.compile(loss="mse", optimizer=opt)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=2, verbose=1 if hvd.rank() == 0 else 0),
    hvd.callbacks.LearningRateScheduleCallback(start_epoch=2, end_epoch=3, multiplier=1.0),
    hvd.callbacks.LearningRateScheduleCallback(start_epoch=3, multiplier=lambda epoch: 0.1 ** (epoch - 2)),
]
history = model.fit(
    *(points[mine], heights[mine]),
    batch_size=4,
    epochs=5,
    initial_epoch=resumed,
    shuffle=False,
    verbose=0,
    callbacks=callbacks,
).history
score = hvd.allreduce([model.evaluate(points[mine], heights[mine], verbose=0)])
report("rates", " ".join("%.6f" % rate for rate in history["lr"]))
report("losses", " ".join("%.6f" % loss for loss in history["loss"]), "%.6f" % score[0])
report("weights", " ".join("%.6f" % number for weight in model.get_weights() for number in weight.ravel()))
