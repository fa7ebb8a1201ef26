"""Callbacks of a program that has a default graph, which `fit` closes while it computes."""

from __future__ import annotations

from functools import wraps
from typing import Any

from dovetail.core.base.scopes import DEFAULT_GRAPH
from dovetail.interop.privates import Callback, LambdaCallback, is_default
from keras_dovetail.src.scopes import OUTSIDE


def in_default_graph(callback: Any) -> Any:
    """A callback that finds the default graph of the program that calls `fit`; Keras' own callbacks need none."""
    graph = OUTSIDE.get()
    if graph is None or (type(callback).__module__.startswith("keras.") and type(callback) is not LambdaCallback):
        return callback
    return _InDefaultGraph(callback, graph)


class _InDefaultGraph(Callback):
    """A program's callback, which is called while a default graph is open."""

    def __init__(self, callback: Any, graph: Any) -> None:
        self._callback, self._graph = callback, graph

    def __getattribute__(self, name: str) -> Any:
        if name in ("_callback", "_graph", "__class__"):
            return super().__getattribute__(name)
        attribute, graph = getattr(self._callback, name), self._graph
        if not name.startswith(("on_", "set_")) or is_default(attribute):
            return attribute

        @wraps(attribute)
        def call(*args: Any, **kwargs: Any) -> Any:
            with DEFAULT_GRAPH.scope(graph):
                return attribute(*args, **kwargs)

        return call
