"""Random bits, and the keys they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.check_arguments import checked
from dovetail.core.domains import Count
from dovetail.core.dtypes import ALL
from dovetail.core.infer import fits, size_of
from dovetail.core.kinds import Integer, Ints, MaybeEach
from dovetail.core.op import primitive
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.core.value_kinds import dtype_of, static_shape
from dovetail.ops.math.bitwise import right_shift
from dovetail.ops.math.compare import where
from dovetail.ops.samples import ints, sample
from dovetail.ops.shapes.join import stack
from dovetail.ops.shapes.shape import cast, convert, transpose

KEYS = 1  # the second word of the counters from which keys are made; for numbers it is 0
FOLDED = 2
KEY = ints(2, low=-(2**31), high=2**31)

# -- bits -------------------------------------------------------------------------------------------------------------


def bits_spec(key: TensorSpec, shape: Any, counter: TensorSpec | None = None) -> TensorSpec:
    """The spec of int32 words of the shape, after a check of the key."""
    for words in (key, counter):
        if words is not None and (words.dtype != "int32" or not fits(words.shape, (2,))):
            raise ValueError(f"a key must be two int32 words, as random.key returns, not {words!r}.")
    size = size_of(shape)
    if size is not None and (size > 2**33 or min(shape, default=0) < 0):
        raise ValueError(f"the shape {shape} must have dimensions of 0 or more, and at most 2**33 elements.")
    return TensorSpec(tuple(shape), ALL["int32"])


@primitive(
    "StatelessRandomUniformFullInt",
    infer=bits_spec,
    differentiable=False,
    samples=[sample(KEY, (3, 5)), sample(KEY, ()), sample(KEY, (0, 2)), sample(KEY, (7,), ints(2, low=-9, high=9))],
)
def random_bits(key: Integer, shape: Ints, counter: MaybeEach = None) -> Tensor:
    """Random int32 words, each of the 2**32 with the same chance.

    Let h be half the number of words, rounded up.  Threefry-2x32-20 encrypts the counter (i, 0) to two words, which are
    word i and word h + i.

    Args:
        key: two int32 words.
        shape: the shape of the result.
        counter: two int32 words to count from, instead of (0, 0).

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).

    Example:
        >>> hex(int(random_bits(key(0), (2,))[0]))
        '0x6b200159'
    """


@checked
def bits(key: Any, shape: Any = ()) -> Any:
    """Random int32 numbers, over the whole range.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.

    Example:
        >>> bits(0, (2,)).shape
        (2,)
    """
    return random_bits(as_key(key), shape)


# -- keys -------------------------------------------------------------------------------------------------------------


@checked
def key(seed: Any) -> Any:
    """The key of a seed.

    Args:
        seed: an integer, of which the lower 64 bits count, or a scalar integer tensor.

    Returns:
        A tensor of two int32 words.

    Source: `jax.random.PRNGKey`.

    Example:
        >>> key(2**32 + 7).numpy()
        array([1, 7], dtype=int32)
    """
    if isinstance(seed, (int, np.integer)):
        return convert(np.array([_signed(int(seed) >> 32), _signed(int(seed))], np.int32))
    high = right_shift(cast(seed, "int64"), 32)
    return stack([cast(high, "int32"), cast(seed, "int32")])


def as_key(key_or_seed: Any) -> Any:
    """A key itself, the key of a seed, or the next key of a Generator."""
    if hasattr(key_or_seed, "next_key"):
        return key_or_seed.next_key()
    if isinstance(key_or_seed, (int, np.integer)) or static_shape(key_or_seed) == ():
        return key(key_or_seed)
    return key_or_seed


@checked
def split(key: Any, num: Count = 2) -> Any:
    """Keys that are independent of each other, and of the numbers made with `key` itself.

    Args:
        key: a key, a seed or a Generator.
        num: how many keys.

    Returns:
        An int32 tensor of shape (num, 2): a key in each row.

    Source: `jax.random.split`.

    Example:
        >>> first, second = split(key(0))
        >>> first.shape
        (2,)
    """
    return transpose(random_bits(as_key(key), (2, num), np.array([0, KEYS], np.int32)))


@checked
def fold_in(key: Any, data: Any) -> Any:
    """A key made of a key and an integer, such as an epoch's key and the number of a step.

    Args:
        key: a key, a seed or a Generator.
        data: an integer, of which the lower 64 bits count, or a scalar integer tensor.

    Returns:
        A tensor of two int32 words.

    Source: `jax.random.fold_in`.

    Example:
        >>> fold_in(0, 1).shape
        (2,)
    """
    if isinstance(data, float):
        raise TypeError(f"data must be an integer, not {data}.")
    high, low = words_of(data)
    folded = random_bits(as_key(key), (2,), stack([low, FOLDED]))
    if high is None:
        return folded
    return where(high == 0, folded, random_bits(folded, (2,), stack([high, FOLDED])))


def words_of(data: Any) -> tuple[Any, Any]:
    """The upper and the lower 32 bits of integers; the upper ones less the sign extension of the lower ones.

    So the upper bits are 0 for a number that an int32 holds, and None if an int32 holds all numbers of the dtype.
    """
    if isinstance(data, (int, np.integer)):
        word = _signed(int(data))
        rest = _signed(int(data) - word >> 32)
        return None if rest == 0 else np.array(rest, np.int32), np.array(word, np.int32)
    low, dtype = cast(data, "int32"), dtype_of(data)
    if dtype.itemsize < 4 or dtype == "int32":
        return None, low
    high = 0 if dtype == "uint32" else cast(right_shift(cast(data, "int64"), 32), "int32")
    return high - right_shift(low, 31), low


def _signed(word: int) -> int:
    """The lower 32 bits of an integer, as a signed one."""
    return (word + 2**31) % 2**32 - 2**31
