"""Optional values: OptionalFromValue, OptionalNone, OptionalGetValue, OptionalHasValue."""

from __future__ import annotations

from typing import Any

from dovetail.formats.nodes.constants import recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import special
from dovetail.formats.tensorflow.tensor_lists import TensorList
from dovetail.formats.tensorflow.values import Optional


@special("OptionalFromValue OptionalNone")
def _optional(node: Node) -> Any:
    values = enumerate(node.inputs)
    return Optional(tuple(one if isinstance(one, TensorList) else node.tensor(i) for i, one in values))


@special("OptionalGetValue OptionalHasValue")
def _value(node: Node) -> Any:
    value = node.inputs[0]
    if not isinstance(value, Optional):
        raise node.refused(0, "no optional value")
    if node.type == "OptionalHasValue":
        return recorded(bool(value.values), "bool")
    if not value.values:
        raise Unreadable("the optional value is not there")
    return list(value.values)
