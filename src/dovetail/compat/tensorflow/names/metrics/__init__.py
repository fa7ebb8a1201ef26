"""TensorFlow 1's measures of predictions over many runs."""

from dovetail.compat.tensorflow.names.metrics import best as best
from dovetail.compat.tensorflow.names.metrics import measures as measures
from dovetail.compat.tensorflow.names.metrics import private as private
