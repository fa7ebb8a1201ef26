"""The module that Keras imports as its backend: modules of functions, and other names that it expects."""

from __future__ import annotations

from dovetail.core.base import memory
from dovetail.core.engines import devices
from keras_dovetail.src import distribution_lib, ops, random, rnn, tensorboard
from keras_dovetail.src.ops.core import Variable, compute_output_spec, device_scope, name_scope

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_GRADIENT",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "compute_output_spec",
    "device_scope",
    "distribution_lib",
    "name_scope",
    "ops",
    "random",
    "rnn",
    "tensorboard",
]

IS_THREAD_SAFE = True
SUPPORTS_COMPLEX_DTYPES = True
SUPPORTS_GRADIENT = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_SPARSE_TENSORS = False

# the program uses Keras on Dovetail
memory.keep_by_default()
devices.use_gpus()
