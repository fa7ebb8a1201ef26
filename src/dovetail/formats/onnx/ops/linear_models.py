"""Linear models and support vector machines of ai.onnx.ml: LinearClassifier, SVMClassifier, and their regressors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import recorded, within
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.nodes import Later
from dovetail.formats.onnx.table import row
from dovetail.ops.shapes.shape import known_dims, rank_of

# -- scores -----------------------------------------------------------------------------------------------------------


def _softmax_of_others(x: Any) -> Any:
    """Softmax of the scores that are not 0, which stay 0; of none, one half each."""
    is_zero = ops.less_equal(ops.absolute(x), 1e-7)
    powers = ops.where(is_zero, ops.zeros_like(x), ops.exp(x - ops.max(x, -1, keepdims=True)))
    total = ops.sum(powers, -1, keepdims=True)
    is_empty = ops.equal(total, 0)
    return ops.where(is_empty, ops.full_like(x, 0.5), powers / ops.where(is_empty, ops.ones_like(total), total))


LINKS: Mapping[str, Callable[[Any], Any]] = Words(
    {
        "NONE": lambda x: x,
        "LOGISTIC": ops.sigmoid,
        "SOFTMAX": ops.softmax,
        "SOFTMAX_ZERO": _softmax_of_others,
        "PROBIT": lambda x: np.sqrt(2).astype("float32") * ops.erfinv(2 * x - 1),
    }
)


def labels_at(places: Any, numbers: Sequence[int] | None, words: Sequence[str] | None) -> Any:
    """The labels at places of a list: integers, or strings, which the host looks up."""
    if words:
        return Later(places, np.asarray(words, object).__getitem__)
    return ops.take(ops.convert(np.asarray(numbers, "int64")), places, 0)


def wide(x: Any) -> Any:
    """Numbers as floats: float64 stays, others become float32."""
    return x if x.dtype == "float64" else ops.cast(x, "float32")


def in_rows(x: Any) -> Any:
    """A matrix; a vector is its only row."""
    return ops.expand_dims(x, 0) if rank_of(x) == 1 else x


# -- linear models ----------------------------------------------------------------------------------------------------


def _scores(x: Any, coefficients: Any, intercepts: Any, count: int) -> Any:
    weights = np.asarray(coefficients, "float32").reshape(count, -1)
    products = ops.matmul(ops.cast(in_rows(x), "float32"), weights.T)
    return products + np.asarray(intercepts, "float32") if intercepts else products


@row("ai.onnx.ml.LinearRegressor: x; coefficients intercepts targets post_transform:link")
def _(x: Any, coefficients: Any, intercepts: Any = None, targets: int = 1, link: str = "NONE") -> Any:
    return LINKS[link](_scores(x, coefficients, intercepts, targets))


@row("ai.onnx.ml.LinearClassifier: x; coefficients intercepts classlabels_ints:numbers classlabels_strings:words"
     " post_transform:link multi_class")  # fmt: skip
def _(
    x: Any,
    coefficients: Any,
    intercepts: Any = None,
    numbers: Any = None,
    words: Any = None,
    link: str = "NONE",
    multi_class: int = 0,
) -> Any:
    """The label of the largest score, and the scores; one score belongs to the second of two labels."""
    labels = numbers or words
    if not labels:
        raise Unreadable("it has no labels")
    scores = _scores(x, coefficients, intercepts, len(intercepts or labels))
    if known_dims(scores)[-1] == 1 and len(labels) == 2:
        place = ops.cast(ops.greater(scores[:, 0], 0), "int64")
        scores = LINKS[link](scores)
        scores = ops.concatenate([1 - scores if link == "LOGISTIC" else -scores, scores], -1)
    else:
        place, scores = ops.argmax(scores, -1), LINKS[link](scores)
    return labels_at(place, numbers, words), scores


# -- support vector machines ------------------------------------------------------------------------------------------

KERNELS: Mapping[str, Callable[..., Any]] = Words(
    {
        "LINEAR": lambda x, vectors, gamma, first, degree: x @ vectors.T,
        "POLY": lambda x, vectors, gamma, first, degree: (x @ vectors.T * gamma + first) ** int(degree),
        "SIGMOID": lambda x, vectors, gamma, first, degree: ops.tanh(x @ vectors.T * gamma + first),
        "RBF": lambda x, vectors, gamma, first, degree: ops.exp(
            (2 * (x @ vectors.T) - ops.sum(x * x, -1, keepdims=True) - (vectors * vectors).sum(-1)) * gamma
        ),
    }
)


def _products(x: Any, kernel: str, params: Any, vectors: Any, count: int) -> Any:
    """The kernel's products of rows with support vectors, of the shape (rows, count), in float64."""
    matrix = np.asarray(vectors, "float64").reshape(count, -1)
    return KERNELS[kernel](ops.cast(in_rows(x), "float64"), matrix, *(params or (0.0, 0.0, 0.0)))


@row("ai.onnx.ml.SVMRegressor: x; coefficients kernel_params:params kernel_type:kernel n_supports:count"
     " one_class:is_one post_transform:link rho support_vectors:vectors")  # fmt: skip
