"""Values of nodes while a graph is read: tensors, handles, lists, and values that are no tensors here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.formats.constants import filled
from dovetail.formats.opaque import Unreadable
from dovetail.ops.shapes.shape import dims_of


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
    """

    name: str
    reason: str


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


@dataclass(frozen=True)
class TensorList:
    """A list of tensors of one shape, as one tensor with an element in each row.

    Attributes:
        data: the tensor; None while no element is set.
        size: the number of elements, an int or a tensor.
        shape: of an element: ints with -1 for unknown ones, a tensor, or None.
        dtype: of an element.
    """

    data: Any
    size: Any
    shape: Any
    dtype: Any

    @classmethod
    def of(cls, data: Any) -> TensorList:
        """The list of the rows of a tensor."""
        return cls(data, ops.shape(data)[0], None, data.dtype)

    def rows(self) -> Any:
        """The elements as one tensor; zeros if none is set.

        Raises:
            Unreadable: nothing is set, and the shape of an element is not known.
        """
        if self.data is not None:
            return self.data
        if not isinstance(self.shape, list) or min(self.shape, default=0) < 0:
            raise Unreadable(f"the shape of the elements of an empty list is {self.shape}, and it must be known")
        return filled([self.size, *self.shape], 0, self.dtype)

    def grown(self, item: Any) -> TensorList:
        """The list with another element behind the last one."""
        item = ops.expand_dims(item, 0)
        known = self.data is not None or self.size != 0
        return TensorList.of(ops.concatenate([self.rows(), item], 0) if known else item)

    def longer(self, size: Any) -> Any:
        """The elements as one tensor, with zeros behind them if there are fewer than `size`."""
        rows = self.rows()
        spare = ops.maximum(size - ops.shape(rows)[0], 0)
        return ops.concatenate([rows, ops.zeros([spare, *dims_of(rows)[1:]], rows.dtype)], 0)

    def set(self, index: Any, item: Any, grows: bool = False) -> TensorList:
        """The list with another element; if it grows, the index may be behind the last one."""
        filling = self
        if self.data is None:
            dims = ops.shape(item)
            zeros = filled([self.size, *(dims[i] for i in range(len(item.shape)))], 0, item.dtype)
            filling = replace(self, data=zeros)
        rows = filling.longer(index + 1) if grows else filling.data
        rows = ops.slice_update(rows, [index, *[0] * len(item.shape)], ops.expand_dims(item, 0))
        return TensorList.of(rows) if grows else replace(self, data=rows)
