"""TensorFlow 1's layers: the base class, and the rows of `tf.layers`."""

from dovetail.compat.tensorflow.names.layers import convolution as convolution
from dovetail.compat.tensorflow.names.layers import core as core
from dovetail.compat.tensorflow.names.layers import normalization as normalization
