"""The methods of layers and models that programs define by `tf.keras`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from dovetail.compat.autograph.conversion import converted
from dovetail.compat.autograph.status import scoped
from dovetail.trace.trace import current_graph

METHODS = "call", "train_step", "test_step", "predict_step"


def convert_methods(cls: type) -> None:
    """Let the methods of a class of layers be converted where a graph is built."""
    for name in METHODS:
        method = vars(cls).get(name)
        if isinstance(method, FunctionType):
            setattr(cls, name, _in_graph(method))


def _in_graph(method: Callable[..., Any]) -> Callable[..., Any]:
    in_graph = scoped(converted, method)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (method if current_graph() is None else in_graph)(*args, **kwargs)

    return call
