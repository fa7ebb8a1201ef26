"""The engines: which there are, which is current, which owns a value.

An engine is a module or package beside this one, or one of another distribution, found through the entry-point group
`dovetail.engines`.  Its library is imported when the engine is first used, never before.  An entry point of the same
name in the group `dovetail.arrays` refers to the class of its arrays; it is compared by its text, so arrays are
recognised before the engine is loaded.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core import config
from dovetail.core.errors import EngineNotInstalled, UnknownEngine, describe, did_you_mean, op_error
from dovetail.core.locks import holding, let_forks_wait, make_lock
from dovetail.core.scopes import Changes, Scopes, change, opened, scopes, within

if TYPE_CHECKING:
    from dovetail.core.engine import Engine


logger = logging.getLogger("dovetail.engines")


class BuiltIn(NamedTuple):
    """What is known of an engine of Dovetail's own before it is loaded.

    Attributes:
        module: defines `engine`.
        library: its import name.
        install: how to install it.
        arrays: whose types its arrays may be: libraries by their import names, or `module:class`.
        sharing: variables of the environment by which the library leaves a device's memory to others.
    """

    module: str
    library: str
    install: str
    arrays: tuple[str, ...] = ()
    sharing: Mapping[str, str] = MappingProxyType({})


BUILT_IN = {
    "numpy": BuiltIn("dovetail.engines.numpy", "numpy", "pip install numpy"),
    "torch": BuiltIn("dovetail.engines.torch", "torch", "pip install torch", ("torch", "torch:Tensor")),
    "jax": BuiltIn(
        "dovetail.engines.jax",
        "jax",
        "pip install jax",
        ("jax", "jaxlib", "dovetail.engines.jax.dimensions:Dimensions"),
        {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    ),
    "tensorflow": BuiltIn(
        "dovetail.engines.tensorflow",
        "tensorflow",
        "pip install tensorflow",
        ("tensorflow",),
        {"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    ),
}
ENGINES, ARRAYS = "dovetail.engines", "dovetail.arrays"  # groups of entry points

AUTO = "auto"  # in the place of an engine's name: each program runs where it is measured to be fastest
LONGEST_IMPORT = 60.0  # seconds for which a fork waits while another thread imports a library
HOME = "numpy"  # where values are then, and what is computed call by call

_loaded: dict[str, Engine] = {}
_loading = make_lock()
_owners: dict[type, Engine] = {}  # a type of arrays → whose it is
_added: dict[str, dict[str, Any]] = {}  # engine → op that a program registered → the rule that it brought
_brought: set[str] = set()  # libraries that were imported by Dovetail, or by another one that it imported
_forked: dict[str, str] = {}  # engines that were used before this process was forked, and what to say of them
_default: Engine | None = None
_chooses = False  # whether the default is AUTO
_threads: int | None = None
_chosen = False  # whether the default is one that `set_engine` was told


def known_engines() -> list[str]:
    """The names of all engines that could be used, installed or not."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=ENGINES) if point.name not in BUILT_IN)]


def list_engines() -> list[str]:
    """The names of the engines that are installed here.

    Example:
        >>> "numpy" in list_engines()
        True
    """
    return [name for name in known_engines() if is_installed(name)]


def is_installed(name: str) -> bool:
    """Whether an engine's library can be imported; it is not imported to find out."""
    if name not in BUILT_IN:
        return True  # a package that registers an engine brings its library
    return find_spec(BUILT_IN[name].library) is not None


def get_engine(name: str) -> Engine:
    """The engine of a name, imported now if it was not in use before.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed; the message says how to install it.
        RuntimeError: it was used before this process was forked, and does not work in such a process.
    """
    _check_name(name)
    return _loaded.get(name) or holding(_loading, _get_loaded, name)


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise op_error(TypeError, "engine", f"an engine has a name, a str, but it is {describe(name)}.")


def _get_loaded(name: str) -> Engine:
    if name not in _loaded:
        drawn = np.random.get_state()  # noqa: NPY002  # while jax is imported, it draws from what users have seeded
        try:
            found = _load(name)
        finally:
            np.random.set_state(drawn)  # noqa: NPY002
        if (count := threads()) is not None:
            _tell(found, count)
        for op, rule in _added.get(name, {}).items():
            if op not in found.rules:
                found.add_rule(op, rule)
        _loaded[name] = found
    return _loaded[name]


