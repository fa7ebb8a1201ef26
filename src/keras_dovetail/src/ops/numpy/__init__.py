"""The backend's functions for `keras.src.backend.numpy`: NumPy's functions with Keras' dtypes."""

from keras_dovetail.src.ops.numpy.create import *  # noqa: F403
from keras_dovetail.src.ops.numpy.elementwise import *  # noqa: F403
from keras_dovetail.src.ops.numpy.nans import *  # noqa: F403
from keras_dovetail.src.ops.numpy.products import *  # noqa: F403
from keras_dovetail.src.ops.numpy.reduce import *  # noqa: F403
from keras_dovetail.src.ops.numpy.search import *  # noqa: F403
from keras_dovetail.src.ops.numpy.shape import *  # noqa: F403
