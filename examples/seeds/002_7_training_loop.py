"""A custom training loop: a compiled step, with a tape and an optimizer of Keras."""

import keras_dovetail
import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf
from dovetail import backend as K  # was: import tensorflow.keras.backend as K
from keras.losses import SparseCategoricalCrossentropy  # was: tf.keras.losses.SparseCategoricalCrossentropy
from keras.optimizers import Adam  # was: tf.keras.optimizers.Adam

# Added: handwritten digits in batches, and a model.
from keras import Sequential
from keras.layers import Dense, Input
from sklearn.datasets import load_digits

images, digits = load_digits(return_X_y=True)
train_dataset = [(images[i : i + 64] / 16, digits[i : i + 64]) for i in range(0, 1600, 64)]
model = Sequential([Input((64,)), Dense(32, activation="relu"), Dense(10, activation="softmax")])

optimizer = Adam()
loss_fn = SparseCategoricalCrossentropy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = loss_fn(y, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


losses = []  # added
for epoch in range(4):  # added
    for x_batch, y_batch in train_dataset:
        loss = train_step(x_batch, y_batch)
        losses.append(K.eval(loss))

print("Loss:", losses[0], "and in the end", losses[-1])
