"""Nodes of lists of tensors, with which TensorFlow's loops collect their results."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.constants import constant_of, filled, plain
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.reading import special
from dovetail.formats.tensorflow.values import Foreign, TensorList
from dovetail.ops.shapes.shape import dims_of


def _list(node: Node, index: int = 0) -> TensorList:
    value = node.inputs[index]
    if not isinstance(value, TensorList):
        raise node.refused(index, "no list of tensors")
    return value


def _concatenated(elements: TensorList) -> Any:
    """The elements in one, and the number of rows of each."""
    rows = elements.rows()
    dims = dims_of(rows)
    return [ops.reshape(rows, [-1, *dims[2:]]), ops.cast(ops.full([dims[0]], dims[1]), "int64")]


def _element_shape(node: Node, index: int) -> Any:
    """The shape of an element: ints with -1 for unknown ones, or None."""
    found = constant_of(node.tensor(index))
    return plain(found) if found is not None and found.ndim else None


@special("EmptyTensorList")
def _empty(node: Node) -> Any:
    return TensorList(None, 0, _element_shape(node, 0), node.attrs("element_dtype"))


@special("TensorListPushBack")
def _push(node: Node) -> Any:
    return _list(node).grown(node.tensor(1))


@special("TensorListPopBack")
def _pop(node: Node) -> Any:
    rows = _list(node).rows()
    return [TensorList.of(rows[:-1]), rows[-1]]


@special("TensorListResize")
def _resize(node: Node) -> Any:
    size = node.tensor(1)
    return TensorList.of(_list(node).longer(size)[:size])


@special("TensorListReserve")
def _reserve(node: Node) -> Any:
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
    return _list(node).set(node.tensor(1), node.tensor(2), node.attrs("resize_if_index_out_of_bounds", False))


@special("TensorListLength")
def _length(node: Node) -> Any:
    return ops.convert(_list(node).size)


@special("TensorListGather")
def _gather(node: Node) -> Any:
    return OPS["GatherV2"](_list(node).rows(), node.tensor(1), 0)


@special("TensorListConcatV2")
def _concat(node: Node) -> Any:
    return _concatenated(_list(node))


@special("TensorListElementShape")
def _shape_of_element(node: Node) -> Any:
    return ops.cast(ops.shape(_list(node).rows())[1:], node.attrs("shape_type"))


# -- arrays of TensorFlow 1, whose handle says the dtype and whose flow is the list -----------------------------------


@special("TensorArrayV3")
def _array(node: Node) -> Any:
    size, shape = node.shape(0), node.attrs("element_shape", None)
    known = None if shape is None else [-1 if dim is None else dim for dim in shape]
    count = size[0] if isinstance(size, list) else size
    return [Foreign(node.name, "it is the handle of an array"), TensorList(None, count, known, node.attrs("dtype"))]


@special("TensorArrayWriteV3")
def _write(node: Node) -> Any:
    return _list(node, 3).set(node.tensor(1), node.tensor(2))


@special("TensorArrayReadV3")
def _read(node: Node) -> Any:
    return OPS["GatherV2"](_list(node, 2).rows(), node.tensor(1), 0)


@special("TensorArrayScatterV3")
def _scatter(node: Node) -> Any:
    flow, indices, value = _list(node, 3), node.tensor(1), node.tensor(2)
    if flow.data is None:
        dims = ops.shape(value)
        shape = [flow.size, *(dims[i] for i in range(1, len(value.shape)))]
        flow = TensorList.of(filled(shape, 0, value.dtype))
    return TensorList.of(ops.tensor_scatter_update(flow.rows(), ops.expand_dims(indices, -1), value))


@special("TensorArrayGatherV3")
def _gather_array(node: Node) -> Any:
    return OPS["GatherV2"](_list(node, 2).rows(), node.tensor(1), 0)


@special("TensorArraySizeV3")
def _array_size(node: Node) -> Any:
    return ops.convert(_list(node, 1).size)


@special("TensorArrayConcatV3")
def _concat_array(node: Node) -> Any:
    return _concatenated(_list(node, 1))


@special("TensorArrayCloseV3")
def _close(node: Node) -> Any:
    return []
