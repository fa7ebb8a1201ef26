"""Functions of `Lambda` layers that this process wrote: it finds them again, and needs no bytecode of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

LAMBDA = "__lambda__"
_written: WeakValueDictionary[str, Callable[..., Any]] = WeakValueDictionary()  # written form → the function


def is_lambda(config: Any) -> bool:
    """Whether it is the written form of a function without a name."""
    return isinstance(config, dict) and config.get("class_name") == LAMBDA


def remember(config: Any, function: Callable[..., Any]) -> None:
    """Keep a function, as long as something else holds it, under its written form."""
    if is_lambda(config):
        _written[_key(config)] = function


def recall(config: Any) -> Callable[..., Any] | None:
    """The function of a written form, or None if this process did not write it, or has dropped it."""
    return _written.get(_key(config)) if is_lambda(config) else None


def with_functions(config: Any) -> tuple[Any, dict[str, Callable[..., Any]]]:
    """A model's configuration with names instead of the functions that this process wrote, and the functions."""
    functions: dict[str, Callable[..., Any]] = {}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(named, value))
        if not isinstance(value, dict):
            return value
        function = recall(value)
        if function is None:
            return {key: named(inner) for key, inner in value.items()}
        name = f"<lambda> {len(functions)}"
        functions[name] = function
        return name

    return named(config), functions


def _key(config: Any) -> str:
    return json.dumps(config, sort_keys=True, default=repr)
