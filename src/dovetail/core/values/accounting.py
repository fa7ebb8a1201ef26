"""Accounting: the memory that engines hold, limits on it, and allocators of a program's own.

Without a limit or an allocator nothing is counted while operations run: `memory_info` looks through the objects of the
process.  With one, an engine's methods that make arrays are replaced by ones that count or place each array, and
programs are traced again.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from dovetail.core.base import config
from dovetail.core.base.errors import Where, describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import DType
from dovetail.core.engine import Engine
from dovetail.core.engines import engine_registry
from dovetail.core.engines.allocation import SMALLEST, Arena
from dovetail.core.engines.devices import require_device
from dovetail.core.engines.engine_memory import Memory
from dovetail.core.rules import Rule
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import of_any_rank
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.state import Arrays


@dataclass(frozen=True)
class MemoryInfo:
    """The memory of one engine on one device.

    Attributes:
        engine, device: their names.
        arrays: the number of live arrays that tensors and variables hold; arrays that share memory count once.
        bytes: their bytes.
        arenas: the number of live arenas: the buffers that a program keeps for its intermediate results, in a thread.
        arena_bytes: their bytes.
        limit: the bytes that `set_memory_limit` allows; None without a limit.
        peak: the most bytes that were in use at once since the limit was set; None without a limit.
        reported: the figures that the library itself reports, by its names for them; empty if it reports none.
    """

    engine: str
    device: str
    arrays: int = 0
    bytes: int = 0
    arenas: int = 0
    arena_bytes: int = 0
    limit: int | None = None
    peak: int | None = None
    reported: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_use(self) -> int:
        """The bytes of arrays and arenas together, which a limit counts."""
        return self.bytes + self.arena_bytes


class Allocator(Protocol):
    """An object that gives an engine the memory of its large arrays; see `set_allocator`."""

    def allocate(self, shape: tuple[int, ...], dtype: DType, device: str | None) -> Any:
        """A new array of the engine's, contiguous, with any contents; or raise MemoryError."""

    def release(self, array: Any) -> None:
        """Take back an array that `allocate` made: nothing uses its memory any more."""


def memory_info(device: str | None = None) -> list[MemoryInfo]:
    """The memory that each engine in use holds: live arrays and arenas, exactly, at this moment.

    Args:
        device: the device to tell of, as "cpu:0"; all devices, if not given.

    Returns:
        A `MemoryInfo` for each engine and device, in the order in which engines were first used.

    Example:
        >>> import dovetail as dt
        >>> with dt.engine("numpy"):
        ...     before, x = dt.memory_info("cpu:0")[0], dt.ops.zeros((1000, 1000)) + 1.0
        ...     dt.memory_info("cpu:0")[0].bytes - before.bytes
        4000000
    """
    engines = [owner for owner in engine_registry.loaded() if owner.holder is owner]
    if device is not None and not any(device in owner.devices() for owner in engines):
        known = dict.fromkeys(name for owner in engines for name in owner.devices())
        problem = f"the engines in use have the devices {', '.join(known)} here, not {describe(device)}."
        raise op_error(ValueError, "memory_info", problem)
    held: dict[tuple[str, str], tuple[dict[Any, int], dict[Any, int]]] = {}
    for owner in engines:
        held |= {(owner.name, name): ({}, {}) for name in owner.devices() if device in (None, name)}
    arenas = dict.fromkeys(held, 0)
    for engine, values, is_arena in _holders(engines):
        places = {(engine.name, engine.device_of(value)) for value in values} & held.keys()
        for value in values:
            place = engine.name, engine.device_of(value)
            if place in held:
                key, _, size = engine.memory_of(value)
                held[place][is_arena][key] = size
        for place in places if is_arena else ():
            arenas[place] += 1
    return [_info(place, *sizes, arenas[place]) for place, sizes in held.items()]


def _info(place: tuple[str, str], arrays: dict[Any, int], buffers: dict[Any, int], arenas: int) -> MemoryInfo:
    engine = engine_registry.get_engine(place[0])
    account = engine.books.accounts.get(place[1])
    only = {key: size for key, size in arrays.items() if key not in buffers}
    return MemoryInfo(
        *place,
        arrays=len(only),
        bytes=sum(only.values()),
        arenas=arenas,
        arena_bytes=sum(buffers.values()),
        limit=None if account is None else account.limit,
        peak=None if account is None else account.peak,
        reported=engine.reported_memory(place[1]),
    )


