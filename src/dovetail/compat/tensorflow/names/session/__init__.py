"""TensorFlow's names for sessions and their settings, for devices and memory."""
