"""Dovetail: one graph, every engine."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from dovetail import engines, ops
from dovetail.core import dtypes, kinds
from dovetail.core.base import config, errors
from dovetail.core.base import memory as _memory
from dovetail.core.base.hooks import hooks as _hooks
from dovetail.core.base.version import VERSION as __version__
from dovetail.core.calls.gradients import RegisterGradient, gradient_override_map
from dovetail.core.calls.user_ops import register_op, unregister_op
from dovetail.core.engines.devices import set_soft_placement, soft_placement
from dovetail.core.engines.engine_registry import BUILT_IN as _BUILT_IN
from dovetail.core.engines.engine_registry import (
    list_engines,
    register_engine,
    set_engine,
    set_threads,
    unregister_engine,
)
from dovetail.core.tensor import Tensor
from dovetail.core.values.accounting import MemoryInfo, memory_info, set_allocator, set_memory_limit
from dovetail.core.values.places import device, engine, place
from dovetail.core.values.spec import TensorSpec, spec
from dovetail.core.values.variable import Variable
from dovetail.interop import import_hooks
from dovetail.ops.random.generator import Generator

if _TYPE_CHECKING:
    from dovetail import backend as backend
    from dovetail import batching as batching
    from dovetail import distributed as distributed
    from dovetail import federated as federated
    from dovetail import onnx as onnx
    from dovetail import saved_model as saved_model
    from dovetail.autodiff.custom import custom_gradient as custom_gradient
    from dovetail.autodiff.graph_gradients import gradients as gradients
    from dovetail.autodiff.jacobian import hvp as hvp
    from dovetail.autodiff.jacobian import jvp as jvp
    from dovetail.autodiff.recompute import recompute_grad as recompute_grad
    from dovetail.autodiff.tape import GradientTape as GradientTape
    from dovetail.edit.graph import Graph as Graph
    from dovetail.edit.patterns import wildcards as wildcards
    from dovetail.edit.user_pass import graph_pass as graph_pass
    from dovetail.formats.saved import load as load
    from dovetail.formats.saved import save as save
    from dovetail.functions.faults import NumericsError as NumericsError
    from dovetail.functions.function import function as function
    from dovetail.functions.numerics import check_numerics as check_numerics
    from dovetail.functions.taps import tap as tap
    from dovetail.functions.taps import taps as taps
    from dovetail.graph import walk as walk
    from dovetail.interop.models import flops as flops
    from dovetail.interop.models import graph_of as graph_of
    from dovetail.interop.models import predict_by as predict_by
    from dovetail.observe.explain import explain as explain
    from dovetail.observe.locality import locality as locality
    from dovetail.observe.profile import profile as profile
    from dovetail.sessions.session import Session as Session
    from dovetail.sessions.session_graph import SessionGraph as SessionGraph

# Modules that are imported on first use → the names that they give to this package, then the hooks that they set.
_LATER = {
    "autodiff.custom": "custom_gradient",
    "autodiff.graph_gradients": "gradients",
    "autodiff.jacobian": "hvp jvp",
    "autodiff.recompute": "recompute_grad",
    "autodiff.tape": "GradientTape",
    "backend": "backend",
    "batching": "batching",
    "distributed": "distributed",
    "edit.graph": "Graph",
    "edit.patterns": "wildcards",
    "edit.user_pass": "graph_pass",
    "federated": "federated",
    "formats.saved": "load save",
    "functions.faults": "NumericsError",
    "functions.function": "function",
    "functions.numerics": "check_numerics",
    "functions.taps": "tap taps",
    "graph.walk": "walk",
    "interop.models": "flops graph_of predict_by",
    "observe.explain": "explain",
    "observe.locality": "locality",
    "observe.profile": "profile",
    "onnx": "onnx",
    "saved_model": "saved_model",
    "sessions.session": "Session",
    "sessions.session_graph": "SessionGraph",
}
_OWNERS = {
    "autodiff": "gradients",
    "autodiff.through": "gradients_through",
    "batching": "batched",
    "compat.tf_graph": "new_tensorflow_graph old_shape shape_proto variable_made",
    "edit": "add_output body_of change check_held_outputs new_graph order_before own_subgraph",
    "execute": "run_body",
    "functions.numerics": "numerics",
    "sessions": "run",
    "trace": "assign capture control graph_kind has_unknown_rank read stacked_specs with_unknown_rank",
}
_MODULES = {name: f"dovetail.{module}" for module, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(_MODULES[name])
    value = globals()[name] = module if module.__name__ == f"dovetail.{name}" else getattr(module, name, module)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def _forms() -> None:
    for module in ("edit", "execute", "functions.function_files", "functions.plan_files", "sessions"):
        _import_module(f"dovetail.{module}")


_BUILT_IN.update(engines.BUILT_IN)
_hooks.owners.update({name: f"dovetail.{owner}" for owner, names in _OWNERS.items() for name in names.split()})
_hooks.forms = _forms
_hooks.tensorflow = lambda: _import_module("dovetail.compat.tensorflow")
_hooks.run_keras = lambda: _import_module("keras_dovetail")
_memory.follow_environment()
import_hooks.install()
