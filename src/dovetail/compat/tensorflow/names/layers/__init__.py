"""TensorFlow 1's layers: the base class, the rows of `tf.layers` and of `tf.contrib.layers`."""

from dovetail.compat.tensorflow.names.layers import contrib as contrib
from dovetail.compat.tensorflow.names.layers import contrib_norms as contrib_norms
from dovetail.compat.tensorflow.names.layers import convolution as convolution
from dovetail.compat.tensorflow.names.layers import core as core
from dovetail.compat.tensorflow.names.layers import normalization as normalization
from dovetail.compat.tensorflow.names.layers import second_names as second_names
