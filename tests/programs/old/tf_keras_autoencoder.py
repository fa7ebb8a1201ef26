"""A convolutional denoising autoencoder with tf.keras, beside a graph of TensorFlow (1.10 to 1.15)."""
from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.python.keras import backend as K

tf.logging.set_verbosity(tf.logging.ERROR)
print('keras' in keras.__name__, tf.keras.backend.image_data_format())


class NoiseLayer(tf.keras.layers.Layer):
    """Adds a fixed pattern, scaled by a weight that is trained."""

    def __init__(self, scale=0.1, **kwargs):
        super(NoiseLayer, self).__init__(**kwargs)
        self.scale = scale

    def build(self, input_shape):
        shape = tf.TensorShape(input_shape).as_list()
        self.gain = self.add_weight(name='gain', shape=[shape[-1]], initializer=tf.ones_initializer(), trainable=True)
        super(NoiseLayer, self).build(input_shape)

    def call(self, inputs):
        rows = tf.cast(tf.range(tf.shape(inputs)[1]), tf.float32)
        pattern = tf.reshape(tf.sin(rows), [1, -1, 1, 1])
        return inputs + self.scale * self.gain * pattern

    def get_config(self):
        config = super(NoiseLayer, self).get_config()
        config['scale'] = self.scale
        return config


def autoencoder():
    inputs = keras.Input(shape=(8, 8, 1))
    x = NoiseLayer(0.2)(inputs)
    x = layers.Conv2D(8, 3, activation='relu', padding='same')(x)
    x = layers.MaxPool2D(2)(x)
    x = layers.Conv2D(4, 3, activation=tf.nn.relu, padding='same')(x)
    encoded = layers.MaxPool2D(2, name='encoded')(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, activation='relu', padding='same')(encoded)
    x = layers.UpSampling2D(2)(x)
    decoded = layers.Conv2D(1, 3, activation='sigmoid', padding='same')(x)
    return keras.Model(inputs, decoded), keras.Model(inputs, encoded)


def ssim_like(y_true, y_pred):
    mean_true, mean_pred = tf.reduce_mean(y_true, [1, 2, 3]), tf.reduce_mean(y_pred, [1, 2, 3])
    return tf.reduce_mean((2 * mean_true * mean_pred + 1e-4) / (mean_true ** 2 + mean_pred ** 2 + 1e-4))


def loss_function(y_true, y_pred):
    return tf.losses.mean_squared_error(y_true, y_pred) + 0.01 * tf.reduce_mean(tf.abs(y_true - y_pred))


grid = np.arange(8)
images = np.array([np.outer(np.sin(grid / (1. + i % 4)) ** 2, np.cos(grid / (2. + i % 3)) ** 2) for i in range(32)])
images = images.reshape(-1, 8, 8, 1).astype('float32')

model, encoder = autoencoder()
model.compile(optimizer=tf.keras.optimizers.Adam(0.005), loss='mse', metrics=[ssim_like, 'mae'])
history = model.fit(images, images, batch_size=8, epochs=3, verbose=0, shuffle=False, validation_split=0.25)
for loss, val_loss in zip(history.history['loss'], history.history['val_loss']):
    print('loss %.5f val_loss %.5f' % (loss, val_loss))
print('encoded', encoder.predict(images).shape, '%.4f' % encoder.predict(images).mean())

# the same model as part of a graph, trained by hand
sess = K.get_session()
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
loss = loss_function(x, model(x))
variables = model.trainable_weights
step = tf.train.GradientDescentOptimizer(0.1)
grads_and_vars = step.compute_gradients(loss, var_list=variables)
train_op = step.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in grads_and_vars])
with sess.as_default():
    for i in range(3):
        _, value = sess.run([train_op, loss], feed_dict={x: images[:16]})
        print('by hand %.5f' % value)
    print('gain %.5f' % model.layers[1].get_weights()[0][0])

config = model.get_config()
again = keras.Model.from_config(config, custom_objects={'NoiseLayer': NoiseLayer})
again.set_weights(model.get_weights())
print('same', np.allclose(again.predict(images), model.predict(images), atol=1e-6))
print('evaluate', ' '.join('%.4f' % v for v in model.evaluate(images, images, verbose=0)))
