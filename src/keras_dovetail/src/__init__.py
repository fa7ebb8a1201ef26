"""The module that Keras imports as its backend: modules of functions, and other names that it expects."""

from __future__ import annotations

from dovetail.core import memory
from keras_dovetail.src import distribution_lib as distribution_lib
from keras_dovetail.src import random as random
from keras_dovetail.src import tensorboard as tensorboard
from keras_dovetail.src.ops import core as core
from keras_dovetail.src.ops import image as image
from keras_dovetail.src.ops import linalg as linalg
from keras_dovetail.src.ops import math as math
from keras_dovetail.src.ops import nn as nn
from keras_dovetail.src.ops import numpy as numpy
from keras_dovetail.src.ops.core import IS_THREAD_SAFE as IS_THREAD_SAFE
from keras_dovetail.src.ops.core import SUPPORTS_COMPLEX_DTYPES as SUPPORTS_COMPLEX_DTYPES
from keras_dovetail.src.ops.core import SUPPORTS_RAGGED_TENSORS as SUPPORTS_RAGGED_TENSORS
from keras_dovetail.src.ops.core import SUPPORTS_SPARSE_TENSORS as SUPPORTS_SPARSE_TENSORS
from keras_dovetail.src.ops.core import Variable as Variable
from keras_dovetail.src.ops.core import cast as cast
from keras_dovetail.src.ops.core import compute_output_spec as compute_output_spec
from keras_dovetail.src.ops.core import cond as cond
from keras_dovetail.src.ops.core import convert_to_numpy as convert_to_numpy
from keras_dovetail.src.ops.core import convert_to_tensor as convert_to_tensor
from keras_dovetail.src.ops.core import device_scope as device_scope
from keras_dovetail.src.ops.core import is_tensor as is_tensor
from keras_dovetail.src.ops.core import name_scope as name_scope
from keras_dovetail.src.ops.core import random_seed_dtype as random_seed_dtype
from keras_dovetail.src.ops.core import scatter as scatter
from keras_dovetail.src.ops.core import shape as shape
from keras_dovetail.src.ops.core import stop_gradient as stop_gradient
from keras_dovetail.src.ops.core import vectorized_map as vectorized_map
from keras_dovetail.src.rnn import bidirectional_gru as bidirectional_gru
from keras_dovetail.src.rnn import bidirectional_lstm as bidirectional_lstm
from keras_dovetail.src.rnn import cudnn_ok as cudnn_ok
from keras_dovetail.src.rnn import gru as gru
from keras_dovetail.src.rnn import lstm as lstm
from keras_dovetail.src.rnn import rnn as rnn

memory.keep_by_default()  # the program uses Keras on Dovetail
