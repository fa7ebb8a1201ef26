"""TensorFlow 1's layers: the base class, the rows of `tf.layers` and of `tf.contrib.layers`."""
