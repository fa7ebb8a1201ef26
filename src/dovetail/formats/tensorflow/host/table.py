"""The table of host ops: TensorFlow's types → functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]  # (node, *values of its inputs) → its results, one or several
HOST: dict[str, Function] = {}  # TensorFlow's type → a function that computes a node


def host(types: str) -> Callable[[Function], Function]:
    """Decorator of a function that computes the nodes of some types, from NumPy arrays, tables and lists."""

    def add(function: Function) -> Function:
        HOST.update(dict.fromkeys(types.split(), function))
        return function

    return add
