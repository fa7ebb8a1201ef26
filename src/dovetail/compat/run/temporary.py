"""Changes that last as long as a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from dovetail.core.base.hooks import hooks

_NOTHING = object()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give a module, a class or an object another attribute in the `with` block; or a mapping another item."""
    is_mapping = isinstance(owner, MutableMapping)
    put = owner.__setitem__ if is_mapping else partial(setattr, owner)
    drop = owner.__delitem__ if is_mapping else partial(delattr, owner)
    before = (owner if is_mapping else vars(owner)).get(name, _NOTHING)
    put(name, value)
    try:
        yield
    finally:
        if before is _NOTHING:
            drop(name)
        else:
            put(name, before)


@contextmanager
def after_keras(change: Callable[[], Any]) -> Iterator[None]:
    """Call a function when Keras is first used in the `with` block, as soon as it runs on Dovetail."""
    run_keras = hooks.run_keras

    def run() -> None:
        hooks.run_keras = run_keras
        run_keras()
        change()

    with replaced(hooks, "run_keras", run):
        yield
