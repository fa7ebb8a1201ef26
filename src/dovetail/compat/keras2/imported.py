"""Names that Keras 2's modules had from their imports: `from keras.layers import *` also gave `K` and `np`."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import keras

from dovetail.compat.keras2 import utils
from dovetail.compat.keras2.patches import Patch
from dovetail.interop.privates import obtain_input_shape

# Modules that Keras 3 has too → names that they also had in Keras 2.1 or 2.2.
NAMES = {
    "layers": "K np copy python_types warnings activations constraints initializers regularizers interfaces conv_utils "
    "deserialize_keras_object has_arg",
    "models": "K np os json copy warnings optimizers layer_module interfaces Layer InputLayer has_arg to_list",
    "callbacks": "K np os sys io csv json time warnings deque Iterable OrderedDict Progbar",
    "metrics losses constraints regularizers": "K deserialize_keras_object serialize_keras_object",
    "activations": "K warnings Layer",
    "optimizers": "K copy interfaces",
    "initializers": "K np",
    "datasets.mnist datasets.fashion_mnist datasets.boston_housing": "np get_file",
    "datasets.cifar10 datasets.cifar100": "K np os get_file",
    "datasets.imdb datasets.reuters": "np json warnings get_file",
    "applications": "backend layers models utils",
    "applications.imagenet_utils": "K np json warnings get_file _obtain_input_shape",
    "applications.vgg16 applications.vgg19 applications.xception": "K os warnings get_file _obtain_input_shape",
    "applications.inception_v3 applications.resnet50": "K os warnings get_file _obtain_input_shape",
    "applications.mobilenet": "K os warnings get_file _obtain_input_shape relu6 DepthwiseConv2D",
    "preprocessing.image": "K np os re threading warnings",
    "preprocessing.sequence": "np random",
    "utils": "convert_all_kernels_in_model print_summary multi_gpu_model HDF5Matrix GeneratorEnqueuer OrderedEnqueuer "
    "plot_model to_categorical",
}


class _Interfaces:
    """`keras.legacy.interfaces`: its decorators of layers do nothing, as layers take old arguments themselves."""

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        if not name.startswith("legacy_"):
            raise AttributeError(name)
        return lambda function: function


def _obtain_input_shape(*args: Any, **kwargs: Any) -> Any:
    """The shape of a model's images; up to Keras 2.0 the last argument was `include_top`."""
    if "include_top" in kwargs:
        kwargs["require_flatten"] = kwargs.pop("include_top")
    return obtain_input_shape(*args, **kwargs)


INTERFACES = _Interfaces()

# Names whose values are neither in `keras` or `utils` nor modules of Python.
VALUES = {
    "K": keras.backend,
    "Iterable": Iterable,
    "OrderedDict": collections.OrderedDict,
    "deque": collections.deque,
    "conv_utils": utils,
    "interfaces": INTERFACES,
    "layer_module": keras.layers,
    "python_types": types,
    "relu6": keras.activations.relu6,
    "_obtain_input_shape": _obtain_input_shape,
}


def patches() -> Iterable[Patch]:
    """Yield the names."""
    for modules, names in NAMES.items():
        for path in modules.split():
            module = import_module(f"keras.{path}")
            yield from (Patch(module, name, _value(name)) for name in names.split())


def _value(name: str) -> Any:
    if name in VALUES:
        return VALUES[name]
    named = (getattr(source, name) for source in (utils, keras, keras.layers, keras.utils) if hasattr(source, name))
    return next(named, None) or import_module(name)
