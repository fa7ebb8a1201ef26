"""Programs: a lowered graph as one executable of XLA."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import starmap
from types import FunctionType
from typing import Any

import jax
import numpy as np

from dovetail.core.base.hooks import compiles
from dovetail.core.base.memory import BLOCK
from dovetail.core.engine import Segment
from dovetail.core.engines.allocation import aligned_empty
from dovetail.core.engines.devices import is_several
from dovetail.core.values.state import held_by
from dovetail.engines.jax.devices import DISAGREEING, all_named, name_of_all, told
from dovetail.engines.jax.hlo_scopes import instructions

with suppress(ImportError):  # JAX imports it at its first compilation; a signal there would leave half of it
    import jaxlib.mlir.dialects.mhlo  # noqa: F401

# XLA keeps the intermediate results of a program in one block.  An XLA thread takes and frees the block in each call.
# glibc would not keep a large block, so this option divides it.
OPTIONS_OF_PROCESSORS = {"xla_multiheap_size_constraint_per_heap": BLOCK}


def with_64_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: enable JAX's 64-bit types while a function runs.

    `with jax.enable_x64(True)` leaves them on if a signal handler raises as its `__exit__`, in Python, begins.  The
    setting's own methods are C functions, and Python handles no signal between a result and the next call.
    """

    @functools.wraps(function)
    def in_64_bits(*args: Any) -> Any:
        before = jax.enable_x64.get_local()
        try:
            jax.enable_x64.set_local(True)
            return function(*args)
        finally:
            jax.enable_x64.set_local(before)

    return in_64_bits


def copied(value: Any) -> Any:
    """A copy of the array, made without a program that JAX would compile for its shape."""
    return jax.device_put(value, may_alias=False)


LARGE = 2**18  # bytes from which JAX's copy takes longer than the alignment of ours


def aligned_copy(value: np.ndarray) -> np.ndarray:
    """A copy of the array, aligned if it is large, so that JAX makes no other copy."""
    if value.nbytes < LARGE:
        return np.array(value)
    copy = aligned_empty(value.shape, value.dtype)
    copy[...] = value
    return copy


class Executables:
    """A program with arguments of unknown dimensions, such as variables that grow: an executable for each shape."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._of_shapes: dict[tuple[Any, ...], Executable] = {}

    def prepare(self) -> None:
        """Do nothing: the shapes are known in a call."""

    def __call__(self, *args: Any, into: list[Any] | None = None) -> Any:
        shapes = tuple(arg.shape for arg in args)
        if shapes not in self._of_shapes:
            self._of_shapes[shapes] = Executable(self._segment)
        return self._of_shapes[shapes](*args, into=into)


def _devices(args: Sequence[Any]) -> str | None:
    """The name of the devices among which arguments are divided; None if there is one device."""
    names = (name_of_all(arg) for arg in args if isinstance(arg, jax.Array))
    return next(filter(is_several, names), None)


def _shardings(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(arg.sharding if isinstance(arg, jax.Array) else None for arg in args)


class Executable:
    """A program as one executable, compiled at the first call for its arguments' dtypes and shapes.

    It is compiled under `enable_x64` and runs without.  The first two calls run Python code around the execution, so
    they consume copies.  The first call makes JAX's function in C++, the second call makes the entry that this
    function keeps for calls without `enable_x64`.  Later calls go to the C++ code at once.  The exception of a signal
    handler then comes before, when nothing is consumed, or after, when the results are in the list.  Python code runs
    again if JAX's settings change between calls, such as its precision of products.  An exception in this very moment
    loses the consumed arrays.

    For arguments that are divided among devices in another way, JAX refuses the call before it consumes anything.  Then
    the program is compiled once more, for these.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._compiled: Any = None
        self._run: Any = None
        self._is_called = False
        self._latest = self  # the executable for arguments that are divided as the latest ones
        self._others: dict[Any, Executable] = {}  # by the shardings of the arguments
        self.devices: str | None = None  # if arguments are on several
        self._waits = False  # parts of several programs on CPUs may wait for each other, until XLA ends the process

    def prepare(self) -> None:
        """Compile the program for the specs of the graph's inputs, unless values are divided among devices."""
        held = [held_by(variable.holder()) for variable in self._segment.weights.values()]
        is_divided = any(is_several(buffer.device) for buffer in held if buffer is not None)
        if not is_divided and "Distribute" not in self._segment.graph.by_type:
            self._compile_for_specs()

    @with_64_bits
    def _compile_for_specs(self) -> None:
        if self._compiled is None:
            specs = [t.spec for t in self._segment.inputs]
            self._compiled = self._compile([jax.ShapeDtypeStruct(s.shape, s.dtype.numpy) for s in specs])

    def source(self) -> str:
        """The HLO of the executable, after the passes of XLA."""
        latest = self._latest
        latest._compile_for_specs()
        return latest._compiled.as_text()

    def instructions(self) -> dict[str, tuple[list[str], int]]:
        """The instructions of the HLO: name → the scopes of the operations that it computes, and its result's bytes."""
        return instructions(self.source())

    def __call__(self, *args: Any, into: list[Any] | None = None) -> Any:
        results: list[Any] = [] if into is None else into
        try:
            self._latest._call(args, results)
        except ValueError as error:
            if DISAGREEING not in str(error) or (self.devices or _devices(args)) is None:
                raise told(error) from error.__cause__
            self._latest = self._others.setdefault(_shardings(args), Executable(self._segment))
            self.devices = _devices(args)
            self._latest._call(args, results)
        return results[-1]

    def _call(self, args: tuple[Any, ...], found: list[Any]) -> None:
        if self._run is None:
            self._warm_up(args, found)
        else:
            found.extend(starmap(self._run, (args,)))
        if self._waits:
            jax.block_until_ready(found[-1])

    def _warm_up(self, args: tuple[Any, ...], found: list[Any]) -> None:
        args = tuple(copied(arg) if i in self._segment.donated else arg for i, arg in enumerate(args))
        if not self._is_called:
            found.append(self._call_compiled(args))
            self._is_called = True
            return
        run = getattr(self._compiled, "_call", None)  # called by its `__call__`, from the first call on
        if run is None or isinstance(run, FunctionType):  # Python code, if the program has callbacks
            run = with_64_bits(self._compiled)
        found.append(run(*args))
        self._run = run

    @with_64_bits
    def _call_compiled(self, args: tuple[Any, ...]) -> Any:
        if self._compiled is None:
            self._compiled = self._compile(args)
            self._others[_shardings(args)] = self
        return self._compiled(*args)

    @compiles
    def _compile(self, args: Sequence[Any]) -> Any:
        """Compile the program for arguments, or for structs of their dtypes and shapes."""
        self.devices = _devices(args)
        self._waits = self.devices is not None and self.devices.startswith("cpu")
        function, donated, device = self._segment.function, self._segment.donated, self._segment.device
        where = jax.devices()[0] if device is None else all_named(device)[0]
        place = None if device is None or is_several(device) else jax.sharding.SingleDeviceSharding(where)
        program = functools.partial(
            function
        )  # a new object: after an interrupt, JAX refuses the object that it has cached
        traced = jax.jit(program, donate_argnums=donated, in_shardings=place, out_shardings=place).lower(*args)
        return traced.compile(OPTIONS_OF_PROCESSORS if where.platform == "cpu" else None)
