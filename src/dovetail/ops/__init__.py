"""The ops: every function here computes on eager values, records on graph tensors, and works on engines' own values."""

import sys as _sys

from dovetail.core.base.table import OPS
from dovetail.core.op import Op
from dovetail.ops import numpy_calls as _numpy_calls
from dovetail.ops import operators as _operators
from dovetail.ops import random
from dovetail.ops.collective import *
from dovetail.ops.control import checks as _checks
from dovetail.ops.control import deferred as _deferred
from dovetail.ops.control import host_calls as _host_calls
from dovetail.ops.control import plumbing as _plumbing
from dovetail.ops.control.flow import *
from dovetail.ops.control.loops import *
from dovetail.ops.image.resize import *
from dovetail.ops.linalg.decompositions import *
from dovetail.ops.linalg.linalg import *
from dovetail.ops.linalg.matrix_functions import *
from dovetail.ops.linalg.products import *
from dovetail.ops.linalg.systems import *
from dovetail.ops.math.arithmetic import *
from dovetail.ops.math.bitwise import *
from dovetail.ops.math.compare import *
from dovetail.ops.math.complex import *
from dovetail.ops.math.cumulative import *
from dovetail.ops.math.exponential import *
from dovetail.ops.math.fourier import *
from dovetail.ops.math.incomplete_gamma import *
from dovetail.ops.math.reduce import *
from dovetail.ops.math.rounding import *
from dovetail.ops.math.special import *
from dovetail.ops.math.statistics import *
from dovetail.ops.math.trigonometry import *
from dovetail.ops.nn.activation import *
from dovetail.ops.nn.attention import *
from dovetail.ops.nn.conv import *
from dovetail.ops.nn.fused import *
from dovetail.ops.nn.local import *
from dovetail.ops.nn.losses import *
from dovetail.ops.nn.normalization import *
from dovetail.ops.nn.optimizers import *
from dovetail.ops.nn.pool import *
from dovetail.ops.nn.rectifier import *
from dovetail.ops.nn.softmax import *
from dovetail.ops.sequence.beam_search import *
from dovetail.ops.sequence.ctc import *
from dovetail.ops.sequence.gru import *
from dovetail.ops.sequence.lstm import *
from dovetail.ops.sequence.rnn import *
from dovetail.ops.shapes.blocks import *
from dovetail.ops.shapes.create import *
from dovetail.ops.shapes.diagonals import *
from dovetail.ops.shapes.extend import *
from dovetail.ops.shapes.identity import *
from dovetail.ops.shapes.index import *
from dovetail.ops.shapes.join import *
from dovetail.ops.shapes.rearrange import *
from dovetail.ops.shapes.search import *
from dovetail.ops.shapes.shape import *
from dovetail.ops.shapes.slicing import *
from dovetail.ops.shapes.sort import *
from dovetail.ops.shapes.subscript import getitem


def _is_public(name: str, value: object) -> bool:
    """Whether a name is public: its value is an op, or a function that names its source."""
    documented = callable(value) and "Source: " in (value.__doc__ or "")
    return not name.startswith("_") and (isinstance(value, Op) or documented)


__all__ = [name for name, value in sorted(globals().items()) if _is_public(name, value)]
_numpy_calls.FUNCTIONS.update({name: globals()[name] for name in __all__})

for _name in [n for n in globals() if not n.startswith("_") and n not in __all__]:
    if f"{__name__}.{_name}" in _sys.modules:  # a module of ours; a star import may have replaced it
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"]
    else:
        del globals()[_name]
