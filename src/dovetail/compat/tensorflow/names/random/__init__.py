"""TensorFlow's names for random numbers, and for classes that are drawn."""
