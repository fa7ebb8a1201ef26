"""Functions of strings: cases, parts, numbers, patterns, joining and splitting."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.formats.host import hashes
from dovetail.formats.host.arrays import each, packed, sparse
from dovetail.formats.host.regex import searched


def _text(data: str | bytes | np.ndarray) -> str:
    data = data.item() if isinstance(data, np.ndarray) else data
    return data.decode(errors="surrogateescape") if isinstance(data, bytes) else data


def _data(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


# -- one string after the other ---------------------------------------------------------------------------------------


def lower(texts: np.ndarray, *, encoding: str = "") -> np.ndarray:
    """Strings in lower case; only ASCII changes, unless the encoding is "utf-8"."""
    return each((lambda data: _data(_text(data).lower())) if encoding == "utf-8" else bytes.lower, texts)


def upper(texts: np.ndarray, *, encoding: str = "") -> np.ndarray:
    """Strings in upper case; see `lower`."""
    return each((lambda data: _data(_text(data).upper())) if encoding == "utf-8" else bytes.upper, texts)


def strip(texts: np.ndarray) -> np.ndarray:
    """Strings without the blanks around them."""
    return each(bytes.strip, texts)


def length(texts: np.ndarray, *, unit: str = "BYTE") -> np.ndarray:
    """The lengths of strings, int32; the unit is "BYTE" or "UTF8_CHAR"."""
    return each(len if unit == "BYTE" else lambda data: len(_characters(data)), texts, dtype=np.int32)


def _characters(data: bytes) -> list[bytes]:
    """The characters of UTF-8: each begins with a byte that continues none."""
    return re.findall(rb"[\x00-\xff][\x80-\xbf]*", data)


def substr(texts: np.ndarray, starts: np.ndarray, lengths: np.ndarray, *, unit: str = "BYTE") -> np.ndarray:
    """Parts of strings; the unit is "BYTE" or "UTF8_CHAR".

    Raises:
        ValueError: a part begins outside of its string.

    Example:
        >>> substr(packed([b"abc"]), np.array(-2), np.array(1))
        array([b'b'], dtype=object)
    """

    def part(data: bytes, start: int, length: int) -> bytes:
        items = data if unit == "BYTE" else _characters(data)
        if not -len(items) <= start <= len(items):
            raise ValueError(f"it takes a part of {data!r} from {start}, which is outside of it.")
        start += len(items) if start < 0 else 0
        taken = items[start : start + max(length, 0)]
        return taken if isinstance(taken, bytes) else b"".join(taken)

    return each(part, texts, starts, lengths)


def encode_base64(texts: np.ndarray, *, pad: bool = False) -> np.ndarray:
    """Strings in the alphabet of base64 for URLs; `pad` keeps the signs "=" at the end."""
    return each(lambda data: base64.urlsafe_b64encode(data).rstrip(b"" if pad else b"="), texts)


def decode_base64(texts: np.ndarray) -> np.ndarray:
    """The strings that `encode_base64` wrote."""
    return each(lambda data: base64.b64decode(data + b"=" * (-len(data) % 4), b"-_", validate=True), texts)


def decode_raw(texts: np.ndarray, *, out_type: Any, little_endian: bool = True) -> np.ndarray:
    """The numbers whose bytes are given, in one axis more.

    Args:
        texts: strings of one length.
        out_type: the dtype of the numbers.
        little_endian: whether the lowest byte of a number comes first.

    Raises:
        ValueError: the lengths differ, or are no multiple of a number's.

    Example:
        >>> from dovetail.core.dtypes import as_dtype
        >>> decode_raw(packed([bytes([1, 0, 2, 0])]), out_type=as_dtype("int16"))
        array([[1, 2]], dtype=int16)
    """
    dtype, lengths = out_type.numpy, sorted({*map(len, texts.reshape(-1).tolist())}) or [0]
    if len(lengths) > 1 or lengths[0] % dtype.itemsize:
        raise ValueError(f"each text needs one length, a multiple of {dtype.itemsize} bytes; there are {lengths}.")
    numbers = np.frombuffer(b"".join(texts.reshape(-1)), dtype.newbyteorder("<" if little_endian else ">"))
    return numbers.astype(dtype).reshape(*texts.shape, lengths[0] // dtype.itemsize)


# -- numbers ----------------------------------------------------------------------------------------------------------


def to_number(texts: np.ndarray, *, out_type: Any = None) -> np.ndarray:
    """The numbers that strings write, of a dtype; float32, if none is given.

    Raises:
        ValueError: a string is no number.

    Example:
        >>> to_number(packed([b"1.5", b" 0x10"]))
        array([ 1.5, 16. ], dtype=float32)
    """
    dtype = np.dtype(np.float32) if out_type is None else out_type.numpy
    return each(partial(number, dtype=dtype), texts, dtype=dtype)


def number(data: bytes, dtype: Any) -> Any:
    """The number that a string writes.

    Raises:
        ValueError: it writes none of the dtype.
    """
    try:
        if b"_" in data:  # Python alone takes it
            raise ValueError
        if dtype.kind != "f":
            return int(data)
        return float.fromhex(data.decode()) if b"x" in data.lower() else float(data)
    except ValueError:
        raise ValueError(f"{data!r} is no {dtype.name}.") from None


def as_string(
    values: np.ndarray,
    *,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> np.ndarray:
    """Numbers, written as by `printf`; strings stay.

    Args:
        values: numbers.
        precision: the digits behind the point; as of `printf`, if it is negative.
        scientific: whether to write an exponent.
        shortest: whether to write an exponent where it is shorter.
        width, fill: the least number of signs, and the flag of `printf` that says what fills it.
    """
    kind = values.dtype.kind
    if kind in "OS":
        return values
    real = (f".{precision}" if precision >= 0 else "") + ("e" if scientific else "g" if shortest else "f")
    form = f"%{fill}{width if width >= 0 else ''}{'d' if kind in 'iu' else real}"

    def written(value: Any) -> str:
        if kind == "b":
            return "true" if value else "false"
        return f"(%{real},%{real})" % (value.real, value.imag) if kind == "c" else form % value

    return each(lambda value: written(value).encode(), values)


def to_hash_bucket_fast(texts: np.ndarray, *, num_buckets: int) -> np.ndarray:
    """The buckets of strings by FarmHash, int64."""
    return _buckets(texts, num_buckets, hashes.fingerprint64)


def to_hash_bucket(texts: np.ndarray, *, num_buckets: int) -> np.ndarray:
    """The buckets of strings by TensorFlow's old hash, int64."""
    return _buckets(texts, num_buckets, hashes.hash64)


