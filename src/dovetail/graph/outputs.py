"""Outputs: the list of a graph's results, with an index of the places of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import scopes
from dovetail.graph.journal import all_or_nothing, note
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import GraphTensor

if TYPE_CHECKING:
    from dovetail.graph.base import GraphBase


class Outputs(list[GraphTensor]):
    """The results of a graph, in order; a list.

    The outputs of a branch or of a loop's body can be replaced by others, of the same dtypes and of shapes that fit.
    Their number is fixed: `operation.add_output` adds one.

    Args:
        graph: the graph of these results; each change notifies it.
        tensors: the items of the list.
    """

    def __init__(self, graph: GraphBase, tensors: Iterable[GraphTensor] = ()) -> None:
        super().__init__(tensors)
        self._graph = graph
        self._numbers: dict[GraphTensor, list[int]] | None = None

    def numbers(self) -> dict[GraphTensor, list[int]]:
        """The places of each tensor in the list: tensor → numbers."""
        if self._numbers is None:
            self._numbers = {}
            for number, tensor in enumerate(self):
                self._numbers.setdefault(tensor, []).append(number)
        return self._numbers

    def check_own(self, tensors: Iterable[Any]) -> None:
        """Refuse tensors of other graphs.

        Raises:
            ValueError: one is in another graph.
        """
        for tensor in tensors:
            if type(tensor) is GraphTensor and tensor.op.graph is not self._graph:
                self._graph.check_tensor(tensor)

    def replace(self, old: GraphTensor, new: GraphTensor) -> None:
        """Replace a tensor with another at all its places."""
        numbers = self.numbers().get(old)
        if numbers:
            self._put(new, numbers)

    def _put(self, tensor: GraphTensor, numbers: Iterable[int]) -> None:
        index = self.numbers()
        for number in list(numbers):
            self._graph.check_changeable()
            old = self[number]
            list.__setitem__(self, number, tensor)
            index[old].remove(number)
            if not index[old]:
                del index[old]
            index.setdefault(tensor, []).append(number)
            self._graph.edited(partial(self._put, old, [number]))

    def add(self, tensor: GraphTensor) -> None:
        """Append a tensor, for a caller that also gives the operation that holds the graph another output."""
        self._changed(list.append, tensor)

    def _changed(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if scopes().undo is not None:
            note(partial(_restore, self, list(self)))
        self._numbers = None
        self._graph.edited()
        return method(self, *args, **options)

    def __reduce__(self) -> Any:
        return list, (list(self),)


def _restore(outputs: Outputs, tensors: list[GraphTensor]) -> None:
    outputs._changed(list.__setitem__, slice(None), tensors)


def _changing(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def change(self: Outputs, *args: Any, **options: Any) -> Any:
        self._graph.check_changeable()
        args = tuple(list(given) if isinstance(given, Iterator) else given for given in args)
        for given in args:
            self.check_own(given if isinstance(given, (list, tuple)) else [given])
        if not holders_of(self._graph):
            return self._changed(method, *args, **options)
        with all_or_nothing():
            result = self._changed(method, *args, **options)
            hooks.check_held_outputs(self._graph)
        return result

    change.__name__, change.__doc__ = name, method.__doc__
    return change


for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend", "insert", "pop",
              "remove", "reverse", "sort"):  # fmt: skip
    setattr(Outputs, _name, _changing(_name))
