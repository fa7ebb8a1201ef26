"""Values of nodes while a graph is read: handles, optional values, and values that are no tensors here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.formats.tensorflow.tensor_lists import TensorList, rebuilt, tensors_of


@dataclass(frozen=True)
class Handle:
    """A handle of a variable; a reference of TensorFlow 1 is read wherever a tensor is needed.

    Attributes:
        variable: the variable.
        is_reference: whether it is such a reference.
        after: the assignments that gave the reference, for which reads wait.
    """

    variable: Any
    is_reference: bool = False
    after: tuple[Any, ...] = ()


class Foreign(NamedTuple):
    """A value that nothing computes.

    Attributes:
        name: of its node.
        reason: why nothing does.
        sum_to: the shape that a gradient is summed to, if the node gives the axes for it, and they are not known.
        source: the name of the gradients, if it is the handle of the gradient of an array of TensorFlow 1.
    """

    name: str
    reason: str
    source: str = ""
    sum_to: Any = None


@dataclass(frozen=True, eq=False)
class Optional:
    """Tensors and lists that are there in one of two branches, with which TensorFlow differentiates branches.

    Attributes:
        values: the tensors and lists; empty where nothing is there.
    """

    values: tuple[Any, ...] = ()

    def tensors(self) -> list[Any]:
        """The tensors that branches and loops pass on."""
        return tensors_of(self.values)

    def rebuilt(self, tensors: Iterator[Any]) -> Optional:
        """The values of other tensors in place of `tensors()`."""
        return Optional(tuple(rebuilt(self.values, tensors)))

    def zeros(self) -> Optional:
        """Zeros for the values."""
        return Optional(tuple(x.zeros() if isinstance(x, TensorList) else ops.zeros_like(x) for x in self.values))

    def plus(self, other: Optional) -> Optional:
        """The sums of the values of two; nothing stands for zeros."""
        if not self.values or not other.values:
            return self if self.values else other
        pairs = zip(self.values, other.values, strict=True)
        return Optional(tuple(x.plus(y) if isinstance(x, TensorList) else x + y for x, y in pairs))


class Spec(NamedTuple):
    """The shape and the dtype of a value that the host computes; strings, tables and variants have no dtype."""

    shape: tuple[int | None, ...] | None
    dtype: Any

    def __repr__(self) -> str:
        sizes = "..." if self.shape is None else ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype or 'string'}[{sizes}]"


class Host(NamedTuple):
    """A result of a host node, which is computed before the graph runs, or after it.

    Attributes:
        node: the `Node`.
        number: of the result.
        spec: its `Spec`.
    """

    node: Any
    number: int
    spec: Spec

    @property
    def is_number(self) -> bool:
        """Whether nodes of the graph can take it."""
        return self.spec.dtype is not None
