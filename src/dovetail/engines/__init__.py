"""The engines: which there are, which is current, which owns a value.

An engine is a module or package beside this one, or one of another distribution, found through the entry-point group
`dovetail.engines`.  Its library is imported when the engine is first used, never before.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import EngineNotInstalled, UnknownEngine

if TYPE_CHECKING:
    from dovetail.engines.base import Engine

# name: (module that defines `engine`, the library's import names, how to install it)
BUILT_IN = {
    "numpy": ("dovetail.engines.numpy", ("numpy",), "pip install numpy"),
    "torch": ("dovetail.engines.torch", ("torch",), 'pip install "dovetail[torch]"'),
    "jax": ("dovetail.engines.jax", ("jax", "jaxlib"), 'pip install "dovetail[jax]"'),
    "tensorflow": ("dovetail.engines.tensorflow", ("tensorflow",), 'pip install "dovetail[tensorflow]"'),
}
ENTRY_POINTS = "dovetail.engines"

_loaded: dict[str, Engine] = {}
_loading = threading.RLock()
_local: ContextVar[Engine | None] = ContextVar("dovetail_engine", default=None)
_default: Engine | None = None


def known_engines() -> list[str]:
    """The names of all engines that could be used, installed or not."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINTS) if point.name not in BUILT_IN)]


def engines() -> list[str]:
    """The names of the engines that are installed here.

    Example:
        >>> "numpy" in engines()
        True
    """
    return [name for name in known_engines() if is_installed(name)]


def is_installed(name: str) -> bool:
    """Whether an engine's library can be imported; it is not imported to find out."""
    if name not in BUILT_IN:
        return True  # a package that registers an engine brings its library
    return find_spec(BUILT_IN[name][1][0]) is not None


def get_engine(name: str) -> Engine:
    """The engine of a name, imported now if it was not in use before.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed; the message says how to install it.
    """
    found = _loaded.get(name)
    if found is not None:
        return found
    with _loading:
        if name not in _loaded:
            drawn = np.random.get_state()  # noqa: NPY002  # while jax is imported, it draws from what users have seeded
            try:
                _loaded[name] = _load(name)
            finally:
                np.random.set_state(drawn)  # noqa: NPY002
        return _loaded[name]


def _load(name: str) -> Engine:
    if name in BUILT_IN:
        module, libraries, install = BUILT_IN[name]
        if find_spec(libraries[0]) is None:
            raise EngineNotInstalled(f"the engine {name!r} needs {libraries[0]}, which is not installed: {install}")
        return importlib.import_module(module).engine
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            return point.load()
    raise UnknownEngine(f"there is no engine {name!r}; there are {', '.join(known_engines())}.")


def set_engine(name: str) -> None:
    """Makes an engine the default of the process.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.
    """
    global _default
    _default = get_engine(name)
    if _local.get() is not None:
        _local.set(_default)


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Makes an engine current within a `with` block, in this thread or task.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.

    Example:
        >>> with engine("numpy"):
        ...     current_engine().name
        'numpy'
    """
    token = push_engine(get_engine(name))
    try:
        yield
    finally:
        pop_engine(token)


def push_engine(found: Engine) -> Token[Engine | None]:
    """Makes an engine current in this thread or task until `pop_engine` is given the token."""
    return _local.set(found)


def pop_engine(token: Token[Engine | None]) -> None:
    """Makes the engine current that was so before `push_engine`."""
    _local.reset(token)


def current_engine() -> Engine:
    """The engine on which values that belong to none yet are computed; at first that of $DOVETAIL_ENGINE, or numpy."""
    global _default
    found = _local.get() or _default
    if found is None:
        found = _default = get_engine(os.environ.get("DOVETAIL_ENGINE") or "numpy")
    return found


def tracing_engine() -> Engine | None:
    """The engine whose library is tracing its user's function now."""
    return next((found for found in list(_loaded.values()) if found.is_tracing()), None)


def owner_of_type(kind: type) -> Any:
    """The engine whose own arrays are of this Python type; None for Dovetail's, NumPy's and Python's types."""
    root = getattr(kind, "library", None) or kind.__module__.partition(".")[0]
    for name, (_, libraries, _) in BUILT_IN.items():
        if root in libraries and name != "numpy" and root in sys.modules:
            found = get_engine(name)
            return found if found.owns_type(kind) else None
    return next((e for e in _loaded.values() if e.name not in BUILT_IN and e.owns_type(kind)), None)