def to_hash_bucket_strong(texts: np.ndarray, *, num_buckets: int, key: Any) -> np.ndarray:
    """The buckets of strings by SipHash with a key of two words, int64."""
    return _buckets(texts, num_buckets, partial(hashes.siphash, key=[word % 2**64 for word in key]))


def _buckets(texts: np.ndarray, count: int, hashed: Callable[[bytes], int]) -> np.ndarray:
    return each(lambda data: hashed(data) % count, texts, dtype=np.int64)


# -- patterns ---------------------------------------------------------------------------------------------------------


def regex_replace(texts: np.ndarray, pattern: Any, rewrite: Any, *, replace_global: bool = True) -> np.ndarray:
    """Strings with another text in place of the matches of a pattern of RE2, or of the first one alone.

    Example:
        >>> regex_replace(packed([b"a-b-c"]), "-", "", replace_global=False)
        array([b'ab-c'], dtype=object)
    """
    changed = searched(_text(pattern), list(map(_text, texts.flat)), _text(rewrite), 0 if replace_global else 1)
    return packed(list(map(_data, changed)), shape=texts.shape)


def regex_full_match(texts: np.ndarray, pattern: Any) -> np.ndarray:
    """Whether a pattern of RE2 matches each string as a whole.

    Example:
        >>> regex_full_match(packed([b"ab", b"a"]), "a.")
        array([ True, False])
    """
    return packed(searched(_text(pattern), list(map(_text, texts.flat))), bool, texts.shape)


# -- joining and splitting --------------------------------------------------------------------------------------------


def join(*arrays: np.ndarray, separator: str = "") -> np.ndarray:
    """Strings of several arrays, joined elementwise."""
    return each(lambda *parts: separator.encode().join(parts), *arrays)


def reduce_join(texts: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False, separator: str = "") -> np.ndarray:
    """The strings along some axes, joined; the axes say in which order.

    Example:
        >>> reduce_join(packed([b"a", b"b"]), np.array([0]), separator="+")
        array(b'a+b', dtype=object)
    """
    rank = texts.ndim
    taken = [axis % rank for axis in axes.reshape(-1).tolist()] if rank else []
    left = [axis for axis in range(rank) if axis not in taken]
    shape = [texts.shape[axis] for axis in left]
    rows = texts.transpose([*left, *reversed(taken)]).reshape(math.prod(shape), -1)
    if keep_dims:
        shape = [1 if axis in taken else texts.shape[axis] for axis in range(rank)]
    return packed([separator.encode().join(row) for row in rows.tolist()], shape=shape)


