"""Lists of tensors, with which loops collect results: TensorListReserve, TensorListStack, TensorArrayV3 and others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, filled, plain, recorded
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.functions import called
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.results import first_number
from dovetail.formats.tensorflow.table import row, shapes, special
from dovetail.formats.tensorflow.tensor_lists import RaggedList, TensorList, Variants
from dovetail.formats.tensorflow.values import Foreign
from dovetail.formats.tensorflow.variants import VariantList

shapes("""
TensorListLength TensorArraySizeV3: []
TensorArrayConcatV3: - [?]
""")


def _of_shape(items: TensorList, element_shape: Any) -> TensorList:
    """A list whose elements have a shape, if they have none yet."""
    known = _dims(element_shape) if items.data is None else None
    return replace(items, shape=known) if _is_known(known) else items


def _is_known(shape: Any) -> bool:
    return isinstance(shape, list) and min(shape, default=0) >= 0


def _dims(element_shape: Any) -> Any:
    """The shape of an element: ints with -1 for unknown ones, or None."""
    shape = constant_of(element_shape)
    return plain(shape) if shape is not None and shape.ndim else None


WHOLE = ("TensorListStack", "TensorListGather", "TensorArrayGatherV3")  # their lists have elements of one shape
PARTS = ("TensorListConcatV2", "TensorListGetItem", "TensorArrayConcatV3", "TensorArrayReadV3")
LOOPS = ("While", "StatelessWhile")
KEEPING = (
    "ZerosLike",
    "AddN",
    "Enter",
    "Exit",
    "Merge",
    "NextIteration",
    "Switch",
    "Identity",
    "TensorListSetItem",
    "TensorListPushBack",
    "TensorListPopBack",
    "TensorListConcatLists",
    "TensorListResize",
)
FIRST = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1}  # the number of a function's first argument
DEEPEST = 20  # functions in each other


def _new(node: Node, size: Any, shape: Any, dtype: Any) -> TensorList:
    """A new list, of variants if it has no dtype.

    The elements of others may differ in shape if they are taken one by one, or joined, or appended and not stacked.
    """
    users = set() if _is_known(shape) else _users(node.reader, node.body.nodes, (node.name, 0), ())[0]
    if dtype is None:
        return VariantList(None, size, None, None)
    has_rank = isinstance(shape, list) or users.isdisjoint(LOOPS)  # a loop carries what has no rank as one tensor
    grows = node.type == "EmptyTensorList" and has_rank and not _is_known(shape)
    differ = grows or users.intersection(PARTS)
    kind = RaggedList if differ and not users.intersection(WHOLE) else TensorList
    return kind(None, size, shape, dtype)


def _users(reader: Any, nodes: Any, start: Any, results: Any, depth: int = 0) -> tuple[set[str], set[int]]:
    """The types of the nodes that take a list, or what changes, loops and functions make of it.

    Args:
        reader: it has the functions.
        nodes: by name.
        start: the name of the node that gives the list, and the number of its result.
        results: pairs of a reference and the number of a result of the function that the nodes are of.
        depth: the number of functions around them.

    Returns:
        The types, and the numbers of the results that are such lists.
    """

    def place_of(text: str) -> tuple[str, int]:
        name, output, number = split(text)
        return name, number + (first_number(nodes[name], output) if output and name in nodes else 0)

    takers: dict[Any, list[Any]] = {}
    for other in nodes.values():
        for place, text in enumerate(other.input):
            takers.setdefault(place_of(text), []).append((other, place))
    types, given, seen, stack = set[str](), set[int](), set[Any](), [start]
    while stack:
        at = stack.pop()
        given |= {number for text, number in results if place_of(text) == at}
        for other, place in () if at in seen else takers.get(at, ()):
            types.add(other.op)
            if other.op in KEEPING:
                stack.append((other.name, 0))
            for name in called(other) if depth < DEEPEST else ():
                if name in reader.functions:
                    number = place - FIRST.get(other.op, 0)
                    inner, outs = _inside(reader, reader.functions[name], number, depth + 1)
                    types |= inner
                    stack += [(other.name, number) for number in outs]
        seen.add(at)
    return types, given


def _inside(reader: Any, function: Any, number: int, depth: int) -> tuple[set[str], set[int]]:
    """As `_users`, for an argument of a function."""
    arguments, nodes = function.signature.input_arg, {node.name: node for node in function.node_def}
    if not 0 <= number < len(arguments):
        return set(), set()
    results = [(function.ret[one.name], i) for i, one in enumerate(function.signature.output_arg)]
    return _users(reader, nodes, (arguments[number].name, 0), results, depth)


TAKERS = "the nodes that take it say whether its elements may differ in shape"


@special("EmptyTensorList", TAKERS)
def _empty(node: Node) -> Any:
    return _new(node, 0, _dims(node.tensor(0)), node.attrs("element_dtype"))


@special("TensorListReserve", TAKERS)
def _reserve(node: Node) -> Any:
    size = constant_of(node.tensor(1))
    count = node.tensor(1) if size is None else int(size)
    return _new(node, count, _dims(node.tensor(0)), node.attrs("element_dtype"))


row("TensorListPushBack: items# item~")(lambda items, item: items.grown(item))
row("TensorListConcatLists: items# others#; element_dtype")(lambda items, others: items.joined(others))
row("TensorListResize: items# size")(lambda items, size: items.resized(size))
row("TensorListLength: items#")(lambda items: ops.convert(items.size))
row("TensorListSplit: rows element_shape lengths")(lambda rows, element_shape, lengths: RaggedList.split(rows, lengths))


@row("TensorListPopBack: items# element_shape; element_dtype")
def _(items: TensorList, element_shape: Any) -> Any:
    return list(_of_shape(items, element_shape).popped())


@row("TensorListSetItem: items# index item~; resize_if_index_out_of_bounds:grows")
def _(items: TensorList, index: Any, item: Any, grows: bool) -> Any:
    return items.set(index, item, grows)


@row("TensorListGather: items# indices element_shape; element_dtype")
def _(items: TensorList, indices: Any, element_shape: Any) -> Any:
    return OPS["GatherV2"](_of_shape(items, element_shape).rows(), indices, 0)


@row("TensorListScatterIntoExistingList: items# rows indices")
def _(items: TensorList, rows: Any, indices: Any) -> Any:
    return items.scattered(indices, rows, grows=True)


@row("TensorListFromTensor: rows~ element_shape")
def _(rows: Any, element_shape: Any) -> Any:
    return (VariantList if isinstance(rows, Variants) else TensorList).of(rows)


@row("TensorListStack: items# element_shape; element_dtype num_elements")
def _(items: TensorList, element_shape: Any) -> Any:
    rows = _of_shape(items, element_shape).rows()
    return rows if isinstance(rows, Variants) else ops.identity(rows)


@row("TensorListGetItem: items# index element_shape; element_dtype")
def _(items: TensorList, index: Any, element_shape: Any) -> Any:
    items = _of_shape(items, element_shape)
    if isinstance(items, RaggedList) and items.lacks(index):
        return filled(element_shape, 0, items.dtype)
    return items.get(index)


@row("TensorListConcatV2: items# element_shape lengths; element_dtype")
def _(items: TensorList, element_shape: Any, lengths: Any) -> Any:
    """The elements in one; those that are not set have the numbers of rows of the third input, and are zeros."""
    items = _of_shape(items, element_shape)
    if not isinstance(items, RaggedList) or items.sizes is None or 0 in (lengths.shape or ()):
        return items.concatenated()
    rows, counts = items.concatenated()
    lengths, starts = ops.cast(lengths, "int64"), ops.cumsum(lengths, exclusive=True)
    places = ops.arange(ops.shape(rows)[0], dtype="int64") + ops.repeat(
        starts - ops.cumsum(counts, exclusive=True), counts
    )
    shape = ops.concatenate([ops.reshape(ops.sum(lengths), [1]), ops.cast(ops.shape(rows)[1:], "int64")], 0)
    return [ops.scatter_nd(ops.expand_dims(places, 1), rows, shape), lengths]


@row("TensorListElementShape: items#; shape_type:dtype")
def _(items: TensorList, dtype: Any) -> Any:
    if isinstance(items, RaggedList) and items.sizes is None and items.known:
        return recorded(-1, dtype)  # there are several
    return ops.cast(ops.shape(items.rows())[1:], dtype)


@row("TensorListScatterV2: rows indices element_shape size", "TensorListScatter: rows indices element_shape")
def _(rows: Any, indices: Any, element_shape: Any, size: Any = None) -> Any:
    size = recorded(-1, "int32") if size is None else size
    known = constant_of(size)
    whole = ops.where(size < 0, 0, size) if known is None else max(int(known), 0)
    return TensorList(None, whole, None, rows.dtype).scattered(indices, rows, grows=known is None or int(known) < 0)


# -- arrays of TensorFlow 1, whose handle says the dtype and whose flow is the list -----------------------------------

HANDLE = "its handle, which no tensor is, says of which gradients its flow is"


@special("TensorArraySplitV3", HANDLE)
def _split_array(node: Node) -> Any:
    return replace(RaggedList.split(node.tensor(1), node.tensor(2)), gradient=_gradients_of(node))


@special("TensorArrayReadV3", HANDLE)
def _read(node: Node) -> Any:
    return _flow(node, 2).get(node.tensor(1))


@special("TensorArrayGatherV3", HANDLE)
def _gather(node: Node) -> Any:
    return OPS["GatherV2"](_flow(node, 2).rows(), node.tensor(1), 0)


@special("TensorArraySizeV3", HANDLE)
def _size(node: Node) -> Any:
    return ops.convert(node.tensor_list(1).size)


@special("TensorArrayConcatV3", HANDLE)
def _concatenated(node: Node) -> Any:
    return _flow(node, 1).concatenated()


@special("TensorArrayCloseV3", HANDLE)
def _close(node: Node) -> Any:
    return []


@special("TensorArrayV3", TAKERS)
def _array(node: Node) -> Any:
    size, shape = node.shape(0), node.attrs("element_shape", None)
    known = None if shape is None else [-1 if dim is None else dim for dim in shape]
    count = scalar(size)
    return [Foreign(node.name, "it is the handle of an array"), _new(node, count, known, node.attrs("dtype"))]


@special("TensorArrayGradV3", HANDLE, of_files=True)
def _gradient(node: Node) -> Any:
    """The handle of the gradient of an array, whose flow starts as the array's own."""
    return [Foreign(node.name, "it is the handle of an array", node.attrs("source")), node.inputs[1]]


