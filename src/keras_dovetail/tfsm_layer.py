"""`keras.layers.TFSMLayer` on Dovetail: a layer that runs a function of a SavedModel, without TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

import dovetail
from dovetail.core.values.variable import Variable as State
from keras_dovetail.src.variable import Variable

if TYPE_CHECKING:
    from dovetail.saved_model import LoadedModel, RestoredFunction, Signature


def run_on_dovetail(module: ModuleType) -> None:
    """Let Keras' layer, which needs TensorFlow, run on Dovetail.

    Args:
        module: `keras.src.export.tfsm_layer`, which has just been imported.
    """
    layer: Any = module
    base = layer.layers.Layer

    def __init__(
        self: Any,
        filepath: str | os.PathLike[str],
        call_endpoint: str = "serve",
        call_training_endpoint: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        base.__init__(self, trainable=trainable, name=name, dtype=dtype)
        loaded = dovetail.saved_model.load(filepath)  # imported here: `import keras` does without it
        self.filepath = os.fspath(filepath)
        self.call_endpoint, self.call_training_endpoint = call_endpoint, call_training_endpoint
        self.call_endpoint_fn = endpoint(loaded, call_endpoint)
        self.call_training_endpoint_fn = endpoint(loaded, call_training_endpoint or call_endpoint)
        for variable in _variables(self.call_endpoint_fn, self.call_training_endpoint_fn):
            self._track_variable(Variable.holding(variable))
        self._build_at_init()

    def call(self: Any, inputs: Any, training: bool = False, **kwargs: Any) -> Any:
        function = self.call_training_endpoint_fn if training else self.call_endpoint_fn
        if _is_function(function):
            return function(inputs, **kwargs)
        if isinstance(inputs, Mapping):
            return function(**inputs, **kwargs)
        return function(*inputs, **kwargs) if isinstance(inputs, (list, tuple)) else function(inputs, **kwargs)

    def from_config(cls: Any, config: Any, custom_objects: Any = None, safe_mode: Any = None) -> Any:
        return cls(**config)

    layer.TFSMLayer.__init__, layer.TFSMLayer.call = __init__, call
    layer.TFSMLayer.from_config = classmethod(from_config)


def endpoint(loaded: LoadedModel, name: str) -> RestoredFunction | Signature:
    """A function or a signature of a model.

    Raises:
        ValueError: it has none of this name.
    """
    function = getattr(loaded, name, None)
    if _is_function(function):
        return function
    if name in loaded.signatures:
        return loaded.signatures[name]
    known = [*loaded.signatures, *(each for each in dir(loaded) if _is_function(getattr(loaded, each)))]
    problem = f"the endpoint {name!r} is no function and no signature of {loaded!r}"
    raise ValueError(f"TFSMLayer: {problem}: say call_endpoint={' or '.join(map(repr, known)) or 'nothing'}.")


def _is_function(value: Any) -> TypeGuard[RestoredFunction]:
    return isinstance(value, dovetail.saved_model.RestoredFunction)


def _variables(*functions: Any) -> list[State]:
    """The variables of some functions, in the order of their first use."""
    graphs = [one.graph for f in functions for one in (f.signatures if _is_function(f) else [f])]
    parts = [part for graph in graphs for part in graph.everywhere()]
    used = [value for part in parts for operation in part.operations for value in operation.attrs.values()]
    return list(dict.fromkeys(value for value in used if isinstance(value, State)))
