"""The tables of TensorFlow's types, which the families in `ops` and the modules of `host` fill.

A family has the rows of its types, then functions that read nodes, then those that write operations:

    rows("Sum Prod: x axis!; keep_dims:keepdims")

    @row("Xdivy: x y")
    def _(x, y): ...

    @special("If StatelessIf", "it calls functions of the file", of_files=True)
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
    "element_dtype",
    "num_elements",
    "input_ragged_rank",
    "Tvalues",
    "output_types",
    "output_shapes",
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
NO_ROW: dict[str, str] = {}  # TensorFlow's type → the reason why neither a row nor a function of arrays says it
OF_FILES: set[str] = set()  # the types among them that take functions, nodes or values of a file, and are no calls


def special(types: str, reason: str = "", of_files: bool = False) -> Callable[[Special], Special]:
    """Decorator of a function that reads nodes of some types.

    Args:
        types: their names.
        reason: why no row says them; empty if one does, for all but values that are no tensors.
        of_files: whether only a file can have such a node.
    """
    return _without_row(SPECIAL, types, reason, of_files)


def host(types: str, reason: str = "", of_files: bool = False) -> Callable[[Function], Function]:
    """Decorator of a function of NumPy arrays, tables and lists that computes nodes; the arguments are of `special`."""
    return _without_row(HOST, types, reason, of_files)


def _without_row(table: dict[str, Any], types: str, reason: str, of_files: bool) -> Callable[[Any], Any]:
    NO_ROW.update(dict.fromkeys(types.split() if reason else (), reason))
    OF_FILES.update(types.split() if of_files else ())
    return setter(table)(types)


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
