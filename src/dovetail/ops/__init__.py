"""The ops: every function here computes on eager values, records on graph tensors, and works on engines' own values."""

import sys as _sys

from dovetail.ops import operators as _operators
from dovetail.ops import random
from dovetail.ops.activation import *
from dovetail.ops.basic import *
from dovetail.ops.beam_search import *
from dovetail.ops.bitwise import *
from dovetail.ops.blocks import *
from dovetail.ops.compare import *
from dovetail.ops.complex import *
from dovetail.ops.control import *
from dovetail.ops.conv import *
from dovetail.ops.create import *
from dovetail.ops.ctc import *
from dovetail.ops.cumulative import *
from dovetail.ops.decompositions import *
from dovetail.ops.diagonals import *
from dovetail.ops.exponential import *
from dovetail.ops.extend import *
from dovetail.ops.fused import *
from dovetail.ops.image import *
from dovetail.ops.index import *
from dovetail.ops.join import *
from dovetail.ops.linalg import *
from dovetail.ops.local import *
from dovetail.ops.loops import *
from dovetail.ops.losses import *
from dovetail.ops.math import *
from dovetail.ops.normalization import *
from dovetail.ops.op import OPS, Op
from dovetail.ops.passing import *
from dovetail.ops.pool import *
from dovetail.ops.products import *
from dovetail.ops.rearrange import *
from dovetail.ops.rectifier import *
from dovetail.ops.reduce import *
from dovetail.ops.rnn import *
from dovetail.ops.rounding import *
from dovetail.ops.search import *
from dovetail.ops.shape import *
from dovetail.ops.slicing import *
from dovetail.ops.softmax import *
from dovetail.ops.sort import *
from dovetail.ops.special import *
from dovetail.ops.statistics import *
from dovetail.ops.subscript import getitem
from dovetail.ops.systems import *
from dovetail.ops.trigonometry import *


def _is_public(name: str, value: object) -> bool:
    """Ops and functions that name their source are for everyone; what they are made with is not."""
    documented = callable(value) and "Source: " in (value.__doc__ or "")
    return not name.startswith("_") and (isinstance(value, Op) or documented)


__all__ = [name for name, value in sorted(globals().items()) if _is_public(name, value)]

for _name in [n for n in globals() if not n.startswith("_") and n not in __all__]:
    if f"{__name__}.{_name}" in _sys.modules:  # a module of ours; a star import may have put another in its place
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"]
    else:
        del globals()[_name]
