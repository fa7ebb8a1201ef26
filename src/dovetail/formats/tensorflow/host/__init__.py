"""Nodes of TensorFlow that the host computes, by the functions of `formats.host`."""

from dovetail.formats.tensorflow.host import evaluation, functions, parsing, store  # noqa: F401
from dovetail.formats.tensorflow.table import HOST

__all__ = ["HOST"]
