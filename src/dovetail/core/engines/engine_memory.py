"""The memory of an engine: arrays for results, what arrays take, and limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.core.base.table import OPS
from dovetail.core.dtypes import DType
from dovetail.core.engines.allocation import SMALLEST
from dovetail.core.rules import OUT, Rule

if TYPE_CHECKING:
    from dovetail.core.values.spec import TensorSpec


@dataclass
class Books:
    """The memory of an engine as `accounting` keeps it.

    Attributes:
        allocator: the program's, which gives the memory of large arrays; None for the library's own.
        accounts: a device with a limit → the account of its arrays.
        lent: the keys of the allocator's memory that is in use, see `Memory.memory_of`.
    """

    allocator: Any = None
    accounts: dict[str, Any] = field(default_factory=dict)
    lent: set[Any] = field(default_factory=set)


class Memory:
    """The part of an engine that gives memory.

    Attributes:
        allocates_results: whether large results, too, are written into arrays of `allocate`, where a rule can; other
            rules with large results get the form of `allocating`.
        books: what `accounting` keeps of the engine.
    """

    allocates_results: bool = False
    books: Books

    def allocate(self, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
        """A native array with any contents, on a device if one is given, for a buffer or a large result."""
        raise NotImplementedError

    def into_allocated(self: Any, name: str, rule: Rule, specs: Sequence[TensorSpec]) -> Rule:
        """The rule for single calls, which writes a large result into an array of `allocate`, if it can.

        Args:
            name: the op.
            rule: its rule for single calls.
            specs: the specs of the results.
        """
        if not allocates(self, specs):
            return rule
        if not fills(self, name, specs):
            return self.allocating(name, rule)
        out, shape, dtype, allocate = self.rules.layer(OUT)[name], specs[0].shape, specs[0].dtype, self.allocate
        return self.eager_rule(lambda *arrays: out(*arrays, out=allocate(shape, dtype)))

    def allocating(self, name: str, rule: Rule) -> Rule:
        """The form of a rule that makes large results itself, so that they are in memory like that of `allocate`."""
        return rule

    def memory_of(self: Any, value: Any) -> tuple[Any, Any, int]:
        """The memory of an array: a key that all arrays in it share, the object that lives as long as it, its bytes."""
        return id(value), value, math.prod(self.shape(value)) * self.dtype(value).itemsize

    def lend(self, array: Any, released: Callable[[], None]) -> Any:
        """Another array in the memory of an array, which tells when neither it nor a view of it is left.

        An engine without a method of its own takes no memory of a program's allocator.
        """
        raise NotImplementedError

    def limit_memory(self, limit: int | None, device: str) -> bool:
        """Limit the bytes that the library takes on a device; False leaves the counting to Dovetail.

        Raises:
            NotImplementedError: the library takes memory by itself, and cannot be limited here.
        """
        return False

    def total_memory(self, device: str) -> int | None:
        """The bytes of a device, if the library can be limited to a part of them; else None."""
        return None

    def grow_memory(self, enable: bool, device: str) -> bool:
        """Let the library take memory of a device as it needs it, or all at once; False if it has no such setting."""
        return False

    def forget_peak(self, device: str) -> None:
        """Let the library's own figure of the most memory in use on a device begin at what is in use now."""

    def reported_memory(self, device: str) -> dict[str, int]:
        """The figures that the library reports of its memory on a device, by its names for them."""
        return {}


def allocates(engine: Any, specs: Sequence[TensorSpec]) -> bool:
    """Whether some of the results may be large, and are to be in memory of `allocate`."""
    return engine.allocates_results and any(s.nbytes is None or s.nbytes >= SMALLEST for s in specs)


def fills(engine: Any, name: str, specs: Sequence[TensorSpec]) -> bool:
    """Whether the op has one result, of known size, and a rule that writes it into a given array."""
    is_one = name in engine.out_rules and not OPS[name].returns_tuple
    return is_one and specs[0].nbytes is not None