def split(texts: np.ndarray, separator: np.ndarray, *, maxsplit: int = -1) -> list[np.ndarray]:
    """The parts of a vector of strings between separators, or between blanks without one, as a sparse tensor.

    Example:
        >>> split(packed([b"a b", b""]), np.array(b"", object))[1]
        array([b'a', b'b'], dtype=object)
    """
    return sparse([data.split(separator.item() or None, maxsplit) for data in texts.tolist()])


def split_at_each(texts: np.ndarray, delimiter: np.ndarray, *, skip_empty: bool = True) -> list[np.ndarray]:
    """The parts of strings between any of the bytes of a delimiter, or all bytes without one, as a sparse tensor.

    Args:
        texts: a vector of strings.
        delimiter: bytes.
        skip_empty: whether empty parts are left out.
    """
    signs = re.escape(delimiter.item())
    rows = [re.split(b"[" + signs + b"]", data) if signs and data else _bytes(data) for data in texts.tolist()]
    return sparse([[part for part in row if part] if skip_empty else row for row in rows])


def _bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def ngrams(
    texts: np.ndarray,
    splits: np.ndarray,
    *,
    separator: str,
    ngram_widths: list[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> list[np.ndarray]:
    """The neighbours in rows of strings, joined.

    Args:
        texts: the strings of all rows.
        splits: where the rows begin and end.
        separator: stands between neighbours.
        ngram_widths: how many neighbours are joined; first all by the first number, then by the next one.
        left_pad, right_pad: strings before and behind a row.
        pad_width: how many of them; one less than are joined, if it is negative.
        preserve_short_sequences: whether a row with too few strings is joined as a whole.

    Returns:
        The joined strings, and their splits.
    """
    left, right = left_pad.encode(), right_pad.encode()
    rows: list[list[list[bytes]]] = []
    for first, last in pairwise(splits.tolist()):
        row, grams = texts[first:last].tolist(), list[list[bytes]]()
        for width in ngram_widths:
            size = width - 1 if pad_width < 0 else min(width - 1, pad_width)
            padded = [left] * size + row + [right] * size
            grams += [padded[i : i + width] for i in range(len(padded) - width + 1)]
        if not grams and row and preserve_short_sequences:
            grams.append([left] * max(pad_width, 0) + row + [right] * max(pad_width, 0))
        rows.append(grams)
    ends = np.cumsum([0, *map(len, rows)], dtype=splits.dtype)
    return [packed([separator.encode().join(gram) for grams in rows for gram in grams]), ends]


def string_format(*arrays: np.ndarray, template: str = "%s", placeholder: str = "%s", summarize: int = 3) -> np.ndarray:
    """A text with arrays in it, as TensorFlow prints them.

    Args:
        arrays: the arrays.
        template: the text.
        placeholder: stands for an array in it.
        summarize: how many elements are printed at either end of an axis; all, if it is negative.

    Example:
        >>> string_format(np.array([1, 2, 3]), template="a: %s", summarize=1)
        array(b'a: [1 ... 3]', dtype=object)
    """
    parts, words = template.split(placeholder), [_quoted(array, summarize) for array in arrays]
    return np.array(_data("".join(part + word for part, word in zip(parts, [*words, ""], strict=True))), object)


def _summary(array: np.ndarray, most: int) -> str:
    """An array as text, as TensorFlow prints it: at most `most` elements at either end of an axis."""
    if not array.ndim:
        item = array.item()
        return _text(item) if isinstance(item, bytes) else f"{item:.9g}" if isinstance(item, float) else str(item)
    rows = [*array] if array.ndim > 1 else [np.asarray(item, array.dtype) for item in array]
    is_long = 0 <= 2 * most < len(rows)
    words = [_quoted(row, most) for row in (rows[:most] + rows[len(rows) - most :] if is_long else rows)]
    return f"[{(chr(10) if array.ndim > 1 else ' ').join([*words[:most], '...', *words[most:]] if is_long else words)}]"


def _quoted(row: np.ndarray, most: int) -> str:
    text = _summary(row, most)
    return f'"{text}"' if row.dtype.kind == "O" and not row.ndim else text
