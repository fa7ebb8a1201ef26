"""States of operations as they were read, by which edits show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from dovetail.graph.operation import Operation


class State(NamedTuple):
    """An operation as it was read."""

    op: Any
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    controls: tuple[Operation, ...]
    versions: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, operation: Operation) -> State:
        versions = tuple((part.version, len(part)) for part in operation.subgraphs())
        return cls(operation.op, tuple(operation.inputs), dict(operation.attrs), operation.control_inputs, versions)

    def is_kept(self, operation: Operation) -> bool:
        """Whether the operation is as it was, apart from its inputs."""
        now = State.of(operation)
        same = (self.op, self.controls, self.versions) == (now.op, now.controls, now.versions)
        return (
            same
            and self.attrs.keys() == now.attrs.keys()
            and all(_same(value, now.attrs[name]) for name, value in self.attrs.items())
        )

    def swapped(self, operation: Operation, given: Collection[Any], now: dict[Any, Any]) -> bool:
        """Whether its inputs are as they were, apart from those that are given to its node.

        Args:
            operation: the operation.
            given: tensors that its node takes.
            now: of these tensors, the ones that all operations of the node take now; it is added to.
        """
        return len(self.inputs) == len(operation.inputs) and all(
            now.setdefault(old, new) is new if old in given else old is new
            for old, new in zip(self.inputs, operation.inputs, strict=True)
        )


def _same(value: Any, other: Any) -> bool:
    return value is other or (type(value) is type(other) and not hasattr(value, "dtype") and bool(value == other))
