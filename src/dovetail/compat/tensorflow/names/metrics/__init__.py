"""TensorFlow 1's measures of predictions over many runs."""
