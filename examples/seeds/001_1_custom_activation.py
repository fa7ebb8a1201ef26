"""An activation with a learned parameter: relu(x) + alpha sigmoid(x), in K."""

import keras_dovetail  # was: import tensorflow as tf
from dovetail import backend as K  # was: import keras.backend as K
from keras.layers import Layer


class CustomActivation(Layer):
    def __init__(self, **kwargs):
        super(CustomActivation, self).__init__(**kwargs)

    def build(self, input_shape):
        self.alpha = self.add_weight(name="alpha", shape=(1,), initializer="zeros", trainable=True)
        super(CustomActivation, self).build(input_shape)

    def call(self, x):
        return K.relu(x) + self.alpha * K.sigmoid(x)

    def compute_output_shape(self, input_shape):
        return input_shape


from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(10, input_shape=(10,), activation=CustomActivation()))
model.add(Dense(1))
model.compile(optimizer="adam", loss="mse")

# Added: something to learn.
import numpy as np

x_train = np.random.rand(100, 10)
history = model.fit(x_train, np.sin(x_train.sum(axis=1)), epochs=20, verbose=0)
print("Loss:", history.history["loss"][-1], "alpha:", K.eval(model.layers[0].activation.alpha))
