"""Dovetail: one graph, every engine."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from dovetail import batching, engines, ops
from dovetail.autodiff.custom import custom_gradient
from dovetail.autodiff.graph_gradients import gradients
from dovetail.autodiff.jacobian import hvp, jvp
from dovetail.autodiff.recompute import recompute_grad
from dovetail.autodiff.tape import GradientTape
from dovetail.core import config, dtypes, errors, kinds
from dovetail.core import memory as _memory
from dovetail.core.accounting import MemoryInfo, memory_info, set_allocator, set_memory_limit
from dovetail.core.devices import set_soft_placement, soft_placement
from dovetail.core.engine_registry import BUILT_IN as _BUILT_IN
from dovetail.core.engine_registry import list_engines, register_engine, set_engine, set_threads, unregister_engine
from dovetail.core.gradients import RegisterGradient, gradient_override_map
from dovetail.core.hooks import hooks as _hooks
from dovetail.core.places import device, engine, place
from dovetail.core.spec import TensorSpec, spec
from dovetail.core.tensor import Tensor
from dovetail.core.user_ops import register_op, unregister_op
from dovetail.core.variable import Variable
from dovetail.core.version import VERSION as __version__
from dovetail.edit.graph import Graph
from dovetail.edit.patterns import wildcards
from dovetail.edit.user_pass import graph_pass
from dovetail.formats.saved import load, save
from dovetail.functions.faults import NumericsError
from dovetail.functions.function import function
from dovetail.functions.numerics import check_numerics
from dovetail.functions.taps import tap, taps
from dovetail.functions.traced import TracedFunction as _TracedFunction
from dovetail.graph import walk
from dovetail.interop import import_hooks
from dovetail.interop.models import flops, graph_of, predict_by
from dovetail.observe.locality import locality
from dovetail.observe.profile import profile
from dovetail.ops.random.generator import Generator
from dovetail.sessions.session import Session
from dovetail.sessions.session_graph import SessionGraph

_BUILT_IN.update(engines.BUILT_IN)
_memory.follow_environment()
import_hooks.install()
_hooks.tensorflow = lambda: _import_module("dovetail.compat.tensorflow")
_hooks.run_keras = lambda: _import_module("keras_dovetail")


if _TYPE_CHECKING:
    from dovetail.observe.explain import explain as explain

_LATER = {  # names → modules imported on first use
    "backend": "dovetail.backend",
    "distributed": "dovetail.distributed",
    "explain": "dovetail.observe.explain",
    "federated": "dovetail.federated",
    "onnx": "dovetail.onnx",
    "saved_model": "dovetail.saved_model",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(_LATER[name])
    return module if _LATER[name] == f"dovetail.{name}" else getattr(module, name)
