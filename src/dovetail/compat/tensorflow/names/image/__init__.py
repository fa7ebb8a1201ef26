"""TensorFlow's names for images."""