def _(
    x: Any,
    coefficients: Any,
    params: Any = None,
    kernel: str = "LINEAR",
    count: int = 0,
    is_one: int = 0,
    link: str = "NONE",
    rho: Any = (0.0,),
    vectors: Any = (),
) -> Any:
    """A number for each row; without support vectors, of a linear model; of one class, 1 inside and -1 outside."""
    weights = np.asarray(coefficients, "float64")
    products = _products(x, kernel, params, vectors, count) if count else ops.cast(in_rows(x), "float64")
    sums = ops.matmul(products, weights[:, None]) + rho[0]
    sums = ops.where(ops.greater(sums, 0), ops.ones_like(sums), -ops.ones_like(sums)) if is_one else sums
    return ops.cast(LINKS[link](sums), "float32")


@row("ai.onnx.ml.SVMClassifier: x; classlabels_ints:numbers classlabels_strings:words coefficients"
     " kernel_params:params kernel_type:kernel post_transform:link prob_a:slopes prob_b:offsets rho"
     " support_vectors:vectors vectors_per_class:sizes")  # fmt: skip
def _(
    x: Any,
    coefficients: Any,
    numbers: Any = None,
    words: Any = None,
    params: Any = None,
    kernel: str = "LINEAR",
    link: str = "NONE",
    slopes: Any = None,
    offsets: Any = None,
    rho: Any = (0.0,),
    vectors: Any = (),
    sizes: Any = None,
) -> Any:
    """The label with most votes of the pairs of classes, and the scores of pairs or, if known, the probabilities."""
    count = len(numbers or words or ())
    weights = np.asarray(coefficients, "float64")
    if not sizes:
        sums = ops.matmul(ops.cast(in_rows(x), "float64"), weights.reshape(count, -1).T) + rho[0]
        return labels_at(ops.argmax(sums, -1), numbers, words), ops.cast(LINKS[link](sums), "float32")
    within(count * count, count + sum(sizes))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    products = _products(x, kernel, params, vectors, sum(sizes))
    scores = ops.matmul(products, _of_pairs(weights, pairs, sizes)) + np.asarray(rho)
    first, second = (np.eye(count)[[pair[side] for pair in pairs]] for side in (0, 1))
    wins = ops.cast(ops.greater(scores, 0), "float64")
    place = ops.argmax(ops.matmul(wins, first) + ops.matmul(1 - wins, second), -1)
    if slopes:
        shares = 1 - ops.sigmoid(scores * np.asarray(slopes) + np.asarray(offsets))
        scores = _probabilities(ops.clip(shares, 1e-7, 1 - 1e-7), first, second)
    elif count == 2:
        scores = ops.concatenate([-scores, scores], -1)
    return labels_at(place, numbers, words), ops.cast(LINKS[link](scores), "float32")


def _of_pairs(weights: Any, pairs: Sequence[tuple[int, int]], sizes: Sequence[int]) -> Any:
    """The weights of the support vectors in the score of each pair of classes, of the shape (vectors, pairs)."""
    rows, ends = weights.reshape(-1, sum(sizes)), np.cumsum([0, *sizes])
    columns = np.zeros((sum(sizes), len(pairs)))
    for number, (i, j) in enumerate(pairs):
        for one, other in ((i, j - 1), (j, i)):
            part = slice(ends[one], ends[one + 1])
            columns[part, number] = rows[other, part]
    return columns


def _probabilities(shares: Any, first: Any, second: Any) -> Any:
    """The probabilities of classes from those of the first one in each pair: libsvm's steps, until these are small.

    Args:
        shares: (rows, pairs).
        first, second: (pairs, classes), 1 at the first and the second class of each pair.
    """
    count = first.shape[1]
    pairs, ones, others = len(first), first.argmax(-1), second.argmax(-1)
    places = np.full((count, count), 2 * pairs)
    places[ones, others], places[others, ones] = np.arange(pairs), pairs + np.arange(pairs)
    both = ops.concatenate([shares, 1 - shares, ops.zeros_like(shares[:, :1])], -1)
    square = ops.take(both, recorded(places, "int32"), -1)
    diagonal = ops.sum(ops.square(square), 1)
    q = ops.expand_dims(diagonal, -1) * np.eye(count) - square * ops.swapaxes(square, 1, 2)

    def errors(p: Any) -> tuple[Any, Any, Any]:
        qp = ops.squeeze(ops.matmul(q, ops.expand_dims(p, -1)), -1)
        pqp = ops.sum(p * qp, -1, keepdims=True)
        return qp, pqp, ops.greater_equal(ops.max(ops.absolute(qp - pqp), -1, keepdims=True), 0.005 / count)

    def step(p: Any) -> tuple[Any]:
        qp, pqp, is_open = errors(p)
        now = p
        for t in range(count):
            own, old = diagonal[:, t : t + 1], qp[:, t : t + 1]
            change = (pqp - old) / own
            pqp = (pqp + change * (change * own + 2 * old)) / (1 + change) ** 2
            now = (now + change * np.eye(count)[t]) / (1 + change)
            qp = (qp + change * q[:, t]) / (1 + change)
        return (ops.where(is_open, now, p),)

    start = ops.full_like(diagonal, 1 / count)
    return ops.while_loop(lambda p: ops.any(errors(p)[2]), step, (start,), max(100, count))[0]