def _flow(node: Node, index: int) -> TensorList:
    """The list of an array; the gradient of an array has zeros before it is written to."""
    flow = node.tensor_list(index)
    source = _gradients_of(node)
    return flow if flow.gradient == source else replace(flow.zeros(), gradient=source)


def _gradients_of(node: Node) -> str:
    """The name of the gradients for which an array is the gradient of another one; empty for other arrays."""
    return node.inputs[0].source if isinstance(node.inputs[0], Foreign) else ""


def _grows(node: Node) -> bool:
    """Whether an array gets longer if something is written behind its end."""
    array = node.inputs[0]
    maker = node.body.nodes.get(array.name) if isinstance(array, Foreign) else None
    return maker is not None and bool(Attributes(maker)("dynamic_size", False))


@special("TensorArrayWriteV3", HANDLE)
def _write(node: Node) -> Any:
    flow, index, item = _flow(node, 3), node.tensor(1), node.tensor(2)
    if flow.gradient and flow.data is not None:
        item = flow.get(index) + item
    return replace(flow.set(index, item, _grows(node)), gradient=flow.gradient)


@special("TensorArrayScatterV3", HANDLE)
def _scatter(node: Node) -> Any:
    flow, indices, items = _flow(node, 3), node.tensor(1), node.tensor(2)
    if flow.gradient and flow.data is not None:
        items = OPS["GatherV2"](flow.rows(), indices, 0) + items
    return replace(flow.scattered(indices, items, _grows(node)), gradient=flow.gradient)
