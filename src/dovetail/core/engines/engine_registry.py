"""The registry of engines: the known ones, the current one, and the owners of values.

An engine is a module or package of Dovetail, or one of another distribution, found through the entry-point group
`dovetail.engines`.  Its library is imported when the engine is first used, never before.  An entry point of the same
name in the group `dovetail.arrays` refers to the class of its arrays.  Types are compared with its text, so arrays are
recognised before the engine is loaded.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.core.base.context import note_change, register_context
from dovetail.core.base.errors import EngineNotInstalled, UnknownEngine, describe, did_you_mean, op_error
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.base.hooks import hooks
from dovetail.core.base.library_imports import keras_aside, without_draws, without_interrupts
from dovetail.core.base.locks import holding, let_forks_wait, make_lock
from dovetail.core.base.optional_api import spec_of
from dovetail.core.base.scopes import change, scopes, within

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from dovetail.core.engine import Engine


logger = logging.getLogger("dovetail.engines")


class BuiltIn(NamedTuple):
    """The description of one of Dovetail's own engines, for use before it is loaded.

    Attributes:
        module: the module that defines `engine`.
        library: its import name.
        install: how to install it.
        arrays: the types of its arrays: libraries by their import names, or `module:class`.
        sharing: environment variables that make the library leave a device's memory to others.
        is_listed: whether it is among those that compute everything; one that only compiles is not.
    """

    module: str
    library: str
    install: str
    arrays: tuple[str, ...] = ()
    sharing: Mapping[str, str] = MappingProxyType({})
    is_listed: bool = True


BUILT_IN: dict[str, BuiltIn] = {}  # name → one of Dovetail's own engines; `dovetail` enters them
HEIRS = {"cntk": "onnxruntime", "theano": "jax", "plaidml": "jax", "mxnet": "torch"}  # engines of Keras that ended
ENGINES, ARRAYS = "dovetail.engines", "dovetail.arrays"  # groups of entry points

LIBRARY_DEVICES = ("cpu", "gpu", "tpu")  # types of devices that libraries share; an engine may own others

AUTO = "auto"  # instead of an engine's name: each program runs on the engine that is measured to be fastest
LONGEST_IMPORT = 60.0  # seconds for which a fork waits while another thread imports a library
HOME = "numpy"  # with AUTO, the engine of values and of single calls

_registered: dict[str, Engine] = {}  # engines that the program registered
_loaded: dict[str, Engine] = {}
_loading = make_lock()
_owners: dict[type, Engine] = {}  # a type of arrays → its engine
_added: dict[str, dict[str, Any]] = {}  # engine → op that a program registered → its rule
_brought: set[str] = set()  # libraries that were imported by Dovetail, or by another one that it imported
_forked: dict[str, str] = {}  # engines that were used before this process was forked → the error message
_default: Engine | None = None
_chooses = False  # whether the default is AUTO
_threads: int | None = None
_chosen = False  # whether `set_engine` set the default


def _points(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group in the installed packages."""
    from importlib.metadata import entry_points  # a slow import

    return entry_points(group=group)


def known_engines() -> list[str]:
    """The names of all engines that could be used, installed or not."""
    points = (point.name for point in _points(ENGINES))
    return list(dict.fromkeys([*BUILT_IN, *points, *_registered]))


def loaded() -> list[Engine]:
    """The engines that are in use, in the order in which they were first used."""
    return list(_loaded.values())


def list_engines() -> list[str]:
    """The names of the engines that are installed here and compute everything.

    Example:
        >>> "numpy" in list_engines()
        True
    """
    return [name for name in list_candidates() if name not in BUILT_IN or BUILT_IN[name].is_listed]


def list_candidates() -> list[str]:
    """The names of the engines from which `auto` chooses: those that are installed here."""
    return list(filter(is_installed, known_engines()))


def is_installed(name: str) -> bool:
    """Whether an engine's library can be imported; the check does not import it."""
    if name not in BUILT_IN:
        return True  # a package that registers an engine brings its library
    return spec_of(BUILT_IN[name].library) is not None


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
        raise op_error(TypeError, "engine", f"an engine is given by its name, a str, not by {describe(name)}.")


def _get_loaded(name: str) -> Engine:
    if name not in _loaded:
        with NoGarbageCollection(), without_draws(), without_interrupts():
            engine = _load(name)
            engine.holder = _holder(engine)
        if (count := threads()) is not None:
            _tell(engine, count)
        for op, rule in _added.get(name, {}).items():
            if op not in engine.rules:
                engine.rules.add(op, rule)
        if hooks.engine_loaded is not None:
            hooks.engine_loaded(engine)
        _loaded[name] = engine
    return _loaded[name]


