"""Dovetail: one graph, every engine."""

from dovetail import ops
from dovetail.autodiff.graph_gradients import gradients
from dovetail.autodiff.tape import GradientTape
from dovetail import config
from dovetail.engines import engine, engines, set_engine
from dovetail.function import function
from dovetail.graph.ir import Graph
from dovetail.graph.patterns import wildcards
from dovetail.ops.spec import TensorSpec, spec
from dovetail.tensor import Tensor
from dovetail.variable import Variable
