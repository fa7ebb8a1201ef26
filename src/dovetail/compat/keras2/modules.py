"""Keras 2's modules, which find their names in Keras 3's modules."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import keras

from dovetail import backend as K
from dovetail.backend.table import FUNCTIONS
from dovetail.compat.keras2 import backend_parts, imported, recurrent, saving, scikit_learn, utils
from dovetail.compat.keras2.merging import merge
from dovetail.compat.keras2.names import INITIALIZATIONS, initialization
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.words import in_old_words
from dovetail.interop.privates import texts
from dovetail.trace import trace

# Keras 2's modules → the modules of Keras 3 in which their names are looked for.
MODULES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        (f"layers.{name}" for name in (
            "core", "convolutional", "convolutional_recurrent", "pooling", "normalization", "embeddings",
            "noise", "local", "advanced_activations", "wrappers", "cudnn_recurrent",
        )),
        (keras.layers, keras.activations),
    ),
    "layers.recurrent": (keras.layers, keras.activations, recurrent),
    "layers.merge": (SimpleNamespace(merge=merge), keras.layers),
    **dict.fromkeys(
        (f"engine{name}" for name in (
            "", ".topology", ".base_layer", ".input_layer", ".network", ".training", ".sequential", ".saving",
        )),
        (keras.layers, keras.models, keras.utils, keras, utils, saving.GROUPS),
    ),
    **dict.fromkeys(
        (f"utils.{name}" for name in (
            "np_utils", "generic_utils", "data_utils", "layer_utils", "vis_utils", "io_utils", "training_utils",
            "conv_utils", "multi_gpu_utils", "visualize_util", "test_utils",
        )),
        (keras.utils, utils),
    ),
    "objectives": (keras.losses,),
    "initializations": (SimpleNamespace(get=initialization, **{n: initialization(n) for n in INITIALIZATIONS}),),
    **dict.fromkeys(("backend.common", "backend.tensorflow_backend"), (keras.backend,)),
    "callbacks.callbacks": (keras.callbacks,),
    "legacy": (),
    "legacy.layers": (keras.layers,),
    "legacy.interfaces": (imported.INTERFACES,),
    "optimizers.legacy": (keras.optimizers,),
    **dict.fromkeys(
        ("optimizer_v2", "optimizer_v2.optimizer_v2"),
        (SimpleNamespace(OptimizerV2=keras.optimizers.Optimizer), keras.optimizers),
    ),
    "backend_config": (keras.backend,),
    "wrappers.scikit_learn": (scikit_learn,),
    "applications.mobilenetv2": (keras.applications.mobilenet_v2,),
    "preprocessing.text": (texts,),
}  # fmt: skip


# Keras 1's words for the arguments of K's functions, and the new ones.
OF_K = "dim_ordering:data_format border_mode:padding std:stddev -image_shape -filter_shape"
NEW_WORDS = {"data_format", "padding", "stddev"}


class _Module(ModuleType):
    """A module of Keras 2, which finds its names in Keras 3."""

    def __init__(self, name: str, sources: tuple[Any, ...]) -> None:
        super().__init__(name, f"Names of Keras 2's module {name}, as Keras 3 has them.")
        self.__path__: list[str] = []  # other modules may be inside this one
        self._sources = sources

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of the module's name, for which Keras 1 has the module's name in the package."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [name for source in self._sources for name in dir(source) if not name.startswith("_")]
        for source in self.__dict__.get("_sources", ()):
            if hasattr(source, name):
                return getattr(source, name)
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
    of_keras1 = {
        name: in_old_words(function, OF_K)
        for name, function in FUNCTIONS.items()
        if NEW_WORDS & inspect.signature(function).parameters.keys()
    }
    own = {
        "asymmetric_temporal_padding": lambda x, left_pad=1, right_pad=1: K.temporal_padding(x, (left_pad, right_pad)),
        "clear_session": _clear_session,
        "variable": _variable,
        "__getattr__": backend_parts.late,
    }
    yield from methods(keras.backend, **{**FUNCTIONS, **of_keras1, **own})


def _variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A variable; a constant where a layer's call can make none, as Keras 2 called a layer once and Keras 3 often."""
    try:
        return K.variable(value, dtype, name, constraint)
    except ValueError:
        if trace.current_graph() is None:
            raise
        return K.constant(value, dtype, name=name)


def _clear_session() -> None:
    """Close K's default graph, and forget the names and the state that Keras keeps."""
    K.clear_session()
    keras.utils.clear_session()
