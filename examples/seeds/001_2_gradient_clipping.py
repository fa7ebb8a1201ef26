"""Gradients that are clipped: by a layer that they pass, and in a training loop with K.clip."""

import keras_dovetail
import dovetail as tf  # was: import tensorflow as tf
from dovetail import backend as K  # was: import keras.backend as K
from keras.layers import Layer


class GradientClippingLayer(Layer):
    def __init__(self, clip_value, **kwargs):
        super(GradientClippingLayer, self).__init__(**kwargs)
        self.clip_value = clip_value

    def call(self, x):
        # Was: return x, and a method get_updates() that clipped; but no Keras asks a layer for updates.
        @tf.custom_gradient
        def clipping(x):
            return K.identity(x), lambda gradient: K.clip(gradient, -self.clip_value, self.clip_value)

        return clipping(x)

    def compute_output_shape(self, input_shape):
        return input_shape


import numpy as np
from keras import Input, Model  # was: from keras.models import Model, Input
from keras.layers import Dense  # was missing
from keras.losses import mean_squared_error  # was: tf.keras.losses.mse
from keras.optimizers import Adam

input_tensor = Input(shape=(10,))
x = Dense(10)(input_tensor)
x = GradientClippingLayer(1.0)(x)
output_tensor = Dense(1)(x)

model = Model(inputs=input_tensor, outputs=output_tensor)
optimizer = Adam()
model.optimizer = optimizer
model.loss = "mse"
x_train = np.random.rand(100, 10)
y_train = np.random.rand(100, 1)


for i in range(100):
    with tf.GradientTape() as tape:
        y_pred = model(x_train)
        loss = K.mean(mean_squared_error(y_train, y_pred))

    grads = tape.gradient(loss, model.trainable_variables)
    clipped_grads = [K.clip(g, -1.0, 1.0) for g in grads]
    optimizer.apply_gradients(zip(clipped_grads, model.trainable_variables))

print("Loss:", K.eval(loss))