def add_rules(op: str, rules: Mapping[str, Any]) -> None:
    """Gives engines rules for an op that a program registered; those that are not in use yet have them once they are.

    Args:
        op: its name.
        rules: engine → rule, for engines that have none for it.
    """
    holding(_loading, _add_rules, op, rules)


def _add_rules(op: str, rules: Mapping[str, Any]) -> None:
    for name, rule in rules.items():
        if name in _loaded:
            _loaded[name].add_rule(op, rule)
        _added.setdefault(name, {})[op] = rule


def remove_rules(op: str) -> None:
    """Takes back all `add_rules` of an op."""
    holding(_loading, _remove_rules, op)


def _remove_rules(op: str) -> None:
    for name, rules in _added.items():
        if rules.pop(op, None) is not None and name in _loaded:
            _loaded[name].rules.remove(op)


def engines_with_rule(op: str) -> list[str]:
    """The engines for which `add_rules` gave an op a rule."""
    return [name for name, rules in _added.items() if op in rules]


def check_known(name: Any) -> None:
    """Refuses what is no engine's name; the engine is not imported.

    Raises:
        TypeError, UnknownEngine: as of `get_engine`.
    """
    _check_name(name)
    if name not in known_engines():
        raise _unknown(name)


def _load(name: str) -> Engine:
    if name in _forked:
        raise RuntimeError(_forked[name])
    if name in BUILT_IN:
        module, library, install, *_ = BUILT_IN[name]
        if find_spec(library) is None:
            raise EngineNotInstalled(f"the engine {name!r} needs {library}, which is not installed: {install}")
        absent = {built_in.library for built_in in BUILT_IN.values()} - sys.modules.keys()
        found = importlib.import_module(module).engine
        _brought.update(absent & sys.modules.keys())
        if library in _brought:
            found.set_up_library()
        return found
    for point in entry_points(group=ENGINES):
        if point.name == name:
            return point.load()
    raise _unknown(name)


def _unknown(name: str) -> Exception:
    known = known_engines()
    problem = f"there is no engine {name!r}; there are {', '.join(known)}. {did_you_mean(name, known)}"
    return op_error(UnknownEngine, "engine", problem.rstrip())


def set_engine(name: str) -> None:
    """Makes an engine the default of the process.

    Args:
        name: of the engine; or "auto": then each `function` runs on the engine that is measured to be the fastest for
            it, and all else on numpy.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.
    """
    global _default, _chooses, _chosen
    _default, _chooses, _chosen = _named(name), name == AUTO, True
    if scopes().engine is not None:
        change({"engine": _default, "chooses": _chooses})


def engine(name: str) -> AbstractContextManager[None]:
    """Makes an engine current within a `with` block, in this thread or task.

    Where a function is traced in the block, or a graph built, the operations recorded there are computed on the engine;
    not in the graphs of sessions, which compute on the engine that is current when they run.

    Args:
        name: as for `set_engine`.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.

    Example:
        >>> with engine("numpy"):
        ...     current_engine().name
        'numpy'
    """
    found, is_auto = _named(name), name == AUTO

    def changes(around: Scopes) -> Changes:
        pins = {} if around.graph is None or is_auto else around.graph.on_engine(name)
        return {"engine": found, "chooses": is_auto, **pins}

    return opened(changes)


def _named(name: str) -> Engine:
    """The engine of a name, or the one on which values are where engines are chosen."""
    return get_engine(HOME if name == AUTO else name)


def on_engine(found: Engine) -> AbstractContextManager[None]:
    """A scope in which an engine is current; whether engines are chosen stays as it is."""
    return nullcontext() if found is current_engine() else within(engine=found)


def threads() -> int | None:
    """With how many threads engines compute, as `set_threads` or $DOVETAIL_THREADS say; None: as many as they like.

    Raises:
        ValueError: the variable is no number of threads.
    """
    said = os.environ.get("DOVETAIL_THREADS") if _threads is None else None
    if not said:
        return _threads
    if not said.isdecimal() or int(said) < 1:
        problem = f"it must be a whole number, 1 or more, in the environment, not {said!r}."
        raise op_error(ValueError, "DOVETAIL_THREADS", problem)
    return int(said)


