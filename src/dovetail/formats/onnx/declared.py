"""The declarations of a model: the types of its values, and the versions of its sets of operators."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.core.values.spec import TensorSpec
from dovetail.formats.onnx.tensors import dtype_of

DEFAULT_DOMAINS = ("", "ai.onnx")


class Type(NamedTuple):
    """The type of a value that a file declares.

    Attributes:
        kind: "tensor", "sequence", "optional", "map" or "sparse".
        number: ONNX's number of the dtype, or of a sequence's elements; 0 if it is not said.
        shape: None for an unknown rank, with None for unknown dimensions.
    """

    kind: str
    number: int = 0
    shape: tuple[int | None, ...] | None = None

    @property
    def spec(self) -> TensorSpec | None:
        """The shape and the dtype of a tensor; None if it is no tensor of numbers."""
        dtype = dtype_of(self.number)
        return None if self.kind != "tensor" or dtype is None else TensorSpec(self.shape, dtype)


def type_of(proto: Any) -> Type:
    """The type in a message `TypeProto`."""
    kind = (proto.WhichOneof("value") or "tensor_type").removesuffix("_type")
    inner: Any = getattr(proto, f"{kind}_type", None)
    if kind != "tensor":
        inside = inner.elem_type if kind in ("sequence", "optional") else None
        return Type(kind, type_of(inside).number if inside is not None else 0)
    sizes = tuple(
        one.dim_value if one.WhichOneof("value") == "dim_value" and one.dim_value >= 0 else None
        for one in inner.shape.dim
    )
    return Type(kind, inner.elem_type, sizes if inner.HasField("shape") else None)


def versions_of(owner: Any) -> dict[str, int]:
    """Domain → version, from the imports of a model or a function."""
    return {"" if one.domain in DEFAULT_DOMAINS else one.domain: one.version for one in owner.opset_import}
