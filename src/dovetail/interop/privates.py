"""The parts of Keras that are not public: `from dovetail.interop.privates import KerasTensor` imports one.

All that Dovetail uses of `keras.src` stands here, so a new version of Keras is checked in one place.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

TESTED = ("3.15.1", "3.16")  # versions of Keras; a part of Keras is imported when it is first used

# Name → the module of Keras, and the name in it unless the module itself is meant; a newer name comes first.
PRIVATES = {
    "version": "keras.src.version:__version__",
    # dtypes, settings, structures
    "config": "keras.src.backend.config",
    "floatx": "keras.src.backend.config:floatx",
    "standardize_data_format": "keras.src.backend.config:standardize_data_format",
    "dtypes": "keras.src.backend.common.dtypes",
    "standardize_dtype": "keras.src.backend.common.variables:standardize_dtype",
    "tree": "keras.src.tree",
    # tensors, variables, scopes
    "KerasTensor": "keras.src.backend.common.keras_tensor:KerasTensor",
    "any_symbolic_tensors": "keras.src.backend.common.keras_tensor:any_symbolic_tensors",
    "KerasVariable": "keras.src.backend.common.variables:Variable",
    "PublicVariable": "keras.src.backend:Variable",
    "StatelessScope": "keras.src.backend.common.stateless_scope:StatelessScope",
    "get_stateless_scope": "keras.src.backend.common.stateless_scope:get_stateless_scope",
    "SymbolicScope": "keras.src.backend.common.symbolic_scope:SymbolicScope",
    "get_keras_mask": "keras.src.backend.common.masking:get_keras_mask",
    "name_scope": "keras.src.backend.common.name_scope:name_scope",
    "global_state": "keras.src.backend.common.global_state",
    # tables of strings
    "losses": "keras.src.losses",
    "metrics": "keras.src.metrics",
    "loss_module": "keras.src.losses.loss",
    "metric_module": "keras.src.metrics.metric",
    "reduction_metrics": "keras.src.metrics.reduction_metrics",
    "initializers": "keras.src.initializers",
    "constraints": "keras.src.constraints",
    "regularizers": "keras.src.regularizers",
    # functions of a backend
    "own_backend": "keras.src.backend",
    "backend_nn": "keras.src.backend:nn",
    "canonicalize_axis": "keras.src.backend.common.backend_utils:canonicalize_axis",
    "check_conv_input_channels": "keras.src.backend.common.backend_utils:check_conv_input_channels",
    "check_conv_transpose_input_channels": "keras.src.backend.common.backend_utils:check_conv_transpose_input_channels",
    "vectorize_impl": "keras.src.backend.common.backend_utils:vectorize_impl",
    "activations": "keras.src.activations",
    "SeedGenerator": "keras.src.random.seed_generator:SeedGenerator",
    "draw_seed": "keras.src.random.seed_generator:draw_seed",
    "make_default_seed": "keras.src.random.seed_generator:make_default_seed",
    # layers, models, optimizers
    "image_layers": "keras.src.layers.preprocessing.image_preprocessing.base_image_preprocessing_layer",
    "get_input_signature": "keras.src.export.export_utils:get_input_signature",
    "make_input_spec": "keras.src.export.export_utils:make_input_spec",
    "normalize_dynamic_shapes": "keras.src.export.torch:_normalize_dynamic_shapes",
    "operations": "keras.src.ops",
    "Operation": "keras.src.ops.operation:Operation",
    "operation": "keras.src.ops.operation",
    "naming": "keras.src.utils.naming",
    "Function": "keras.src.ops.function:Function",
    "map_graph": "keras.src.ops.function:map_graph",
    "Node": "keras.src.ops.node:Node",
    "functional": "keras.src.models.functional",
    "Functional": "keras.src.models.functional:Functional",
    "Model": "keras.src.models.model:Model",
    "Sequential": "keras.src.models.sequential:Sequential",
    "BaseOptimizer": "keras.src.optimizers.base_optimizer:BaseOptimizer",
    "Adam": "keras.src.optimizers.adam:Adam",
    "SGD": "keras.src.optimizers.sgd:SGD",
    "Optimizer": "keras.src.optimizers:Optimizer",
    "no_automatic_dependency_tracking": "keras.src.utils.tracking:no_automatic_dependency_tracking",
    "TrackedList": "keras.src.utils.tracking:TrackedList",
    "TrackedDict": "keras.src.utils.tracking:TrackedDict",
    "TrackedSet": "keras.src.utils.tracking:TrackedSet",
    # training
    "BaseTrainer": "keras.src.trainers.trainer:BaseTrainer or Trainer",
    "EpochIterator": "keras.src.trainers.epoch_iterator:EpochIterator",
    "DataAdapter": "keras.src.trainers.data_adapters.data_adapter:DataAdapter",
    "ArrayDataAdapter": "keras.src.trainers.data_adapters.array_data_adapter:ArrayDataAdapter",
    "array_slicing": "keras.src.trainers.data_adapters.array_slicing",
    "lazy_tensorflow": "keras.src.utils.module_utils:tensorflow",
    "data_adapter_utils": "keras.src.trainers.data_adapters.data_adapter_utils",
    "LossFunctionWrapper": "keras.src.losses.losses:LossFunctionWrapper",
    "CompileLoss": "keras.src.trainers.compile_utils:CompileLoss",
    "CompileMetrics": "keras.src.trainers.compile_utils:CompileMetrics",
    "CallbackList": "keras.src.callbacks:CallbackList",
    "BackupAndRestore": "keras.src.callbacks:BackupAndRestore",
    "Callback": "keras.src.callbacks:Callback",
    "MonitorCallback": "keras.src.callbacks.monitor_callback:MonitorCallback",
    "LambdaCallback": "keras.src.callbacks:LambdaCallback",
    "ProgbarLogger": "keras.src.callbacks:ProgbarLogger",
    "is_default": "keras.src.utils.python_utils:is_default",
    "python_utils": "keras.src.utils.python_utils",
    "pythonify_logs": "keras.src.utils.python_utils:pythonify_logs",
    "filter_traceback": "keras.src.utils.traceback_utils:filter_traceback",
    # Keras 2's names and files
    "BaseConv": "keras.src.layers.convolutional.base_conv:BaseConv",
    "Merge": "keras.src.layers.merging.base_merge:Merge",
    "ThresholdedReLU": "keras.src.legacy.layers:ThresholdedReLU",
    "saving_utils": "keras.src.legacy.saving.saving_utils",
    "h5_groups": "keras.src.legacy.saving.legacy_h5_format",
    "saving_lib": "keras.src.saving.saving_lib",
    "walk_saveable": "keras.src.saving.saving_lib:_walk_saveable",
    "images": "keras.src.legacy.preprocessing.image",
    "sequences": "keras.src.legacy.preprocessing.sequence",
    "texts": "keras.src.legacy.preprocessing.text",
    "standardize_tuple": "keras.src.utils.argument_validation:standardize_tuple",
    "file_utils": "keras.src.utils.file_utils",
    "io_utils": "keras.src.utils.io_utils",
    "summary_utils": "keras.src.utils.summary_utils",
    "obtain_input_shape": "keras.src.applications.imagenet_utils:obtain_input_shape",
    # modules that Dovetail changes, or looks for without importing them
    "rng_utils": "keras.src.utils.rng_utils",
    "function": "keras.src.ops.function",
    "sequential": "keras.src.models.sequential",
}


class MissingPrivate(RuntimeError):
    """An error for a version of Keras without a part that Dovetail uses.

    It is no ImportError, since Keras replaces those of a backend by the advice to install the backend.
    """


def find(name: str) -> Any:
    """A part of Keras by its name in the table.

    Raises:
        MissingPrivate: this version of Keras does not have it.
    """
    place, _, names = PRIVATES[name].partition(":")
    try:
        module = import_module(place)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("keras.src."):
            raise
        raise _missing(str(error.name)) from None
    if not names:
        return module
    for each in names.split(" or "):
        if hasattr(module, each):
            return getattr(module, each)
    raise _missing(f"{place}.{names}")


def _missing(what: str) -> MissingPrivate:
    return MissingPrivate(
        f"Keras {find('version')} has no {what}, which Dovetail uses. "
        f"It is tested with Keras {' and '.join(TESTED)}: pip install keras=={TESTED[0]}"
    )


def loaded(name: str) -> ModuleType | None:
    """A module of the table, if the program has imported Keras; else None."""
    return sys.modules.get(PRIVATES[name])


def missing() -> list[str]:
    """Check the whole table, and return a message for each part that the installed Keras does not have.

    It imports all of Keras that Dovetail uses, so it takes seconds.
    """
    problems = []
    for name in PRIVATES:
        try:
            find(name)
        except MissingPrivate as problem:
            problems.append(str(problem))
    return problems


def __getattr__(name: str) -> Any:
    if name not in PRIVATES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = part = find(name)
    return part
