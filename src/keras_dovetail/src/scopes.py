"""Scopes that compute at once while K's default graph is open, which records other uses of Keras' variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar

from dovetail.core.recording import not_building
from dovetail.core.scopes import scopes

P = ParamSpec("P")
R = TypeVar("R")


def computing() -> AbstractContextManager[None]:
    """A scope that the default graph does not record; a trace still records it."""
    return nullcontext() if scopes().graphs else not_building()


def at_once(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator: call the method in a scope that the default graph does not record."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with computing():
            return method(*args, **kwargs)

    return call
