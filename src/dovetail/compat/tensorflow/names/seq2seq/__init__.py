"""TensorFlow 1's sequences to sequences: `contrib.seq2seq` and `legacy_seq2seq`."""

from dovetail.compat.tensorflow.names.seq2seq import attention as attention
from dovetail.compat.tensorflow.names.seq2seq import decoders as decoders
from dovetail.compat.tensorflow.names.seq2seq import legacy as legacy
