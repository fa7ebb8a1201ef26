"""Keras 2's names in Keras 3: `import dovetail.compat.keras2` before a program that was written for them.

Modules that are gone, as `keras.engine` and `keras.layers.core`, find their classes where Keras 3 has them;
`keras.backend` is K; optimizers take `lr` and `decay`, and have `get_updates`, also one of their own; layers have
`add_update`.  What Keras 3 cannot do raises an error that says what to write instead.

    import dovetail.compat.keras2
    from keras.layers.core import Dense
    from keras.optimizers import SGD
    SGD(lr=0.1, decay=1e-3)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import keras
from keras.src.models.functional import Functional

from dovetail import backend as K
from dovetail.backend.table import FUNCTIONS
from dovetail.compat import keras2_optimizers

# Keras 2's modules → where in Keras 3 their names are looked for.
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
        (keras.layers, keras.models, keras.utils, keras),
    ),
    **dict.fromkeys(
        (f"utils.{name}" for name in (
            "np_utils", "generic_utils", "data_utils", "layer_utils", "vis_utils", "io_utils", "training_utils",
        )),
        (keras.utils,),
    ),
    "objectives": (keras.losses,),
    "backend.tensorflow_backend": (K,),
    "callbacks.callbacks": (keras.callbacks,),
    "legacy": (),
    "legacy.interfaces": (SimpleNamespace(legacy_get_updates_support=lambda get_updates: get_updates),),
    "optimizers.legacy": (keras.optimizers,),
    "wrappers.scikit_learn": (),
    "preprocessing.text": (),
}  # fmt: skip

# Names that Keras 3 has no counterpart of → what to write.
GONE = {
    "CuDNNLSTM": "keras.layers.LSTM, which takes a fused kernel where there is one",
    "CuDNNGRU": "keras.layers.GRU, which takes a fused kernel where there is one",
    "LocallyConnected1D": "a layer whose call uses K.local_conv1d",
    "LocallyConnected2D": "a layer whose call uses K.local_conv2d",
    "KerasClassifier": "keras.wrappers.SKLearnClassifier(model, fit_kwargs={...})",
    "KerasRegressor": "keras.wrappers.SKLearnRegressor(model, fit_kwargs={...})",
    "Tokenizer": "keras.layers.TextVectorization",
    "one_hot": "keras.layers.TextVectorization",
    "text_to_word_sequence": "str.split, or keras.layers.TextVectorization",
    "multi_gpu_model": "keras.distribution, or one model for each device",
    "Merge": "keras.layers.Concatenate, Add or another layer of its kind",
    "MaxoutDense": "a Dense layer, K.reshape and K.max",
    "Highway": "a layer of two Dense layers",
}


class _Module(ModuleType):
    """A module of Keras 2, which finds its names in Keras 3."""

    def __init__(self, name: str, sources: tuple[Any, ...]) -> None:
        super().__init__(name, f"Names of Keras 2's module {name}, as Keras 3 has them.")
        self.__path__: list[str] = []  # others may be inside of it
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        for source in self.__dict__.get("_sources", ()):
            if hasattr(source, name):
                return getattr(source, name)
        if name in GONE:
            raise ImportError(f"Keras 3 has no {name}: use {GONE[name]}.")
        raise AttributeError(f"{self.__name__}, a module of Keras 2, has no {name!r} in Keras 3.")


def _install_modules() -> None:
    for path, sources in MODULES.items():
        name = f"keras.{path}"
        parent, _, last = name.rpartition(".")
        module = sys.modules[name] = _Module(name, sources)
        setattr(sys.modules[parent], last, module)


def _install_k() -> None:
    """Makes `keras.backend` K: its functions go before what Keras 3 has there under their names."""
    for name, function in FUNCTIONS.items():
        setattr(keras.backend, name, function)
    keras.backend.clear_session = _clear_session


def _clear_session() -> None:
    """Closes K's default graph, and forgets the names and the state that Keras keeps."""
    K.clear_session()
    keras.utils.clear_session()


# -- layers, models and tensors ---------------------------------------------------------------------------------------


def _install_layers() -> None:
    layer: Any = keras.layers.Layer
    model: Any = keras.Model
    layer.add_weight = _with_name_first(layer.add_weight)
    layer.add_update = _add_update
    Functional.add_loss = _refuse_symbolic_loss
    model.fit_generator = _generator_method("fit")
    model.evaluate_generator = _generator_method("evaluate")
    model.predict_generator = _generator_method("predict")
    keras.KerasTensor._keras_shape = property(lambda self: tuple(self.shape))


def _with_name_first(add_weight: Callable[..., Any]) -> Callable[..., Any]:
    """A layer's `add_weight`, which in Keras 2 took the name before the shape."""

    @functools.wraps(add_weight)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], str):
            args, kwargs = args[1:], {**kwargs, "name": args[0]}
        return add_weight(self, *args, **kwargs)

    return call


def _add_update(self: Any, updates: Any, inputs: Any = None) -> None:
    """Assigns variables: pairs of a variable and its new value; what `K.update` made is done already.

    Args:
        updates: one, or a list of them.
        inputs: does not matter, as updates belong to the call in which they are made.

    Source: `keras.layers.Layer.add_update` of Keras 2.3.
    """
    for update in updates if isinstance(updates, list) else [updates]:
        if isinstance(update, tuple):
            variable, value = update
            variable.assign(value)


def _refuse_symbolic_loss(self: Any, losses: Any, inputs: Any = None) -> NoReturn:
    raise NotImplementedError(
        "Keras 3 has no losses that are tensors of a functional model: make a layer whose call(self, x) computes the "
        "loss, calls self.add_loss(loss) and returns x, and put it where the loss is computed."
    )


def _generator_method(name: str) -> Callable[..., Any]:
    """`fit_generator` and its like: the method itself, which takes generators, without what it has no use for."""

    def call(self: Any, generator: Any, *args: Any, **kwargs: Any) -> Any:
        for unused in ("max_queue_size", "workers", "use_multiprocessing"):
            kwargs.pop(unused, None)
        steps = {"fit": "steps_per_epoch"}.get(name, "steps")
        if args:
            args, kwargs = args[1:], {**kwargs, steps: args[0]}
        if args:
            raise TypeError(f"{name}_generator takes what is behind the number of steps by name.")
        return getattr(self, name)(generator, **kwargs)

    return call


if "keras.engine" not in sys.modules:
    _install_k()
    _install_modules()
    keras2_optimizers.install()
    _install_layers()
