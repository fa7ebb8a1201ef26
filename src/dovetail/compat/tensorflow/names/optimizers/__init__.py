"""TensorFlow 1's optimizers: their base, those of `tf.train` and `tf.contrib.opt` as rows, and SciPy's."""

from dovetail.compat.tensorflow.names.optimizers import base as base
from dovetail.compat.tensorflow.names.optimizers import contrib as contrib
from dovetail.compat.tensorflow.names.optimizers import custom as custom
from dovetail.compat.tensorflow.names.optimizers import external as external
from dovetail.compat.tensorflow.names.optimizers import rows as rows
