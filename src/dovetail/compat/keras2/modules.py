"""Keras 2's modules, which find their names in Keras 3's modules."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import keras

from dovetail import backend as K
from dovetail.backend.table import FUNCTIONS
from dovetail.compat.keras2 import imported, scikit_learn, utils
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.interop.privates import ThresholdedReLU, saving_utils, texts

# Keras 2's modules → the modules of Keras 3 in which their names are looked for.
MODULES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        (f"layers.{name}" for name in (
            "core", "convolutional", "convolutional_recurrent", "pooling", "recurrent", "normalization", "embeddings",
            "merge", "noise", "local", "advanced_activations", "wrappers", "cudnn_recurrent",
        )),
        (keras.layers, keras.activations),
    ),
    **dict.fromkeys(
        (f"engine{name}" for name in (
            "", ".topology", ".base_layer", ".input_layer", ".network", ".training", ".sequential", ".saving",
        )),
        (keras.layers, keras.models, keras.utils, keras, utils),
    ),
    **dict.fromkeys(
        (f"utils.{name}" for name in (
            "np_utils", "generic_utils", "data_utils", "layer_utils", "vis_utils", "io_utils", "training_utils",
            "conv_utils", "multi_gpu_utils", "visualize_util",
        )),
        (keras.utils, utils),
    ),
    "objectives": (keras.losses,),
    "backend.tensorflow_backend": (K,),
    "callbacks.callbacks": (keras.callbacks,),
    "legacy": (),
    "legacy.interfaces": (imported.INTERFACES,),
    "optimizers.legacy": (keras.optimizers,),
    "wrappers.scikit_learn": (scikit_learn,),
    "applications.mobilenetv2": (keras.applications.mobilenet_v2,),
    "preprocessing.text": (texts,),
}  # fmt: skip

# Names without a counterpart in Keras 3 → the replacement to write.
GONE = {
    "CuDNNLSTM": "keras.layers.LSTM, which takes a fused kernel where there is one",
    "CuDNNGRU": "keras.layers.GRU, which takes a fused kernel where there is one",
    "LocallyConnected1D": "a layer whose call uses K.local_conv1d",
    "LocallyConnected2D": "a layer whose call uses K.local_conv2d",
    "Merge": "keras.layers.Concatenate, Add or another layer of its kind",
    "MaxoutDense": "a Dense layer, K.reshape and K.max",
    "Highway": "a layer of two Dense layers",
}


class _Module(ModuleType):
    """A module of Keras 2, which finds its names in Keras 3."""

    def __init__(self, name: str, sources: tuple[Any, ...]) -> None:
        super().__init__(name, f"Names of Keras 2's module {name}, as Keras 3 has them.")
        self.__path__: list[str] = []  # other modules may be inside this one
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [name for source in self._sources for name in dir(source) if not name.startswith("_")]
        for source in self.__dict__.get("_sources", ()):
            if hasattr(source, name):
                return getattr(source, name)
        if name in GONE:
            raise ImportError(f"Keras 3 has no {name}: use {GONE[name]}.")
        raise AttributeError(f"{self.__name__}, a module of Keras 2, has no {name!r} in Keras 3.")


def _old_modules() -> Iterable[Patch]:
    """Yield the entries of `sys.modules`, and of the modules above them, that make the modules importable."""
    made: dict[str, _Module] = {}
    for path, sources in MODULES.items():
        name = f"keras.{path}"
        parent, _, last = name.rpartition(".")
        module = made[name] = _Module(name, sources)
        yield Patch(sys.modules, name, module)
        yield Patch(made.get(parent) or sys.modules[parent], last, module)


def patches() -> Iterable[Patch]:
    """Yield names that modules of Keras 3 lack.  K's functions replace the functions of `keras.backend`."""
    yield from _old_modules()
    yield from methods(keras.backend, **{**FUNCTIONS, "clear_session": _clear_session})
    yield Patch(keras.layers, "ThresholdedReLU", ThresholdedReLU)
    yield Patch(keras.models, "Input", keras.Input)
    yield Patch(keras.models, "model_from_config", _model_from_config)


def _clear_session() -> None:
    """Close K's default graph, and forget the names and the state that Keras keeps."""
    K.clear_session()
    keras.utils.clear_session()


def _model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of a configuration, uncompiled and with new weights.

    Args:
        config: `{"class_name": type(model).__name__, "config": model.get_config()}`.
        custom_objects: classes and functions of the program, by name.

    Raises:
        TypeError: `config` is the list of a Sequential's layers.

    Source: `keras.models.model_from_config` of Keras 2.3.
    """
    if isinstance(config, list):
        raise TypeError(
            "model_from_config takes a dict; for a list of layers use keras.Sequential.from_config(config)."
        )
    if "module" in config:  # Keras 3's own form
        return keras.saving.deserialize_keras_object(config, custom_objects=custom_objects)
    return saving_utils.model_from_config(copy.deepcopy(config), custom_objects)
