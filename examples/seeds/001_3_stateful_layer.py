"""A layer whose state stays from call to call: it adds up its weighted inputs."""

import keras_dovetail
from dovetail import backend as K  # was: import keras.backend as K
from keras.layers import Layer
from keras import random  # was: import tensorflow as tf, for tf.random


class StatefulLayer(Layer):
    def __init__(self, units, **kwargs):
        super(StatefulLayer, self).__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.state = self.add_weight(
            name="state", shape=(input_shape[-1], self.units), initializer="zeros", trainable=False
        )
        self.W = self.add_weight(
            name="W", shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
        )
        super(StatefulLayer, self).build(input_shape)

    def call(self, x):
        self.state.assign(K.dot(x, self.W) + self.state)
        return self.state

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units)


from keras.models import Sequential
from keras.layers import Input

model = Sequential()
model.add(Input(shape=(10,)))
model.add(StatefulLayer(10))
model.compile(optimizer="adam", loss="mse")

x_train = random.normal((1, 10))  # was: tf.random.normal((1, 10))
model.predict(x_train)
print(model.layers[0].get_weights())  # was: model.layers[1], but the input is not one of a Sequential's layers
model.predict(x_train)
print(model.layers[0].get_weights())  # was: model.layers[1]
