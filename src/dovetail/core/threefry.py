"""Threefry-2x32-20: random bits from a key and a counter, the same on every engine and device.

The cipher is written once, in operators that NumPy, PyTorch and JAX share, on 32-bit integers that wrap around.  The
bits of a call come from its key and the counters 0, 1, 2, …; another key gives bits that are independent of them.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
BLOCK = 1 << 15  # counters whose data stays in a processor's cache during all rounds


def encrypt(key: Any, x0: Any, x1: Any, signed: bool) -> tuple[Any, Any]:
    """Encrypt counters of two words each, in place if the arrays allow it.

    Args:
        key: two words.
        x0, x1: the words of the counters.
        signed: whether words are signed integers, whose right shift fills in the sign.
    """
    k0, k1 = key[0:1], key[1:2]  # arrays of one element, since NumPy warns when a scalar wraps around
    keys = k0, k1, k0 ^ k1 ^ PARITY
    x0 += k0
    x1 += k1
    for turn in range(5):
        for bits in ROTATIONS[turn % 2]:
            x0 += x1
            rest = x1 >> (32 - bits)
            if signed:
                rest &= (1 << bits) - 1
            x1 <<= bits
            x1 |= rest
            x1 ^= x0
        x0 += keys[(turn + 1) % 3]
        x1 += keys[(turn + 2) % 3]
        x1 += turn + 1
    return x0, x1


def on_host(key: np.ndarray, shape: tuple[int, ...], counter: np.ndarray | None) -> np.ndarray:
    """Random int32 words, computed on the CPU, one block of counters after the other.

    Args:
        key: two int32 words.
        shape: the shape of the result.
        counter: the first counter, two int32 words; zeros if not given.
    """
    size = math.prod(shape)
    half = (size + 1) // 2
    words = np.empty(2 * half, np.uint32)
    first, second = (0, 0) if counter is None else counter.view(np.uint32)
    for start in range(0, half, BLOCK):
        stop = min(start + BLOCK, half)
        x0, x1 = words[start:stop], words[half + start : half + stop]
        x0[:] = np.arange(start, stop, dtype=np.uint32)
        x0 += first
        x1[:] = second
        encrypt(key.view(np.uint32), x0, x1, signed=False)
    return words[:size].view(np.int32).reshape(shape)
