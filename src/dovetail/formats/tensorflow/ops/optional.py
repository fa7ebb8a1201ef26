"""Optional values: OptionalFromValue, OptionalNone, OptionalGetValue, OptionalHasValue."""

from __future__ import annotations

from typing import Any

from dovetail.formats.nodes.constants import recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import row, special
from dovetail.formats.tensorflow.tensor_lists import TensorList
from dovetail.formats.tensorflow.values import Optional


@special("OptionalFromValue OptionalNone", "its values are of several kinds, each a tensor or a list")
def _optional(node: Node) -> Any:
    values = enumerate(node.inputs)
    return Optional(tuple(one if isinstance(one, TensorList) else node.tensor(i) for i, one in values))


@row("OptionalHasValue: optional~")
def _(optional: Any) -> Any:
    return recorded(bool(_values(optional)), "bool")


@row("OptionalGetValue: optional~; output_types output_shapes")
def _(optional: Any) -> Any:
    if not _values(optional):
        raise Unreadable("the optional value is not there")
    return list(optional.values)


def _values(optional: Any) -> tuple[Any, ...]:
    if not isinstance(optional, Optional):
        raise Unreadable("its input 0 is no optional value")
    return optional.values
