"""Hashes of strings: FarmHash's Fingerprint64, SipHash-2-4, and TensorFlow's own Hash64.

Sources: https://github.com/google/farmhash (`farmhashna`), https://github.com/veorq/SipHash, and TensorFlow's
`core/platform/hash.cc`, which is MurmurHash64A.  The packages of FarmHash for Python are built for few machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MASK = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _turned(value: int, bits: int) -> int:
    """A word, rotated to the right."""
    value &= MASK
    return (value >> bits | value << (64 - bits)) & MASK


def _mixed(value: int) -> int:
    value &= MASK
    return value ^ value >> 47


def _joined(u: int, v: int, factor: int) -> int:
    a = _mixed(((u ^ v) & MASK) * factor)
    return _mixed(((v ^ a) & MASK) * factor) * factor & MASK


def fingerprint64(data: bytes) -> int:
    """FarmHash's fingerprint of 64 bits.

    Example:
        >>> fingerprint64(b"")
        11160318154034397263
    """
    size = len(data)
    if size <= 16:
        return _short(data, size)
    if size <= 64:
        return _middle(data, size)
    return _long(data, size)


def bucket(value: Any, count: int) -> int:
    """The bucket of a string by its fingerprint; of another value, by that of its text.

    Example:
        >>> bucket(b"a", 10), bucket(7, 10)
        (9, 8)
    """
    return fingerprint64(value if isinstance(value, bytes) else str(value).encode()) % count


def _short(data: bytes, size: int) -> int:
    factor = K2 + 2 * size
    if size >= 8:
        a, b = _word(data, 0) + K2, _word(data, size - 8)
        return _joined((_turned(b, 37) * factor + a) & MASK, (_turned(a, 25) + b) * factor & MASK, factor)
    if size >= 4:
        return _joined(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), factor)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _mixed(y * K2 ^ z * K0) * K2 & MASK
    return K2


def _middle(data: bytes, size: int) -> int:
    factor = K2 + 2 * size
    a, b = _word(data, 0) * (K1 if size <= 32 else K2), _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * K2
    y, other = _turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + K2, 18) + c
    if size <= 32:
        return _joined(y & MASK, other & MASK, factor)
    z = _joined(y & MASK, other & MASK, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    return _joined((_turned(e + f, 43) + _turned(g, 30) + h) & MASK, (e + _turned(f + a, 18) + g) & MASK, factor)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(data, at + 8 * number) for number in range(4))
    a += w
    b = _turned(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & MASK, (b + _turned(a, 44) + c) & MASK


def _long(data: bytes, size: int) -> int:
    x, y = 81, 81 * K1 + 113
    z = _mixed(y * K2 + 113) * K2 & MASK
    v, w = (0, 0), (0, 0)
    x = (x * K2 + _word(data, 0)) & MASK
    for at in range(0, (size - 1) // 64 * 64, 64):
        x = _turned(x + y + v[0] + _word(data, at + 8), 37) * K1 ^ w[1]
        y = _turned(y + v[1] + _word(data, at + 48), 42) * K1 + v[0] + _word(data, at + 40)
        z = _turned(z + w[0], 33) * K1
        v = _weak(data, at, v[1] * K1, (x & MASK) + w[0])
        w = _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
        x, y, z = z & MASK, y & MASK, x & MASK
    factor, at = K1 + ((z & 0xFF) << 1), size - 64
    w = (w[0] + (size - 1 & 63)) & MASK, w[1]
    v = (v[0] + w[0]) & MASK, v[1]
    w = (w[0] + v[0]) & MASK, w[1]
    x = _turned(x + y + v[0] + _word(data, at + 8), 37) * factor & MASK ^ (9 * w[1] & MASK)
    y = (_turned(y + v[1] + _word(data, at + 48), 42) * factor + 9 * v[0] + _word(data, at + 40)) & MASK
    z = _turned(z + w[0], 33) * factor & MASK
    v = _weak(data, at, v[1] * factor, x + w[0])
    w = _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
    z, x = x, z
    first = _joined(v[0], w[0], factor) + _mixed(y) * K0 + z
    return _joined(first & MASK, (_joined(v[1], w[1], factor) + x) & MASK, factor)


def hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """TensorFlow's hash of 64 bits, with which `StringToHashBucket` counts."""
    factor = 0xC6A4A7935BD1E995
    state = seed ^ len(data) * factor & MASK
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        state = (state ^ _mixed(_word(data, at) * factor) * factor & MASK) * factor & MASK
    if whole < len(data):
        state = (state ^ _word(data, whole)) * factor & MASK
    return _mixed(_mixed(state) * factor)


def siphash(data: bytes, key: Sequence[int]) -> int:
    """SipHash-2-4.

    Args:
        data: the bytes.
        key: two words of 64 bits.
    """
    state = [key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D]
    state += [key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573]
    whole = len(data) & ~7
    words = [_word(data, at) for at in range(0, whole, 8)] + [_word(data, whole) | (len(data) & 0xFF) << 56]
    for word in words:
        state[3] ^= word
        state = _round(_round(state))
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(4):
        state = _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(state: list[int]) -> list[int]:
    a, b, c, d = state
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
    a = _turned(a, 32)
    c, a = (c + b) & MASK, (a + d) & MASK
    b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
    return [a, b, _turned(c, 32), d]
