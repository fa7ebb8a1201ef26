"""Writing of operations that TensorFlow has and no row can say: each type with the function that adds its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.formats.tensorflow.nodes import Place, Ref, writes
from dovetail.formats.wire.tensors import shape_proto

# Dovetail's type → the reason why TensorFlow cannot compute it
NO_WAY = dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "a file cannot hold its Python function")

# -- inputs, constants and variables ----------------------------------------------------------------------------------


@writes("Placeholder")
def _placeholder(place: Place, dtype: Any, shape: Any, known: Any) -> list[Ref]:
    return place.result("Placeholder", dtype=dtype, shape=shape_proto(shape))


@writes("Const")
def _const(place: Place, value: np.ndarray) -> list[Ref]:
    return [place.nodes.constant(value, place.name)]


@writes("NoOp")
def _nothing(place: Place) -> list[Ref]:
    return place.result("NoOp")


@writes("ReadVariableOp")
def _read(place: Place, variable: Any, in_order: bool) -> list[Ref]:
    return place.result("ReadVariableOp", place.handle(variable), dtype=variable.dtype)


@writes("AssignVariableOp")
def _assign(place: Place, value: Ref, variable: Any, with_value: bool) -> list[Ref]:
    place.result("AssignVariableOp", place.handle(variable), value, dtypes=[])
    return [value]


@writes("IdentityN XlaOptimizationBarrier")
def _identities(place: Place, xs: Sequence[Ref]) -> list[Ref]:
    return place.results(xs)