def _holders(engines: list[Engine]) -> Iterator[tuple[Engine, list[Any], bool]]:
    """The live objects that hold arrays of engines: (engine, arrays, whether they are an arena)."""
    for holder in gc.get_objects():
        kind = type(holder)
        if kind is Tensor:
            yield from _of_engines([holder._value], engines)
        elif kind is Arrays:
            yield from _of_engines([*holder.values, *holder.spares], engines)
        elif kind is Arena:
            yield holder.engine, list(holder), True


def _of_engines(values: list[Any], engines: list[Engine]) -> Iterator[tuple[Engine, list[Any], bool]]:
    for value in values:
        owner = next((engine for engine in engines if engine.owns_type(type(value))), None)
        if owner is not None and not owner.is_deleted(value) and not owner.is_traced(value):
            yield owner, [value], False


# -- limits -----------------------------------------------------------------------------------------------------------


class Account:
    """The memory in use of an engine on a device, as Dovetail counts it, and its limit.

    An array counts from when it exists until all that shares its memory is gone.

    Attributes:
        limit: the most bytes in use.
        in_use: the bytes in use.
        peak: the most bytes that were in use at once.
    """

    def __init__(self, engine: Engine, device: str, limit: int) -> None:
        self.limit = limit
        self.in_use = self.peak = 0
        self._engine, self._device = engine, device
        self._lock = threading.RLock()  # a callback of a weak reference may come while it is held
        self._known: dict[Any, Any] = {}

    def admit(self, title: str, size: int, where: Where = None) -> None:
        """Raise MemoryError if so many more bytes would exceed the limit."""
        if self.in_use + size <= self.limit:
            return
        gc.collect()  # arrays in cycles of garbage are in use until then
        if self.in_use + size <= self.limit:
            return
        raise op_error(
            MemoryError,
            title,
            f"it needs {size:,} bytes on {self._engine.name} ({self._device}), where {self.in_use:,} bytes are in use "
            f"and the limit is {self.limit:,}. Let go of tensors that nobody needs (dovetail.memory_info() counts "
            "them), compute in smaller parts, or raise the limit by dovetail.set_memory_limit.",
            where=where,
        )

    def adopt(self, title: str, value: Any, is_forced: bool = False) -> None:
        """Count an array, if its memory is not counted yet; raise MemoryError if it exceeds the limit."""
        key, owner, size = self._engine.memory_of(value)
        if key in self._known:
            return
        if not is_forced:
            self.admit(title, size)
        try:
            with self._lock:
                self._known[key] = weakref.ref(owner, partial(self._gone, key, size))
                self.in_use += size
                self.peak = max(self.peak, self.in_use)
        except TypeError:  # a scalar of NumPy's, to which nothing can refer weakly
            return

    def _gone(self, key: Any, size: int, _: Any) -> None:
        with self._lock:
            if self._known.pop(key, None) is not None:
                self.in_use -= size


def set_memory_limit(limit: int | None, engine: str | None = None, device: str | None = None) -> None:
    """Limit the memory of an engine on a device; an operation that would exceed it raises MemoryError.

    On numpy, on torch's CPU and on engines of other packages, Dovetail counts: results of single calls, converted
    values, variables, buffers, and results of programs.  A program is refused before it starts, by the sum of the
    intermediate results that it holds at once.  Memory inside of one operation does not count.  On GPUs, torch and
    TensorFlow keep to the limit by themselves.

    Args:
        limit: the bytes; None removes the limit.
        engine: the engine's name; the current engine, if not given.
        device: a device of it; its first one, if not given.

    Raises:
        TypeError, ValueError: the limit is no whole number, 0 or more; or the engine or the device does not exist.
        MemoryError: more is in use now; then the limit stays as it was.
        NotImplementedError: the library's own allocator cannot be limited, as jax's; or it is too late for it.

    Example:
        >>> import dovetail as dt
        >>> dt.set_memory_limit(2**34, "numpy")
        >>> dt.memory_info("cpu:0")[0].limit
        17179869184
        >>> dt.set_memory_limit(None, "numpy")
    """
    title = "set_memory_limit"
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise op_error(TypeError, title, f"a limit is a whole number of bytes, or None, not {describe(limit)}.")
    if limit is not None and limit < 0:
        raise op_error(ValueError, title, f"a limit is 0 bytes or more, not {limit}.")
    owner = _engine(engine)
    device = owner.devices()[0] if device is None else device
    require_device(owner, device)
    if owner.limit_memory(limit, device):
        return
    accounts = {name: account for name, account in owner.books.accounts.items() if name != device}
    if limit is not None:
        accounts[device] = _opened(title, owner, device, limit)
    _configure(owner, owner.books.allocator, accounts)


