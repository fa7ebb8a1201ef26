"""Variables: VarHandleOp, VariableV2, ReadVariableOp, AssignVariableOp, Assign, ResourceScatterAdd, ScatterUpdate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.bodies import scattered
from dovetail.formats.tensorflow.ops.slicing import strided_slice
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import row, rows, special, writes
from dovetail.formats.tensorflow.values import Handle
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of

rows("""
ReadVariableOp > Identity: x&
VariableShape > Shape: x&; out_type>0
ResourceGatherNd > GatherNd: x& indices
""")


@special("VarHandleOp VariableV2 Variable", "the file has its value", of_files=True)
def _handle(node: Node) -> Any:
    return Handle(node.reader.variable(node.proto), is_reference=node.type != "VarHandleOp")


@row("VarIsInitializedOp: x&", "IsVariableInitialized: x&")
def _(x: Any) -> Any:
    return ops.convert(True)


@row("DisableCopyOnRead: x&")
def _(x: Any) -> Any:
    return []


# -- assignments ------------------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "": lambda x, value: value,
    "Add": lambda x, value: x + value,
    "Sub": lambda x, value: x - value,
}

for _kind, _change in CHANGES.items():
    _shape = "" if _kind else "validate_shape"  # the others have no such attribute
    row(f"Assign{_kind}VariableOp: x^ value; {_shape}", f"Assign{_kind}: x^ value; {_shape} use_locking")(_change)
_MASKS = "begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask"
_SLICE = "begin? end? strides? value"


@row(
    f"ResourceStridedSliceAssign: x^ {_SLICE}; {_MASKS}",
    f"StridedSliceAssign: x^ {_SLICE}; {_MASKS}",
    f"TensorStridedSliceUpdate: x {_SLICE}; {_MASKS}",
)
def _(x: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: int) -> Any:
    numbers = ops.reshape(ops.arange(ops.size(x)), ops.shape(x))
    places = strided_slice(numbers, begin, end, strides, **masks)
    value = ops.broadcast_to(value, ops.shape(places))
    flat, rows = ops.reshape(x, [-1]), ops.reshape(places, [-1, 1])
    return ops.reshape(OPS["TensorScatterUpdate"](flat, rows, ops.reshape(value, [-1])), ops.shape(x))


def _scattered(x: Any, indices: Any, updates: Any, change: str) -> Any:
    """Elements at indices (..., depth) changed by updates; `Sub` adds the negative, and `Div` multiplies by 1 / it."""
    if change == "Sub":
        return OPS["TensorScatterAdd"](x, indices, -updates)
    if change == "Div":
        return OPS["TensorScatterMul"](x, indices, 1 / updates)
    return scattered(change, x, indices, updates)


def _changes(types: str, kinds: str, attributes: str = "") -> list[str]:
    return [f"{types.format(kind)}: x^ indices updates; {attributes} +change={kind}" for kind in kinds.split()]


@row(
    *_changes("ResourceScatterNd{0} ScatterNd{0}", "Update Add Sub Max Min", "bad_indices_policy= use_locking"),
    "ScatterNdNonAliasingAdd: x indices updates; bad_indices_policy= +change=Add",
    "TensorScatterSub: x indices updates; bad_indices_policy= +change=Sub",
)
def _(x: Any, indices: Any, updates: Any, change: str) -> Any:
    return _scattered(x, indices, updates, change)


@row(
    *_changes("ResourceScatter{0}", "Update Add Sub Mul Div Max Min"),
    *_changes("Scatter{0}", "Update Add Sub Mul Div Max Min", "use_locking"),
)
def _(x: Any, indices: Any, updates: Any, change: str) -> Any:
    updates = ops.broadcast_to(updates, [*dims_of(indices), *dims_of(x)[1:]])
    return _scattered(x, ops.expand_dims(indices, -1), updates, change)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("ReadVariableOp")
def _read(place: Place, variable: Any, in_order: bool) -> list[Ref]:
    return place.result("ReadVariableOp", place.handle(variable), dtype=variable.dtype)


@writes("AssignVariableOp")
def _assign(place: Place, value: Ref, variable: Any, with_value: bool) -> list[Ref]:
    place.result("AssignVariableOp", place.handle(variable), value, dtypes=[])
    return [value]
