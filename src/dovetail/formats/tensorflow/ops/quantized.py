"""Numbers rounded to those that integers hold: FakeQuantWithMinMaxVars, QuantizeAndDequantizeV2, and gradients."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.formats.tensorflow.gradients import through
from dovetail.formats.tensorflow.table import row

_BITS = "num_bits:bits narrow_range:narrow"


@row(
    f"FakeQuantWithMinMaxArgs: x; min:low max:high {_BITS}",
    f"FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel: x low high; {_BITS}",
)
def fake_quantized(x: Any, low: Any, high: Any, bits: int = 8, narrow: bool = False) -> Any:
    """The nearest of 2**bits numbers between two bounds, moved so that 0 is one of them; rounding passes gradients."""
    low, high = (ops.cast(bound, x.dtype) for bound in (low, high))
    first, last = int(narrow), 2**bits - 1
    scale = (high - low) / (last - first)
    zero = ops.clip(ops.floor(first - low / scale + 0.5), first, last)
    bounds = (first - zero) * scale, (last - zero) * scale
    low, high = (bound + ops.stop_gradient(moved - bound) for bound, moved in zip((low, high), bounds, strict=True))
    inside = ops.where(x < low, low, ops.where(x > high, high, ops.where(x <= high, x, ops.stop_gradient(x))))
    rounded = ops.floor((inside - low) * (1 / scale) + 0.5) * scale + low  # halves as in TensorFlow's kernel
    return _as(rounded, inside)


def _as(value: Any, like: Any) -> Any:
    """The value, with the gradient of another tensor where that is finite."""
    return ops.stop_gradient(value) + ops.where(ops.isfinite(like), like - ops.stop_gradient(like), 0)


@row(f"FakeQuantWithMinMaxArgsGradient: g x; min:low max:high {_BITS}")
def _(g: Any, x: Any, **numbers: Any) -> Any:
    return through(lambda x: fake_quantized(x, **numbers), g, x)


@row(f"FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannelGradient: g x low high; {_BITS}")
def _(g: Any, x: Any, low: Any, high: Any, **numbers: Any) -> list[Any]:
    return through(lambda x, low, high: fake_quantized(x, low, high, **numbers), g, x, low, high)


_QUANTIZED = "signed_input:signed range_given:given narrow_range:narrow axis=-1"


@row(
    f"QuantizeAndDequantizeV2: x low high; {_QUANTIZED} num_bits:bits round_mode:rounding",
    "QuantizeAndDequantizeV3: x low high bits!; signed_input:signed range_given:given narrow_range:narrow axis=-1",
    f"QuantizeAndDequantizeV4: x low high; {_QUANTIZED} num_bits:bits round_mode:rounding +cut=True",
)
def quantized(
    x: Any,
    low: Any,
    high: Any,
    bits: int = 8,
    signed: bool = True,
    given: bool = False,
    narrow: bool = False,
    rounding: str = "HALF_TO_EVEN",
    cut: bool = False,
) -> Any:
    """The nearest of 2**bits multiples of a number; rounding passes gradients, with `cut` those inside the range."""
    bounds = low, high
    if not given:
        none = ops.isnan(x)
        low, high = ops.min(ops.where(none, x.dtype.max, x)), ops.max(ops.where(none, x.dtype.min, x))
    last = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    first = (-last if narrow else -last - 1) if signed else 0
    low, high = (ops.cast(bound, x.dtype) for bound in (low, high))
    largest = x.dtype.max
    scales = [
        ops.where(number * bound > 0, number / ops.where(ops.equal(bound, 0), 1, bound), largest)
        for number, bound in ((first, low), (last, high))
    ]
    by_low = scales[0] < scales[1]
    unit = ops.where(by_low, low / (first or 1), high / last)
    scale = ops.where(by_low, *scales)
    inside = ops.minimum(ops.maximum(x, first * unit), last * unit) if given else x
    rounded = (ops.rint(inside * scale) if rounding == "HALF_TO_EVEN" else ops.floor(inside * scale + 0.5)) * unit
    passed = ops.where(ops.logical_and(x >= bounds[0], x <= bounds[1]), x, ops.stop_gradient(x)) if cut else x
    return _as(rounded, passed)


@row("QuantizeAndDequantizeV4Grad: g x low high; axis=-1")
def _(g: Any, x: Any, low: Any, high: Any) -> list[Any]:
    inside = ops.logical_and(x >= low, x <= high)
    return [ops.where(inside, g, 0), ops.zeros_like(low), ops.zeros_like(high)]
