"""The backend's functions for `keras.src.backend.numpy`: NumPy's functions with Keras' dtypes."""

from keras_dovetail.ops.numpy.create import *  # noqa: F403
from keras_dovetail.ops.numpy.elementwise import *  # noqa: F403
from keras_dovetail.ops.numpy.nans import *  # noqa: F403
from keras_dovetail.ops.numpy.numbers import *  # noqa: F403
from keras_dovetail.ops.numpy.products import *  # noqa: F403
from keras_dovetail.ops.numpy.reduce import *  # noqa: F403
from keras_dovetail.ops.numpy.search import *  # noqa: F403
from keras_dovetail.ops.numpy.shape import *  # noqa: F403
