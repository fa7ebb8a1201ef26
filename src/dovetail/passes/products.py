"""Products of tensors become products of two matrices, which are planned once.

The equation "abc,cde->abde" multiplies a matrix of rows ab and columns c by one of rows c and columns de.  Libraries
that run operation by operation plan that in each call, and NumPy multiplies the matrices of a stack one by one.  A
product of two matrices also takes in the bias that follows; see `fuse`.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from string import ascii_letters
from typing import Any

from dovetail import ops
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.pass_edits import rewire
from dovetail.passes.base import needs, sweep

PRODUCTS = frozenset(["Einsum", "MatMul"])


@needs(PRODUCTS)
def multiply_matrices(graph: Graph) -> int:
    """Replace products of tensors by products of matrices, or of stacks of them.

    Returns:
        The number of products replaced; `prune` removes operations that are not needed any more.
    """

    def visit(op: Operation) -> int:
        equation = _equation(op)
        product = None if equation is None else _product(op.inputs[0], op.inputs[1], *equation)
        if product is None:
            return 0
        rewire(graph, op.outputs[0], product)
        return 1

    return sweep(graph, visit, graph.of_types(PRODUCTS))


def _equation(op: Operation) -> tuple[str, str, str] | None:
    """The letters of the axes of two factors and of their product; None if it is of another kind."""
    if not op.outputs[0].dtype.is_floating:
        return None
    if op.type == "Einsum":
        factors, _, result = op.attrs["equation"].partition("->")
        left, _, right = factors.partition(",")
        is_plain = len(op.inputs) == 2 and "." not in factors and all(len({*t}) == len(t) for t in (left, right))
        return (left, right, result) if is_plain else None
    x, y = op.inputs
    if x.ndim is None or x.ndim <= 2 or y.ndim != 2:
        return None
    *stack, row, inner, column = list(ascii_letters[: x.ndim + 1])
    left, right = (inner + row if op.attrs["transpose_a"] else row + inner), inner + column
    return "".join(stack) + left, right[::-1] if op.attrs["transpose_b"] else right, "".join([*stack, row, column])


def _product(x: GraphTensor, y: GraphTensor, left: str, right: str, result: str) -> Any:
    """The product of two tensors as one of matrices; None if it is none, or if too many sizes are unknown."""
    if x.shape is None or y.shape is None:
        return None
    known = {c: dim for c, dim in zip(left + right, (*x.shape, *y.shape), strict=True) if dim is not None}
    sizes = {c: known.get(c, -1) for c in left + right}
    shared = [c for c in left if c in right]
    batch, summed = [c for c in result if c in shared], [c for c in shared if c not in result]
    rows, columns = ([c for c in result if c in term and c not in shared] for term in (left, right))
    if not summed or [*sizes.values()].count(-1) > 1 or 0 in known.values():
        return None
    if len(sizes) > len(batch) + len(summed) + len(rows) + len(columns):
        return None  # a letter of one factor alone is summed over
    if result.startswith("".join([*batch, *columns])):
        x, y, left, right, rows, columns = y, x, right, left, columns, rows

    def matrices(tensor: GraphTensor, term: str, *groups: list[str]) -> Any:
        """The tensor with the batch in front, and one axis for each group of letters."""
        moved = _in_order(tensor, term, [*batch, *chain(*groups)])
        dims = [*(sizes[c] for c in batch), *(max(-1, prod(sizes[c] for c in g)) for g in groups)]
        return moved if all(len(group) == 1 for group in groups) else ops.reshape(moved, dims)

    product: Any = ops.matmul(matrices(x, left, rows, summed), matrices(y, right, summed, columns))
    letters = [*batch, *rows, *columns]
    return _in_order(ops.reshape(product, [sizes[c] for c in letters]), "".join(letters), [*result])


def _in_order(tensor: Any, term: str, letters: list[str]) -> Any:
    """The tensor with its axes in the order of some letters."""
    axes = [term.index(c) for c in letters]
    return tensor if axes == sorted(axes) else ops.transpose(tensor, axes)
