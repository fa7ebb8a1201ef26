"""The arrays of an engine: how they are made, read, copied and exchanged with other libraries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.base.lacking import STEP
from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.engines.devices import nowhere

if TYPE_CHECKING:
    from dovetail.core.engine import Engine

_NOT_EXCHANGED: tuple[type[Exception], ...] = (BufferError,)  # DLPack raises it, besides the libraries' errors


class Arrays:
    """The part of an engine that makes, reads, copies and exchanges arrays.

    Attributes:
        array_key: (array) → a key of its shape and dtype, for caches; a C function if possible.
        direct: per accepted kind, the native dtypes that need no conversion; the fast paths of calls check these.
    """

    array_key: Callable[[Any], Any]
    direct: dict[str, frozenset[Any]]

    def owns_type(self, kind: type) -> bool:
        """Whether values of this Python type are the library's arrays."""
        raise NotImplementedError

    def native_dtype(self, dtype: DType) -> Any:
        """The library's object for a dtype."""
        return dtype.numpy

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        """A native array from NumPy arrays, Python numbers or nested lists, on a device if one is given."""
        raise NotImplementedError

    def argument(self, value: np.ndarray, dtype: DType) -> Any:
        """Convert a caller's array for a program with one place; the caller may change the array after the call."""
        return self.asarray(value, dtype)

    def to_numpy(self, value: Any) -> np.ndarray:
        """A NumPy array, without a copy where possible."""
        return np.asarray(value)

    shape: Callable[[Any], Any] = staticmethod(operator.attrgetter("shape"))  # an array's; None for unknown parts

    native_dtype_of = staticmethod(operator.attrgetter("dtype"))  # an array's dtype, as `native_dtype` gives it

    def dtype(self, value: Any) -> DType:
        return native_to_dtype(self.native_dtype_of(value))

    def write(self, array: Any, values: Any) -> Any:
        """Write values into an array, and return it; only rules with `out=` need this."""
        array[...] = values
        return array

    def wait(self, value: Any) -> None:
        """Wait until an array has its numbers, if the library computes while Python goes on."""

    def to_ints(self, value: Any) -> tuple[int, ...]:
        """An integer array as a shape, for ops whose shape is known only when they run."""
        return tuple(self.to_numpy(value).reshape(-1).tolist())

    def copy(self, value: Any) -> Any:
        """Copy an array to a new buffer."""
        raise NotImplementedError

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        """An array that its user may write to without changing another one.

        Args:
            value: a native array.
            given: the values that it was computed from, of any type; None if they are unknown.

        Returns:
            The array; or a copy that is differentiated like it, if users can write to the library's arrays and it may
            share memory with others.
        """
        return value

    def is_deleted(self, value: Any) -> bool:
        """Whether a native array's buffer is gone, consumed by a compiled program."""
        return False

    def from_dlpack(self, value: Any) -> Any:
        """A native array that shares memory with any object that speaks DLPack."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """The array, copied if its memory does not hold its numbers as they are, as that of a sparse one.

        Raises:
            ValueError: its rows differ in length.
        """
        return value

    def number(self: Any, value: Any, native_dtype: Any) -> Any:
        """A Python number as a native array without dimensions; None if it is no number, or would change the dtype.

        The arrays are cached and shared, so they must not leave the rules that get them.
        """
        if type(value) not in self._absorbed.get(native_dtype, ()):
            return None
        key = native_dtype, value or repr(value)  # 0.0 and -0.0 are equal, and so have one hash
        array = self._numbers.get(key)
        if array is None:
            try:
                with nowhere():
                    array = self.asarray(value, native_to_dtype(native_dtype))
            except OverflowError:
                return None
            self._numbers.put(key, array)
        return array

    def receive(self: Any, value: Any, sender: Engine, device: str | None = None) -> Any:
        """Receive a value from another engine or device: in the same memory if DLPack can describe it, else as a copy.

        Args:
            value: an array of the sender's.
            sender: the engine that it comes from; this one, for a value that only changes its device.
            device: the device for it; None leaves it to the engine.

        Raises:
            TypeError: the sender traces the value, which has no numbers yet.
        """
        if sender is self:
            return value if device is None else self.to_device(value, device)
        if sender.is_traced(value):
            problem = f"in a function that {sender.name} traces, values have no numbers, which {self.name} would need"
            advice = f"Decorate the function with dovetail.function, or choose the engine {sender.name!r}"
            raise op_error(TypeError, f"the move to {self.name}", f"{problem}. {advice}. Take gradients from {STEP}")
        sender._require_whole(value)
        try:
            received = self.from_dlpack(sender.plain(value))
        except _NOT_EXCHANGED + self.errors + sender.errors:  # one of the two lacks the dtype, layout or device
            array = sender.to_numpy(value)
            return self.asarray(array, native_to_dtype(array.dtype), device)
        return received if device is None else self.to_device(received, device)

    def take(self: Any, source: Any) -> Any:
        """A native array of any object that speaks DLPack, in the same memory if the engine can use it."""
        try:
            return self.from_dlpack(source)
        except _NOT_EXCHANGED + self.errors:  # as in `receive`
            array = np.from_dlpack(source)
            return self.asarray(array, native_to_dtype(array.dtype))
