"""Sample calls of the functions of `keras.src.backend.numpy.numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.keras_dovetail.ops.calls import Call, bools, floats, ints

F, P, N, B = floats(3, 4), floats(3, 4, low=0.1), ints(3, 4, low=1), bools(3, 4)
SMALL = ints(3, 4, dtype="int8")
NAN = np.where(floats(3, 4) > 0.8, np.nan, F).astype("float32")
NAN[1] = np.nan
HOLES = np.where(floats(3, 4) > 0.8, np.nan, F).astype("float32")


def call(name: str, *args: Any, same_dtype: bool = True, tolerance: float = 2e-5, **options: Any) -> Call:
    return Call("numpy", name, args, options, same_dtype, tolerance)


ANY = "absolute abs fabs angle ceil copy cos cosh exp exp2 floor isfinite isinf isnan logical_not round sign sin sinh "
ANY += "square tan tanh trunc isneginf isposinf isreal signbit deg2rad rad2deg sinc cbrt expm1 arcsinh arctan conj "
ANY += "conjugate real imag i0 nan_to_num"
WITHIN = "arccos arcsin"  # arguments between -1 and 1
POSITIVE = "log log10 log1p log2 sqrt"
BOTH = "add multiply divide true_divide divide_no_nan maximum minimum fmax fmin mod fmod floor_divide arctan2 hypot "
BOTH += "logaddexp logaddexp2 heaviside"
COMPARED = "equal greater greater_equal less less_equal not_equal logical_and logical_or logical_xor"
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift left_shift right_shift"
SUMS = "all any amax amin max min mean sum std var prod ptp median"
NANS = "nansum nanprod nanmean nanstd nanvar nanmax nanmin nanmedian"

HALVES = {"rad2deg", "cbrt"}  # for int8, Keras' numpy backend computes these in float16
CALLS = [call(name, x) for name in ANY.split() for x in (F, N, *([] if name in HALVES else [SMALL]))]
CALLS += [call(name, x) for name in WITHIN.split() for x in (F / 2, ints(3, high=2))]
CALLS += [call(name, x) for name in POSITIVE.split() for x in (P, N, P.astype("float16"))]
CALLS += [
    call("arctanh", F / 3),
    call("arccosh", P + 1),
    call("reciprocal", P),
    call("negative", F),
    call("negative", N),
]
CALLS += [call(name, x, y) for name in BOTH.split() for x, y in ((F, P[0]), (N, N[::-1]), (P, N), (F, 2), (SMALL, N))]
CALLS += [call("subtract", *xy) for xy in ((F, N), (N, 1), (2.5, F))]
CALLS += [call("power", *xy) for xy in ((P, F), (N, 2), (P, N), (2.0, F))]
CALLS += [call("add", B, B), call("multiply", B, B), call("mod", B, ~(B & False))]
CALLS += [call(name, x, y) for name in COMPARED.split() for x, y in ((F, P[0]), (N, N[::-1]))]
CALLS += [call(name, x, y) for name in BITS.split() for x, y in ((N, N[::-1]), (SMALL, N), (SMALL, 2))]
CALLS += [call(name, N) for name in ("bitwise_invert", "bitwise_not")]
CALLS += [call(name, x) for name in SUMS.split() for x in (F, N)]
CALLS += [call(name, F, axis=1, keepdims=True) for name in SUMS.split()]
CALLS += [call(name, SMALL, axis=0) for name in ("sum", "prod", "max", "mean", "var", "all")]
CALLS += [call(name, ints(3, dtype="uint8")) for name in ("sum", "prod", "nansum", "nanprod")]
CALLS += [
    call("sum", B),
    call("max", F, initial=1.5),
    call("min", N, axis=0, initial=2),
    call("prod", N, dtype="float32"),
]
CALLS += [call(name, HOLES, axis=axis) for name in NANS.split() for axis in (None, 0)]
CALLS += [call(name, HOLES, axis=1, keepdims=True) for name in NANS.split()]
CALLS += [call(name, N) for name in NANS.split()]
CALLS += [
    call(name, x, axis=axis)
    for name in ("argmax", "argmin", "nanargmax", "nanargmin")
    for x in (F, N)
    for axis in (None, 1)
]
CALLS += [
    call("nanargmax", NAN, axis=1),
    call("nanargmin", NAN, axis=1, keepdims=True),
    call("argmax", F, axis=0, keepdims=True),
]
CALLS += [
    call(name, x, axis=axis)
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")
    for x in (F, N, B)
    for axis in (None, 1)
]
CALLS += [call(name, HOLES) for name in ("nancumsum", "nancumprod")]
CALLS += [call("cumsum", N, axis=0, dtype="float32")]
CALLS += [
    call(name, x, q, **options)
    for name, qs in (("quantile", (0.3, np.float32([0.1, 0.9]))), ("percentile", (30, np.float32([10, 90]))))
    for prefix in ("", "nan")
    for name in (prefix + name,)
    for x in ((F, HOLES) if prefix else (F, N))
    for q in qs
    for options in (
        {},
        {"axis": 1, "keepdims": True},
        {"axis": 0, "method": "nearest"},
        {"axis": 0, "method": "midpoint"},
    )
]
CALLS += [
    call("allclose", F, F + 1e-9),
    call("isclose", F, F + 1e-3),
    call("clip", F, -1, 1),
    call("clip", N, 2, 3),
    call("clip", B, 0, 1),
    call("average", F),
    call("average", F, axis=1, weights=P[0]),
    call("average", N, axis=0, weights=N),
    call("count_nonzero", N - 1),
    call("count_nonzero", N - 1, axis=1),
    call("ldexp", F, N),
    call("gcd", N * 6, N[::-1] * 4),
    call("gcd", N * 6, 4),
    call("lcm", N, N[::-1]),
    call("nextafter", F, P),
    call("nextafter", np.float32([0, 0, 1, -1, 1]), np.float32([1, -1, 1, 2, -2])),
    call("select", [F > 1, F < 0], [F, P], default=3.0),
    call("where", F > 0, F, N),
    call("where", F > 0, 1, 2.0),
    call("where", F > 0, same_dtype=False),
    call("nan_to_num", bools(3)),
    call("view", F, dtype="int32"),
    call("view", F, dtype="uint8"),
    call("view", ints(3, 4, dtype="int16"), dtype="float32"),
    call("trapezoid", F),
    call("trapezoid", F, x=np.float32([0, 1, 3, 4])),
    call("trapezoid", N, dx=0.5, axis=0),
    call("arange", 5),
    call("arange", 1, 7, 2),
    call("arange", 0.0, 1.0, 0.25),
    call("arange", 3, dtype="float32"),
    call("array", [1, 2]),
    call("array", F, dtype="int32"),
    call("empty", (0, 3)),
    call("empty_like", F[:0]),
    call("zeros", (2, 3)),
    call("ones", (2,), dtype="int32"),
    call("zeros_like", N),
    call("ones_like", F, dtype="int8"),
    call("full", (2, 3), 1.5),
    call("full", (2, 3), F[0, :3], dtype="float16"),
    call("full_like", N, 7),
    call("full_like", F, 2, dtype="int32"),
    call("eye", 3),
    call("eye", 3, 4, k=1, dtype="int32"),
    call("identity", 3),
    call("tri", 3),
    call("tri", 3, 4, k=-1, dtype="int32"),
    call("bartlett", 6),
    call("blackman", 6),
    call("hamming", 6),
    call("hanning", 6),
    call("kaiser", 6, 3.0),
    call("kaiser", 1, 3.0),
    call("linspace", 0, 1, 5),
    call("linspace", F[0], P[0], 4, endpoint=False, axis=1),
    call("linspace", 0.0, 10, 3, dtype="int32"),
    call("linspace", 0, 1, 5, retstep=True, same_dtype=False),
    call("logspace", 0, 2, 5),
    call("logspace", 0.0, 3.0, 4, base=2, endpoint=False),
    call("geomspace", 1.0, 1000.0, 4),
    call("geomspace", P[0], P[1], 3, axis=0),
    call("meshgrid", F[0], N[0]),
    call("meshgrid", F[0], N[0], indexing="ij"),
    call("vander", F[0]),
    call("vander", N[0], N=3, increasing=True),
    call("diag", F),
    call("diag", F[0], k=1),
    call("diagflat", F, k=-1),
    call("diagonal", F, offset=1),
    call("tril", F),
    call("triu", F, k=1),
    call("append", F, N),
    call("append", F, F, axis=0),
    call("broadcast_to", F[0], (2, 4)),
    call("concatenate", [F, N], axis=1),
    call("concatenate", [N, N]),
    call("stack", [F, N], axis=1),
    call("vstack", [F[0], N[0]]),
    call("hstack", [F, N]),
    call("hstack", [F[0], N[0]]),
    call("dstack", [F, N]),
    call("dstack", [F[0], N[0]]),
    call("split", F, 2, axis=1),
    call("split", F, [1, 2]),
    call("array_split", F, 3, axis=1),
    call("array_split", F, [1, 3], axis=1),
    call("vsplit", F, 3),
    call("hsplit", F, 2),
    call("hsplit", F[0], 2),
    call("dsplit", floats(2, 3, 4), 2),
    call("expand_dims", F, 1),
    call("expand_dims", F, (0, -1)),
    call("squeeze", F[:1]),
    call("squeeze", floats(1, 2, 1), axis=2),
    call("flip", F),
    call("flip", F, axis=1),
    call("fliplr", F),
    call("flipud", F),
    call("moveaxis", floats(2, 3, 4), 0, 2),
    call("swapaxes", floats(2, 3, 4), 0, 2),
    call("transpose", floats(2, 3, 4)),
    call("transpose", floats(2, 3, 4), axes=(1, 0, 2)),
    *(call("rot90", floats(2, 3, 4), k=k) for k in (0, 1, 2, 3, -1)),
    call("rot90", floats(2, 3, 4), axes=(2, 0)),
    call("pad", F, 1),
    call("pad", F, ((1, 2),)),
    call("pad", F, ((1, 0), (0, 2)), constant_values=3.0),
    call("pad", F, 1, mode="reflect"),
    call("pad", N, ((1, 1), (2, 2)), mode="symmetric"),
    call("ravel", F),
    call("reshape", F, (2, -1)),
    call("reshape", F, -1),
    call("repeat", F, 2),
    call("repeat", F, [1, 2, 0], axis=0),
    call("roll", F, 1),
    call("roll", F, (1, 2), axis=(0, 1)),
    call("tile", F, 2),
    call("tile", F, (2, 1, 2)),
    call("take", F, N - 1),
    call("take", F, [2, -1], axis=0),
    call("take_along_axis", F, N[:, :2] - 1, axis=1),
    call("trace", F),
    call("trace", SMALL, offset=1),
    call("diff", bools(3, 4), n=2),
    call("diff", F),
    call("diff", N, n=2, axis=0),
    call("ndim", F),
    call("size", F),
    call("unravel_index", N, (5, 3)),
    call("kron", F, N),
    call("kron", F[0], floats(2, 2, 2)),
    call("dot", F, P.T),
    call("dot", F[0], N[0]),
    call("inner", F, N),
    call("outer", F[0], N[0]),
    call("vdot", F, P),
    call("matmul", F, P.T),
    call("matmul", SMALL, SMALL.T),
    call("matmul", F, N.T),
    call("einsum", "ij,kj->ik", F, P),
    call("einsum", "ij->ji", SMALL),
    call("tensordot", F, P, axes=([1], [1])),
    call("tensordot", floats(2, 3, 4), F, axes=2),
    call("cross", F[:, :3], N[:, :3]),
    call("cross", F[:, :2], P[:, :2]),
    call("cross", F[:, :2], P[:, :3]),
    call("cross", floats(3, 5), floats(3, 5), axis=0),
    call("slogdet", floats(3, 3)),
    call("corrcoef", F),
    call("corrcoef", N),
    *(
        call("correlate", x, y, mode=mode)
        for mode in ("valid", "same", "full")
        for x, y in ((F[0], P[0, :3]), (N[0, :3], N[1]))
    ),
    call("argsort", F),
    call("argsort", F, axis=None),
    call("sort", F, axis=0),
    call("sort", N),
    call("argpartition", np.sort(F), 2),
    call("searchsorted", np.sort(F[0]), P),
    call("searchsorted", np.sort(F[0]), P, side="right"),
    call("digitize", F, np.float32([-1, 0, 1])),
    call("isin", N, [1, 3]),
    call("isin", N, N[0], invert=True),
    call("nonzero", N - 1),
    call("bincount", N[0]),
    call("bincount", N[0], minlength=9),
    call("bincount", N[0], weights=P[0]),
    call("bincount", N),
    call("bincount", N, weights=P, minlength=8),
    call("histogram", F, same_dtype=False),
    call("histogram", F, bins=np.float32([-1, 0, 2]), same_dtype=False),
    call("histogram", F, bins=4, range=(0, 1), same_dtype=False),
    call("unique", N),
    call("unique", N, return_index=True, return_inverse=True, return_counts=True, same_dtype=False),
    call("unique", N, size=7, fill_value=-1),
    call("unique", N, size=2, return_counts=True, same_dtype=False),
    call("unique", bools(6, 2).astype("float32"), axis=0, return_index=True, return_inverse=True, same_dtype=False),
    call("unique", bools(2, 6).astype("int32"), axis=1, size=5),
]
CALLS += [
    call("absolute", B),
    call("average", P.astype("float16"), weights=N),
    call("matmul", F[0], F.T),
    call("matmul", floats(2, 3, 4), F[0]),
    call("matmul", F[0], F[1]),
    call("argsort", N[0, 0]),
    call("repeat", F, np.int32([2])),
    *(call("copysign", x, y) for x, y in ((F, F[::-1]), (N, -0.0), (2, F), (F.astype("float16"), np.float16(-1)))),
    *(call("float_power", x, y) for x, y in ((P, F), (N, -2), (2, N), (SMALL, N), (P.astype("float16"), 2))),
    *(call("cov", x) for x in (F, N, F[0], F[:1], bools(3, 4), P.astype("float16"), ints(3, 4, dtype="int64"))),
    *(call("column_stack", xs) for xs in ([F, N], [F[0], N[0]], [F, F[:, 0]], [F[0, 0], F[0, :1]])),
    call("column_stack", [floats(2, 3, 2), floats(2, 1, 2)]),
]
