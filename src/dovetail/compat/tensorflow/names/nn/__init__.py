"""TensorFlow's names in `tf.nn`, besides recurrent networks, and the losses of `tf.losses`."""
