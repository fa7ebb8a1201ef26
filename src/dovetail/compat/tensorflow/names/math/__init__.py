"""TensorFlow's names for mathematics, linear algebra and signals."""
