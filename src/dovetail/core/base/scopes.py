"""Scopes: the `with` blocks that are open around a call, in one record.

The record is immutable and stands in one context variable, so each thread and each asyncio task has its own.  A new
thread begins without scopes.  A new task, `asyncio.to_thread` and `contextvars.copy_context` copy the record.

Leaving a scope takes out that scope alone.  So generators that hold scopes may end in any order, and in any context.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_NEWLOCALS
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.probe import Probe, from_environment, seeing_all

if TYPE_CHECKING:
    from dovetail.core.engine import Engine

T = TypeVar("T")
Changes: TypeAlias = "Mapping[Any, Any]"  # field of the record, or a `Scoped` → its value


class Scopes(NamedTuple):
    """The record: the scopes that are open in this thread or task.

    Attributes:
        tapes: the gradient tapes that record, outermost first.
        overrides: op type → name of the registered gradient that new nodes use instead of the op's own.
        exact: whether the overrides of graphs that are being built do not count.
        graphs: the graphs that are being built, outermost first.
        engine: the current engine; None for the default of the process.
        chooses: whether programs run on the engine that is measured to be the fastest; None for the setting of
            the process.
        device: the device of new values.
        probes: the probes that look at values, see `core.base.probe`; () inside of a call that they look at, else None.
        undo: the functions that undo the steps of the edit that is going on; None outside of edits.
        others: the values of `Scoped`.
        changes: the changes of the innermost scope; empty outside of all scopes.
        key: the object by which `leave` finds that scope.
        outside: the record around that scope.
    """

    tapes: tuple[Any, ...] = ()
    overrides: Mapping[str, str] = MappingProxyType({})
    exact: bool = False
    graphs: tuple[Any, ...] = ()
    engine: Engine | None = None
    chooses: bool | None = None
    device: Pin = ANYWHERE
    probes: tuple[Probe, ...] | None = None
    undo: list[Callable[[], Any]] | None = None
    others: Changes = {}  # noqa: RUF012  # never changed
    changes: Changes = MappingProxyType({})
    key: Any = None
    outside: Scopes | None = None

    @property
    def graph(self) -> Any:
        """The innermost graph that is being built; None if there is none."""
        return self.graphs[-1] if self.graphs else None


_NONE = Scopes(probes=from_environment())
_FIELDS = {name: index for index, name in enumerate(Scopes._fields)}
_OTHERS, _LINKS = _FIELDS["others"], _FIELDS["changes"]
_new = tuple.__new__  # quicker than `_replace`
_record: ContextVar[Scopes] = ContextVar("dovetail_scopes", default=_NONE)
scopes = _record.get
replace = _record.set


def enter(changes: Changes, key: Any) -> None:
    """Begin a scope, which ends when `leave` gets the same key.

    Args:
        changes: field of the record, or a `Scoped` → its value in the scope.
        key: any object.
    """
    around = scopes()
    replace(_with(around, changes, changes, key, around))


def leave(key: Any, error: type[BaseException] | None = None) -> None:
    """End the scope of a key; if it began in another context, change nothing here.

    Args:
        key: the same as for `enter`.
        error: the type of the exception that ends the `with` block.
    """
    replace(_left(scopes(), key, error))


@contextmanager
def opened(changes: Changes | Callable[[Scopes], Changes], value: Any = None) -> Iterator[Any]:
    """A scope for a `with` block.

    Args:
        changes: the same as for `enter`, or a function that returns them for the record around.
        value: the target of `as`.
    """
    around = scopes()
    changes = changes(around) if callable(changes) else changes
    inside = _with(around, changes, changes, object(), around)
    after, error = around, None
    try:
        replace(inside)
        yield value
    except BaseException as raised:
        error = type(raised)
        raise
    finally:
        try:
            if scopes() is not inside:
                after = _left(scopes(), inside.key, error)
        finally:  # a signal's handler may raise anywhere before, but not before this one call
            replace(after)


def within(**changes: Any) -> AbstractContextManager[None]:
    """A scope that changes fields of the record.

    Example:
        >>> with within(tapes=()):
        ...     scopes().tapes
        ()
    """
    return opened(changes)


def change(changes: Changes) -> None:
    """Change the record without a scope, until the innermost scope that changes the same fields ends."""
    replace(_changed(scopes(), changes))


def _changed(record: Scopes, changes: Changes) -> Scopes:
    if record.outside is None or not changes.keys().isdisjoint(record.changes):
        return _with(record, changes)
    return _over(record, _changed(record.outside, changes))


def _with(record: Scopes, changes: Changes, *links: Any) -> Scopes:
    """The record with changes; `links` are its last fields if they are new too."""
    fields: list[Any] = [*record]
    for key, value in changes.items():
        if type(key) is str:
            fields[_FIELDS[key]] = value
        else:
            fields[_OTHERS] = {**fields[_OTHERS], key: value}
    if links:
        fields[_LINKS:] = links
    return _new(Scopes, fields)


def _left(record: Scopes, key: Any, error: type[BaseException] | None) -> Scopes:
    """The record without a scope; the record itself if it has no such scope.

    Scopes that began inside of it stay, since generators may hold them.  An exception ends them too.
    """
    if record.outside is None:
        return record
    if record.key is key:
        return record.outside
    outside = _left(record.outside, key, error)
    if outside is record.outside:
        return record
    return _over(record, outside) if error in (None, GeneratorExit) else outside


def _over(record: Scopes, outside: Scopes) -> Scopes:
    """The record, with its innermost scope moved into another record."""
    changes = {key: _moved(key, record, outside) for key in record.changes}
    return _with(outside, changes, record.changes, record.key, outside)


def _moved(key: Any, record: Scopes, outside: Scopes) -> Any:
    """The value of a field when its scope moves into another record; on a stack, the scope keeps its own entries."""
    own, before, after = (_value(key, r) for r in (record, record.outside, outside))
    is_pushed = type(own) is type(before) is type(after) is tuple and own[: len(before)] == before
    return after + own[len(before) :] if is_pushed else own


def _value(key: Any, record: Any) -> Any:
    return getattr(record, key) if type(key) is str else record.others.get(key, key.default)


class Scoped(Generic[T]):
    """A value of one module, which scopes change.

    Args:
        default: the value outside of its scopes.

    Example:
        >>> indent = Scoped(0)
        >>> with indent.scope(4):
        ...     indent.get()
        4
    """

    def __init__(self, default: T) -> None:
        self.default = default

    def get(self) -> T:
        """The value here."""
        return scopes().others.get(self, self.default)

    def scope(self, value: T) -> AbstractContextManager[None]:
        """A scope with another value."""
        return opened({self: value})


class _OfThread(threading.local):
    def __init__(self, value: Any) -> None:
        self.value = value


class Setting(Scoped[T]):
    """A value that programs also set without a scope: a task for itself, all other code for its thread."""

    def __init__(self, default: T) -> None:
        super().__init__(default)
        self._of_thread = _OfThread(default)

    def get(self) -> T:
        current = scopes().others.get(self, self)
        return self._of_thread.value if current is self else current

    def set(self, value: T) -> None:
        """Set the value until it is set again, or until its innermost open scope ends."""
        if self in scopes().others or _is_in_task():
            change({self: value})
        else:
            self._of_thread.value = value


_AWAITED = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR


def _is_in_task() -> bool:
    """Whether an event loop runs the calling code, with no script, notebook cell or prompt in between."""
    # Notebooks run a cell that awaits as a separate task, whose context variables are lost when the cell ends.
    frame: Any = sys._getframe(1)
    is_of_loop = False
    while frame is not None:
        code = frame.f_code
        if not code.co_flags & CO_NEWLOCALS and frame.f_locals is frame.f_globals:  # of a module, a cell or a prompt
            return is_of_loop and not code.co_flags & CO_COROUTINE
        is_of_loop |= bool(code.co_flags & _AWAITED) or frame.f_globals.get("__name__") == "asyncio.events"
        frame = frame.f_back
    return is_of_loop


# -- recording --------------------------------------------------------------------------------------------------------

# The graph that records ops on symbolic variables while no graph is being built and no tape records; None for no graph.
DEFAULT_GRAPH: Setting[Any] = Setting(None)


def record_on(tapes: Iterable[Any]) -> AbstractContextManager[None]:
    """A scope in which ops are recorded on these tapes alone."""
    return within(tapes=tuple(tapes))


def not_building() -> AbstractContextManager[None]:
    """A scope in which ops are computed, even while a function is being traced around it."""
    return opened({"graphs": (), DEFAULT_GRAPH: None})


def unseen() -> AbstractContextManager[None]:
    """A scope in which ops are computed, and no tape, graph or probe sees them, but for probes that see all."""
    return opened(lambda around: {"graphs": (), "tapes": (), "probes": seeing_all(around.probes), DEFAULT_GRAPH: None})