def reset_peak(engine: Engine, device: str) -> None:
    """Let the peak of an engine's memory on a device begin at the bytes that are in use now."""
    if device in engine.books.accounts:
        account = engine.books.accounts[device]
        account.peak = account.in_use
    engine.forget_peak(device)


def _engine(name: str | None) -> Engine:
    return engine_registry.current_engine() if name is None else engine_registry.get_engine(name).holder


def _opened(title: str, engine: Engine, device: str, limit: int) -> Account:
    """An account of the arrays that are live now."""
    account = Account(engine, device, limit)
    for owner, values, _ in _holders([engine]):
        for value in values if owner is engine else ():
            if engine.device_of(value) == device:
                account.adopt(title, value, is_forced=True)
    account.admit(title, 0)
    return account


# -- allocators -------------------------------------------------------------------------------------------------------


def set_allocator(allocator: Allocator | None, engine: str | None = None) -> None:
    """Let an allocator of the program give an engine the memory of its large arrays, of 4 kB and more.

    These are results of single calls, converted values, first values of variables, and the buffers and results of
    programs.  Operations write into the allocator's arrays if they can.  Else the library makes the result, and it is
    copied.  `release` is called when neither an array nor a view of it is left, in any thread and at any time.  So it
    must be quick, and take no lock that `allocate` holds.

    Args:
        allocator: has `allocate(shape, dtype, device)` and `release(array)`; None takes the library's memory again.
        engine: the engine's name; the current engine, if not given.

    Raises:
        TypeError: the allocator lacks one of the methods.
        NotImplementedError: the engine's library takes no memory of others: jax, TensorFlow.

    Example:
        >>> import numpy as np
        >>> import dovetail as dt
        >>> class Counting:
        ...     live = 0
        ...     def allocate(self, shape, dtype, device):
        ...         self.live += 1
        ...         return np.empty(shape, dtype.numpy)
        ...     def release(self, array):
        ...         self.live -= 1
        >>> counting = Counting()
        >>> dt.set_allocator(counting, "numpy")
        >>> with dt.engine("numpy"):
        ...     x = dt.ops.convert(np.ones(5000)) * 2.0
        >>> counting.live
        1
        >>> dt.set_allocator(None, "numpy")
    """
    for method in ("allocate", "release"):
        if allocator is not None and not callable(getattr(allocator, method, None)):
            problem = (
                f"an allocator has the methods allocate(shape, dtype, device) and release(array); {method} is missing"
            )
            raise op_error(TypeError, "set_allocator", f"{problem} in {describe(allocator)}.")
    owner = _engine(engine)
    if allocator is not None and type(owner).lend is Memory.lend:
        problem = f"the library of the engine {owner.name!r} takes memory from its own allocator alone; engines that "
        raise op_error(NotImplementedError, "set_allocator", f"{problem}take it from a program are numpy and torch.")
    _configure(owner, allocator, owner.books.accounts)


def _configure(engine: Engine, allocator: Allocator | None, accounts: dict[str, Account]) -> None:
    """Put the methods of an engine that make arrays into forms that count them, and let programs be traced again."""
    engine.books.allocator, engine.books.accounts = allocator, accounts
    wrapper: dict[str, Callable[[Any], Any]] = {}
    if allocator is not None or accounts:
        wrapper = {method: partial(_making, engine, method) for method in _TITLES}
        wrapper["eager_rules"] = lambda rules: _Wrapped(partial(_accounted, engine, rules))
    if allocator is not None:
        wrapper["allocate"] = lambda own: _making(engine, "allocate", partial(_lent, engine, allocator))
        wrapper["allocates_results"] = lambda own: True
    engine.around.push("memory", wrapper)
    config.note_memory()


