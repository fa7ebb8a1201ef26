"""Inputs and targets that a program gives as tensors: `Input(tensor=x)` and `compile(target_tensors=[y])`.

Training takes no arrays for them.  A model's own tensors and values are read where a loss is computed.  Tensors of K's
default graph, such as the elements of an iterator, are computed once for each batch, all in one run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import keras

from dovetail import backend as K
from dovetail.edit.graph import GraphTensor
from dovetail.interop.keras.running import GIVEN
from dovetail.interop.keras_values import in_run
from dovetail.interop.privates import tree

TARGETS = "_given_targets"  # the attribute of a model for them, one for each output, None for an output without


def of_compile(compile: Callable[..., None]) -> Callable[..., None]:
    """Wrap `compile`: it also takes `target_tensors`, a tensor, or a list or dict of them for the outputs."""

    @functools.wraps(compile)
    def call(self: Any, *args: Any, target_tensors: Any = None, **kwargs: Any) -> None:
        given = _by_output(self, target_tensors)
        kinds = [K.dtype(each) for each in given if isinstance(each, GraphTensor)]
        for dtype in kinds[:1]:
            kwargs |= {name: _of_integers(kwargs.get(name), dtype) for name in ("loss", "metrics") if "int" in dtype}
        compile(self, *args, **kwargs)
        vars(self)[TARGETS] = given

    return call


def _of_integers(functions: Any, dtype: str) -> Any:
    """Losses or metrics.  A program's own functions get integer targets; Keras 3 makes floats of all targets."""

    def wrapped(function: Any) -> Any:
        if not inspect.isfunction(function):
            return function
        return functools.wraps(function)(lambda y_true, y_pred: function(keras.ops.cast(y_true, dtype), y_pred))

    return tree.map_structure(wrapped, functions)


def _by_output(model: Any, given: Any) -> list[Any]:
    """A target or None for each output of a model.

    Raises:
        ValueError: a list has another length than the outputs, or a dict has other names.

    Source: `keras.Model.compile` of Keras 2.3.
    """
    names = getattr(model, "output_names", None) or []
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return [None] * len(names)
    if isinstance(given, dict):
        if unknown := given.keys() - set(names):
            raise ValueError(f"target_tensors has {sorted(unknown)}, and the outputs are {names}.")
        return [given.get(name) for name in names]
    targets = [*given] if isinstance(given, (list, tuple)) else [given]
    if names and len(targets) != len(names):
        raise ValueError(f"target_tensors has {len(targets)} tensors, and the model has the outputs {names}.")
    return targets


def with_targets(model: Any, y: Any) -> Any:
    """The targets of a run: its data, and the given tensors in their places.

    Args:
        model: the model.
        y: the targets that are data, in order; None if there are none.
    """
    given = vars(model).get(TARGETS, [])
    if all(each is None for each in given):
        return y
    fed = iter(y.values() if isinstance(y, dict) else tree.flatten(y))
    targets = [_fed(next(fed), each) if _is_fed(each) else in_run(each) for each in given]
    return targets if len(targets) > 1 else targets[0]


def _is_fed(target: Any) -> bool:
    """Whether the values of a target come with the data: there is none, or a tensor of the default graph."""
    return target is None or isinstance(target, GraphTensor)


def _fed(value: Any, target: Any) -> Any:
    return value if target is None or value is None else keras.ops.cast(value, K.dtype(target))


def of_steps(method: Callable[..., Any], steps: str, targets: bool = True) -> Callable[..., Any]:
    """Wrap `fit` or the like: a model whose inputs are given takes no data, and computes a batch for each step.

    Args:
        method: the method of Keras 3, which takes generators.
        steps: its argument for the number of steps.
        targets: whether the batches have targets.

    Raises:
        ValueError: the number of steps is not given.
    """

    @functools.wraps(method)
    def call(self: Any, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        if x is not None or not _inputs(self):
            return method(self, x, *args, **kwargs)
        if kwargs.get(steps) is None:
            raise ValueError(f"the inputs of {self.name} are tensors, so {method.__name__} needs {steps}, a number.")
        rest = {name: value for name, value in kwargs.items() if name not in ("y", "batch_size") or value is not None}
        return method(self, _batches(self, targets), **rest)

    return call


def of_batch(method: Callable[..., Any], targets: bool = True) -> Callable[..., Any]:
    """Wrap `train_on_batch` or the like: given inputs and targets need no arrays."""

    @functools.wraps(method)
    def call(self: Any, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not targets:
            return method(self, _computed(_inputs(self)) if x is None else x, *args, **kwargs)
        arrays = [] if x is None else tree.flatten(x)
        inputs = [each for each in _given(self) if each is not None]
        inputs = inputs if inputs and len(arrays) + len(inputs) == len(self.inputs) else []
        computed = _computed([*inputs, *_of_graph(self)])
        if inputs:
            rest, new = iter(arrays), iter(computed)
            x = [next(rest if each is None else new) for each in _given(self)]
        if computed[len(inputs) :]:
            y = [*(tree.flatten(y) if y is not None else []), *computed[len(inputs) :]]
        return method(self, x, y, *args, **kwargs)

    return call


def _batches(model: Any, targets: bool) -> Iterator[Any]:
    """Yield the inputs of a model, and the targets that the default graph computes, as long as there are some."""
    inputs, ys = _inputs(model), _of_graph(model) if targets else []
    while True:
        try:
            computed = _computed([*inputs, *ys])
        except IndexError:  # an iterator is at its end
            return
        batch = tuple(computed[: len(inputs)]), tuple(computed[len(inputs) :])
        yield batch if ys else batch[:1]


def _given(model: Any) -> list[Any]:
    """The tensor that each input of a model is made of, None for one that takes data."""
    tensors = [vars(tensor).get(GIVEN) for tensor in getattr(model, "inputs", None) or []]
    return [None if each is None or K.is_placeholder(each) else each for each in tensors]


def _inputs(model: Any) -> list[Any]:
    """The tensors that the inputs of a model are made of; none if one of them takes data."""
    given = _given(model)
    return [] if any(each is None for each in given) else given


def _of_graph(model: Any) -> list[Any]:
    """The targets that the default graph computes."""
    given = vars(model).get(TARGETS, [])
    return [each for each in given if isinstance(each, GraphTensor) and not K.is_placeholder(each)]


def _computed(tensors: list[Any]) -> list[Any]:
    """The values of tensors.  One run computes all tensors of the default graph."""
    of_graph = [each for each in tensors if isinstance(each, GraphTensor)]
    computed = iter(K.function([], of_graph)([]) if of_graph else [])
    return [next(computed) if isinstance(each, GraphTensor) else K.get_value(each) for each in tensors]
