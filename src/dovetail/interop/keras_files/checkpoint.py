"""Weights of Keras models in checkpoints of TensorFlow, by the attributes that lead to them, as Keras 2 finds them.

The first layer that has weights is `layer_with_weights-0`, its kernel `layer_with_weights-0/kernel`; the layers of a
model that a program subclassed are its attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.formats.wire import objects, state
from dovetail.formats.wire.bundle import Bundle, exists, write_bundle
from dovetail.formats.wire.libraries import need
from dovetail.interop.keras_files import layers
from dovetail.interop.privates import walk_saveable

VARIABLES = "variables/variables"  # in a SavedModel
OPTIMIZER: objects.Path = ("optimizer",)
COUNTERS = {"_iterations": ("_iterations", "iter"), "_learning_rate": ("_learning_rate", "learning_rate")}
SLOTS = {  # lists of optimizers → the names of the same in Keras 2
    "_momentums": ("m", "momentum"),
    "momentums": ("momentum", "m"),
    "_velocities": ("v", "rms", "velocity"),
    "_velocity_hats": ("vhat",),
    "_average_gradients": ("mg", "average_gradient"),
    "_model_variables_moving_average": ("average",),
    "_accumulators": ("accumulator",),
    "_accumulated_grads": ("accum_grad", "accumulated_grad"),
    "_accumulated_delta_vars": ("accum_var", "accumulated_delta_var"),
    "_linears": ("linear",),
    "_m": ("m",),
    "_u": ("v", "u"),
    "_r": ("r",),
    "_c": ("c",),
    "_v": ("v",),
}

OLD_NAMES = {  # class → names of its weights → the names in Keras 2
    "DepthwiseConv1D": {"kernel": "depthwise_kernel"},
    "DepthwiseConv2D": {"kernel": "depthwise_kernel"},
    "Normalization": {"adapt_mean": "mean", "adapt_variance": "variance"},  # in TensorFlow 2.3
}


def checkpoint_at(path: str | os.PathLike[str]) -> str | None:
    """The checkpoint that a path means: its prefix, a folder of checkpoints, or a SavedModel; None if there is none."""
    given = os.fspath(path)
    if os.path.isdir(given):
        known = state.read_state(given) if (Path(given) / state.NAME).is_file() else None
        given = os.path.join(given, VARIABLES) if known is None else known.model_checkpoint_path
    return given if exists(given) else None


# -- variables of a model, and their places ---------------------------------------------------------------------------


def places(part: Any, path: objects.Path = (), above: tuple[int, ...] = ()) -> Iterator[tuple[objects.Path, Any]]:
    """The variables in a part of a model, with the attributes that lead to them; on several paths, several times."""
    if isinstance(part, keras.Variable):
        yield path, part
    elif id(part) not in above:
        for name, inner in _children(part):
            yield from places(inner, (*path, name), (*above, id(part)))


def _children(part: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(part, (list, tuple)):
        yield from ((str(number), inner) for number, inner in enumerate(part))
    elif isinstance(part, dict):
        yield from ((str(name), inner) for name, inner in part.items())
    elif isinstance(part, keras.layers.Layer):
        old = OLD_NAMES.get(type(part).__name__, {})
        yield from ((old[name], inner) for name, inner in walk_saveable(part) if name in old)
        for name, inner in walk_saveable(part):
            if name == "layers" and isinstance(part, keras.Model):
                weighty = (layer for layer in inner if layer.weights)
                yield from ((f"layer_with_weights-{number}", layer) for number, layer in enumerate(weighty))
                yield from _of_keras3(part)
            elif isinstance(inner, (keras.Variable, keras.layers.Layer, list, tuple, dict)):
                yield name, inner


def _of_keras3(model: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a model by the names of Keras 3 on TensorFlow."""
    for name in ("_functional", "_operations"):
        if isinstance(inner := getattr(model, name, None), (keras.Model, list)):
            yield name, inner


# -- reading ----------------------------------------------------------------------------------------------------------


class _Found:
    """The keys of a model's variables in a checkpoint."""

    def __init__(self, model: Any, prefix: str) -> None:
        self.bundle = Bundle(prefix)
        graph = self.bundle.get(objects.GRAPH)
        self.stored = None if graph is None else objects.StoredObjects(graph, f"{prefix}.index")
        self.paths: dict[int, objects.Path] = {}
        self.first: dict[int, objects.Path] = {}  # for errors
        self.keys: dict[int, str] = {}
        for path, variable in places(model):
            self.first.setdefault(id(variable), path)
            key = variable.path if self.stored is None else self.stored.key(path)
            if key in self.bundle and id(variable) not in self.keys:
                self.paths[id(variable)], self.keys[id(variable)] = path, str(key)

    def fits(self, key: str | None, variable: Any) -> bool:
        """Whether the checkpoint has the value of a variable, of its shape."""
        return key is not None and key in self.bundle and self.bundle.shape(key) == tuple(variable.shape)

    def counter(self, name: str) -> str | None:
        """The key of a number of the optimizer."""
        known = (self.stored.key((*OPTIMIZER, each)) for each in COUNTERS[name]) if self.stored else ()
        return next(filter(None, known), None)

    def slot(self, name: str, number: int, variable: Any) -> str | None:
        """The key of a value that the optimizer keeps for the variable of a number."""
        if self.stored is None:
            return None
        for attribute in (name, name.strip("_")):
            if (key := self.stored.key((*OPTIMIZER, attribute, str(number)))) is not None:
                return key
        path = self.paths.get(id(variable), ())
        return next(filter(None, (self.stored.slot(OPTIMIZER, each, path) for each in SLOTS[name])), None)