def _holder(found: Engine) -> Engine:
    """The engine that computes the single calls of an engine, and holds its values.

    Raises:
        ValueError: `found.eager` names no engine, or one that only compiles; UnknownEngine is a ValueError.
        EngineNotInstalled: the library of that engine is not installed.
    """
    name = found.eager
    if name is None:
        return found
    said = f"the engine {found.name!r} leaves its single calls to {describe(name)}, by its attribute `eager`"
    known = [other for other in known_engines() if other != found.name]
    if name not in known:
        problem = f"{said}, but there is no other engine of this name; there are {', '.join(known)}."
        raise op_error(UnknownEngine, "engine", f"{problem} {did_you_mean(str(name), known)}".rstrip())
    if (_loaded.get(name) or _load(name)).eager is not None:
        problem = f"{said}, but {name!r} only compiles programs, too. Name an engine with rules, as in eager = 'numpy'."
        raise op_error(ValueError, "engine", problem)
    return _get_loaded(name)


def add_rules(op: str, rules: Mapping[str, Any]) -> None:
    """Give engines rules for an op that a program registered; engines that are not in use yet get them later.

    Args:
        op: its name.
        rules: engine → rule, for engines that have none for it.
    """
    holding(_loading, _add_rules, op, rules)


def _add_rules(op: str, rules: Mapping[str, Any]) -> None:
    for name, rule in rules.items():
        if name in _loaded:
            _loaded[name].rules.add(op, rule)
        _added.setdefault(name, {})[op] = rule


def remove_rules(op: str) -> None:
    """Undo all `add_rules` of an op."""
    holding(_loading, _remove_rules, op)


def _remove_rules(op: str) -> None:
    for name, rules in _added.items():
        if rules.pop(op, None) is not None and name in _loaded:
            _loaded[name].rules.remove(op)


def engines_with_rule(op: str) -> list[str]:
    """The engines to which `add_rules` gave a rule for an op."""
    return [name for name, rules in _added.items() if op in rules]


def check_known(name: Any) -> None:
    """Raise an error if a value is no engine's name; do not import the engine.

    Raises:
        TypeError, UnknownEngine: the same as in `get_engine`.
    """
    _check_name(name)
    at_hand = (BUILT_IN, _registered, _loaded)  # packages are asked last: to read them takes milliseconds
    if not any(name in names for names in at_hand) and name not in known_engines():
        raise _unknown(name)


def _load(name: str) -> Engine:
    if name in _forked:
        raise RuntimeError(_forked[name])
    if name in BUILT_IN:
        module, library, install, *_ = BUILT_IN[name]
        if spec_of(library) is None:
            raise EngineNotInstalled(f"the engine {name!r} needs {library}, which is not installed: {install}")
        absent = [built_in.library for built_in in BUILT_IN.values() if built_in.library not in sys.modules]
        with keras_aside():
            engine = importlib.import_module(module).engine
        _brought.update(library for library in absent if library in sys.modules)
        if library in _brought:
            engine.set_up_library()
        return engine
    if name in _registered:
        return _registered[name]
    for point in _points(ENGINES):
        if point.name == name:
            return point.load()
    raise _unknown(name)


def _unknown(name: str) -> Exception:
    known = known_engines()
    heir = HEIRS.get(name)
    advice = f"Its heir is {heir!r}: {BUILT_IN[heir].install}" if heir else did_you_mean(name, known)
    problem = f"there is no engine {name!r}; there are {', '.join(known)}. {advice}"
    return op_error(UnknownEngine, "engine", problem.rstrip())


