"""TensorFlow 1's recurrent networks: cells, their wrappers, and the loops over steps."""

from dovetail.compat.tensorflow.names.rnn import base as base
from dovetail.compat.tensorflow.names.rnn import cells as cells
from dovetail.compat.tensorflow.names.rnn import contrib_cells as contrib_cells
from dovetail.compat.tensorflow.names.rnn import contrib_wrappers as contrib_wrappers
from dovetail.compat.tensorflow.names.rnn import loops as loops
from dovetail.compat.tensorflow.names.rnn import parts as parts
from dovetail.compat.tensorflow.names.rnn import wrappers as wrappers
