"""Rows whose types several ops compute: functions of tensors and static values, in modules by family."""

from dovetail.formats.tensorflow.bodies import arithmetic as arithmetic
from dovetail.formats.tensorflow.bodies import bessel as bessel
from dovetail.formats.tensorflow.bodies import blocks as blocks
from dovetail.formats.tensorflow.bodies import boxes as boxes
from dovetail.formats.tensorflow.bodies import gradients as gradients
from dovetail.formats.tensorflow.bodies import images as images
from dovetail.formats.tensorflow.bodies import indexing as indexing
from dovetail.formats.tensorflow.bodies import integrals as integrals
from dovetail.formats.tensorflow.bodies import layers as layers
from dovetail.formats.tensorflow.bodies import linalg as linalg
from dovetail.formats.tensorflow.bodies import optimizers as optimizers
from dovetail.formats.tensorflow.bodies import pools as pools
from dovetail.formats.tensorflow.bodies import quantized as quantized
from dovetail.formats.tensorflow.bodies import random as random
from dovetail.formats.tensorflow.bodies import recurrent as recurrent
from dovetail.formats.tensorflow.bodies import sampling as sampling
from dovetail.formats.tensorflow.bodies import segments as segments
from dovetail.formats.tensorflow.bodies import shapes as shapes
from dovetail.formats.tensorflow.bodies import sparse as sparse
from dovetail.formats.tensorflow.bodies import special_functions as special_functions
from dovetail.formats.tensorflow.bodies import variables as variables
from dovetail.formats.tensorflow.bodies import windows as windows
