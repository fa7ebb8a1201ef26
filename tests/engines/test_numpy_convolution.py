"""Convolutions on NumPy: blocks of any size give the same numbers, and need little memory."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

from dovetail.core.base.windows import Windows, join_shape, split_shape
from dovetail.core.dtypes import as_dtype
from dovetail.engines import numpy_convolution
from dovetail.engines.numpy import rules

ALLOWED = 64 << 20  # bytes besides the arguments and the result
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "float64": 1e-12}


class Case(NamedTuple):
    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: int = 1
    padding: object = "valid"
    dilations: int = 1
    data_format: str = "channels_last"
    dtype: str = "float32"

    @property
    def window(self):
        rank = len(self.kernel) - 2
        return (self.strides,) * rank, self.padding, (self.dilations,) * rank, self.data_format

    @property
    def output(self):
        strides, padding, dilations, layout = self.window
        batch, sizes, _ = split_shape(self.shape, layout)
        windows = Windows(self.kernel[:-2], strides, dilations, padding)
        return join_shape(batch, windows.count(sizes), self.kernel[-1], layout)

    def arrays(self, rng):
        """An input, a kernel and an output."""
        return [
            rng.standard_normal(s, "float32").astype(as_dtype(self.dtype).numpy)
            for s in (self.shape, self.kernel, self.output)
        ]

    def calls(self, x, kernel, g):
        """The op and its arguments, for each of the three ops."""
        name = f"Conv{len(self.kernel) - 2}D"
        yield name, (x, kernel)
        yield f"{name}BackpropInput", (self.shape, kernel, g)
        yield f"{name}BackpropFilter", (x, self.kernel, g)


def by_definition(case, x, kernel, g):
    """Output and gradients, in float64, by a loop over the window's elements and the output channels."""
    strides, padding, dilations, layout = case.window
    x, kernel, g = (a.astype("float64") for a in (x, kernel, g))
    if layout == "channels_first":
        x, g = np.moveaxis(x, 1, -1), np.moveaxis(g, 1, -1)
    pads = Windows(kernel.shape[:-2], strides, dilations, padding).pads(x.shape[1:-1])
    padded = np.pad(x, [(0, 0), *pads, (0, 0)])
    y, by_x, by_kernel = np.zeros(g.shape), np.zeros(padded.shape), np.zeros(kernel.shape)
    per_group, filters = kernel.shape[-2:]
    of_group = filters * per_group // x.shape[-1]
    for *element, channel, out in np.ndindex(kernel.shape):
        each = zip(element, g.shape[1:-1], strides, dilations, strict=True)
        at = (slice(None), *(slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in each))
        at = (*at, out // of_group * per_group + channel)
        y[..., out] += padded[at] * kernel[*element, channel, out]
        by_x[at] += g[..., out] * kernel[*element, channel, out]
        by_kernel[*element, channel, out] = (padded[at] * g[..., out]).sum()
    by_x = by_x[:, *(slice(before, before + n) for n, (before, _) in zip(x.shape[1:-1], pads, strict=True))]
    return [np.moveaxis(a, -1, 1) if layout == "channels_first" else a for a in (y, by_x)] + [by_kernel]


SMALL = [
    Case((2, 7, 6, 3), (3, 2, 3, 4), padding="same"),
    Case((3, 9, 2), (4, 2, 3), strides=2, padding=((3, 1),)),
    Case((2, 4, 5, 3, 2), (2, 3, 1, 2, 2), padding="same", dilations=2),
    Case((2, 4, 6, 5), (3, 3, 2, 6), data_format="channels_first", padding="same"),
    Case((2, 6, 5, 4), (2, 3, 1, 4), padding="same"),
    Case((2, 6, 5, 4), (3, 3, 1, 12), strides=2, padding="same", dilations=1),
    Case((2, 3, 8, 7), (3, 3, 1, 6), padding=((2, 0), (1, 5)), dilations=2, data_format="channels_first"),
    Case((3, 5, 5, 1), (2, 2, 1, 3)),
    Case((2, 5, 6, 3), (1, 1, 3, 2)),
    Case((2, 5, 6, 3), (1, 1, 3, 2), strides=3, padding="same"),
    Case((2, 20, 20, 2), (2, 2, 2, 2), strides=9),
    Case((2, 7, 6, 3), (2, 6, 3, 4)),  # few windows: a kernel as wide as the input, and variations
    Case((2, 4, 7, 6), (2, 5, 2, 6), padding=((1, 0), (0, 0)), data_format="channels_first"),
    Case((2, 9, 8, 3), (2, 4, 1, 6), dilations=2),
    Case((3, 12, 2), (11, 2, 3), strides=2, padding=((0, 1),)),
    Case((0, 5, 5, 2), (2, 2, 2, 3)),
    Case((2, 0, 5, 2), (2, 2, 2, 3), padding="same"),
    Case((2, 0, 5, 2), (2, 2, 1, 4), padding=((1, 1), (0, 0))),
    Case((2, 5, 5, 2), (2, 2, 2, 0)),
    Case((2, 5, 5, 2), (2, 2, 1, 0)),
]


@pytest.mark.parametrize("block", [1, 250, 1 << 22])
@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_blocks_of_any_size(case, block, dtype, rng, monkeypatch):
    monkeypatch.setattr(numpy_convolution, "BLOCK", block)
    monkeypatch.setattr(numpy_convolution, "LARGEST", block)
    numpy_convolution._convolution.cache_clear()
    case = case._replace(dtype=dtype)
    arrays = case.arrays(rng)
    wanted = by_definition(case, *arrays)
    for (name, args), right in zip(case.calls(*arrays), wanted, strict=True):
        found = rules[name](*args, *case.window)
        assert (found.dtype, found.shape) == (as_dtype(dtype).numpy, right.shape)
        bound = TOLERANCE[dtype]
        np.testing.assert_allclose(found.astype("float64"), right, bound, bound * (1 + abs(right).max(initial=0)), name)
    numpy_convolution._convolution.cache_clear()


LARGE = [
    Case((4, 64, 64, 512), (5, 5, 512, 3), padding="same"),
    Case((1, 256, 256, 64), (7, 7, 64, 2)),
    Case((4, 64, 64, 256), (5, 5, 1, 256), padding="same"),
    Case((2, 64, 64, 64), (5, 5, 1, 256), padding="same", data_format="channels_first"),
    Case((4, 256, 64, 64), (3, 3, 32, 64), padding="same", data_format="channels_first"),
    Case((2, 20000, 128), (31, 128, 16), padding="same", dilations=3),
    Case((1, 32, 32, 32, 64), (3, 3, 3, 64, 8), padding="same"),
    Case((64, 32, 32, 128), (1, 1, 128, 128)),
    Case((1, 200, 200, 64), (9, 9, 64, 16), strides=5),
    Case((1, 4, 4, 1024), (5, 5, 1024, 1024), padding="same"),
    Case((4, 64, 64, 512), (5, 5, 512, 3), padding="same", dtype="bfloat16"),
]


@pytest.mark.parametrize("part", range(3), ids=("output", "input gradient", "kernel gradient"))
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_memory(case, part):
    x, kernel, g = (np.zeros(a, as_dtype(case.dtype).numpy) for a in (case.shape, case.kernel, case.output))
    name, args = next(itertools.islice(case.calls(x, kernel, g), part, None))
    tracemalloc.start()
    try:
        rules[name](*args, *case.window)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    result = (g, x, kernel)[part]
    assert peak <= result.nbytes + ALLOWED
