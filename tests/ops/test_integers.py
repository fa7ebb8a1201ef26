"""Sizes, counts and axes as integers of NumPy, or as arrays without axes: they mean the same as Python's integers."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import backend as K
from dovetail import ops
from dovetail.ops import random

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
IMAGE = np.arange(128, dtype="float32").reshape(1, 8, 8, 2)
KERNEL = np.ones((3, 3, 2, 2), "float32")
KINDS = {"int64": np.int64, "int32": np.int32, "int8": np.int8, "array": np.array}

CALLS = {  # name → a call with integers that a function makes of Python's
    "repeat": lambda n: ops.repeat(X, n(2), n(1)),
    "repeat one for all": lambda n: ops.repeat(X, [n(2)], n(0)),
    "repeat each": lambda n: ops.repeat(X, [n(2), n(1)], n(0)),
    "tile": lambda n: ops.tile(X, [n(1), n(2), n(1)]),
    "pad": lambda n: ops.pad(X, n(1)),
    "pad each": lambda n: ops.pad(X, [(n(1), n(2))] * 3),
    "moveaxis": lambda n: ops.moveaxis(X, n(0), n(2)),
    "moveaxis lists": lambda n: ops.moveaxis(X, [n(0), n(1)], [n(2), n(0)]),
    "swapaxes": lambda n: ops.swapaxes(X, n(0), n(2)),
    "split": lambda n: ops.split(X, n(2), n(2)),
    "split at": lambda n: ops.split(X, [n(1)], n(2)),
    "split_sizes": lambda n: ops.split_sizes(X, [n(1), n(-1)], n(2)),
    "tensordot": lambda n: ops.tensordot(X, X.T, n(1)),
    "tensordot lists": lambda n: ops.tensordot(X, X.T, [[n(2)], [n(0)]]),
    "norm": lambda n: ops.norm(X, 1, n(1)),
    "scan": lambda n: ops.scan(lambda carry, _: (carry + 1, carry), np.float32(0), None, n(3))[1],
    "reshape": lambda n: ops.reshape(X, (n(6), n(-1))),
    "max_pool": lambda n: ops.max_pool(IMAGE, n(2), n(2)),
    "conv": lambda n: ops.conv(IMAGE, KERNEL, n(2), dilation_rate=n(1)),
    "conv_transpose": lambda n: ops.conv_transpose(IMAGE, KERNEL, n(2)),
    "getitem": lambda n: ops.convert(X)[n(1), n(0) : n(2)],
    "uniform": lambda n: random.uniform(1, n(3)),
    "permutation": lambda n: random.permutation(1, n(4)),
    "K.repeat": lambda n: K.repeat(X[0], n(2)),
    "K.repeat_elements": lambda n: K.repeat_elements(X, n(2), n(1)),
    "K.tile": lambda n: K.tile(X[0, 0], n(2)),
    "K.zeros": lambda n: K.zeros((n(2), n(3))),
    "K.slice": lambda n: K.slice(X, (n(0), n(1), n(1)), (n(1), n(1), n(-1))),
    "K.batch_dot": lambda n: K.batch_dot(X, X, n(2)),
    "K.batch_dot pair": lambda n: K.batch_dot(X, X, (n(2), n(2))),
    "K.resize_images": lambda n: K.resize_images(IMAGE, n(2), n(2), "channels_last"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_integers_of_numpy_are_sizes(name, kind):
    wanted, found = CALLS[name](int), CALLS[name](KINDS[kind])
    if not isinstance(wanted, list):
        wanted, found = [wanted], [found]
    assert [t.dtype for t in found] == [t.dtype for t in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
