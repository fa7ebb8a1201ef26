# A classifier of points in several processes, in the words of 2018.

import math
import os
import sys

import horovod.keras as hvd
import keras
import numpy as np
import tensorflow as tf
from horovod.tensorflow.compression import Compression
from keras import backend as K
from keras.layers import Dense, Dropout
from keras.models import Sequential
from keras.utils import np_utils


def report(*words):
    """Print a line by one write, so that lines of processes do not mix."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


hvd.init()
config = tf.ConfigProto()
config.gpu_options.allow_growth = True
config.gpu_options.visible_device_list = str(hvd.local_rank())
K.set_session(tf.Session(config=config))

rng = np.random.RandomState(7)
x = rng.normal(size=(240, 4)).astype("float32")
labels = (x[:, 0] + x[:, 1] > 0).astype("int64")
y = np_utils.to_categorical(labels, 2)
x_train, y_train, x_test, y_test = x[:200], y[:200], x[200:], y[200:]

np.random.seed(hvd.rank())  # each process has an order of its own
epochs = int(math.ceil(16.0 / hvd.size()))
model = Sequential()
model.add(Dense(16, activation="tanh", input_shape=(4,)))
model.add(Dropout(0.1))
model.add(Dense(2, activation="softmax"))
opt = keras.optimizers.SGD(lr=0.1 * hvd.size(), momentum=0.9)
opt = hvd.DistributedOptimizer(opt, compression=Compression.none)
model.compile(
    loss="categorical_crossentropy", optimizer=opt, metrics=["accuracy"], experimental_run_tf_function=False
)

callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=2, verbose=1),
]
checkpoint = os.path.join(sys.argv[1], "model-%d.h5" % hvd.rank())
if hvd.rank() == 0:
    callbacks.append(keras.callbacks.ModelCheckpoint(checkpoint))
history = model.fit(
    x_train, y_train, batch_size=20, callbacks=callbacks, epochs=epochs, verbose=0, validation_data=(x_test, y_test)
).history

weights = np.concatenate([w.ravel() for w in model.get_weights()])
report("weights %.10f" % np.abs(weights).sum())
report("loss %.10f" % history["loss"][-1])
report("rate %.6f" % K.get_value(model.optimizer.lr))
if hvd.rank() == 0:
    score = model.evaluate(x_test, y_test, verbose=0)
    report("accuracy %.3f" % score[1])
hvd.shutdown()
