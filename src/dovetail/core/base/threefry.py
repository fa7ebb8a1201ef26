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


def on_host(
    key: np.ndarray, shape: tuple[int, ...], counter: np.ndarray | None = None, part: np.ndarray | None = None
) -> np.ndarray:
    """Random int32 words, computed on the CPU, one block of counters after the other.

    Args:
        key: two int32 words.
        shape: the shape of the result.
        counter: the first counter, two int32 words; zeros if not given.
        part: the offset and the total of a part's columns; see `random_bits`.
    """
    size, is_row = math.prod(shape), part is not None and len(shape) == 1
    count = (size + 1) // 2 if part is None else shape[-1]
    offset, total = (0, count) if part is None else part.tolist()
    period = part_period(total, is_row)
    words = np.empty(size if is_row else 2 * count, np.uint32)
    other = np.empty(min(BLOCK, count), np.uint32)  # of a row, the words that are not taken
    first, second = (0, 0) if counter is None else counter.view(np.uint32).tolist()
    start = 0
    while start < count:
        turn, place = divmod(offset + start, period)
        stop = min(start + BLOCK, count, start + period - place)
        x = words[start:stop], other[: stop - start] if is_row else words[count + start : count + stop]
        x0, x1 = reversed(x) if is_row and turn % 2 else x
        x0[:] = np.arange(stop - start, dtype=np.uint32)
        x0 += np.uint32((first + place) % 2**32)
        x1[:] = second
        encrypt(key.view(np.uint32), x0, x1, signed=False)
        start = stop
    return words[:size].view(np.int32).reshape(shape)


def first_words(count: Any, where: Any, shape: Any, part: Any) -> tuple[Any, Any]:
    """The first words of the counters 0, 1, 2, … of a call, in a library's functions.

    Args:
        count: (n) → the integers from 0 to n - 1.
        where: chooses between two arrays.
        shape: the shape of the result.
        part: the offset and the total of a part's columns, of int64, or None; see `random_bits`.

    Returns:
        The words, and of one row of a part which elements are the first word of their counter, else None.
    """
    if part is None:
        return count((math.prod(shape) + 1) // 2), None
    columns, is_row = part[0] + count(shape[-1]), len(shape) == 1
    period = part_period(part[1], is_row)
    is_first = columns < period
    return where(is_first, columns, columns - period), is_first if is_row else None


def part_period(total: Any, is_row: bool) -> Any:
    """After how many columns of a part the counters begin again; of one row, from there on the second words count."""
    return (total + 1) // 2 if is_row else total
