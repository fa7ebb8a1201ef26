"""Nodes that no row can say: constants, and values that may be no tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.reading import Node, special
from dovetail.formats.tensorflow.values import Foreign, Handle, is_tensor
from dovetail.formats.wire.tensors import array_of


@special("Const ConstV2 HostConst")
def _const(node: Node) -> Any:
    proto = node.proto.attr["value"].tensor
    array = array_of(proto, node.reader.file, f"the constant {node.name!r}")
    if array.dtype.hasobject:
        return Foreign(node.name, "it has strings", array)
    return node.reader.graph.constant(np.array(array), "Const")


@special("NoOp ControlTrigger")
def _nothing(node: Node) -> Any:
    return []


@special("Identity IdentityN RefIdentity")
def _identities(node: Node) -> Any:
    return [
        ops.identity(node.tensor(i)) if is_tensor(value) or getattr(value, "is_reference", False) else value
        for i, value in enumerate(node.inputs)
    ]


@special("VarHandleOp VariableV2 Variable")
def _handle(node: Node) -> Any:
    return Handle(node.reader.variable(node.proto), is_reference=node.type != "VarHandleOp")


@special("Assert")
def _assert(node: Node) -> Any:
    data = node.inputs[1:]
    texts = [part.strings for part in data if isinstance(part, Foreign) and part.strings is not None]
    words = [text.decode(errors="replace") for array in texts for text in array.reshape(-1).tolist()]
    OPS["Assert"](node.tensor(0), [value for value in data if is_tensor(value)], " ".join(words))
    return []
