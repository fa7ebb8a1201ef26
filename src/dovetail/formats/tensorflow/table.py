"""The tables of TensorFlow's types, which the families in `ops` and the modules of `host` fill.

A family has the rows of its types, then functions that read nodes, then those that write operations:

    rows("Sum Prod: x axis!; keep_dims:keepdims")

    @row("Xdivy: x y")
    def _(x, y): ...

    @special("If StatelessIf")
    def _if(node): ...

    @writes("If")
    def _write_if(place, condition, inputs, then_branch, else_branch): ...

    @body("Conv1D")
    def _convolve(op, x, kernel, strides, padding, dilations, layout): ...

The rows are in the language of `formats.nodes.rows`, and their converters in `attributes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.formats.nodes.rows import Row
from dovetail.formats.nodes.tables import Tables, setter

# Attributes that a row names since TensorFlow's op has them, and that change nothing in Dovetail's.
UNUSED = {
    "tensor_name",
    "debug_ops_spec",
    "a_is_sparse",
    "b_is_sparse",
    "message",
    "shape",
    "num_split",
    "validate_indices",
    "validate_shape",
    "use_locking",
    "sorted",
    "sparse_gradient",
    "grad_a",
    "grad_b",
    "grad_x",
    "grad_y",
}

Special = Callable[[Any], Any]  # (node) → its results, one or several
Function = Callable[..., Any]  # (node, *values of its inputs) → its results, one or several

READ: dict[str, Row] = {}  # TensorFlow's type → its row
WRITTEN: dict[str, Row] = {}  # Dovetail's type → the row that writes it
SPECIAL: dict[str, Special] = {}  # TensorFlow's type → a function that reads a node
HOST: dict[str, Function] = {}  # TensorFlow's type → a function of NumPy arrays that computes a node
SHAPES: dict[str, list[str]] = {}  # TensorFlow's type → the shapes of its results, as texts


def _add(one: Row) -> None:
    if one.is_read:
        READ[one.type] = one
    if one.is_written:
        WRITTEN[one.ours] = one


TABLES = Tables(_add, UNUSED)
WRITE, BODIES, NO_WAY = TABLES.functions, TABLES.bodies, TABLES.refused
rows, row, writes, body, no_way = TABLES.rows, TABLES.row, TABLES.writes, TABLES.body, TABLES.no_way
special = setter(SPECIAL)  # functions that read nodes which no row can say
host = setter(HOST)  # functions that compute nodes from NumPy arrays, tables and lists


def shapes(text: str) -> None:
    """Add the shapes of the results of types that the host computes, in TensorFlow's order.

    Args:
        text: lines of types and shapes.  `=` has the number of the input with the same shape, and `-` is a shape that
            is not known.  In brackets, a name is an attribute with a shape that comes last, or with a size, 0 if it is
            not known.
    """
    for line in text.strip().replace("\n    ", " ").splitlines():
        types, _, texts = line.partition(":")
        SHAPES.update(dict.fromkeys(types.split(), texts.split()))
