"""TensorFlow 1's recurrent networks: cells, their wrappers, and the loops over steps."""
