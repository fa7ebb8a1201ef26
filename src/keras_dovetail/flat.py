"""The backend as Keras 3.15 asks for it: operations are not in `ops`, but beside the other modules."""

from keras_dovetail.src import *  # noqa: F403
from keras_dovetail.src.ops import *  # noqa: F403
from keras_dovetail.src.rnn import *  # type: ignore[no-redef]  # noqa: F403  the function rnn, not the module
