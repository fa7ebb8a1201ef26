"""A model that is compiled with a loss written in K."""

import keras_dovetail
import keras  # was: from tensorflow import keras
import numpy as np
from dovetail import backend as K  # was: K = keras.backend


def custom_loss(y_true, y_pred):
    squared_difference = K.square(y_true - y_pred)
    return K.mean(squared_difference)


model = keras.Sequential(
    [
        keras.layers.Dense(16, activation="tanh"),  # was: a comment
        keras.layers.Dense(1),
    ]
)

model.compile(loss=custom_loss, optimizer="adam")

# Added: something to learn.
x_train = np.random.rand(200, 3)
history = model.fit(x_train, x_train.sum(axis=1, keepdims=True), epochs=20, verbose=0)
print("Loss:", history.history["loss"][-1])
