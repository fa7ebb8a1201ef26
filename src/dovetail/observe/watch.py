"""Watching: single calls, programs and transfers report to the recorder of an open profile.

While none is open, nothing of this module runs in a call.  Opening one puts forms that record events around the rules
of single calls and the methods of engines that move arrays, by `Engine.around`, and around the executables of segments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.core.base import config
from dovetail.core.base.errors import user_line
from dovetail.core.base.hooks import hooks
from dovetail.core.engine import Engine
from dovetail.core.engines import engine_registry
from dovetail.execute import segment as segments
from dovetail.execute.events import OPERATION, TRANSFER, Recorder, Subject
from dovetail.execute.segment import Segment
from dovetail.observe.compiled_calls import CompiledCalls

_recorder: Recorder | None = None
_compiled: CompiledCalls | None = None
_lock = threading.RLock()
_METHODS = "receive", "asarray", "argument", "to_numpy"  # of engines: they move arrays


def current() -> Recorder | None:
    """The recorder of the open profile; None if none records now."""
    return _recorder


def open_with(recorder: Recorder) -> CompiledCalls:
    """Let a recorder take in events, of all threads, until `close`, and return the calls of compiled programs."""
    global _recorder, _compiled
    with _lock:
        _recorder, _compiled = recorder, CompiledCalls(recorder)
        hooks.compiling, hooks.compiled = recorder.compiling, recorder.compiled
        for engine in engine_registry.loaded():
            _watch(recorder, engine)
        hooks.engine_loaded = partial(_watch, recorder)
        segments.set_form(partial(_timed, recorder))
        config.note_profile(True)
        return _compiled


def close() -> None:
    """Let no recorder take in events, and take away the forms of rules, methods and executables that record them."""
    global _recorder, _compiled
    with _lock:
        config.note_profile(False)
        hooks.engine_loaded = hooks.compiling = hooks.compiled = None
        for engine in engine_registry.loaded():
            engine.around.pop("profile")
        segments.set_form(None)
        ended, _recorder, _compiled = _compiled, None, None
    if ended is not None:
        ended.end()


def _timed(recorder: Recorder, segment: Segment) -> Callable[..., Any]:
    """The executable of a segment that records events: of each line, or of the whole if the library compiles it."""
    return _like(segment.own_executable, partial(_first_call, recorder, segment))


def _like(own: Any, timed: Any) -> Any:
    for method in ("prepare", "source"):
        if hasattr(own, method):
            setattr(timed, method, getattr(own, method))
    return timed


def _first_call(recorder: Recorder, segment: Segment, *args: Any, **options: Any) -> tuple[Any, ...]:
    """Make the executable that records events, and call it; only the call counts."""
    timed = recorder.unseen(partial(_recording, recorder, segment))
    with _lock:
        if _recorder is recorder:  # the profile is still open
            segment.executable = _like(segment.own_executable, partial(timed))
    return timed(*args, **options)


def _recording(recorder: Recorder, segment: Segment) -> Callable[..., Any]:
    engine = segment.engine
    if not engine.compiles_programs or segment.bodies is not None or _compiled is None:
        return segment.with_laps(partial(recorder.laps, engine.holder))
    return _compiled.of(segment, segment.own_executable)


class _TimedRules(dict[str, Any]):
    """The rules of single calls of an engine, each in a form that records events."""

    def __init__(self, engine: Engine, rules: Any) -> None:
        self._engine, self._rules = engine, rules

    def __missing__(self, name: str) -> Any:
        rule = self._rules[name]
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
    """Put the rules of single calls of an engine, and its methods that move arrays, into forms that record events."""
    if engine.holder is not engine:
        return
    moves = [name for name in _METHODS if (engine.name, name) != (engine_registry.HOME, "to_numpy")]  # it moves nothing
    wrapper: dict[str, Callable[[Any], Any]] = {name: partial(_moving, recorder, engine, name) for name in moves}
    wrapper["eager_rules"] = partial(_TimedRules, engine)
    wrapper["into_allocated"] = partial(_timed_into, engine)
    engine.around.push("profile", wrapper)


def _timed_into(engine: Engine, into: Callable[..., Any]) -> Callable[..., Any]:
    def into_allocated(name: str, rule: Any, spec: Any) -> Any:
        made = into(name, rule, spec)
        return made if made is rule else _timed_rule(engine, name, made)

    return into_allocated


def _moving(recorder: Recorder, engine: Engine, method: str, run: Callable[..., Any]) -> Callable[..., Any]:
    return partial(_move, recorder, engine, method, run)


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
