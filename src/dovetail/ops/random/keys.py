"""Random bits, and the keys they come from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.core.base.domains import Count
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Integer, Ints, MaybeEach
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import fits, size_of
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.math.bitwise import right_shift
from dovetail.ops.math.compare import where
from dovetail.ops.math.reduce import prod
from dovetail.ops.samples import ints, sample
from dovetail.ops.shapes.join import concatenate, stack
from dovetail.ops.shapes.shape import cast, convert, reshape, transpose

KEYS = 1  # the second word of the counters from which keys are made; for numbers it is 0
FOLDED = 2
KEY = ints(2, low=-(2**31), high=2**31)

# -- bits -------------------------------------------------------------------------------------------------------------


def bits_spec(
    key: TensorSpec, shape: Any, counter: TensorSpec | None = None, part: TensorSpec | None = None
) -> TensorSpec:
    """The spec of int32 words of the shape, after a check of the key."""
    for words in (key, counter):
        if words is not None and (words.dtype != "int32" or not fits(words.shape, (2,))):
            raise ValueError(f"a key must be two int32 words, as random.key returns, not {words!r}.")
    if part is not None and (part.dtype != "int64" or not fits(part.shape, (2,))):
        raise ValueError(f"a part must be two int64, the offset and the total, not {part!r}.")
    size = size_of(shape)
    if size is not None and (size > 2**33 or min(shape, default=0) < 0):
        raise ValueError(f"the shape {shape} must have dimensions of 0 or more, and at most 2**33 elements.")
    return TensorSpec(tuple(shape), ALL["int32"])


def _words_spec(key: TensorSpec, shape: Any, counter: TensorSpec | None, part: TensorSpec | None) -> TensorSpec:
    if part is not None and len(shape) != 1 and (len(shape) != 2 or shape[0] != 2):
        raise ValueError(f"a part of random words has the shape (n,) or (2, n), not {tuple(shape)}.")
    return bits_spec(key, shape, counter, part)


def columns(offset: int, total: int) -> Any:
    """A part in a sample."""
    return np.array([offset, total], np.int64)


@primitive(
    "StatelessRandomUniformFullInt",
    cost="random",
    infer=_words_spec,
    differentiable=False,
    samples=[
        sample(KEY, (3, 5)),
        sample(KEY, ()),
        sample(KEY, (0, 2)),
        sample(KEY, (7,), ints(2, low=-9, high=9)),
        sample(KEY, (7,), part=columns(3, 13)),
        sample(KEY, (2, 5), ints(2, low=-9, high=9), columns(2**32 - 3, 2**32)),
    ],
)
def random_bits(key: Integer, shape: Ints, counter: MaybeEach = None, part: MaybeEach = None) -> Tensor:
    """Random int32 words, each of the 2**32 with the same chance.

    Let h be half the number of words, rounded up.  Threefry-2x32-20 encrypts the counter (i, 0) to two words, which are
    word i and word h + i.

    Args:
        key: two int32 words.
        shape: the shape of the result.
        counter: two int32 words to count from, instead of (0, 0).
        part: two int64, offset and total, for a shape (n,) or (2, n).  The result is a part of the words of shape
            (total,) or (2, total): its columns from the offset on.  Only their counters are encrypted.  Columns of two
            rows go on from the first one after the last one.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).

    Example:
        >>> hex(int(random_bits(key(0), (2,))[0]))
        '0x6b200159'
    """


def lead(count: int, shape: Any) -> Any:
    """A shape with one more axis in front."""
    if isinstance(shape, (list, tuple)):
        return (count, *shape)
    return concatenate([np.array([count], np.int32), cast(shape, "int32")])


def count_of(shape: Any) -> Any:
    """The number of elements of a shape."""
    return math.prod(shape) if isinstance(shape, (list, tuple)) else prod(shape)


def elements(part: Any, shape: Any, words: int = 1) -> Any:
    """The offset and the total of a part's elements, two int64; None for the whole.

    Args:
        part: the first row of the part, and the number of rows of the whole; or None.
        shape: the shape of the part.
        words: how many random words an element takes.

    Raises:
        ValueError: the shape has no rows, the whole lacks some of them, or it has more words than a key gives.
    """
    if part is None:
        return None
    if (len(shape) if isinstance(shape, (list, tuple)) else static_shape(shape)) in (0, (), (0,)):
        raise ValueError("a part of random numbers has rows, so its shape needs an axis.")
    (offset, total), rows, row = part, shape[0], count_of(shape[1:])
    if all(isinstance(number, int) for number in (offset, total, rows)) and not 0 <= offset <= total - rows:
        raise ValueError(f"{rows} rows from row {offset} on are no part of {total} rows.")
    if isinstance(total, int) and isinstance(row, int) and total * row * words > 2**33:
        raise ValueError(f"the whole has {total} rows of {row} elements; a key gives at most 2**33 words.")
    if all(isinstance(number, int) for number in (offset, total, row)):
        return np.array([offset * row, total * row], np.int64)
    return stack([cast(number, "int64") for number in (offset, total)]) * cast(row, "int64")


def element_bits(key: Any, shape: Any, part: Any, words: int = 1) -> Any:
    """One or two random words for each element; with two, these are the rows of the result.

    Args:
        part: the offset and the total of the elements, as `elements` returns; or None.
    """
    full = shape if words == 1 else lead(words, shape)
    if part is None:
        return random_bits(key, full)
    count = count_of(shape)
    return reshape(random_bits(key, [count] if words == 1 else [words, count], None, part), full)


@checked
def bits(key: Any, shape: Any = (), part: Any = None) -> Any:
    """Random int32 numbers, over the whole range.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        part: the first row and the number of rows of a whole of which the result is a part.

    Example:
        >>> whole = bits(0, (5, 2))
        >>> bits(0, (3, 2), part=(1, 5)).tolist() == whole[1:4].tolist()
        True
    """
    return element_bits(as_key(key), shape, elements(part, shape))


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
