"""TensorFlow 1's optimizers: their base, those of `tf.train` and `tf.contrib.opt` as rows, and SciPy's."""
