"""Ragged tensors, lists and optional values in variants, which loops keep in lists, as tensors of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.tensor_lists import RaggedList, TensorList, Variants
from dovetail.formats.tensorflow.values import Optional


@dataclass(frozen=True, eq=False)
class VariantList(TensorList):
    """A list of ragged tensors, of lists, or of optional values.

    Attributes:
        data: for each tensor of an element the list of them, as a vector of variants; None while no element is set.
        item: an element, as the others are; None if all are ragged tensors.
    """

    item: Any = None

    @classmethod
    def of(cls, data: Any) -> VariantList:
        return cls(data, data.parts[0].size, None, None)

    def _each(self, parts: Iterable[Any], item: Any = None) -> VariantList:
        return replace(self.of(Variants(tuple(parts))), item=self.item if item is None else item)

    def rows(self) -> Any:
        if self.data is None:
            raise Unreadable("no element of a list of ragged tensors, of lists or of optional values is set")
        return self.data

    def tensors(self) -> list[Any]:
        return self.rows().tensors()

    def rebuilt(self, tensors: Iterator[Any]) -> TensorList:
        return self._each(part.rebuilt(tensors) for part in self.rows().parts)

    def blank(self, size: Any) -> TensorList:
        return self._each(part.blank(size) for part in self.rows().parts)

    def get(self, index: Any) -> Any:
        return self._like([part.get(index) for part in self.rows().parts])

    def grown(self, item: Any) -> TensorList:
        tensors = item.tensors()
        parts = self._parts(item, tensors)
        return self._each((part.grown(one) for part, one in zip(parts, tensors, strict=True)), item)

    def popped(self) -> tuple[TensorList, Any]:
        lists, items = zip(*(part.popped() for part in self.rows().parts), strict=True)
        return self._each(lists), self._like(items)

    def set(self, index: Any, item: Any, grows: bool = False) -> TensorList:
        tensors = item.tensors()
        parts = self._parts(item, tensors)
        return self._each((part.set(index, one, grows) for part, one in zip(parts, tensors, strict=True)), item)

    def _like(self, tensors: Sequence[Any]) -> Any:
        """An element with these tensors."""
        return Variants(tuple(tensors)) if self.item is None else self.item.rebuilt(iter(tensors))

    def _parts(self, item: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The lists of the tensors of an element; empty ones for such an element while none is set."""
        if self.data is not None:
            return self.data.parts
        shapes = [None if isinstance(item, Optional) else _open(one) for one in tensors]
        return tuple(RaggedList(None, self.size, shape, one.dtype) for one, shape in zip(tensors, shapes, strict=True))


def _open(part: Any) -> list[int]:
    """The shape of tensors with other numbers of rows."""
    return [-1, *(-1 if size is None else size for size in part.shape[1:])]
