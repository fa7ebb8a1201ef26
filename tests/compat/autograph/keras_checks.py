"""Checks of AutoGraph in layers and models of `tf.keras`, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import numpy as np

import dovetail.compat.tensorflow as tf
from tests.keras_backends import main


def check_layers_and_steps_are_converted():
    class Scale(tf.keras.layers.Layer):
        def call(self, x, training=False):
            if training:
                return x
            if tf.reduce_sum(x) > 0.0:
                x = x * 2.0
            for i in tf.range(3):
                if i > 1:
                    break
                x = x + 1.0
            return x

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.scale, self.dense = Scale(), tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")

        def call(self, x, training=False):
            return self.dense(self.scale(x, training=training))

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
                if loss > 1.0:
                    loss = loss * 0.5
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"halved": loss}

    model, x = Model(), np.ones([2, 2], "float32")
    model.compile(tf.keras.optimizers.SGD(0.0))
    assert model.fit(x, np.full([2, 1], 5.0, "float32"), verbose=0).history["halved"] == [4.5]
    assert model.predict(x, verbose=0).tolist() == [[8.0], [8.0]]
    assert model.predict(-x, verbose=0).tolist() == [[2.0], [2.0]]
    inputs = tf.keras.Input([2])
    functional = tf.keras.Model(inputs, Scale()(inputs))
    assert functional.predict(x, verbose=0).tolist() == [[4.0, 4.0]] * 2
    assert functional(-x).numpy().tolist() == [[1.0, 1.0]] * 2


if __name__ == "__main__":
    main(globals())
