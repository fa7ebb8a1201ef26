"""Nodes of lists of tensors, with which TensorFlow's loops collect their results."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import Unreadable
from dovetail.formats.tensorflow.reading import Node, special
from dovetail.formats.tensorflow.values import TensorList, constant_of


def _list(node: Node, index: int = 0) -> TensorList:
    value = node.inputs[index]
    if not isinstance(value, TensorList):
        raise node.refused(index, "no list of tensors")
    return value


def _element_shape(node: Node, index: int) -> Any:
    """The shape of an element: ints with -1 for unknown ones, or None."""
    found = constant_of(node.tensor(index))
    return found.tolist() if found is not None and found.ndim else None


@special("TensorListReserve EmptyTensorList")
def _reserve(node: Node) -> Any:
    if node.type == "EmptyTensorList":
        raise Unreadable("the list grows, and its size is not known")
    size = constant_of(node.tensor(1))
    count = node.tensor(1) if size is None else int(size)
    return TensorList(None, count, _element_shape(node, 0), node.attrs("element_dtype"))


@special("TensorListFromTensor")
def _from_tensor(node: Node) -> Any:
    return TensorList.of(node.tensor(0))


@special("TensorListStack")
def _stack(node: Node) -> Any:
    return ops.identity(_list(node).rows())


@special("TensorListGetItem")
def _get(node: Node) -> Any:
    return OPS["GatherV2"](_list(node).rows(), node.tensor(1), 0)


@special("TensorListSetItem")
def _set(node: Node) -> Any:
    return _list(node).set(node.tensor(1), node.tensor(2))


@special("TensorListLength")
def _length(node: Node) -> Any:
    return ops.convert(_list(node).size)


@special("TensorListGather")
def _gather(node: Node) -> Any:
    return OPS["GatherV2"](_list(node).rows(), node.tensor(1), 0)


@special("TensorListElementShape")
def _shape_of_element(node: Node) -> Any:
    return ops.cast(ops.shape(_list(node).rows())[1:], node.attrs("shape_type"))