def load_weights(model: Any, prefix: str, skip_mismatch: bool = False) -> None:
    """Give the weights of a model the values of a checkpoint, all of them or none, and its optimizer those that fit.

    Args:
        model: a Keras model that is built.
        prefix: the path of the checkpoint, without the ends of its files' names.
        skip_mismatch: whether weights keep their values that the checkpoint lacks, or has in another shape.

    Raises:
        ValueError: the model is not built, or the checkpoint has no value of a weight, or in another shape.
        FormatError: the checkpoint is damaged.
    """
    need("load_weights")
    if not model.built:
        problem = f"the model {model.name!r} has no weights yet: call it on data, or build it with a shape, first."
        raise ValueError(f"load_weights: {problem}")
    stored = _Found(model, prefix)
    weights = [weight for weight in model.weights if stored.fits(stored.keys.get(id(weight)), weight)]
    if len(weights) < len(model.weights) and not skip_mismatch:
        _refuse(model, stored, prefix)
    values = [stored.bundle[stored.keys[id(weight)]] for weight in weights]
    layers.assign(model, zip(weights, values, strict=True))
    if getattr(model, "optimizer", None) is not None:
        load_optimizer(model, prefix)


def _refuse(model: Any, found: _Found, prefix: str) -> None:
    problems = []
    for weight in model.weights:
        key = found.keys.get(id(weight))
        if key is None:
            problems.append(f"no {'/'.join(found.first.get(id(weight), ('?',)))} for the weight {weight.path}")
        elif not found.fits(key, weight):
            shape = f"{found.bundle.shape(key)}, and the weight {weight.path} {tuple(weight.shape)}"
            problems.append(f"{key.removesuffix(f'/{objects.ENDING}')} of the shape {shape}")
    names = [n.removesuffix(f"/{objects.ENDING}") for n in found.bundle if "OPTIMIZER" not in n and n != objects.GRAPH]
    raise ValueError(
        f"load_weights: the checkpoint {prefix!r} has {'; '.join(problems[:5])}. It has {', '.join(names[:20])}. "
        "Build the model as it was saved, or say skip_mismatch=True."
    )


def load_optimizer(model: Any, prefix: str) -> bool:
    """Give the optimizer of a compiled model its values in a checkpoint, if all fit; return whether they do.

    Raises:
        FormatError: the checkpoint is damaged.
    """
    optimizer, trained = getattr(model.optimizer, "inner_optimizer", model.optimizer), model.trainable_variables
    model.optimizer.build(trained)
    stored = _Found(model, prefix)
    keyed: list[tuple[Any, str | None]] = []
    for name, value in vars(optimizer).items():
        if name in COUNTERS and isinstance(value, keras.Variable):
            keyed.append((value, stored.counter(name)))
        elif name in SLOTS and isinstance(value, list) and len(value) == len(trained):
            pairs = enumerate(zip(value, trained, strict=True))
            keyed += [(slot, stored.slot(name, number, variable)) for number, (slot, variable) in pairs]
    if not all(stored.fits(key, variable) for variable, key in keyed):
        return False
    values = [stored.bundle[str(key)] for _, key in keyed]
    for (variable, _), value in zip(keyed, values, strict=True):
        variable.assign(value)
    set_product(optimizer)
    return True


def set_product(optimizer: Any) -> None:
    """Give Nadam the product of its steps, which most files of Keras 2 do not have."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if hasattr(optimizer, "_u_product"):
        steps = np.arange(1, int(optimizer.iterations) + 1) * getattr(optimizer, "schedule_decay", 1.0)
        optimizer._u_product.assign(np.prod(optimizer.beta_1 * (1 - 0.5 * 0.96**steps)))


# -- writing ----------------------------------------------------------------------------------------------------------


def save_weights(model: Any, path: Path) -> None:
    """Write the weights of a model as a checkpoint that Keras 2 loads, and name it in the folder's state.

    Args:
        model: a Keras model that is built.
        path: of the checkpoint, without the ends of its files' names.

    Raises:
        ImportError: the extra `formats` is not installed.
    """
    need("save_weights")
    weights = set(map(id, model.weights))
    placed = [(place, variable) for place, variable in places(model) if id(variable) in weights]
    placed.sort(
        key=lambda pair: sum(name.startswith("_") for name in pair[0])
    )  # the first place of a variable is its key
    graph, keyed = objects.object_graph(dict(placed))
    values = {key: keras.ops.convert_to_numpy(variable) for key, variable in keyed.items()}
    write_bundle(str(path), {**values, objects.GRAPH: graph})
    state.write_state(path.parent, [str(path)])
