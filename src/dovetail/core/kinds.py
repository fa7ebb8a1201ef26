"""The parameter kinds of op signatures.

An op's signature is its type rule.  `x: Float` says that `x` is a tensor of floats; parameters of the same kind are
promoted to one common dtype before the op runs; parameters of different kinds are independent.  A parameter without a
kind (an axis, a flag, a mode) is static: a plain Python value that is known when the op is called; see `static_types`.

    def gather(x: Anything, indices: Integer, axis: int = 0) -> Tensor
    def concat(xs: Anythings, axis: int = 0) -> Tensor
    def reshape(x: Anything, shape: Ints) -> Tensor
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

# A Tensor, a graph Tensor, a Variable, an engine's own value, a NumPy array, a Python number or nested lists of them.
TensorLike: TypeAlias = Any


@dataclass(frozen=True)
class Kind:
    """The values that a tensor parameter accepts.

    Attributes:
        accepts: "any", "real" (not complex), "number" (bool becomes int32), "ordered" (the same, but not complex),
            "inexact" (integers become floatx), "float" (the same, but not complex), "integer", "index" (the same, but a
            bool raises an error: it would be a mask), "bits" (integer or bool) or "bool" (numbers become `x != 0`).
        many: whether the parameter is a list of tensors.
        optional: whether None is allowed.
        independent: whether the parameter is promoted by itself, not with the others of its kind.
    """

    accepts: str
    many: bool = False
    optional: bool = False
    independent: bool = False


@dataclass(frozen=True)
class IntsKind:
    """A shape-like parameter: static integers, a tensor of integers, or a list that mixes both."""


Anything = Annotated[TensorLike, Kind("any")]
Number = Annotated[TensorLike, Kind("number")]
Ordered = Annotated[TensorLike, Kind("ordered")]  # integer or float
Real = Annotated[TensorLike, Kind("real")]  # bool, integer or float
Inexact = Annotated[TensorLike, Kind("inexact")]  # float or complex
Float = Annotated[TensorLike, Kind("float")]
Integer = Annotated[TensorLike, Kind("integer")]
Index = Annotated[TensorLike, Kind("index")]
Bits = Annotated[TensorLike, Kind("bits")]  # integer or bool
Bool = Annotated[TensorLike, Kind("bool")]
Each = Annotated[TensorLike, Kind("any", independent=True)]
Anythings = Annotated[TensorLike, Kind("any", many=True)]
Numbers = Annotated[TensorLike, Kind("number", many=True)]
Floats = Annotated[TensorLike, Kind("float", many=True)]
Eachs = Annotated[TensorLike, Kind("any", many=True, independent=True)]
MaybeFloat = Annotated[TensorLike, Kind("float", optional=True)]
MaybeReal = Annotated[TensorLike, Kind("real", optional=True)]
MaybeEach = Annotated[TensorLike, Kind("any", optional=True, independent=True)]
Ints = Annotated[Any, IntsKind()]
