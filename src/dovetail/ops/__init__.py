"""The ops: every function here computes on eager values, records on graph tensors, and works on engines' own values."""

from dovetail.ops import operators as _operators
from dovetail.ops.basic import *
from dovetail.ops.compare import *
from dovetail.ops.create import *
from dovetail.ops.index import *
from dovetail.ops.join import *
from dovetail.ops.linalg import *
from dovetail.ops.math import *
from dovetail.ops.op import OPS
from dovetail.ops.reduce import *
from dovetail.ops.shape import *
from dovetail.ops.slicing import *
from dovetail.ops.subscript import getitem