def _lent(engine: Engine, allocator: Allocator, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
    title = f"{type(allocator).__name__}.allocate"
    try:
        array = allocator.allocate(shape, dtype, device)
    except MemoryError as error:
        raise op_error(MemoryError, title, str(error) or "it has no memory left.") from error  # with the user's line
    owned = engine.owns_type(type(array))
    if not owned or tuple(engine.shape(array)) != tuple(shape) or engine.dtype(array) is not dtype:
        allocator_name = type(allocator).__name__
        problem = (
            f"it must return an array of {engine.name}'s, {TensorSpec(tuple(shape), dtype)}, not {describe(array)}."
        )
        raise op_error(TypeError, f"{allocator_name}.allocate", problem)

    def released() -> None:
        engine.books.lent.discard(key)
        allocator.release(array)

    lent = engine.lend(array, released)
    key = engine.memory_of(lent)[0]
    engine.books.lent.add(key)
    return lent


class _Wrapped(dict[str, Any]):
    """The rules of single calls, each in a form that counts and places results.

    None is kept, since programs register ops.
    """

    def __init__(self, wrap: Callable[[str], Any]) -> None:
        self._wrap = wrap

    def __missing__(self, name: str) -> Any:
        return self._wrap(name)


_TITLES = {"allocate": "a new array", "asarray": "convert", "copy": "copy"}


def _making(engine: Engine, method: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes one array, which counts it, and places it unless it is `allocate`."""
    title, allocates = _TITLES[method], method == "allocate"

    def made(value: Any, *args: Any, **options: Any) -> Any:
        if allocates and engine.books.accounts:
            _admit(engine, title, [TensorSpec(tuple(value), args[0])], *args[1:])
        result = make(value, *args, **options)
        if not allocates:
            result = _placed(engine, result, [value])
        count(engine, title, [result])
        return result

    return made


def _accounted(engine: Engine, rules: Mapping[str, Any], name: str) -> Rule | None:
    """The form of a rule for single calls that refuses results for which there is no room, and counts the others."""
    rule, op = rules[name], OPS.get(name)
    if rule is None or op is None:
        return rule
    is_fresh = name in engine.fresh or name in engine.out_rules

    def run(*values: Any) -> Any:
        if is_fresh and engine.books.accounts:
            _admit(engine, op.title, _specs(engine, op, values))
        results = rule(*values)
        if not op.returns_tuple:
            placed = _placed(engine, results, values)
            count(engine, op.title, [placed])
            return placed
        several = [_placed(engine, result, values) for result in results]
        count(engine, op.title, several)
        return several

    return run


def _specs(engine: Engine, op: Any, values: tuple[Any, ...]) -> list[TensorSpec]:
    """The specs of the results of a rule for these arguments; empty if they are not known."""
    if op.infer is None:
        return []

    def seen(value: Any) -> Any:
        if isinstance(value, list) and value and engine.owns_type(type(value[0])):
            return list(map(seen, value))
        return TensorSpec(engine.shape(value), engine.dtype(value)) if engine.owns_type(type(value)) else value

    specs = of_any_rank(op.infer, list(map(seen, values)), op.ints_positions)
    return list(specs) if op.returns_tuple else [specs]


def _admit(engine: Engine, title: str, specs: list[TensorSpec], device: str | None = None) -> None:
    account = engine.books.accounts.get(device or engine.devices()[0])
    if account is not None:
        account.admit(title, sum(spec.nbytes or 0 for spec in specs))


def _placed(engine: Engine, result: Any, given: Any) -> Any:
    """A result in memory of the allocator; small ones and views of arguments stay where they are."""
    if engine.books.allocator is None:
        return result
    key, _, size = engine.memory_of(result)
    if size < SMALLEST or key in engine.books.lent:
        return result
    arrays = [v for value in given for v in (value if isinstance(value, list) else [value])]
    if any(engine.owns_type(type(v)) and engine.memory_of(v)[0] == key for v in arrays):
        return result
    return engine.write(engine.allocate(engine.shape(result), engine.dtype(result), None), result)


def count(engine: Engine, title: str, results: Any, is_forced: bool = False) -> None:
    """Count arrays of an engine, if it has accounts; raise MemoryError if one exceeds the limit of its device."""
    for result in results if engine.books.accounts else ():
        account = engine.books.accounts.get(engine.device_of(result))
        if account is not None:
            account.adopt(title, result, is_forced)
