"""The table of all ops, by their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.op import Op

OPS: dict[str, Op[..., Any]] = {}
COMPOSITES: set[str] = set()  # op types with a body; a type stays here if its op is removed

# The type of a composite that computes another op's gradients → the type of that op.  Its inputs are a gradient for
# each output of the other, some of these outputs, and the other's inputs.  It returns a gradient for each of the last.
GRADIENTS: dict[str, str] = {}
