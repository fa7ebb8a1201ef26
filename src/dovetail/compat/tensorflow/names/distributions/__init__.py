"""TensorFlow 1's distributions: a row for each."""
