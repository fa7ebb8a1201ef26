"""Rows whose types several ops compute: functions of tensors and static values, in modules by family."""

from dovetail.formats.tensorflow.ops import arithmetic as arithmetic
from dovetail.formats.tensorflow.ops import bessel as bessel
from dovetail.formats.tensorflow.ops import blocks as blocks
from dovetail.formats.tensorflow.ops import boxes as boxes
from dovetail.formats.tensorflow.ops import gradients as gradients
from dovetail.formats.tensorflow.ops import images as images
from dovetail.formats.tensorflow.ops import indexing as indexing
from dovetail.formats.tensorflow.ops import integrals as integrals
from dovetail.formats.tensorflow.ops import linalg as linalg
from dovetail.formats.tensorflow.ops import normalization as normalization
from dovetail.formats.tensorflow.ops import optimizers as optimizers
from dovetail.formats.tensorflow.ops import pools as pools
from dovetail.formats.tensorflow.ops import quantized as quantized
from dovetail.formats.tensorflow.ops import random as random
from dovetail.formats.tensorflow.ops import recurrent as recurrent
from dovetail.formats.tensorflow.ops import sampling as sampling
from dovetail.formats.tensorflow.ops import segments as segments
from dovetail.formats.tensorflow.ops import shapes as shapes
from dovetail.formats.tensorflow.ops import sparse as sparse
from dovetail.formats.tensorflow.ops import special_functions as special_functions
from dovetail.formats.tensorflow.ops import variables as variables
from dovetail.formats.tensorflow.ops import windows as windows
