"""The names of `tf.contrib` besides layers, cells and optimizers: a module for each family."""
