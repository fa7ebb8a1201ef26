"""Cases of TensorFlow 1's own words, a module for each family; `tests.compat.tensorflow.legacy` runs them."""
