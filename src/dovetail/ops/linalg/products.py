"""Products of tensors: `matmul`, `einsum`, and NumPy's products that are special cases of them."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Sizes
from dovetail.core.kinds import Number, Numbers
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer, shapes
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.math.arithmetic import multiply
from dovetail.ops.math.complex import adjoint, conj
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.diagonals import eye
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, reshape, squeeze, sum_like, transpose


@primitive(
    "MatMul",
    cost="product",
    infer=infer.matmul,
    samples=[
        sample(array(2, 3), array(3, 4)),
        sample(array(5, 3, 2), array(1, 4, 3), transpose_a=True, transpose_b=True),
        sample(ints(2, 3, low=-9), ints(3, 2, dtype="uint16")),
        sample(array(2, 0), array(0, 3)),
    ],
)
def matmul(x: Number, y: Number, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product of the last two axes; the axes before them broadcast.

    Args:
        x: numbers of shape (..., rows, inner), or (..., inner, rows) with `transpose_a`.
        y: numbers of shape (..., inner, columns), or (..., columns, inner) with `transpose_b`.
        transpose_a, transpose_b: whether the last two axes are exchanged first; that costs nothing.

    Returns:
        A tensor of shape (..., rows, columns).

    Raises:
        ValueError: a rank is below 2 (see `dot`), or the inner dimensions differ.

    Source: `tf.linalg.matmul`.

    Example:
        >>> matmul([[1., 2.]], [[3.], [4.]]).numpy()
        array([[11.]], dtype=float32)
    """


@matmul.gradient
def _(op: Any, g: Any) -> Any:
    x, y, ta, tb = op.args
    dx = dy = None
    if op.needs(0):
        right = adjoint(y)
        dx = sum_like(matmul(right, g, tb, True) if ta else matmul(g, right, False, not tb), x)
    if op.needs(1):
        left = adjoint(x)
        dy = sum_like(matmul(g, left, True, ta) if tb else matmul(left, g, not ta, False), y)
    return dx, dy


@checked
def matvec(x: Any, y: Any) -> Any:
    """Product of matrices and vectors; the axes before them broadcast.

    Args:
        x: numbers of shape (..., m, n).
        y: numbers of shape (..., n).

    Source: `numpy.matvec`.

    Example:
        >>> matvec([[1, 2], [3, 4]], [1, 10]).numpy()
        array([21, 43], dtype=int32)
    """
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


