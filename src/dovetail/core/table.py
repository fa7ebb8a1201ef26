"""The table of ops: every op there is, by its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.op import Op

OPS: dict[str, Op[..., Any]] = {}
COMPOSITES: set[str] = set()  # the types of those with a body, and of those that were in the table before