def register_engine(engine: Engine) -> None:
    """Make an engine of the program known, under its name; an engine of a package registers itself by an entry point.

    Args:
        engine: made like those of packages; CONTRIBUTING.md has two.  With `device_types`, `dovetail.place` and
            `tf.device` reach it by its devices, too.

    Raises:
        TypeError: it is no `Engine` with a name.
        ValueError: there is an engine of this name, or one that owns one of its types of devices; or its `eager` names
            no engine that computes.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.core.engine import Engine
        >>> from dovetail.core.rules import Rules
        >>> class Doubler(Engine):
        ...     name, eager, compiles_programs, claimed = "doubler", "numpy", True, ("Double",)
        >>> dt.register_engine(Doubler(Rules()))
        >>> "doubler" in dt.list_engines()
        True
        >>> dt.unregister_engine("doubler")
    """
    name, types = getattr(engine, "name", None), getattr(engine, "device_types", None)
    if not isinstance(name, str) or not name or name == AUTO or types is None:
        problem = f"it needs a dovetail.core.engine.Engine that has a name, not {engine!r}."
        raise op_error(TypeError, "register_engine", problem)
    if name in known_engines():
        own = f": unregister_engine({name!r}) takes it out" if name in _registered else ""
        raise op_error(ValueError, "register_engine", f"there is an engine {name!r} already{own}.")
    for kind in types:
        owner = "the libraries" if kind in LIBRARY_DEVICES else device_owner(kind)
        if owner is not None:
            raise op_error(ValueError, "register_engine", f"devices of the type {kind!r} belong to {owner} already.")
    _registered[name] = engine
    try:
        get_engine(name)
    except BaseException:
        del _registered[name]
        raise


def unregister_engine(name: str) -> None:
    """Undo `register_engine`; plans that were made for the engine still run on it.

    Raises:
        LookupError: no engine of this name was registered.
        ValueError: it is the current engine.
    """
    if name not in _registered:
        known = ", ".join(_registered) or "none"
        problem = f"no engine {describe(name)} was registered; there are: {known}."
        raise op_error(LookupError, "unregister_engine", problem)
    if _registered[name] in (_default, scopes().engine):
        raise op_error(ValueError, "unregister_engine", f"{name!r} is the current engine: choose another one first.")
    holding(_loading, _forget, _registered.pop(name))


def _forget(found: Engine) -> None:
    _loaded.pop(found.name, None)
    for kind in [kind for kind, owner in _owners.items() if owner is found]:
        del _owners[kind]


def device_owner(kind: str | None) -> str | None:
    """The engine that owns a type of devices, as "fpga"; None for the types that libraries share, and for others.

    The engines of packages are imported to be asked, if no engine that was imported owns the type.
    """
    if kind is None or kind in LIBRARY_DEVICES:
        return None
    others = (point.name for point in _points(ENGINES) if point.name not in _loaded)
    return next((name for name in (*_loaded, *others) if kind in get_engine(name).device_types), None)


def owns_devices(name: str) -> bool:
    """Whether an engine owns types of devices; "auto" never chooses such an engine."""
    return name not in BUILT_IN and bool(get_engine(name).device_types)


def set_engine(name: str) -> None:
    """Make an engine the default of the process.

    Args:
        name: the engine's name; with "auto", each `function` runs on the engine that is measured to be the fastest for
            it, and all other code on numpy.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.
    """
    global _default, _chooses, _chosen
    _default, _chooses, _chosen = named_engine(name), name == AUTO, True
    note_change()
    if scopes().engine is not None:
        change({"engine": _default, "chooses": _chooses})


def named_engine(name: str) -> Engine:
    """The engine of a name; for "auto", the engine of values."""
    return get_engine(HOME if name == AUTO else name)


def on_engine(found: Engine) -> AbstractContextManager[None]:
    """A scope in which an engine is current; the choice by measuring stays on or off."""
    return nullcontext() if found is current_engine() else within(engine=found)


