"""Pipelines of data: `elements.py` has what flows, `dataset.py` the steps, `iterators.py` the loops of sessions."""

# These give Dataset its further methods.
from dovetail.compat.tensorflow.names.data import iterators as iterators
from dovetail.compat.tensorflow.names.data import mixing as mixing
from dovetail.compat.tensorflow.names.data import sources as sources
