"""Dovetail: one graph, every engine."""

import sys as _sys
from importlib import import_module as _import_module
from os.path import basename as _basename
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

__distribution__ = "keras-dovetail"  # pip has another project `dovetail`, so `dovetail.core` looks for this

from dovetail.core.base.version import VERSION as __version__

if _TYPE_CHECKING:
    from dovetail import backend as backend
    from dovetail import batching as batching
    from dovetail import distributed as distributed
    from dovetail import engines as engines
    from dovetail import federated as federated
    from dovetail import onnx as onnx
    from dovetail import ops as ops
    from dovetail import saved_model as saved_model
    from dovetail.autodiff.custom import custom_gradient as custom_gradient
    from dovetail.autodiff.graph_gradients import gradients as gradients
    from dovetail.autodiff.jacobian import hvp as hvp
    from dovetail.autodiff.jacobian import jvp as jvp
    from dovetail.autodiff.recompute import recompute_grad as recompute_grad
    from dovetail.autodiff.tape import GradientTape as GradientTape
    from dovetail.core import dtypes as dtypes
    from dovetail.core import kinds as kinds
    from dovetail.core.base import config as config
    from dovetail.core.base import errors as errors
    from dovetail.core.calls.gradients import RegisterGradient as RegisterGradient
    from dovetail.core.calls.gradients import gradient_override_map as gradient_override_map
    from dovetail.core.calls.user_ops import register_op as register_op
    from dovetail.core.calls.user_ops import unregister_op as unregister_op
    from dovetail.core.engines.devices import set_soft_placement as set_soft_placement
    from dovetail.core.engines.devices import soft_placement as soft_placement
    from dovetail.core.engines.engine_registry import list_engines as list_engines
    from dovetail.core.engines.engine_registry import register_engine as register_engine
    from dovetail.core.engines.engine_registry import set_engine as set_engine
    from dovetail.core.engines.engine_registry import set_threads as set_threads
    from dovetail.core.engines.engine_registry import unregister_engine as unregister_engine
    from dovetail.core.tensor import Tensor as Tensor
    from dovetail.core.values.accounting import MemoryInfo as MemoryInfo
    from dovetail.core.values.accounting import memory_info as memory_info
    from dovetail.core.values.accounting import set_allocator as set_allocator
    from dovetail.core.values.accounting import set_memory_limit as set_memory_limit
    from dovetail.core.values.places import device as device
    from dovetail.core.values.places import engine as engine
    from dovetail.core.values.places import place as place
    from dovetail.core.values.spec import TensorSpec as TensorSpec
    from dovetail.core.values.spec import spec as spec
    from dovetail.core.values.variable import Variable as Variable
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
    from dovetail.ops.random.generator import Generator as Generator
    from dovetail.sessions.session import Session as Session
    from dovetail.sessions.session_graph import SessionGraph as SessionGraph

# Modules → the names that they give to this package, then the hooks that they set.
_LATER = {
    "autodiff.custom": "custom_gradient",
    "autodiff.graph_gradients": "gradients",
    "autodiff.jacobian": "hvp jvp",
    "autodiff.recompute": "recompute_grad",
    "autodiff.tape": "GradientTape",
    "backend": "backend",
    "batching": "batching",
    "core.base.config": "config",
    "core.base.errors": "errors",
    "core.calls.gradients": "RegisterGradient gradient_override_map",
    "core.calls.user_ops": "register_op unregister_op",
    "core.dtypes": "dtypes",
    "core.engines.devices": "set_soft_placement soft_placement",
    "core.engines.engine_registry": "list_engines register_engine set_engine set_threads unregister_engine",
    "core.kinds": "kinds",
    "core.tensor": "Tensor",
    "core.values.accounting": "MemoryInfo memory_info set_allocator set_memory_limit",
    "core.values.places": "device engine place",
    "core.values.spec": "TensorSpec spec",
    "core.values.variable": "Variable",
    "distributed": "distributed",
    "edit.graph": "Graph",
    "edit.patterns": "wildcards",
    "edit.user_pass": "graph_pass",
    "engines": "engines",
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
    "ops": "ops",
    "ops.random.generator": "Generator",
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
    "execute.composite_programs": "run_body",
    "functions.numerics": "numerics",
    "sessions": "run",
    "trace": "assign capture control graph_kind has_unknown_rank read stacked_specs with_unknown_rank",
}
_MODULES = {name: f"dovetail.{module}" for module, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    if name not in _MODULES:
        from dovetail.core.base.errors import did_you_mean

        advice = "" if name.startswith("_") else did_you_mean(name, _MODULES)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {advice}".rstrip(" ."))
    _start()
    module = _import_module(_MODULES[name])
    value = globals()[name] = module if module.__name__ == f"dovetail.{name}" else getattr(module, name, module)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def _forms() -> None:
    modules = "autodiff edit execute.composite_programs functions.function_files functions.plan_files sessions"
    for module in modules.split():
        _import_module(f"dovetail.{module}")


_is_loaded = False


def _start() -> None:
    """Import the ops and the table of engines, and set the hooks, once."""
    global _is_loaded
    if _is_loaded:
        return
    _is_loaded = True
    from dovetail import engines, ops
    from dovetail.core.base import memory, tracebacks
    from dovetail.core.base.hooks import hooks
    from dovetail.core.engines.engine_registry import BUILT_IN
    from dovetail.interop import import_hooks

    BUILT_IN.update(engines.BUILT_IN)
    hooks.owners.update({name: f"dovetail.{owner}" for owner, names in _OWNERS.items() for name in names.split()})
    hooks.forms = _forms
    hooks.tensorflow = lambda: _import_module("dovetail.compat.tensorflow")
    hooks.run_keras = lambda: _import_module("keras_dovetail")
    memory.follow_environment()
    import_hooks.install()
    tracebacks.install()


def _is_command() -> bool:
    """Whether Python was started for the `dovetail` command, which loads the rest when a subcommand needs it."""
    arguments = getattr(_sys, "argv", [])
    program = next(iter(_sys.orig_argv[-len(arguments) :]), "")  # a script, or the module of `-m`
    if arguments[:1] == ["-m"]:  # Python looks for the module
        return program.removeprefix("-m") == "dovetail"
    return arguments[:1] == [program] and _basename(program).partition(".")[0] == "dovetail"


if not _is_command():
    _start()
