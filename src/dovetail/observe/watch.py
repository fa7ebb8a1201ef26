"""Watching: single calls, programs and transfers report to the recorder of an open profile.

While none is open, nothing of this module runs in a call.  Opening one replaces the rules of single calls, the
executables of segments, and the methods of engines that move arrays.  Closing it puts the former ones back.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.core import config, engine_registry
from dovetail.core.engine import Engine
from dovetail.core.errors import user_line
from dovetail.core.hooks import hooks
from dovetail.execute.events import OPERATION, TRANSFER, Recorder, Subject
from dovetail.observe.compiled_calls import CompiledCalls

if TYPE_CHECKING:
    from dovetail.execute.segment import Segment

_recorder: Recorder | None = None
_compiled: CompiledCalls | None = None
_segments: weakref.WeakSet[Segment] = weakref.WeakSet()  # those with an executable
_lock = threading.RLock()
_METHODS = "receive", "asarray", "argument", "to_numpy"  # of engines: they move arrays


def current() -> Recorder | None:
    """The recorder of the open profile; None if none records now."""
    return _recorder


def watched(segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    """The executable of a segment that was made now; in a profile, the form of it that records events."""
    with _lock:
        _segments.add(segment)
        return run if _recorder is None else _timed(_recorder, segment, run)


def open_with(recorder: Recorder) -> CompiledCalls:
    """Let a recorder take in events, of all threads, until `close`, and return the calls of compiled programs."""
    global _recorder, _compiled
    with _lock:
        _recorder, _compiled = recorder, CompiledCalls(recorder)
        for engine in engine_registry.loaded():
            _watch(recorder, engine)
        hooks.engine_loaded = partial(_watch, recorder)
        for segment in list(_segments):
            segment.__dict__["executable"] = _timed(recorder, segment, segment.executable)
        config.note_profile(True)
        return _compiled


def close() -> None:
    """Let no recorder take in events, and put back the rules, methods and executables that were replaced."""
    global _recorder, _compiled
    with _lock:
        config.note_profile(False)
        hooks.engine_loaded = None
        for engine in engine_registry.loaded():
            _unwatch(engine)
        for segment in list(_segments):
            former = getattr(segment.executable, "former", None)
            if former is not None:
                segment.__dict__["executable"] = former
        ended, _recorder, _compiled = _compiled, None, None
    if ended is not None:
        ended.end()


def _timed(recorder: Recorder, segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    """The executable of a segment that records events: of each line, or of the whole if the library compiles it."""
    timed = partial(_first_call, recorder, segment, run)
    for method in ("prepare", "source"):
        if hasattr(run, method):
            setattr(timed, method, getattr(run, method))
    timed.former = run  # type: ignore[attr-defined]
    return timed


def _first_call(
    recorder: Recorder, segment: Segment, run: Callable[..., Any], *args: Any, **options: Any
) -> tuple[Any, ...]:
    """Make the executable that records events, and call it; only the call counts."""
    timed = recorder.unseen(partial(_recording, recorder, segment, run))
    with _lock:
        known = segment.executable
        if getattr(known, "former", None) is run:  # the profile is still open
            segment.__dict__["executable"] = _with_attributes(partial(timed), known)
    return timed(*args, **options)


def _with_attributes(run: Any, other: Any) -> Any:
    run.__dict__.update(other.__dict__)
    return run


def _recording(recorder: Recorder, segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    engine = segment.engine
    if not engine.compiles_programs or segment.bodies is not None or _compiled is None:
        return segment.with_laps(partial(recorder.laps, engine.holder))
    return _compiled.of(segment, run)


class _TimedRules(dict[str, Any]):
    """The rules of single calls of an engine, each in a form that records events."""

    def __init__(self, engine: Engine, former: Any) -> None:
        self.former, self._engine = former, engine

    def __missing__(self, name: str) -> Any:
        rule = self.former[name]
        return rule if rule is None else _timed_rule(self._engine, name, rule)


def _timed_rule(engine: Engine, name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    def subject() -> Subject:
        where = user_line()
        return Subject(OPERATION, (name,), (name,), () if where is None else (where,), engine.name)

    return partial(_call_rule, engine, subject, rule)


def _call_rule(engine: Engine, subject: Callable[[], Subject], rule: Callable[..., Any], *values: Any) -> Any:
    """Call a rule as an event of the profile that is open, which may be a later one."""
    if _recorder is None:
        return rule(*values)
    return _recorder.call(engine, _recorder.as_event(engine, subject), rule, *values)


def _watch(recorder: Recorder, engine: Engine) -> None:
    """Replace the rules of single calls of an engine, and its methods that move arrays."""
    if engine.refused is not None or engine.holder is not engine:
        return
    engine.eager_rules = _TimedRules(engine, engine.eager_rules)
    into = engine.into_allocated

    def into_allocated(name: str, rule: Any, spec: Any) -> Any:
        made = into(name, rule, spec)
        return made if made is rule else _timed_rule(engine, name, made)

    _replace(engine, "into_allocated", into_allocated)
    for method in _METHODS:
        if (engine.name, method) != (engine_registry.HOME, "to_numpy"):  # which moves nothing
            _replace(engine, method, partial(_move, recorder, engine, method, getattr(engine, method)))


def _replace(engine: Engine, method: str, made: Any) -> None:
    """Set a method that knows the former one, and whether the engine itself had that."""
    made = partial(made)
    made.former, made.was_own = getattr(engine, method), method in engine.__dict__
    setattr(engine, method, made)


def _unwatch(engine: Engine) -> None:
    if isinstance(engine.eager_rules, _TimedRules):
        engine.eager_rules = engine.eager_rules.former
    for method in ("into_allocated", *_METHODS):
        made: Any = engine.__dict__.get(method)
        if hasattr(made, "was_own"):  # else a limit of memory has replaced it since
            del engine.__dict__[method]
            if made.was_own:
                setattr(engine, method, made.former)


def _move(recorder: Recorder, engine: Engine, method: str, run: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a method of an engine that moves an array; one inside of another is a part of it."""
    tally = recorder.tally
    if tally.moves:
        return run(*args, **options)

    def subject() -> Subject:
        sender = args[1].name if method == "receive" else "Python"
        ends = (engine.name, "NumPy") if method == "to_numpy" else (sender, engine.name)
        where = user_line()
        return Subject(TRANSFER, (" → ".join(ends),), (), () if where is None else (where,), engine.name)

    maker = engine_registry.get_engine(engine_registry.HOME) if method == "to_numpy" else engine
    tally.moves = True
    try:
        return recorder.call(maker, recorder.as_event(maker, subject), run, *args, **options)
    finally:
        tally.moves = False
