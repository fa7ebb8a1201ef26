"""Weights of classes for each output of a model: Keras 3 takes weights of samples instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from dovetail.interop.privates import data_adapter_utils


def for_each_output(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fit` or the like: `class_weight` may be a list with a dict for each output, or a dict by their names.

    For one output, weights of another kind, as "auto", change nothing, as in Keras 2; a warning says so.

    Raises:
        TypeError: there are several outputs, and the weights are of another kind.
    """

    @functools.wraps(method)
    def call(self: Any, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("class_weight")
        if given is not None and isinstance(y, (list, tuple, dict)) and len(y) > 1:
            if not isinstance(given, (list, tuple, dict)):
                raise TypeError(f"the model has several outputs, so class_weight is a list or a dict, not {given!r}.")
            del kwargs["class_weight"]
            kwargs["sample_weight"] = _of_samples(y, given, self.output_names)
        elif isinstance(given, (list, tuple)):
            kwargs["class_weight"] = given[0] if len(given) == 1 else None  # Keras 2 did not read a longer list
        elif given is not None and not isinstance(given, dict):
            problem = f"class_weight={given!r} is no dict, so all classes have the weight 1: write {{0: 1.0, 1: 2.0}}."
            warnings.warn(problem, stacklevel=2)
            kwargs["class_weight"] = None
        return method(self, x, y, *args, **kwargs)

    return call


def _of_samples(y: Any, given: Any, names: list[str]) -> Any:
    """The weights of samples for the targets of each output, in their structure."""
    by_name = given if isinstance(given, dict) else dict(zip(names, given, strict=True))
    if not isinstance(y, dict):
        return [_weights(each, by_name.get(name)) for name, each in zip(names, y, strict=True)]
    return {name: _weights(each, by_name.get(name)) for name, each in y.items()}


def _weights(targets: Any, of_classes: Any) -> Any:
    return data_adapter_utils.class_weight_to_sample_weights(targets, of_classes or {})
