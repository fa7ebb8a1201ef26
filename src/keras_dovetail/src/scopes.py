"""Scopes that compute at once while K's default graph is open, which records other uses of Keras' variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dovetail.core.base.scopes import DEFAULT_GRAPH, Scoped, not_building, scopes
from dovetail.sessions.session_graph import SessionGraph

OUTSIDE: Scoped[Any] = Scoped(None)  # the default graph of the program that calls `fit`

P = ParamSpec("P")
R = TypeVar("R")


def computing() -> AbstractContextManager[None]:
    """A scope that the default graph does not record; a trace still records it."""
    return nullcontext() if scopes().graphs else not_building()


def at_once(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator: call the method in a scope that no session graph records, the one of a `with` block included."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        graphs = scopes().graphs
        if not all(isinstance(graph, SessionGraph) for graph in graphs):
            return method(*args, **kwargs)  # a trace records it
        with OUTSIDE.scope(graphs[-1] if graphs else DEFAULT_GRAPH.get()), not_building():
            return method(*args, **kwargs)

    return call
