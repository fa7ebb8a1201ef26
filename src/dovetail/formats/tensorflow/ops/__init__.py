"""TensorFlow's types by family: the rows of each, the functions that read its nodes, and those that write them."""

from dovetail.formats.tensorflow.ops import activations as activations
from dovetail.formats.tensorflow.ops import arithmetic as arithmetic
from dovetail.formats.tensorflow.ops import bessel as bessel
from dovetail.formats.tensorflow.ops import blocks as blocks
from dovetail.formats.tensorflow.ops import boxes as boxes
from dovetail.formats.tensorflow.ops import casting as casting
from dovetail.formats.tensorflow.ops import checks as checks
from dovetail.formats.tensorflow.ops import constants as constants
from dovetail.formats.tensorflow.ops import control as control
from dovetail.formats.tensorflow.ops import control_v1 as control_v1
from dovetail.formats.tensorflow.ops import convolutions as convolutions
from dovetail.formats.tensorflow.ops import diagonals as diagonals
from dovetail.formats.tensorflow.ops import fourier as fourier
from dovetail.formats.tensorflow.ops import images as images
from dovetail.formats.tensorflow.ops import indexing as indexing
from dovetail.formats.tensorflow.ops import linalg as linalg
from dovetail.formats.tensorflow.ops import lists as lists
from dovetail.formats.tensorflow.ops import losses as losses
from dovetail.formats.tensorflow.ops import normalization as normalization
from dovetail.formats.tensorflow.ops import optimizers as optimizers
from dovetail.formats.tensorflow.ops import optional as optional
from dovetail.formats.tensorflow.ops import pools as pools
from dovetail.formats.tensorflow.ops import quantized as quantized
from dovetail.formats.tensorflow.ops import ragged as ragged
from dovetail.formats.tensorflow.ops import random as random
from dovetail.formats.tensorflow.ops import recurrent as recurrent
from dovetail.formats.tensorflow.ops import reductions as reductions
from dovetail.formats.tensorflow.ops import segments as segments
from dovetail.formats.tensorflow.ops import shapes as shapes
from dovetail.formats.tensorflow.ops import slicing as slicing
from dovetail.formats.tensorflow.ops import sorting as sorting
from dovetail.formats.tensorflow.ops import sparse as sparse
from dovetail.formats.tensorflow.ops import special_functions as special_functions
from dovetail.formats.tensorflow.ops import variables as variables
from dovetail.formats.tensorflow.ops import windows as windows
from dovetail.formats.tensorflow.table import BODIES, NO_WAY, READ, SPECIAL, WRITE, WRITTEN

__all__ = ["BODIES", "NO_WAY", "READ", "SPECIAL", "WRITE", "WRITTEN"]
