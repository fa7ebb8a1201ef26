"""The backend's functions for `keras.src.backend.image`: colours, sizes, filters and distortions of images."""

from keras_dovetail.src.ops.image.colors import *  # noqa: F403
from keras_dovetail.src.ops.image.distort import *  # noqa: F403
from keras_dovetail.src.ops.image.filters import *  # noqa: F403
from keras_dovetail.src.ops.image.resize import *  # noqa: F403
from keras_dovetail.src.ops.image.sample import *  # noqa: F403
