"""The tables of ONNX's types.  The modules of `ops` fill them; readers and writers look types up in them.

Rows are in the language of `formats.nodes.rows`.

    Squeeze 1-12: x; axes:axis
    Squeeze 13: x axis!
    BitShift 11 = LeftShift: x y; direction=LEFT

Versions are those of the domain.  The ops of another domain have its name before theirs.  Each input may be missing at
the end or have an empty name: its parameter then has the default.  The first row of a type that has the version and the
values behind `=` is the one of a node.  The converters are in `attributes`.  A type that several ops compute has a row
at the function that calls them:

    @row("Gemm: a b c; alpha beta transA transB")
    def _(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0): ...

`special` marks functions that read nodes which no row can say, and `by_values` those that read nodes whose integers are
tensors.  `writes` marks functions that add nodes, and `body` functions that compute one of Dovetail's ops by others,
which ONNX has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.formats.nodes.rows import Row
from dovetail.formats.nodes.tables import Tables, setter

NEWEST = 28  # the last opset of the default domain that is known

READ: dict[str, list[Row]] = {}  # by ONNX's types
WRITTEN: dict[str, list[Row]] = {}  # by Dovetail's types
SPECIAL: dict[str, Callable[[Any], Any]] = {}  # ONNX's type → a function that reads a node
BY_VALUES: dict[str, Callable[[Any], Any]] = {}  # ONNX's type → the same for a node whose integers only a run knows


def _add(one: Row) -> None:
    if one.is_read:
        READ.setdefault(one.type, []).append(one)
    if one.is_written:
        WRITTEN.setdefault(one.ours, []).append(one)


TABLES = Tables(_add)
WRITE, BODIES, NO_WAY = TABLES.functions, TABLES.bodies, TABLES.refused
rows, row, writes, body, no_way = TABLES.rows, TABLES.row, TABLES.writes, TABLES.body, TABLES.no_way
special, by_values = setter(SPECIAL), setter(BY_VALUES)


def row_of(type: str, version: int, attrs: Mapping[str, Any]) -> Row | None:
    """The row of a node; None if there is none.

    Args:
        type: with the domain before it, if that is not the default one.
        version: of the domain.
        attrs: the node's attributes.
    """
    for one in READ.get(type, ()):
        limits = (a for a in one.attributes if a.only is not None and a.theirs)
        if one.first <= version <= one.last and all(attrs.get(a.theirs, a.only) == a.only for a in limits):
            return one
    return None
