"""Running sums and products along an axis, and the differences that undo them."""

from __future__ import annotations

from typing import Any

from dovetail.ops.compare import equal, greater, where
from dovetail.ops.exponential import exp, log
from dovetail.ops.infer import normalize_axis
from dovetail.ops.kinds import Float, Number
from dovetail.ops.op import composite, primitive
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shape import cast
from dovetail.ops.spec import TensorSpec
from dovetail.tensor import Tensor


def _running_spec(x: TensorSpec, axis: int, *flags: bool) -> TensorSpec:
    if x.shape is not None:
        normalize_axis(axis, len(x.shape))
    return x


SAMPLES = [
    sample(array(2, 4), axis=1),
    sample(array(4, 2), exclusive=True),
    sample(array(2, 4), axis=-1, exclusive=True, reverse=True),
    sample(array(3, 0), axis=1, exclusive=True, reverse=True),
    sample(array(1), reverse=True),
]
INTEGERS = sample(ints(5, high=4, dtype="int8"), reverse=True)


@primitive("Cumsum", infer=_running_spec, samples=[*SAMPLES, INTEGERS])
def cumsum(x: Number, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sum: each element becomes the sum of all up to it.

    Args:
        x: numbers.
        axis: along which axis.
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


@primitive("Cumprod", infer=_running_spec, samples=[*SAMPLES, INTEGERS])
def cumprod(x: Number, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running product: each element becomes the product of all up to it; parameters as in `cumsum`.

    Source: `numpy.cumprod`; `exclusive` and `reverse` as in `tf.math.cumprod`.  The dtype stays.

    Example:
        >>> cumprod([2, 3, 4]).numpy()
        array([ 2,  6, 24], dtype=int32)
    """


@cumprod.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, exclusive, reverse = op.args

    def collect(products: Any) -> Any:
        return cumsum(g * products, axis, exclusive, not reverse)

    # Before the first zero, the product without x is the product over x.  For the first zero, it is the product of the
    # others: that with a 1 in its place.  For all behind, it has the first zero in it.
    zeros = cumsum(cast(equal(x, 0), "int32"), axis, reverse=reverse)
    first = equal(x, 0) & equal(zeros, 1)
    without = where(first, 1, x)
    before = collect(op.outputs[0]) / where(equal(x, 0), 1, x)
    return where(greater(zeros, 0), where(first, collect(cumprod(without, axis, exclusive, reverse)), 0), before)


@primitive(
    "CumulativeLogsumexp",
    infer=_running_spec,
    samples=[
        *(s for s in SAMPLES if "exclusive" not in s.kwargs),
        sample(array(2, 3), axis=-1, exclusive=True, reverse=True, gradient=False),  # there are infinities in it
    ],
)
def cumulative_logsumexp(x: Float, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running `logsumexp`; parameters as in `cumsum`.  The first result is minus infinity if it is exclusive.

    Source: `tf.math.cumulative_logsumexp`.

    Example:
        >>> cumulative_logsumexp([0., 0., 1000.]).numpy()
        array([0.000000e+00, 6.931472e-01, 1.000000e+03], dtype=float32)
    """


@cumulative_logsumexp.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, exclusive, reverse = op.args

    def collect(weights: Any) -> Any:  # in logarithms, where nothing overflows
        logs = where(greater(weights, 0), log(where(greater(weights, 0), weights, 1)) - op.outputs[0], -float("inf"))
        return exp(cumulative_logsumexp(logs, axis, exclusive, not reverse) + x)

    return collect(g) - collect(-g)


@composite("Diff", samples=[sample(array(4, 3)), sample(array(4, 3), axis=0), sample(array(5), n=2)])
def diff(x: Number, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours along an axis.

    Args:
        x: numbers.
        n: how often differences are taken.
        axis: along which axis; it becomes shorter by `n`.

    Source: `numpy.diff`.

    Example:
        >>> diff([1, 4, 9, 16]).numpy()
        array([3, 5, 7], dtype=int32)
    """
    before = (slice(None),) * normalize_axis(axis, len(x.shape))
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x
