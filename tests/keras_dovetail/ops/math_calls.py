"""Sample calls of the functions of `keras.src.backend.numpy.math` and `.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.keras_dovetail.ops.calls import Call, floats, ints

F, P = floats(3, 4), floats(3, 4, low=0.1, high=0.9)
PAIR = floats(2, 6), floats(2, 6, low=0)
IMAGE = floats(2, 4, 6), floats(2, 4, 6, low=0)
IDS, ROWS = np.int32([2, 0, 2, -1, 0]), floats(5, 3)
WAVE = floats(2, 40)
SQUARE, TALL = floats(3, 3) + 3 * np.eye(3, dtype="float32"), floats(5, 3)
SPD = (SQUARE @ SQUARE.T).astype("float32")


def call(name: str, *args: Any, same_dtype: bool = True, tolerance: float = 1e-4, **options: Any) -> Call:
    return Call("math", name, args, options, same_dtype, tolerance)


def linalg(name: str, *args: Any, same_dtype: bool = True, tolerance: float = 1e-3, **options: Any) -> Call:
    return Call("linalg", name, args, options, same_dtype, tolerance)


def spectrum(length: int, stride: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The spectrum of a wave, as `istft` takes it."""
    frames = np.lib.stride_tricks.sliding_window_view(WAVE, size, -1)[:, ::stride]
    found = np.fft.rfft(frames * np.hanning(size))
    return found.real.astype("float32"), found.imag.astype("float32")


SEGMENTS = [f"segment_{name}" for name in ("sum", "max", "min", "prod")]
CALLS = [call(name, ROWS, IDS, num_segments=n) for name in SEGMENTS for n in (None, 4)]
CALLS += [call(name, ROWS[:, 0], np.int32([0, 0, 1, 2, 2]), sorted=True) for name in SEGMENTS]
CALLS += [call("segment_sum", ints(5, 2), IDS), call("segment_prod", ints(5, 2), IDS)]
CALLS += [call(name, P) for name in ("rsqrt", "erf", "erfc", "erfinv", "logsumexp")]
CALLS += [
    call("logsumexp", F, axis=1, keepdims=True),
    call("top_k", F, 2, same_dtype=False),
    call("in_top_k", np.int32([0, 3, 2]), F, 2),
    call("cdist", F, P),
    call("cdist", floats(2, 3, 4), floats(2, 5, 4)),
    call("extract_sequences", WAVE, 8, 3),
    call("fft", PAIR),
    call("fft2", IMAGE),
    call("ifft2", IMAGE, same_dtype=False),
    call("rfft", WAVE),
    call("rfft", WAVE, fft_length=15),
    call("rfft", WAVE, fft_length=50),
    call("irfft", PAIR),
    call("irfft", PAIR, fft_length=7),
    call("irfft", PAIR, fft_length=14),
    call("stft", WAVE, 8, 4, 8),
    call("stft", WAVE, 7, 3, 12, window="hamming", center=False),
    call("stft", WAVE, 8, 4, 10, window=None),
    call("stft", WAVE, 4, 2, 4, window=np.float32([0.5, 1, 1, 0.5])),
    call("istft", spectrum(8, 4, 8), 8, 4, 8),
    call("istft", spectrum(8, 4, 8), 8, 4, 8, length=20, window="hamming"),
    call("istft", spectrum(12, 3, 12), 8, 3, 12, center=False),
    call("logdet", SPD),
    *(call("gammainc", x, y) for x, y in ((P, 3 * P[::-1]), (ints(3, 4, low=1), 5 * P), (P[0], 2.0), (4, P))),
    *(call("lgamma", x) for x in (P, F, ints(3, 4, low=1), P.astype("float16"))),
]
CALLS += [Call("math", "in_top_k", (np.int32([[0, 3, 2], [1, 1, 0]]), floats(2, 3, 4), 2), version="3.16")]
CALLS += [
    linalg("cholesky", SPD),
    linalg("cholesky", SPD, upper=True),
    linalg("cholesky_inverse", np.linalg.cholesky(SPD)),
    linalg("cholesky_inverse", np.linalg.cholesky(SPD).T.copy(), upper=True),
    linalg("det", SQUARE),
    linalg("eig", np.diag(np.float32([1, 2, 3])), same_dtype=False),
    linalg("eigh", np.diag(np.float32([1, 2, 3]))),
    linalg("inv", SQUARE),
    linalg("lu_factor", SQUARE),
    linalg("norm", F),
    linalg("norm", F, ord=1, axis=1, keepdims=True),
    linalg("norm", ints(3, 4), ord="fro"),
    linalg("norm", F, ord=np.inf, axis=(0, 1)),
    linalg("qr", np.triu(SPD)[:, :3]),
    linalg("solve", SQUARE, TALL[:3]),
    linalg("solve", SQUARE, TALL[:3, 0]),
    *(linalg("matrix_power", SQUARE / 4, n) for n in (0, 1, 3, -2)),
    linalg("matrix_power", floats(2, 3, 3), 5),
    linalg("matrix_power", ints(3, 3), 4),
    linalg("solve_triangular", np.triu(SQUARE), TALL[:3]),
    linalg("solve_triangular", np.tril(SQUARE), TALL[:3, 0], lower=True),
    linalg("svd", TALL, compute_uv=False),
    linalg("lstsq", TALL, floats(5, 2)),
    linalg("matrix_rank", np.float32([[1, 2], [2, 4]])),
    linalg("matrix_rank", np.diag(np.float32([1, 1e-3])), tol=1e-2),
    linalg("pinv", TALL),
]