def set_threads(count: int) -> None:
    """Says with how many threads each engine computes an operation, those too that are first used later.

    jax and TensorFlow make their threads when they first compute something, so it is called before; where it is too
    late, a warning in the log of `dovetail.engines` names the engine.  For numpy it needs threadpoolctl.

    Raises:
        TypeError, ValueError: it is no whole number, 1 or more.

    Example:
        >>> from dovetail.core.engine_registry import threads
        >>> threads() is None
        True
    """
    global _threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise op_error(TypeError, "set_threads", f"it must be a whole number, not {describe(count)}.")
    if count < 1:
        raise op_error(ValueError, "set_threads", f"there must be one thread or more, not {count}.")
    _threads = count
    for found in list(_loaded.values()):
        _tell(found, count)


def _tell(found: Engine, count: int) -> None:
    if not found.set_threads(count):
        logger.warning(
            "%s goes on with the threads that it has: set_threads(%d) has no effect on it.", found.name, count
        )


def chosen_engine() -> Engine | None:
    """The engine that the program chose, by `engine`, `set_engine` or $DOVETAIL_ENGINE; None if it chose none."""
    return current_engine() if scopes().engine or _chosen or os.environ.get("DOVETAIL_ENGINE") else None


def current_engine() -> Engine:
    """The engine on which values that belong to none yet are computed; where engines are chosen, numpy.

    At first it is that of $DOVETAIL_ENGINE, and engines are chosen if that is not set.
    """
    global _default, _chooses
    found = scopes().engine or _default
    if found is None:
        name = os.environ.get("DOVETAIL_ENGINE") or AUTO
        found = _default = _named(name)
        _chooses = name == AUTO
    return found


@config.register_context
def chooses_engine() -> bool:
    """Whether programs run on the engines that are measured to be the fastest for them."""
    here = scopes().chooses
    if here is None:
        current_engine()
        return _chooses
    return here


def share_devices() -> None:
    """Lets libraries that are imported from now on leave room for each other in the memory of a device."""
    for name, found in BUILT_IN.items():
        if name not in _loaded:
            for variable, value in found.sharing.items():
                os.environ.setdefault(variable, value)


def tracing_engine() -> Engine | None:
    """The engine whose library is tracing its user's function now."""
    return next((found for found in list(_loaded.values()) if found.is_tracing()), None)


def owner_of_type(kind: type) -> Any:
    """The engine whose own arrays are of this Python type; None for all other types, NumPy's and Python's among them.

    An engine that is not in use yet is loaded now, if it says that arrays of this type are its own.  One that does not
    say so is asked once it is loaded.
    """
    found = _owners.get(kind)
    if found is None:
        found = _find_owner(kind)
        if found is not None:
            _owners[kind] = found
    return found


def _find_owner(kind: type) -> Any:
    root = kind.__module__.partition(".")[0]
    if root in ("builtins", "numpy"):
        return None
    said = _arrays(tuple(sys.path))
    names = [said.get(f"{base.__module__}:{base.__qualname__}") for base in kind.__mro__]
    if root in sys.modules:  # and not a part of a library that something else took the place of
        names.append(said.get(root))
    for name in dict.fromkeys(filter(None, names)):
        found = get_engine(name)
        if found.owns_type(kind):
            return found
    return next((e for e in list(_loaded.values()) if e.name not in BUILT_IN and e.owns_type(kind)), None)


@functools.lru_cache(1)
def _arrays(path: tuple[str, ...]) -> dict[str, str]:
    """What the types of arrays are called → the engine that says so; for a whole library, its import name.

    Args:
        path: where packages are found.
    """
    outside = {point.value.replace(" ", ""): point.name for point in entry_points(group=ARRAYS)}
    return {**outside, **{text: name for name, found in BUILT_IN.items() for text in found.arrays}}


def _go_on_in_child() -> None:
    """Refuses, in a forked child, engines that would wait there for threads that a fork does not copy."""
    if not all(found.forks for found in _loaded.values()):
        gc.freeze()  # what is garbage now would be let go by the library, which waits for these threads, too
    for name, found in list(_loaded.items()):
        if found.forks:
            found.go_on_in_child()
        else:
            del _loaded[name]
            _owners.clear()
            _forked[name] = problem = (
                f"the engine {name!r} was used before this process was forked, and its library does not work in a "
                "forked process: start processes by multiprocessing.get_context('spawn') or with joblib, or use it "
                "in the child alone."
            )
            found.refuse(problem)


# A child could never import a library whose import another thread has begun: Python's lock of it stays taken.
let_forks_wait(_loading, LONGEST_IMPORT)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
