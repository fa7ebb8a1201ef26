"""The table of all ops, by their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.op import Op

OPS: dict[str, Op[..., Any]] = {}
COMPOSITES: set[str] = set()  # op types with a body; a type stays here if its op is removed
