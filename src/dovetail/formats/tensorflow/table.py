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

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dovetail.formats.nodes.bodies import add_common
from dovetail.formats.nodes.rows import Row, rows_of
from dovetail.formats.nodes.writing import Table, adder

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

Body = TypeVar("Body", bound=Callable[..., Any])
Special = Callable[[Any], Any]  # (node) → its results, one or several
Function = Callable[..., Any]  # (node, *values of its inputs) → its results, one or several

READ: dict[str, Row] = {}  # TensorFlow's type → its row
WRITTEN: dict[str, Row] = {}  # Dovetail's type → the row that writes it
SPECIAL: dict[str, Special] = {}  # TensorFlow's type → a function that reads a node
HOST: dict[str, Function] = {}  # TensorFlow's type → a function of NumPy arrays that computes a node
SHAPES: dict[str, list[str]] = {}  # TensorFlow's type → the shapes of its results, as texts
WRITE: Table = {}  # Dovetail's type → functions, (place, *arguments of the op, with values for tensors) → results
BODIES: Table = {}  # Dovetail's type → bodies, (op, *its arguments) → results, by other ops
NO_WAY: dict[str, str] = {}  # Dovetail's type → the reason why TensorFlow cannot compute it
writes, body = adder(WRITE), adder(BODIES)
add_common(body)


def _add(added: Iterable[Row]) -> None:
    for one in added:
        if one.is_read:
            READ[one.type] = one
        if one.is_written:
            WRITTEN[one.ours] = one


def rows(text: str) -> None:
    """Add the rows of types that one op computes; a function in `row` may read a type of them."""
    _add(rows_of(text.strip(), UNUSED))


def row(*texts: str) -> Callable[[Body], Body]:
    """Decorator of a function of tensors and static values that computes some types.

    Args:
        texts: rows, without an op.
    """

    def add(function: Body) -> Body:
        _add(one for text in texts for one in rows_of(text, UNUSED, function))
        return function

    return add


def special(types: str) -> Callable[[Special], Special]:
    """Decorator of a function that reads the nodes of some types that no row can say."""
    return _adder(SPECIAL, types)


def host(types: str) -> Callable[[Function], Function]:
    """Decorator of a function that computes the nodes of some types, from NumPy arrays, tables and lists."""
    return _adder(HOST, types)


def _adder(table: dict[str, Body], types: str) -> Callable[[Body], Body]:
    def add(function: Body) -> Body:
        table.update(dict.fromkeys(types.split(), function))
        return function

    return add


def no_way(types: Iterable[str], reason: str) -> None:
    """Note the reason why TensorFlow cannot compute some types."""
    NO_WAY.update(dict.fromkeys(types, reason))


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
