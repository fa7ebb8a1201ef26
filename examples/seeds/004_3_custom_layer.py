"""A layer in K: a product with a learned kernel, and relu."""

import keras_dovetail
import keras  # was: from tensorflow import keras
from dovetail import backend as K  # was missing


class CustomLayer(keras.layers.Layer):
    def call(self, inputs):
        return K.relu(K.dot(inputs, self.kernel))

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 10), initializer="uniform", trainable=True)
        super().build(input_shape)


model = keras.Sequential(
    [
        CustomLayer(),
        keras.layers.Dense(1),  # was: a comment
    ]
)

# Added: something to learn.
import numpy as np

x_train = np.random.rand(200, 3)
model.compile(loss="mse", optimizer="adam")
history = model.fit(x_train, x_train.max(axis=1, keepdims=True), epochs=20, verbose=0)
print("Loss:", history.history["loss"][-1])