def threads() -> int | None:
    """The number of threads of each engine, from `set_threads` or $DOVETAIL_THREADS; None leaves it to the engines.

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
    """Set the number of threads with which each engine computes an operation, also for engines that are used later.

    jax and TensorFlow make their threads when they first compute, so call this before.  If it is too late, a warning in
    the log of `dovetail.engines` names the engine.

    Raises:
        TypeError, ValueError: `count` is no whole number, 1 or more.

    Example:
        >>> from dovetail.core.engines.engine_registry import threads
        >>> threads() is None
        True
    """
    global _threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise op_error(TypeError, "set_threads", f"it must be a whole number, not {describe(count)}.")
    if count < 1:
        raise op_error(ValueError, "set_threads", f"there must be one thread or more, not {count}.")
    _threads = count
    for engine in list(_loaded.values()):
        _tell(engine, count)


def _tell(found: Engine, count: int) -> None:
    if not found.set_threads(count):
        logger.warning(
            "%s keeps its number of threads: set_threads(%d) came too late for it, or it has no such setting.",
            found.name,
            count,
        )


def chosen_engine() -> Engine | None:
    """The engine that the program chose, by `engine`, `set_engine` or $DOVETAIL_ENGINE; None if it chose none."""
    return compiling_engine() if scopes().engine or _chosen or os.environ.get("DOVETAIL_ENGINE") else None


def current_engine() -> Engine:
    """The engine of single calls on values of no engine, which holds their results; see `compiling_engine`.

    It is the current engine, or the one that this one names as `eager`; numpy if engines are chosen by measuring.
    """
    return (scopes().engine or _default or _first_default()).holder


def compiling_engine(holder: Engine | None = None) -> Engine:
    """The engine that compiles programs: the current one.

    Args:
        holder: the engine that holds the arguments of a program; it compiles the program if the current engine
            does not compute on its arrays.
    """
    engine = scopes().engine or _default or _first_default()
    return engine if holder is None or engine.holder is holder else holder


def _first_default() -> Engine:
    """The engine of $DOVETAIL_ENGINE; if that is not set, engines are chosen by measuring."""
    global _default, _chooses
    name = os.environ.get("DOVETAIL_ENGINE") or AUTO
    _default, _chooses = named_engine(name), name == AUTO
    note_change()
    return _default


def chooses_engine() -> bool:
    """Whether each program runs on the engine that is measured to be the fastest for it."""
    here = scopes().chooses
    if here is None and _default is None:
        _first_default()
    return _chooses if here is None else here


@register_context
def _runs_programs() -> Any:
    """AUTO if each program runs where it is fastest; the current engine if it only compiles; else None."""
    around = scopes()
    engine = around.engine or _default or _first_default()
    if _chooses if around.chooses is None else around.chooses:
        return AUTO
    return None if engine.eager is None else engine


def share_devices() -> None:
    """Let libraries that are imported from now on leave room for each other in the memory of a device."""
    for name, built_in in BUILT_IN.items():
        if name not in _loaded:
            for variable, value in built_in.sharing.items():
                os.environ.setdefault(variable, value)


def tracing_engine() -> Engine | None:
    """The engine whose library is tracing a user's function now; None if there is none."""
    return next((engine for engine in list(_loaded.values()) if engine.is_tracing()), None)


def owner_of_type(kind: type) -> Any:
    """The engine whose own arrays are of this Python type; None for all other types, also NumPy's and Python's.

    An engine that is not in use yet is loaded now, if it declares that arrays of this type are its own.  Other engines
    are asked once they are loaded.
    """
    owner = _owners.get(kind)
    if owner is None:
        owner = _find_owner(kind)
        if owner is not None:
            _owners[kind] = owner
    return owner


def _find_owner(kind: type) -> Any:
    root = (kind.__module__ or "").partition(".")[0]  # classes made at run time may have none
    if root in ("builtins", "numpy"):
        return None
    said = _arrays(tuple(sys.path))
    names = [said.get(f"{base.__module__}:{base.__qualname__}") for base in kind.__mro__]
    if root in sys.modules:  # else another module has replaced the library
        names.append(said.get(root))
    for name in dict.fromkeys(filter(None, names)):
        engine = get_engine(name)
        if engine.owns_type(kind):
            return engine
    outside = [e for e in list(_loaded.values()) if e.name not in BUILT_IN and e.eager is None]
    return next((e for e in outside if e.owns_type(kind)), None)


@functools.lru_cache(1)
def _arrays(path: tuple[str, ...]) -> dict[str, str]:
    """The names of types of arrays, and the import names of whole libraries → the engine that declares them.

    Args:
        path: the folders of packages; results hold as long as it is the same.
    """
    outside = {point.value.replace(" ", ""): point.name for point in _points(ARRAYS)}
    return {**outside, **{text: name for name, built_in in BUILT_IN.items() for text in built_in.arrays}}


def _go_on_in_child() -> None:
    """Disable, in a forked child, engines that would wait there for threads that a fork does not copy."""
    if not all(engine.forks for engine in _loaded.values()):
        gc.freeze()  # freeing garbage now would make the library wait for these threads, too
    for name, engine in list(_loaded.items()):
        if engine.forks:
            engine.go_on_in_child()
        else:
            del _loaded[name]
            _owners.clear()
            _forked[name] = problem = (
                f"the engine {name!r} was used before this process was forked, and its library does not work in a "
                "forked process: start processes by multiprocessing.get_context('spawn') or with joblib, or use it "
                "in the child alone."
            )
            engine.refuse(problem)


# A child could never import a library whose import another thread has begun: Python's import lock stays taken.
let_forks_wait(_loading, LONGEST_IMPORT)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
