"""Constants and values as they are: Const, Placeholder, PlaceholderWithDefault, Identity, Fill, ZerosLike, Range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import fold
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, is_tensor, recorded, wanted, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import READ, body, row, rows, special, writes
from dovetail.formats.tensorflow.tensor_lists import TensorList
from dovetail.formats.tensorflow.values import Optional
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.formats.wire.tensors import array_of, shape_proto
from dovetail.graph.operation import GraphTensor

rows("""
Identity StopGradient ZerosLike OnesLike: x
Copy CopyHost > Identity: x; tensor_name debug_ops_spec
DeepCopy Snapshot > Identity: x
Fill: shape? fill_value
LinSpace: start stop num!
""")

LARGEST = 1 << 20  # bytes of a constant with one value, or elements of a range, that are computed while a file is read


@special("Const ConstV2 HostConst", "its value stands in the file", of_files=True)
def _const(node: Node) -> Any:
    proto = node.proto.attr["value"].tensor
    array = array_of(proto, node.reader.file, f"the constant {node.name!r}")
    graph = node.reader.graph
    if array.nbytes > LARGEST and not any(array.strides):  # a few bytes may say any number of elements
        return ops.broadcast_to(graph.constant(np.array(array.flat[0]), "Const"), array.shape)
    if array.dtype.hasobject:
        raise Unreadable("its values are strings, and its dtype is none of strings")
    fold(array.nbytes if not any(array.strides) else 0)
    return graph.constant(np.array(array), "Const")


@special("PlaceholderWithDefault", "only runs of sessions may feed it")
def _default(node: Node) -> Any:
    """An operation that runs may feed, where they can; else its default."""
    if not node.reader.is_session:
        return ops.identity(node.tensor(0))
    shape = node.attrs("shape", None, (tuple, type(None)))
    return ops.placeholder_with_default(node.tensor(0), shape, shape is None)


@special("IdentityN RefIdentity", "it passes values on that are no tensors")
@special("Identity")
def _identities(node: Node) -> Any:
    return [
        ops.identity(node.tensor(i)) if is_tensor(value) or getattr(value, "is_reference", False) else value
        for i, value in enumerate(node.inputs)
    ]


@special("ZerosLike")
def _zeros(node: Node) -> Any:
    """Zeros in place of a list or of optional values, as gradients have them; of a tensor, what the row computes."""
    x = node.inputs[0]
    return x.zeros() if isinstance(x, (TensorList, Optional)) else by_row(READ[node.type], node)


@row("Range: start stop step; Tidx:dtype")
def _(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    bounds = start, stop, step
    in_session = type(stop) is GraphTensor and stop.op.graph.outermost.dialect.records_effects
    if in_session and stop.dtype.is_integer:  # a run may feed one, and an edit may change it
        is_plain = constant_of(start) == 0 and constant_of(step) == 1
        return OPS["Iota"](stop, dtype) if is_plain else ops.arange(*bounds, dtype=dtype)
    start, stop, step = (bound if (value := wanted(bound)) is None else value.item() for bound in bounds)
    if all(isinstance(bound, (int, float)) for bound in (start, stop, step)):
        if step and abs((stop - start) / step) <= LARGEST:
            within(int((stop - start) / step))
            return ops.convert(np.arange(start, stop, step), dtype)
        start = recorded(start, dtype)
    return ops.arange(start, stop, step, dtype=dtype)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("Placeholder")
def _placeholder(place: Place, dtype: Any, shape: Any, known: Any) -> list[Ref]:
    return place.result("Placeholder", dtype=dtype, shape=shape_proto(shape))


@writes("PlaceholderWithDefault")
def _write_default(place: Place, x: Ref, shape: Any, any_rank: bool) -> list[Ref]:
    known = place.operation.inputs[0].shape if shape is None and not any_rank else shape
    return place.result("PlaceholderWithDefault", x, shape=shape_proto(known))


@writes("Const")
def _write_const(place: Place, value: np.ndarray) -> list[Ref]:
    return [place.nodes.constant(value, place.name)]


@writes("IdentityN XlaOptimizationBarrier")
def _write_identities(place: Place, xs: Sequence[Ref]) -> list[Ref]:
    return place.results(xs)


@writes("Iota")
def _iota(place: Place, size: Any, dtype: Any) -> list[Ref]:
    if isinstance(size, Ref) or "size" in place.held:
        is_list = isinstance(size, Ref) or np.ndim(place.held["size"][1])
        limit = place.taken(size, "size")
        limit = place.scalar(limit) if is_list else limit
    else:
        limit = place.constant(size[0], "limit")
    zero, one = place.constant(0, "start"), place.constant(1, "delta")
    if dtype.name == "int32":
        return place.result("Range", zero, limit, one)
    return place.result("Cast", place.node("Range", zero, limit, one), DstT=dtype, Truncate=False)


@body("Fill", lambda operation: operation.attrs["dtype"] is not None)
def _fill(op: Any, shape: Any, value: Any, dtype: Any) -> Any:
    return op(shape, ops.cast(value, dtype))
