"""What is computed at once while K's default graph is open, where all else of Keras' variables is recorded."""

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
    """What is in the `with` block is not recorded in the default graph; in the program that is traced, if one is."""
    return nullcontext() if scopes().graphs else not_building()


def at_once(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator: what the method computes is not recorded in the default graph."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with computing():
            return method(*args, **kwargs)

    return call
