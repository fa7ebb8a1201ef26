"""Keras 1's and 2's names of losses, metrics, initializers, regularizers, constraints and layers, as rows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.compat.keras2.patches import Patch, held, methods
from dovetail.compat.keras2.recurrent import Recurrent
from dovetail.formats.keras.config_rows import CLASSES, IMPLIED
from dovetail.interop import privates
from dovetail.interop.keras_files.op_layers import keras2_hard_sigmoid

# Old names of losses → Keras 3's; they are metrics, too.
LOSSES = {
    **{name: f"mean_{words}_error" for short, words in (
        ("mse", "squared"), ("mae", "absolute"), ("mape", "absolute_percentage"), ("msle", "squared_logarithmic"),
    ) for name in (short, short.upper())},
    **dict.fromkeys(("kld", "KLD", "kullback_leibler_divergence"), "kl_divergence"),
    **dict.fromkeys(("cosine", "cosine_proximity"), "cosine_similarity"),
    "bce": "binary_crossentropy",
    "BCE": "binary_crossentropy",
    "logcosh": "log_cosh",
}  # fmt: skip
INITIALIZERS = {"uniform": "RandomUniform", "normal": "RandomNormal", "zero": "Zeros", "one": "Ones"}
CONSTRAINTS = {"maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"}
REGULARIZERS = {
    **dict.fromkeys(("l1l2", "WeightRegularizer", "ActivityRegularizer", "activity_l1l2"), "L1L2"),
    "activity_l1": "L1",
    "activity_l2": "L2",
}

# Metrics by their names in `compile` → their names in results.
METRICS = {"accuracy": "acc", **{old: new for old, new in LOSSES.items() if new.startswith("mean_")}}

# Keras 1's initializers, functions of a shape and a scale → the class, and the arguments that a scale makes.
INITIALIZATIONS: dict[str, tuple[str, Callable[[float], dict[str, float]]]] = {
    "uniform": ("RandomUniform", lambda scale: {"minval": -scale, "maxval": scale}),
    "normal": ("RandomNormal", lambda scale: {"stddev": scale}),
    **{name: (cls, lambda scale: {"gain": scale}) for name, cls in (
        ("identity", "Identity"), ("orthogonal", "Orthogonal"),
    )},
    **{name: (cls, lambda scale: {}) for name, cls in (
        ("zero", "Zeros"), ("one", "Ones"), ("glorot_uniform", "GlorotUniform"), ("glorot_normal", "GlorotNormal"),
        ("he_uniform", "HeUniform"), ("he_normal", "HeNormal"), ("lecun_uniform", "LecunUniform"),
    )},
}  # fmt: skip

OPTIMIZERS = "SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"  # also in small letters

# Old names of classes of layers that are neither aliases nor layers of their own.
LAYERS = {
    "Recurrent": Recurrent,
    "_Merge": privates.Merge,
    **dict.fromkeys(("Conv", "_Conv"), privates.BaseConv),
    "Container": keras.Model,
    "Network": keras.Model,
}


def patches() -> Iterable[Patch]:
    """Yield names of modules, and of the tables in which Keras 3 looks strings up."""
    for old, new, public, source, table in _strings():
        value = getattr(source, new)
        yield from (Patch(owner, old, value) for owner in (public, table) if held(owner, old) is not value)
    for public in (keras.initializers, privates.initializers):
        yield Patch(public, "get", _of_a_shape_alone(public.get))
    for cls, other in ((keras.regularizers.L1, "l2"), (keras.regularizers.L2, "l1")):
        yield Patch(cls, other, np.float32(0.0))  # in Keras 2 each regularizer had both
    yield Patch(keras.activations, "hard_sigmoid", keras2_hard_sigmoid)
    for name in ("hard_sigmoid", keras.saving.get_registered_name(keras2_hard_sigmoid)):
        yield Patch(privates.activations.ALL_OBJECTS_DICT, name, keras2_hard_sigmoid)
    yield from methods(keras.optimizers, **{name.lower(): getattr(keras.optimizers, name) for name in OPTIMIZERS})
    yield from methods(keras.layers, **LAYERS, TimeDistributedDense=_TimeDistributedDense)
    for old, new in CLASSES.items():
        cls = getattr(keras.layers, new, None)
        if cls is not None and held(keras.layers, old) is not cls:
            yield Patch(keras.layers, old, functools.partial(cls, **IMPLIED[old]) if old in IMPLIED else cls)


def _strings() -> Iterable[tuple[str, str, Any, Any, Any]]:
    """Yield old and new names, with the modules of both, and the table of strings."""
    for public, source, private, rows in (
        (keras.losses, keras.losses, privates.losses, LOSSES),
        (keras.metrics, keras.losses, privates.metrics, LOSSES),  # Keras 3's metrics are objects
        (keras.initializers, keras.initializers, privates.initializers, INITIALIZERS),
        (keras.constraints, keras.constraints, privates.constraints, CONSTRAINTS),
        (keras.regularizers, keras.regularizers, privates.regularizers, REGULARIZERS),
    ):
        yield from ((old, new, public, source, private.ALL_OBJECTS_DICT) for old, new in rows.items())


def _of_a_shape_alone(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap `initializers.get`: a function may take a shape without a dtype, and may return a variable of K."""

    @functools.wraps(get)
    def call(identifier: Any) -> Any:
        initializer = get(identifier)
        if not inspect.isroutine(initializer) or "dtype" in (names := inspect.signature(initializer).parameters):
            return initializer
        if any(each.kind is each.VAR_KEYWORD for each in names.values()):
            return initializer
        named = {"name": None} if "name" in names else {}  # Keras 1 named the variable
        return lambda shape, dtype=None: K.get_value(initializer(shape, **named))

    return call


def initialization(name: str) -> Callable[..., Any]:
    """One of Keras 1's initializers: a function of a shape, a scale and a name that makes a variable.

    Raises:
        ValueError: there is none of this name.

    Source: `keras.initializations` of Keras 1.2.
    """
    if callable(name):
        return name
    if name not in INITIALIZATIONS:
        raise ValueError(f"initializations.get takes one of {', '.join(INITIALIZATIONS)}; {name!r} is none.")
    cls, scaled = INITIALIZATIONS[name]

    def initialize(shape: Any, scale: float | None = None, name: str | None = None, dim_ordering: Any = None) -> Any:
        made = getattr(keras.initializers, cls)(**({} if scale is None else scaled(scale)))
        return K.variable(K.get_value(made(tuple(shape))), name=name)

    return initialize


def _TimeDistributedDense(*args: Any, **kwargs: Any) -> Any:
    """A Dense layer for each step, as Keras 1 has it."""
    of_layer = {name: kwargs.pop(name) for name in (*OF_STEPS, "name") if name in kwargs}
    return keras.layers.TimeDistributed(keras.layers.Dense(*args, **kwargs), **of_layer)


OF_STEPS = "input_shape", "input_dim", "input_length", "batch_input_shape", "weights"
