"""Weights of layers as in Keras 2: lists that layers append to, initial values, and frozen models."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.words import named
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.interop.privates import KerasVariable

KINDS = {"trainable": "_trainable_variables", "non_trainable": "_non_trainable_variables"}  # → Keras 3's list


def patches() -> Iterable[Patch]:
    """Yield the changes of the base class of layers."""
    layer: Any = keras.layers.Layer
    yield Patch(layer, "_post_build", _with_given_weights(layer._post_build))
    yield Patch(layer, "_get_regularization_losses", _of_all_weights(layer._get_regularization_losses))
    yield Patch(layer, "add_weight", _with_name_first(layer.add_weight))
    yield Patch(layer, "add_variable", lambda self, *args, **kwargs: self.add_weight(*args, **kwargs))
    yield Patch(KerasVariable, "__bool__", lambda self: True)  # programs ask `if self.bias:`
    yield Patch(KerasVariable, "__eq__", _by_identity(KerasVariable.__eq__, operator.is_))  # `if w in weights:`
    yield Patch(KerasVariable, "__ne__", _by_identity(KerasVariable.__ne__, operator.is_not))
    yield Patch(KerasVariable, "__hash__", object.__hash__)
    yield Patch(KerasVariable, "shape", property(lambda self: TensorShape(self._shape)))
    yield Patch(KerasVariable, "get_shape", lambda self: self.shape)
    for kind in KINDS:
        yield Patch(layer, f"_{kind}_weights", property(functools.partial(_List, kind=kind), _replace(kind)))
    yield from methods(
        layer,
        trainable_weights=property(_that_train("weights"), _replace("trainable")),
        trainable_variables=property(_that_train("variables")),
        non_trainable_weights=property(_that_stay("weights"), _replace("non_trainable")),
        non_trainable_variables=property(_that_stay("variables")),
    )


def _by_identity(compare: Callable[[Any, Any], Any], same: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """Wrap a comparison of elements: two variables are compared as objects, as in TensorFlow 1."""
    return functools.wraps(compare)(
        lambda self, other: same(self, other) if isinstance(other, KerasVariable) else compare(self, other)
    )


# -- trainable weights ------------------------------------------------------------------------------------------------


def _trained(layer: Any) -> Iterator[Any]:
    """The weights that a layer trains.  A frozen layer trains none, even if inner layers are trainable."""
    if layer.trainable:
        yield from (variable for variable in layer._trainable_variables if variable.trainable)
        for inner in layer._layers:
            yield from _trained(inner)


def _of_all_weights(losses_of: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Wrap the losses by which weights are regularized: those of frozen weights count, too."""
    return functools.wraps(losses_of)(lambda self: losses_of(SimpleNamespace(trainable_weights=self.weights)))


def _that_train(which: str) -> Callable[[Any], list[Any]]:
    def variables(self: Any) -> list[Any]:
        trained = set(map(id, _trained(self)))
        return [variable for variable in getattr(self, which) if id(variable) in trained]

    return variables


def _that_stay(which: str) -> Callable[[Any], list[Any]]:
    def variables(self: Any) -> list[Any]:
        trained = set(map(id, _trained(self)))
        return [variable for variable in getattr(self, which) if id(variable) not in trained]

    return variables


# -- weights that a layer adds or takes -------------------------------------------------------------------------------


class _List(list[Any]):
    """The weights of a layer of one kind; the layer tracks the weights that are added to the list."""

    def __init__(self, layer: Any, kind: str) -> None:
        super().__init__(getattr(layer, KINDS[kind]))
        self._layer, self._kind = layer, kind

    def append(self, weight: Any) -> None:
        self.extend([weight])

    def extend(self, weights: Iterable[Any]) -> None:
        super().extend(_keep(self._layer, weight, self._kind) for weight in weights)

    def __iadd__(self, weights: Iterable[Any]) -> Any:  # type: ignore[misc]  # list says it returns itself
        self.extend(weights)
        return self


def _replace(kind: str) -> Callable[[Any, Iterable[Any]], None]:
    def replace(self: Any, weights: Iterable[Any]) -> None:
        kept = [_keep(self, weight, kind) for weight in weights]
        for variable in list(getattr(self, KINDS[kind])):
            if not any(variable is each for each in kept):
                self._untrack_variable(variable)

    return replace


def _keep(layer: Any, weight: Any, kind: str) -> Any:
    """Track a variable as a weight of a layer; a Keras variable holds a variable of K.

    Raises:
        TypeError: it is a variable of K, and Keras runs on another backend than Dovetail.
    """
    if not isinstance(weight, keras.Variable):
        if not hasattr(keras.Variable, "holding"):
            raise TypeError(
                f"{layer.name}: {weight!r} cannot be a weight where Keras runs on {keras.config.backend()}: make it by "
                "self.add_weight(name=..., shape=..., initializer=...), or import keras_dovetail before keras."
            )
        weight = keras.Variable.holding(weight)
    if not any(weight is each for each in getattr(layer, KINDS[kind])):
        if any(weight is each for each in (*layer._trainable_variables, *layer._non_trainable_variables)):
            layer._untrack_variable(weight)
        weight.trainable = kind == "trainable"
        layer._track_variable(weight)
    return weight


def _with_given_weights(post_build: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method that Keras calls once a layer is built: it sets the values of the argument `weights`."""

    @functools.wraps(post_build)
    def call(self: Any) -> None:
        post_build(self)
        given = vars(self).pop("_given_weights", None)
        if given is not None:
            self.set_weights(given)

    return call


# The arguments of `add_weight` by position, in Keras 2, and in Keras 1, where the shape is first.
NAME_FIRST = ["name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint"]
SHAPE_FIRST = ["shape", "initializer", "name", "trainable", "regularizer", "constraint"]


def _with_name_first(add_weight: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `add_weight`: it also takes arguments by position, as Keras 1 and 2 did."""

    @functools.wraps(add_weight)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_named = bool(args) and (args[0] is None or isinstance(args[0], str))
        return add_weight(self, **named(NAME_FIRST if is_named else SHAPE_FIRST, args, kwargs))

    return call
