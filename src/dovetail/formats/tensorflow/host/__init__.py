"""Nodes of TensorFlow that the host computes, by the functions of `formats.host`."""

from dovetail.formats.tensorflow.host import evaluation as evaluation
from dovetail.formats.tensorflow.host import functions as functions
from dovetail.formats.tensorflow.host import parsing as parsing
from dovetail.formats.tensorflow.host import store as store
from dovetail.formats.tensorflow.table import HOST

__all__ = ["HOST"]
