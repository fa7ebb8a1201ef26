"""The ops: every function here computes on eager values, records on graph tensors, and works on engines' own values."""

from dovetail.ops import operators as _operators
from dovetail.ops.basic import *
from dovetail.ops.compare import *
from dovetail.ops.linalg import *
from dovetail.ops.math import *
from dovetail.ops.op import OPS
from dovetail.ops.reduce import *
from dovetail.ops.shape import *
