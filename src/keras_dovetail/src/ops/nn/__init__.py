"""The backend's functions for `keras.src.backend.nn`, which layers and losses use."""

from keras_dovetail.src.ops.nn.activations import *  # noqa: F403
from keras_dovetail.src.ops.nn.losses import *  # noqa: F403
from keras_dovetail.src.ops.nn.statistics import *  # noqa: F403
from keras_dovetail.src.ops.nn.windows import *  # noqa: F403
