"""Running sums and products along an axis, and the differences that undo them."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.domains import Count
from dovetail.core.kinds import Float, Number
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axis
from dovetail.ops.control.flow import while_loop
from dovetail.ops.math.compare import clip, where
from dovetail.ops.math.complex import adjoint
from dovetail.ops.math.exponential import exp, share_of
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import iota
from dovetail.ops.shapes.index import gather
from dovetail.ops.shapes.shape import dims_of, narrow, reshape, wide

SAMPLES = [
    sample(array(2, 4), axis=1),
    sample(array(4, 2), exclusive=True),
    sample(array(2, 4), axis=-1, exclusive=True, reverse=True),
    sample(array(3, 0), axis=1, exclusive=True, reverse=True),
    sample(array(1), reverse=True),
]
INTEGERS = sample(ints(5, high=4, dtype="int8"), reverse=True)


@primitive("Cumsum", cost="reduction", infer=infer.along, samples=[*SAMPLES, INTEGERS])
def cumsum(x: Number, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sum: each element becomes the sum of all up to it.

    Args:
        x: numbers.
        axis: the axis.
        exclusive: whether the element itself does not count, so that the first result is 0.
        reverse: whether it runs from the end.

    Source: `numpy.cumsum`; `exclusive` and `reverse` as in `tf.cumsum`.  The dtype stays.

    Example:
        >>> cumsum([1, 2, 3]).numpy()
        array([1, 3, 6], dtype=int32)
    """


@cumsum.gradient
def _(op: Any, g: Any) -> Any:
    _, axis, exclusive, reverse = op.args
    return cumsum(g, axis, exclusive, not reverse)


@primitive("Cumprod", cost="reduction", infer=infer.along, samples=[*SAMPLES, INTEGERS])
def cumprod(x: Number, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running product: each element becomes the product of all up to it; parameters as in `cumsum`.

    Source: `numpy.cumprod`; `exclusive` and `reverse` as in `tf.math.cumprod`.  The dtype stays.

    Example:
        >>> cumprod([2, 3, 4]).numpy()
        array([ 2,  6, 24], dtype=int32)
    """


@cumprod.gradient
def _(op: Any, g: Any) -> Any:
    """Multiply the product of all factors before each one by s, where `s = g + (the next factor) * (the next s)`.

    There is no division in it, so zeros do no harm, in derivatives of any order.
    """
    x, axis, _, reverse = op.args
    factors = adjoint(x)
    sums = _running_back(op, _shifted(factors, -1 if reverse else 1, axis), g)
    return cumprod(factors, axis, True, reverse) * sums


def _running_back(op: Any, factors: Any, g: Any) -> Any:
    """Running sums of gradients, against the direction of an op."""
    _, axis, exclusive, reverse = op.args
    return _linear_recurrence(factors, _shifted(g, -1 if reverse else 1, axis) if exclusive else g, axis, not reverse)


def _shifted(x: Any, by: Any, axis: int) -> Any:
    """Replace each element by the one `by` places behind it, or by 0 if there is none."""
    axis = normalize_axis(axis, len(x.shape))
    size = dims_of(x)[axis]
    places = iota((size,)) + by
    moved = gather(x, clip(places, 0, size - 1), axis)
    inside = (places >= 0) & (places < size)
    return where(reshape(inside, (-1, *(1,) * (len(x.shape) - axis - 1))), moved, 0)


@composite(
    "LinearRecurrence",
    cost="reduction",
    infer=lambda x, y, axis, reverse: infer.along(infer.elementwise(x, y), axis),
    samples=[
        sample(array(2, 4), array(2, 4), 1),
        sample(array(5, 2), array(5, 2), 0, True),
        sample(array(3, 0), array(3, 0), 1),
        sample(array(1), array(1), -1, True),
    ],
)
def _linear_recurrence(x: Number, y: Number, axis: int = 0, reverse: bool = False) -> Tensor:
    """Running sums in which the sum so far is multiplied at each step: `z[i] = y[i] + x[i] * z[i - 1]`.

    The body joins neighbouring steps to longer ones.  So it takes no more rounds than the number of elements has binary
    digits (Blelloch, "Prefix sums and their applications", 1990).
    """
    size = dims_of(x)[normalize_axis(axis, len(x.shape))]

    def join(distance: Any, x: Any, y: Any) -> Any:
        before = distance if reverse else -distance
        return 2 * distance, x * _shifted(x, before, axis), y + x * _shifted(y, before, axis)

    state: Any = (1, x, y)
    if not isinstance(size, int):
        return while_loop(lambda distance, *_: distance < size, join, state)[2]
    while state[0] < size:
        state = join(*state)
    return state[2]


@_linear_recurrence.gradient
def _(op: Any, g: Any) -> Any:
    x, _, axis, reverse = op.args
    after = -1 if reverse else 1
    sums = _linear_recurrence(_shifted(adjoint(x), after, axis), g, axis, not reverse)
    return sums * adjoint(_shifted(op.outputs[0], -after, axis)), sums


@primitive(
    "CumulativeLogsumexp",
    cost="reduction",
    infer=infer.along,
    samples=[
        *(s for s in SAMPLES if "exclusive" not in s.kwargs),
        sample(array(2, 3), axis=-1, exclusive=True, reverse=True, gradient=False),  # its results have infinities
        sample([1000.0, 0.0, 5.0, 1001.0]),
    ],
)
def cumulative_logsumexp(x: Float, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running `logsumexp`, which begins with minus infinity if it is exclusive; parameters as in `cumsum`.

    Source: `tf.math.cumulative_logsumexp`.

    Example:
        >>> cumulative_logsumexp([0., 0., 1000.]).numpy()
        array([0.000000e+00, 6.931472e-01, 1.000000e+03], dtype=float32)
    """


@cumulative_logsumexp.gradient
def _(op: Any, g: Any) -> Any:
    """Proceed as for `cumprod`, with factors of at most 1: quotients of a sum of exponentials and the next sum."""
    given, axis, exclusive, reverse = op.args
    x, y = wide(given), op.outputs[0]
    logs = cumulative_logsumexp(x, axis, False, reverse) if exclusive or x.dtype != y.dtype else y
    following = _shifted(logs, -1 if reverse else 1, axis)
    quotients = exp(where(logs >= following, 0, logs - following))  # nothing follows the last one
    return narrow(share_of(x, logs) * _running_back(op, quotients, wide(g)), given)


@composite("Diff", cost="reduction", samples=[sample(array(4, 3)), sample(array(4, 3), axis=0), sample(array(5), n=2)])
def diff(x: Number, n: Count = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis.

    Args:
        x: numbers.
        n: how often differences are taken.
        axis: the axis, which becomes shorter by `n`.

    Source: `numpy.diff`.

    Example:
        >>> diff([1, 4, 9, 16]).numpy()
        array([3, 5, 7], dtype=int32)
    """
    before = (slice(None),) * normalize_axis(axis, len(x.shape))
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x
