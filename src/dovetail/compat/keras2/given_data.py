"""Data of models as Keras 2 took them: lists of numbers, tables of pandas, matrices of SciPy, lists of one array."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from dovetail.interop.privates import tree


def of_arrays(method: Callable[..., Any], targets: bool = True) -> Callable[..., Any]:
    """Wrap `fit` or the like: its data may be lists of numbers, tables and matrices, alone or in a list of one.

    Args:
        method: a method of models, whose first arguments are the inputs and, if there are any, the targets.
        targets: whether the second argument are the targets.

    Source: `standardize_input_data` of Keras 2.2.
    """

    @functools.wraps(method)
    def call(self: Any, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        inputs, outputs = (len(tree.flatten(getattr(self, name, None) or [0])) for name in ("inputs", "outputs"))
        if targets and args:
            args = (arrays(args[0], outputs), *args[1:])
        if "y" in kwargs:
            kwargs["y"] = arrays(kwargs["y"], outputs)
        held_out = kwargs.get("validation_data")
        if isinstance(held_out, (list, tuple)) and len(held_out) > 1:
            kwargs["validation_data"] = (arrays(held_out[0], inputs), arrays(held_out[1], outputs), *held_out[2:])
        return method(self, arrays(x, inputs), *args, **kwargs)

    return call


def arrays(data: Any, count: int = 1) -> Any:
    """Inputs or targets, where lists of numbers, tables and matrices are arrays.

    Args:
        data: for all inputs or all outputs of a model.
        count: the number of these.
    """
    if isinstance(data, dict):
        return {name: arrays(each) for name, each in data.items()}
    if not isinstance(data, (list, tuple)) or not data:
        return _array(data)
    if _is_of_numbers(data) and count == 1:
        return np.asarray(data)
    members = [np.asarray(each) if _is_of_numbers(each) else arrays(each) for each in data]
    return members[0] if count == len(members) == 1 else type(data)(members)


def _is_of_numbers(data: Any) -> bool:
    """Whether nested lists have numbers inside; the first one decides."""
    if not isinstance(data, (list, tuple)):
        return False
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (Number, np.number, np.bool_))


def _array(data: Any) -> Any:
    """The array of a table of pandas or of a matrix of SciPy; other data as they are."""
    if type(data).__module__.startswith("pandas."):
        return data.to_numpy()
    return data.toarray() if hasattr(data, "toarray") else data
