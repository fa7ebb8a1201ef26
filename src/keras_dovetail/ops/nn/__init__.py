"""What `keras.src.backend.nn` of a backend has: the functions that layers and losses are made of."""

from keras_dovetail.ops.nn.activations import *  # noqa: F403
from keras_dovetail.ops.nn.losses import *  # noqa: F403
from keras_dovetail.ops.nn.statistics import *  # noqa: F403
from keras_dovetail.ops.nn.windows import *  # noqa: F403
