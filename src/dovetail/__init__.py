"""Dovetail: one graph, every engine."""

from dovetail import config, ops
from dovetail.autodiff.custom import custom_gradient
from dovetail.autodiff.graph_gradients import gradients
from dovetail.autodiff.jacobian import hvp, jvp
from dovetail.autodiff.recompute import recompute_grad
from dovetail.autodiff.registry import RegisterGradient, gradient_override_map
from dovetail.autodiff.tape import GradientTape
from dovetail.engines import engine, engines, set_engine
from dovetail.function import function
from dovetail.generator import Generator
from dovetail.graph.ir import Graph
from dovetail.graph.patterns import wildcards
from dovetail.interop import companions
from dovetail.ops.spec import TensorSpec, spec
from dovetail.tensor import Tensor
from dovetail.variable import Variable

companions.install()
