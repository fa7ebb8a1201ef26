"""Allocation: memory for large arrays of NumPy's, which other libraries read in place.

NumPy takes memory by a handler that each thread and task can replace.  Ours is NumPy's own handler with the C library's
`aligned_alloc` for `malloc`: NumPy frees the memory as it frees any other.  It is current only while a function here
runs, so a program's own arrays are made as before.  `aligned_empty` makes no arrays of `HUGE` bytes by it: NumPy's
handler asks the system for large pages, without which it takes twice as long to write to new memory.

Source: NEP 49, data allocation strategies.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dovetail.core.base.memory import glibc
from dovetail.core.base.optional_api import optional_api

SMALLEST = 1 << 12  # bytes: below this the library's own allocation is faster than any bookkeeping
HUGE = 1 << 22  # bytes: from here on NumPy's handler asks the system for large pages
ALIGNED = 64  # bytes: JAX and TensorFlow read an array in place if it begins at a multiple of them, else they copy it

_FUNCTIONS = optional_api(np, "_core._multiarray_umath._ARRAY_API")  # NumPy's functions for C, in a capsule
_NAME = b"mem_handler"  # of capsules that hold handlers
_SET_HANDLER, _GET_HANDLER = 304, 305  # the numbers of PyDataMem_SetHandler and PyDataMem_GetHandler


_kept: list[_Handler] = []


class _Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`; `context` is the first argument of its four functions."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((field, ctypes.c_void_p) for field in ("context", "malloc", "calloc", "realloc", "free")),
    )


def _usual_handler(pointer: Callable[..., int], functions: Any) -> tuple[Any, _Handler]:
    """The variable that holds a thread's or task's handler, and a copy of NumPy's own."""
    capsule = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[_GET_HANDLER])()
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])(capsule)
    (variable,) = (known for known in contextvars.copy_context() if known.name == "current_allocator")
    return variable, _Handler.from_buffer_copy(ctypes.string_at(pointer(capsule, _NAME), ctypes.sizeof(_Handler)))


def _aligning() -> Callable[[], Any] | None:
    """A function that makes our handler current; None if NumPy or the C library is not as it needs them.

    The handler and its capsule live as long as the process, since arrays refer to them.
    """
    library, python = glibc(), ctypes.pythonapi
    if _FUNCTIONS is None or library is None:
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
    functions = ctypes.cast(pointer(_FUNCTIONS, None), ctypes.POINTER(ctypes.c_void_p))
    try:
        variable, handler = contextvars.Context().run(_usual_handler, pointer, functions)
    except (ValueError, SystemError):  # there is no such variable, or no such capsule
        return None
    if handler.version != 1:
        return None
    handler.name, handler.context = b"dovetail_aligned", ALIGNED
    handler.malloc = ctypes.cast(library.aligned_alloc, ctypes.c_void_p).value
    _kept.append(handler)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(("PyCapsule_New", python))(ctypes.addressof(handler), _NAME, None)
    return functools.partial(variable.set, capsule)


_made = _aligning()


class Arena(list[Any]):
    """The buffers of a program in one thread.

    Attributes:
        engine: the engine of the arrays.
    """

    def __init__(self, engine: Any, arrays: Iterable[Any]) -> None:
        super().__init__(arrays)
        self.engine = engine


class _Block:
    """Memory that belongs to another object, for NumPy to make arrays of."""

    def __init__(self, holder: Any, address: int, size: int) -> None:
        self.holder = holder
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False)}


_lent: set[int] = set()  # where the memory of arrays in use begins


def lent_bytes(holder: Any, address: int, size: int, released: Callable[[], None]) -> np.ndarray:
    """An array of the bytes of another object.  The object is told when the array and all views of it are gone.

    Args:
        holder: the object.
        address: where its memory begins.
        size: the number of bytes.
        released: called once, in any thread.

    Raises:
        ValueError: the bytes are in another such array, which is still in use.
    """
    if address in _lent and size:
        raise ValueError("an allocator gives memory that is free, and this array is in use until `release` has it.")
    memory = np.asarray(_Block(holder, address, size))  # views of it keep it, as its memory is a stranger's
    _lent.add(address)

    def over() -> None:
        _lent.discard(address)  # first, since the memory may be given again at once
        released()

    weakref.finalize(memory, over).atexit = False
    return memory


def aligned(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function of NumPy's; it begins at a multiple of `ALIGNED` bytes, if NumPy can be told so here."""
    if _made is None:
        return function(*args)
    return contextvars.copy_context().run(_run_aligned, function, args)  # which ends whenever a signal comes


def _run_aligned(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    _made()  # type: ignore[misc]  # it is there
    return function(*args)


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array with any contents that begins at a multiple of `ALIGNED` bytes.

    Example:
        >>> aligned_empty((1000,), np.dtype("float32")).ctypes.data % ALIGNED
        0
    """
    size = math.prod(shape) * dtype.itemsize
    if _made is not None and size < HUGE:
        return aligned(np.empty, shape, dtype)
    memory = contextvars.Context().run(np.empty, size + ALIGNED, np.uint8)  # by NumPy's handler, also within `aligned`
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % ALIGNED)