@checked
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes.

    Source: `numpy.matrix_transpose`.

    Example:
        >>> matrix_transpose([[1, 2]]).shape
        (2, 1)
    """
    rank = len(static_shape(x))
    return transpose(x, [*range(rank - 2), rank - 1, rank - 2])


# -- einsum -----------------------------------------------------------------------------------------------------------


def _parsed(equation: str) -> tuple[list[str], str]:
    left, _, result = equation.partition("->")
    return left.split(","), result


@infer.any_rank
def _einsum_spec(inputs: Sequence[TensorSpec], equation: str) -> TensorSpec:
    terms, result = _parsed(equation)
    sizes: dict[str, int] = {}
    batches: list[Any] = []
    for term, given in zip(terms, inputs, strict=True):
        front, dots, back = term.partition("...")
        if given.shape is None and dots:
            batches.append(None)
            continue
        x = infer.ranked(given, len(term))
        batch = len(x.shape) - len(front) - len(back)
        if batch < 0 or (batch > 0 and not dots):
            raise ValueError(f"{term!r} names {len(front + back)} axes, but its tensor has {len(x.shape)}.")
        batches.append(x.shape[len(front) : len(front) + batch])
        named = (*x.shape[: len(front)], *x.shape[len(front) + batch :])
        for letter, dim in zip(front + back, named, strict=True):
            if dim is not None and sizes.setdefault(letter, dim) != dim:
                raise ValueError(f"the axes named {letter!r} must be equally long, not {sizes[letter]} and {dim}.")
    front, dots, back = result.partition("...")
    common = shapes.broadcast(*batches) if dots else ()  # axes that are not in the result are summed over
    shape = None if common is None else (*map(sizes.get, front), *common, *map(sizes.get, back))
    return TensorSpec(shape, inputs[0].dtype)


@primitive(
    "Einsum",
    cost="product",
    infer=_einsum_spec,
    samples=[
        sample([array(2, 3), array(3, 4)], "ab,bc->ca"),
        sample([array(2, 3, 4), array(2, 4), array(3)], "abc,ac,b->a"),
        sample([array(3, 3, 2)], "aab->ba"),
        sample([array(2, 3), array(2, 2)], "ab,cc->c"),
        sample([array(2, 1, 3, 2), array(4, 2, 3)], "...ab,...bc->a...c"),
        sample([array(2), array(0)], "a,b->ab"),
        sample([ints(2, 3, dtype="int8"), ints(3, 4, dtype="int8")], "ab,bc->ac"),
    ],
)
def _einsum(inputs: Numbers, equation: str) -> Tensor:
    """`einsum` with an explicit result, which has "..." if any term has it."""


@_einsum.gradient
def _(op: Any, g: Any) -> Any:
    inputs, equation = op.args
    terms, result = _parsed(equation)
    return [_einsum_gradient(g, result, inputs, terms, k) if op.needs(k) else None for k in range(len(inputs))]


def _einsum_gradient(g: Any, result: str, inputs: Sequence[Any], terms: list[str], k: int) -> Any:
    """The gradient for input `k`: the einsum of `g` and the other inputs to the axes of that input.

    An axis that only this input has gets ones.  A letter that it has twice gets an identity matrix, since elements off
    the diagonal had no part in the result.
    """
    others = [(term, adjoint(x)) for i, (term, x) in enumerate(zip(terms, inputs, strict=True)) if i != k]
    factors = [(result, g), *others]
    given = {letter for term, _ in factors for letter in term}
    unused = (letter for letter in ascii_letters if letter not in ",".join(terms))
    front, dots, back = terms[k].partition("...")
    dims = dims_of(inputs[k])
    wanted = ""
    for letter, dim in zip(front + back, (*dims[: len(front)], *dims[len(dims) - len(back) :]), strict=True):
        if letter in wanted:
            twin = next(unused)
            factors.append((letter + twin, eye(dim, dtype=g.dtype)))
            letter = twin
        elif letter not in given:
            factors.append((letter, broadcast_to(cast(1, g.dtype), [dim])))
        wanted += letter
    wanted = wanted[: len(front)] + dots + wanted[len(front) :]
    return sum_like(_einsum([x for _, x in factors], f"{','.join(t for t, _ in factors)}->{wanted}"), inputs[k])


@checked
def einsum(subscripts: str, *operands: Any) -> Any:
    """Sums of products, given by the names of the axes (Einstein's convention).

    Args:
        subscripts: a letter for each axis of each operand, as in `"ij,jk->ik"`.  Letters missing behind `->` are summed
            over; without `->`, the result has the letters that occur once, in alphabetical order.  `...` means any
            number of axes, which broadcast; all axes of one letter must be equally long.
        operands: numbers; promoted to a common dtype.

    Returns:
        A tensor of the common dtype.

    Raises:
        ValueError: the subscripts cannot be read, or do not fit the operands.

    Source: `numpy.einsum`.

    Example:
        >>> einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10]).numpy()
        array([21, 43], dtype=int32)
        >>> float(einsum("ii", [[1., 2.], [3., 4.]]))
        5.0
    """
    terms, result = _explicit(subscripts, len(operands))
    moved = [_batch_first(term, x) for term, x in zip(terms, operands, strict=True)]
    return _einsum([x for _, x in moved], f"{','.join(term for term, _ in moved)}->{result}")


def _explicit(subscripts: str, count: int) -> tuple[list[str], str]:
    """The terms of the operands and of the result, checked."""

    def fail(problem: str) -> Exception:
        return op_error(ValueError, "Einsum", f"the subscripts {subscripts!r} {problem}.")

    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = [term.replace("...", "", 1) for term in (*terms, result)]
    every = "".join(letters[:-1])
    if not all(set(text) <= set(ascii_letters) for text in letters):
        raise fail("must be made of letters, commas, '...' and at most one '->'")
    if len(terms) != count:
        raise fail(f"are for {len(terms)} operands, but {count} are given")
    if not arrow:
        result = ("..." if "..." in left else "") + "".join(sorted(c for c in every if every.count(c) == 1))
    if len(set(letters[-1])) < len(letters[-1]) or not set(letters[-1]) <= set(every):
        raise fail("must name each axis of the result once, and only axes that an operand has")
    if ("..." in left) != ("..." in result):
        raise fail("must have '...' in an operand and in the result, or in neither")
    return terms, result


def _batch_first(term: str, x: Any) -> tuple[str, Any]:
    """The operand with the axes of `...` in front, where they line up with the axes of the others."""
    front, dots, back = term.partition("...")
    if not dots or not front:
        return term, x
    rank = len(static_shape(x))
    if rank < len(front + back):
        raise op_error(ValueError, "Einsum", f"{term!r} names {len(front + back)} axes, but its operand has {rank}.")
    batch = range(len(front), rank - len(back))
    return dots + front + back, transpose(x, [*batch, *range(len(front)), *range(rank - len(back), rank)])


# -- special cases ----------------------------------------------------------------------------------------------------


@checked
def tensordot(x: Any, y: Any, axes: Sizes = 2) -> Any:
    """Sums of products over pairs of axes; the result has the other axes of `x`, then the other axes of `y`.

    Args:
        x, y: numbers; promoted to a common dtype.
        axes: the number of last axes of `x` that are summed with as many first axes of `y`.  Or a pair: axes of `x`,
            and the axes of `y` that go with them (ints or lists).

    Raises:
        ValueError: the two lists differ in length, or the sizes of a pair of axes differ.

    Source: `numpy.tensordot`.

    Example:
        >>> tensordot([[1, 2], [3, 4]], [1, 10], axes=1).numpy()
        array([21, 43], dtype=int32)
    """
    ranks = len(static_shape(x)), len(static_shape(y))
    if isinstance(axes, int):
        axes = range(ranks[0] - axes, ranks[0]), range(axes)
    lists = [[a] if isinstance(a, int) else list(a) for a in axes]
    if len(lists) != 2 or len(lists[0]) != len(lists[1]):
        raise op_error(ValueError, "Tensordot", f"axes must be a number or two equally long lists, not {axes!r}.")
    try:
        summed, others = ([normalize_axis(a, rank) for a in own] for own, rank in zip(lists, ranks, strict=True))
    except (IndexError, TypeError) as error:
        raise op_error(type(error), "Tensordot", str(error)) from None
    if ranks == (2, 2) and len(summed) == 1:
        return matmul(x, y, transpose_a=summed == [0], transpose_b=others == [1])
    left = ascii_letters[: ranks[0]]
    names = dict(zip(others, (left[a] for a in summed), strict=True))
    right = "".join(names.get(i) or ascii_letters[ranks[0] + i] for i in range(ranks[1]))
    result = "".join(letter for letter in left + right if (left + right).count(letter) == 1)
    return _einsum([x, y], f"{left},{right}->{result}")


@checked
def dot(x: Any, y: Any) -> Any:
    """Product over the last axis of `x` and the last but one of `y` (its only one if it is a vector).

    Vectors give their scalar product, matrices their matrix product; with a scalar it is `multiply`.

    Source: `numpy.dot`.

    Example:
        >>> float(dot([1., 2.], [3., 4.]))
        11.0
    """
    ranks = len(static_shape(x)), len(static_shape(y))
    if 0 in ranks:
        return multiply(x, y)
    return tensordot(x, y, axes=(-1, max(ranks[1] - 2, 0)))


@checked
def inner(x: Any, y: Any) -> Any:
    """Product over the last axes of both; with a scalar it is `multiply`.

    Source: `numpy.inner`.

    Example:
        >>> inner([[1, 2], [3, 4]], [1, 10]).numpy()
        array([21, 43], dtype=int32)
    """
    if not static_shape(x) or not static_shape(y):
        return multiply(x, y)
    return tensordot(x, y, axes=(-1, -1))


@checked
def outer(x: Any, y: Any) -> Any:
    """All products of an element of `x` and one of `y`, both made vectors: a matrix.

    Source: `numpy.outer`.

    Example:
        >>> outer([1, 2], [3, 4]).numpy()
        array([[3, 4],
               [6, 8]], dtype=int32)
    """
    return multiply(reshape(x, (-1, 1)), reshape(y, (1, -1)))


@checked
def vdot(x: Any, y: Any) -> Any:
    """Scalar product of all elements of `x`, conjugated if complex, and all elements of `y`.

    Source: `numpy.vdot`.

    Example:
        >>> float(vdot([[1., 2.]], [[3., 4.]]))
        11.0
    """
    return tensordot(conj(reshape(x, (-1,))), reshape(y, (-1,)), axes=1)
