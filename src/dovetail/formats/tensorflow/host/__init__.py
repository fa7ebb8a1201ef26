"""Nodes of TensorFlow that the host computes, by the functions of `formats.host`."""
