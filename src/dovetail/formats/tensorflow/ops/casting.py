"""Dtypes: Cast, Bitcast."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.formats.nodes.bodies import of
from dovetail.formats.tensorflow.table import body, rows

rows("""
Cast: x; DstT:dtype Truncate=False
Bitcast: x; type:dtype
""")

# -- writing ----------------------------------------------------------------------------------------------------------

body("Bitcast", of("bool"))(lambda op, x, dtype: op(ops.cast(x, "uint8"), dtype))


@body("Cast", lambda operation: operation.inputs[0].dtype.is_complex and operation.attrs["dtype"].is_bool)
def _is_other_than_zero(op: Any, x: Any, dtype: Any) -> Any:
    """Kernels look at real parts alone."""
    return ops.not_equal(x, 0)
