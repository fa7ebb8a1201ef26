"""Places: scopes in which values are computed, and operations recorded, for an engine, a device and a part."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.scopes import DEFAULT_GRAPH, enter, leave, scopes
from dovetail.core.engines.devices import found_device, missing_device
from dovetail.core.engines.engine_registry import AUTO, check_known, current_engine, device_owner, named_engine
from dovetail.core.wish import as_wish


class place:
    """A place: an engine, one of its devices, and a part of a program; each may be left open.

    In a `with` block, single calls run on the engine, and new values are put on the device, in this thread or task.  If
    a function is traced or a graph built in the block, the recorded operations are pinned to the place: a plan computes
    them there, and moves their inputs there.  A place inside another one takes from it the parts that are left open.
    Without arguments it closes the places around it.

    `graph.place` takes places, too.

    Args:
        engine: the name of an engine, or "auto", as for `dovetail.engine`.
        device: a device of the engine, as "gpu:1", or "gpu" for the first one.  If it is not there, the nearest one
            stands in for it, unless `dovetail.set_soft_placement(False)` forbids that.  A type of devices that a
            registered engine owns means that engine.
        part: a number or a name.  A plan runs the parts of a graph one after another, in segments of their own: numbers
            in ascending order, names in the order in which the graph first has them, unless values go the other way.
            A part has no effect on single calls.

    Raises:
        TypeError, UnknownEngine: as for `dovetail.engine`.
        TypeError, ValueError: it is no name of a device, the device is another engine's, or the part is no number and
            no name.
        EngineNotInstalled: from the `with` statement, if the engine's library is not installed.
        ValueError: from the `with` statement, if the device is not there and must be.

    Source: `tf.device`.

    Example:
        >>> import dovetail as dt
        >>> @dt.function
        ... def f(x):
        ...     with dt.place("torch", part="first"):
        ...         y = dt.ops.tanh(x)
        ...     return dt.ops.exp(y)
        >>> tanh, exp = f.graph(dt.spec((2,))).operations[1:]
        >>> tanh.pin, exp.pin.engine
        (Pin(engine='torch', device=None, part='first'), None)
    """

    __slots__ = ("device", "engine", "part")

    def __init__(self, engine: str | None = None, device: str | None = None, part: int | str | None = None) -> None:
        if engine is not None and engine != AUTO:
            check_known(engine)
        wish = None if device is None else as_wish(device)
        if device is not None and wish is None:
            raise missing_device(current_engine() if engine is None else named_engine(engine), device)
        owner = None if wish is None else device_owner(wish.kind)
        if engine is not None and owner not in (None, engine):
            problem = f"the device {device!r} belongs to the engine {owner!r}, not to {engine!r}: leave the engine out."
            raise op_error(ValueError, "place", problem)
        if not (part is None or (isinstance(part, (int, str)) and not isinstance(part, bool) and part != "")):
            raise op_error(
                TypeError, "place", f"a part is a number or a name, as 1 or 'encoder', not {describe(part)}."
            )
        self.engine, self.device, self.part = engine, device, part

    @property
    def _is_empty(self) -> bool:
        return self.engine is None and self.device is None and self.part is None

    def __enter__(self) -> None:
        built = scopes().graph
        graph = DEFAULT_GRAPH.get() if built is None else built
        enter({**self._computing(), **({} if graph is None else self._recording(graph))}, self)

    def __exit__(self, error: type[BaseException] | None, *_: Any) -> None:
        leave(self, error)

    def _computing(self) -> dict[Any, Any]:
        """The changes for single calls and new values."""
        if self._is_empty:
            return {"engine": None, "chooses": None, "device": ANYWHERE}
        wish = as_wish(self.device)
        name = self.engine or (wish and device_owner(wish.kind))
        changes: dict[Any, Any] = {} if name is None else {"engine": named_engine(name), "chooses": name == AUTO}
        if self.device is not None:
            owner = changes.get("engine") or current_engine()
            device = found_device(owner, self.device, lambda: missing_device(owner, self.device))
            if device is not None and device in owner.holder.devices():
                changes["device"] = Pin(owner.holder.name, device)
        return changes

    def _recording(self, graph: Any) -> Any:
        """The changes for operations that a graph records; "auto" leaves their engine as it is."""
        named = None if self.engine == AUTO else self.engine
        is_left = self.engine == AUTO and self.device is None and self.part is None
        return {} if is_left else graph.at_place(named, self.device, self.part)

    def __repr__(self) -> str:
        given = {"engine": self.engine, "device": self.device, "part": self.part}
        return f"place({', '.join(f'{name}={value!r}' for name, value in given.items() if value is not None)})"


class engine(place):
    """Make an engine current within a `with` block, in this thread or task: `dovetail.place(engine=name)`.

    If a function is traced in the block, or a graph built, the engine computes the operations recorded there.  The
    graphs of sessions are an exception: they compute on the engine that is current when they run, unless `place` pins
    their operations.

    If the engine only compiles programs, the one that it names as `eager` computes single calls, and holds all values.

    Args:
        name: the same as for `set_engine`.

    Raises:
        UnknownEngine: there is no engine of this name; a ValueError.
        EngineNotInstalled: its library is not installed.

    Example:
        >>> with engine("numpy"):
        ...     current_engine().name
        'numpy'
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        named_engine(name)
        super().__init__(name)

    def _recording(self, graph: Any) -> Any:
        return {} if graph.dialect.follows_engine else super()._recording(graph)


def device(name: str) -> place:
    """Put the values that are made in a `with` block on a device of the current engine: `dovetail.place(device=name)`.

    These are constants, converted arrays, variables, random numbers.  A value stays on its device, and so do the
    results computed from it, in the block and after it: results of ops and functions, gradients, new values of
    variables.  Values from outside of all such blocks go along with the values that they meet.  Values that were put on
    two devices do not mix: a call with both is an error, and `ops.convert(x, device=...)` moves one of them.

    If a graph is built in the block, `operation.device` of the recorded operations is the device: they are computed
    there, and their inputs are moved there.

    Args:
        name: a device that `dovetail engines` lists, as "cpu:0" or "gpu:1"; if it is not there, see `place`.

    Raises:
        ValueError: it is no device.

    Example:
        >>> from dovetail import ops
        >>> with device("cpu:0"):
        ...     ops.constant([1., 2.]).device
        'cpu:0'
    """
    if name is None:
        raise missing_device(current_engine(), name)
    return place(device=name)
