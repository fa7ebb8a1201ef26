"""The gradient of a function that is written in K, from a tape."""

import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf
from dovetail import backend as K  # was: import tensorflow.keras.backend as K

x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = K.square(x)

grad = tape.gradient(y, x)
print("Gradient:", grad.numpy())  # 6.0
