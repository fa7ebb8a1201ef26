"""Lists of tensors while a graph is read, as tensors of the graph: of one shape, and of several."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, filled, is_tensor, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of, rank_of


@dataclass(frozen=True)
class TensorList:
    """A list of tensors of one shape, as one tensor with an element in each row.

    Attributes:
        data: the tensor; None while no element is set.
        size: the number of elements, an int or a tensor.
        shape: of an element: ints with -1 for unknown ones, a tensor, or None.
        dtype: of an element.
        gradient: the name of the gradients that it holds, if it is the flow of the gradient of an array.
    """

    data: Any
    size: Any
    shape: Any
    dtype: Any
    gradient: str = ""

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

    def tensors(self) -> list[Any]:
        """The tensors that branches and loops pass on."""
        return [self.rows()]

    def rebuilt(self, tensors: Iterator[Any]) -> TensorList:
        """The list of other tensors in place of `tensors()`."""
        return replace(TensorList.of(next(tensors)), gradient=self.gradient)

    def blank(self, size: Any) -> TensorList:
        """A list of this number of zeros that have the shape of its elements."""
        return TensorList.of(ops.zeros(_sizes([size], self.data, 1), self.data.dtype))

    def get(self, index: Any) -> Any:
        """An element."""
        return OPS["GatherV2"](self.rows(), index, 0)

    def concatenated(self) -> list[Any]:
        """The elements in one, and the number of rows of each."""
        rows = self.rows()
        lengths = ops.broadcast_to(ops.shape(rows)[1], ops.shape(rows)[:1])
        return [ops.reshape(rows, _sizes([-1], rows, 2)), ops.cast(lengths, "int64")]

    def grown(self, item: Any) -> TensorList:
        """The list with another element behind the last one."""
        item = ops.expand_dims(item, 0)
        known = self.data is not None or self.size != 0
        return TensorList.of(ops.concatenate([self.rows(), item], 0) if known else item)

    def popped(self) -> tuple[TensorList, Any]:
        """The list without its last element, and this element."""
        rows = self.rows()
        return self.of(rows[:-1]), rows[-1]

    def joined(self, other: TensorList) -> TensorList:
        """The list with the elements of another one of its kind behind its own."""
        if self.data is None or other.data is None:
            return self if other.data is None else other
        return self.of(ops.concatenate([self.data, other.data], 0))

    def resized(self, size: Any) -> TensorList:
        """The list with this number of elements: without the last ones, or with zeros behind them."""
        return self.of(self.longer(size)[:size])

    def longer(self, size: Any) -> Any:
        """The elements as one tensor, with zeros behind them if there are fewer than `size`."""
        rows = self.rows()
        spare = ops.maximum(size - ops.shape(rows)[0], 0)
        return ops.concatenate([rows, ops.zeros(_sizes([spare], rows, 1), rows.dtype)], 0)

    def set(self, index: Any, item: Any, grows: bool = False) -> TensorList:
        """The list with another element; if it grows, the index may be behind the last one."""
        filling = self
        if self.data is None:
            filling = replace(self, data=filled(_sizes([self.size], item), 0, item.dtype))
        rows = filling.longer(index + 1) if grows else filling.data
        _need_one_shape(rows, item)
        if rows.shape is None or item.shape is None:
            rows = ops.tensor_scatter_update(rows, ops.reshape(index, [1, 1]), ops.expand_dims(item, 0))
        else:
            rows = ops.slice_update(rows, [index, *[0] * rank_of(item)], ops.expand_dims(item, 0))
        return TensorList.of(rows) if grows else replace(self, data=rows)

    def scattered(self, indices: Any, items: Any, grows: bool = False) -> TensorList:
        """The list with other elements at some indices; if it grows, they may be behind the last one."""
        size: Any = self.size
        if grows:
            ends = ops.concatenate([ops.reshape(ops.convert(size, dtype="int32"), [1]), indices + 1], 0)
            known = constant_of(ends)
            size = ops.max(ends) if known is None else int(known.max())
        if self.data is None:
            rows = filled(_sizes([size], items, 1), 0, items.dtype)
        else:
            rows = self.longer(size) if grows else self.rows()
        return TensorList.of(ops.tensor_scatter_update(rows, ops.expand_dims(indices, -1), items))

    def zeros(self) -> TensorList:
        """The list with zeros for the numbers of its elements."""
        return self if self.data is None else replace(self, data=ops.zeros_like(self.data))

    def plus(self, other: TensorList) -> TensorList:
        """The sums of the elements of two lists; one without elements has zeros."""
        if self.data is None or other.data is None:
            return self if other.data is None else other
        return other.plus(self) if isinstance(other, RaggedList) else replace(self, data=self.data + other.data)


def is_zero(value: Any) -> bool:
    """Whether a tensor is the number 0, as gradients of arrays begin."""
    array = constant_of(value)
    return array is not None and array.ndim == 0 and not array


def is_carried(value: Any) -> bool:
    """Whether branches and loops can pass a value on as tensors."""
    return is_tensor(value) or isinstance(value, TensorList)


def tensors_of(values: Sequence[Any]) -> list[Any]:
    """The tensors among some values; a list has some."""
    lists = (value.tensors() if isinstance(value, TensorList) else [value] for value in values if is_carried(value))
    return [tensor for tensors in lists for tensor in tensors]


def rebuilt(values: Sequence[Any], tensors: Iterable[Any]) -> list[Any]:
    """The values with other tensors in place of theirs."""
    left = iter(tensors)
    return [
        value.rebuilt(left) if isinstance(value, TensorList) else next(left) if is_tensor(value) else value
        for value in values
    ]


@dataclass(frozen=True, eq=False)
class Variants:
    """A ragged tensor in a variant, or those in a vector of variants.

    Attributes:
        parts: the numbers of rows in each row, those of the outermost rows first, and the values; of a vector, the
            `RaggedList` of each.
    """

    parts: tuple[Any, ...]

    def tensors(self) -> list[Any]:
        """The tensors of the parts."""
        parts = (part.tensors() if isinstance(part, TensorList) else [part] for part in self.parts)
        return list(itertools.chain(*parts))

    def rebuilt(self, tensors: Iterator[Any]) -> Variants:
        """The ragged tensor of other tensors in place of `tensors()`."""
        return Variants(tuple(tensors))


@dataclass(frozen=True)
class RaggedList(TensorList):
    """A list of tensors of one rank and several shapes: their elements one behind the other, as `data`.

    Attributes:
        sizes: the shape of each tensor, in the rows of a tensor; None while no element is set, and if ranks differ.
        known: index → the tensor there; empty if some was not set at a constant index.
    """

    sizes: Any = None
    known: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def split(cls, value: Any, lengths: Any) -> RaggedList:
        """The list of parts of a tensor with some numbers of rows."""
        lengths = ops.reshape(ops.cast(lengths, "int32"), [-1, 1])
        inner = ops.broadcast_to(ops.shape(value)[1:], [ops.shape(lengths)[0], rank_of(value) - 1])
        shape = [-1, *(-1 if size is None else size for size in value.shape[1:])]
        return cls._of(ops.reshape(value, [-1]), ops.concatenate([lengths, inner], 1), shape)

    @classmethod
    def _of(cls, data: Any, sizes: Any, shape: Any) -> RaggedList:
        return cls(data, ops.shape(sizes)[0], shape, data.dtype, sizes=sizes)

    def tensors(self) -> list[Any]:
        if self.sizes is None:
            raise Unreadable("no element of a list is set, so its rank is not known")
        return [self.data, self.sizes]

    def rebuilt(self, tensors: Iterator[Any]) -> TensorList:
        return replace(self._of(next(tensors), next(tensors), self.shape), gradient=self.gradient)

    def blank(self, size: Any) -> TensorList:
        sizes = ops.zeros([size, *dims_of(self.sizes)[1:]], self.sizes.dtype)
        return self._of(ops.zeros([0], self.data.dtype), sizes, self.shape)

    def rows(self) -> Any:
        if self.sizes is None and self.known:
            return ops.stack(self._all())
        if self.sizes is None:
            return super().rows()
        return ops.reshape(self.data, [ops.shape(self.sizes)[0], *self._dims(ops.max(self.sizes, 0))])

    def lacks(self, index: Any) -> bool:
        """Whether the element at a constant index is not set."""
        return bool(self.known) and (place := _place_of(index)) is not None and place not in self.known

    def _is_known(self) -> bool:
        """Whether each element was set at a constant index."""
        return isinstance(self.size, int) and self.size == len(self.known)

    def _all(self) -> list[Any]:
        """The elements, if each was set at a constant index."""
        if not self._is_known():
            raise Unreadable("the tensors of a list have several ranks, or unknown ones")
        return [self.known[i] for i in range(self.size)]

    def _dims(self, sizes: Any) -> list[Any]:
        """The shape of an element, with the sizes that all have as numbers."""
        return [sizes[i] if known < 0 else known for i, known in enumerate(self.shape)]

    def _place(self, index: Any) -> tuple[Any, Any]:
        """The numbers of the first element of a tensor, and of the one behind its last."""
        ends = ops.cumsum(ops.prod(self.sizes, 1))
        stop = OPS["GatherV2"](ends, index, 0)
        return stop - ops.prod(OPS["GatherV2"](self.sizes, index, 0)), stop

    def get(self, index: Any) -> Any:
        if (place := _place_of(index)) is not None and place in self.known:
            return self.known[place]
        if self.sizes is None:
            return super().get(index)
        start, stop = self._place(index)
        return ops.reshape(self.data[start:stop], self._dims(OPS["GatherV2"](self.sizes, index, 0)))

    def concatenated(self) -> list[Any]:
        if self.sizes is None and self.known:
            parts = self._all()
            return [ops.concatenate(parts, 0), ops.cast(ops.stack([ops.shape(part)[0] for part in parts]), "int64")]
        if self.sizes is None:
            return super().concatenated()
        dims = self._dims(ops.max(self.sizes, 0))[1:]
        return [ops.reshape(self.data, [-1, *dims]), ops.cast(self.sizes[:, 0], "int64")]

    def longer(self, size: Any) -> Any:
        raise Unreadable("it changes the length of a list of tensors of several shapes")

    def grown(self, item: Any) -> TensorList:
        known: Any = {**self.known, len(self.known): item} if type(item) is GraphTensor and self._is_known() else {}
        differs = bool(self.known) if self.sizes is None else self.sizes.shape[-1] != len(item.shape or ())
        if differs or item.shape is None:
            if not known:
                raise Unreadable("it appends tensors of several ranks to a list, or of an unknown one")
            return replace(self, data=None, sizes=None, size=len(known), known=known)
        one = self._of(ops.reshape(item, [-1]), ops.expand_dims(ops.shape(item), 0), self._merged(item))
        whole = one if self.sizes is None else self.joined(one)
        return replace(whole, size=len(known), known=known) if known else whole

    def popped(self) -> tuple[TensorList, Any]:
        if self.known and self._is_known():
            last = len(self.known) - 1
            left = self if self.sizes is None else self.resized(last)
            known = {i: self.known[i] for i in range(last)}
            return replace(left, size=last, known=known), self.known[last]
        if self.sizes is None:
            return super().popped()
        sizes = self.sizes[-1]
        start = ops.shape(self.data)[0] - ops.prod(sizes)
        item = ops.reshape(self.data[start:], self._dims(sizes))
        return self._of(self.data[:start], self.sizes[:-1], self.shape), item

    def joined(self, other: Any) -> RaggedList:
        if self.sizes is None or other.sizes is None:
            return self if other.sizes is None else other
        data, sizes = (ops.concatenate(pair, 0) for pair in ((self.data, other.data), (self.sizes, other.sizes)))
        return self._of(data, sizes, self.shape)

    def resized(self, size: Any) -> RaggedList:
        if self.sizes is None:
            raise Unreadable("it changes the length of a list of tensors of several ranks, or of an unknown one")
        spare = ops.zeros([ops.maximum(size - ops.shape(self.sizes)[0], 0), *self.sizes.shape[1:]], "int32")
        sizes = ops.concatenate([self.sizes, spare], 0)[:size]
        return self._of(self.data[: ops.sum(ops.prod(sizes, 1))], sizes, self.shape)

    def set(self, index: Any, item: Any, grows: bool = False) -> TensorList:
        if item.shape == () and not self.known:  # scalars have one shape
            return TensorList(None, self.size, self.shape, self.dtype).set(index, item, grows)
        whole, rank = self, None if item.shape is None else rank_of(item)
        if self.sizes is None and rank is not None:
            none = ops.reshape(item, [-1])[:0]
            whole = self._of(none, filled([self.size, rank], 0, "int32"), self.shape)
        place = _place_of(index)
        is_known = place is not None and type(item) is GraphTensor and (bool(self.known) or self.data is None)
        known: dict[Any, Any] = {**self.known, place: item} if is_known else {}
        if rank is None or whole.sizes.shape[-1] != rank or (self.sizes is None and self.known):
            if not known:
                raise Unreadable("it sets tensors of several ranks in a list, at indices that are not constant")
            return replace(self, data=None, sizes=None, known=known)
        if grows:
            whole = whole.resized(ops.maximum(index + 1, ops.shape(whole.sizes)[0]))
        start, stop = whole._place(index)
        data = ops.concatenate([whole.data[:start], ops.reshape(item, [-1]), whole.data[stop:]], 0)
        sizes = ops.slice_update(whole.sizes, [index, 0], ops.expand_dims(ops.shape(item), 0))
        return replace(self._of(data, sizes, self._merged(item)), known=known)

    def zeros(self) -> TensorList:
        whole: Any = super().zeros()
        return replace(whole, known={i: ops.zeros_like(x) for i, x in self.known.items()})

    def plus(self, other: TensorList) -> TensorList:
        if self.known and not isinstance(other, RaggedList) and other.data is not None:
            other = replace(other, gradient=self.gradient)
            return reduce(lambda rows, i: rows.set(i, rows.get(i) + self.known[i]), self.known, other)
        if isinstance(other, RaggedList) and self.known and other.known:
            sums = {i: self.known[i] + x if i in self.known else x for i, x in other.known.items()}
            start: TensorList = self
            return reduce(lambda rows, i: rows.set(recorded(i, "int32"), sums[i]), sums, start)
        if self.data is None or other.data is None:
            return self if other.data is None else other
        return replace(self, data=self.data + other.data, known={})

    def _merged(self, item: Any) -> list[int]:
        """The declared shape of the elements, with -1 for sizes that it leaves open."""
        return self.shape if isinstance(self.shape, list) else [-1] * rank_of(item)


def _sizes(sizes: list[Any], like: Any, skip: int = 0) -> Any:
    """Some sizes, and behind them those of a tensor, of which the first ones are left out."""
    if like.shape is not None:
        return [*sizes, *dims_of(like)[skip:]]
    return ops.concatenate([ops.stack([ops.cast(size, "int32") for size in sizes]), ops.shape(like)[skip:]], 0)


def _need_one_shape(rows: Any, item: Any) -> None:
    """Refuse a tensor that has not the shape of the others in a list whose elements are stacked.

    Raises:
        Unreadable: the shapes are known, and differ.
    """
    shapes = rows.shape and rows.shape[1:], item.shape
    advice = "as the others in its list have, which are stacked: pad the tensors to one shape, or concatenate them"
    pairs = () if None in shapes else [*itertools.zip_longest(*shapes, fillvalue=-1)]
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise Unreadable(f"it sets a tensor of shape {shapes[1]}, and needs the shape {shapes[0]}, {advice}")
    if None in shapes or None in shapes[0] + shapes[1]:
        size = ops.shape(item)
        fits = ops.all(ops.equal(ops.shape(rows)[1:], size))
        OPS["Assert"](fits, (size,), f"TensorListSetItem: the tensor must have the same shape {advice}; its shape is")


def _place_of(index: Any) -> int | None:
    """An index that is constant."""
    array = constant_of(index)
    return None if array is None else int(array)
