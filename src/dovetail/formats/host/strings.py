"""Nodes of strings, which are `bytes` in arrays of objects."""

from __future__ import annotations

import base64
import codecs
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.formats.host import hashes
from dovetail.formats.opaque import Unreadable
from dovetail.formats.regex import searched
from dovetail.formats.tensorflow.host.table import host

MARK = 0xD800  # one more than this marks a byte that is no text, two more two bytes; such code points are no text


def each(function: Callable[..., Any], *arrays: Any, dtype: Any = object) -> np.ndarray:
    """An array of a function's results for the elements of some arrays, which are broadcast."""
    arrays = tuple(np.broadcast_arrays(*arrays))
    flat = (array.reshape(-1).tolist() for array in arrays)
    return packed([function(*values) for values in zip(*flat, strict=True)], dtype).reshape(arrays[0].shape)


def packed(values: Sequence[Any], dtype: Any = object) -> np.ndarray:
    """An array of one axis."""
    array = np.empty(len(values), dtype)
    array[:] = values
    return array


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _data(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


# -- one string after the other ---------------------------------------------------------------------------------------


def _changed(ascii_only: Callable[[bytes], bytes], whole: Callable[[str], str]) -> Callable[..., Any]:
    def change(node: Any, texts: np.ndarray) -> np.ndarray:
        is_utf8 = node.attrs("encoding", "") == "utf-8"
        return each((lambda data: _data(whole(_text(data)))) if is_utf8 else ascii_only, texts)

    return change


host("StringLower")(_changed(bytes.lower, str.lower))
host("StringUpper")(_changed(bytes.upper, str.upper))


@host("StringStrip")
def _strip(node: Any, texts: np.ndarray) -> Any:
    return each(bytes.strip, texts)


@host("StringLength")
def _length(node: Any, texts: np.ndarray) -> Any:
    size = len if node.attrs("unit", "BYTE") == "BYTE" else lambda data: len(_characters(data))
    return each(size, texts, dtype=np.int32)


def _characters(data: bytes) -> list[bytes]:
    """The characters of UTF-8: each begins with a byte that continues none."""
    return re.findall(rb"[\x00-\xff][\x80-\xbf]*", data)


@host("Substr")
def _part(node: Any, texts: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> Any:
    by_bytes = node.attrs("unit", "BYTE") == "BYTE"

    def part(data: bytes, start: int, length: int) -> bytes:
        items = data if by_bytes else _characters(data)
        if not -len(items) <= start <= len(items):
            raise ValueError(f"it takes a part of {data!r} from {start}, which is outside of it.")
        start += len(items) if start < 0 else 0
        found = items[start : start + max(length, 0)]
        return found if isinstance(found, bytes) else b"".join(found)

    return each(part, texts, starts, lengths)


@host("EncodeBase64")
def _to_base64(node: Any, texts: np.ndarray) -> Any:
    end = b"" if node.attrs("pad", False) else b"="
    return each(lambda data: base64.urlsafe_b64encode(data).rstrip(end), texts)


@host("DecodeBase64")
def _of_base64(node: Any, texts: np.ndarray) -> Any:
    return each(lambda data: base64.b64decode(data + b"=" * (-len(data) % 4), b"-_", validate=True), texts)


@host("DecodeRaw")
def _raw(node: Any, texts: np.ndarray) -> Any:
    dtype = node.attrs("out_type").numpy
    stored = dtype.newbyteorder("<" if node.attrs("little_endian", True) else ">")
    rows = [np.frombuffer(data, stored).astype(dtype) for data in texts.reshape(-1).tolist()]
    sizes = {len(row) for row in rows} or {0}
    if len(sizes) > 1:
        raise ValueError(f"its strings have {sorted(sizes)} elements, and all must have as many.")
    return np.reshape(rows, (*texts.shape, *sizes)).astype(dtype)


# -- numbers ----------------------------------------------------------------------------------------------------------


@host("StringToNumber")
def _number(node: Any, texts: np.ndarray) -> Any:
    dtype = node.attrs("out_type").numpy if "out_type" in node.attrs else np.dtype("float32")

    def number(data: bytes) -> Any:
        try:
            return float(data) if dtype.kind == "f" else int(data)
        except ValueError:
            raise ValueError(f"{data!r} is no {dtype.name}.") from None

    return each(number, texts, dtype=dtype)


@host("AsString")
def _as_string(node: Any, values: np.ndarray) -> Any:
    kind, precision = values.dtype.kind, node.attrs("precision", -1)
    if kind in "OS":
        return values
    letter = "e" if node.attrs("scientific", False) else "g" if node.attrs("shortest", False) else "f"
    digits = f".{precision}" if precision >= 0 else ""
    width = node.attrs("width", -1)
    form = f"%{node.attrs('fill', '')}{width if width >= 0 else ''}"

    def written(value: Any) -> bytes:
        if kind == "b":
            return b"true" if value else b"false"
        if kind == "c":
            one = f"%{digits}{letter}"
            return f"({one % value.real},{one % value.imag})".encode()
        return ((form + ("d" if kind in "iu" else digits + letter)) % value).encode()

    return each(written, values)


def _bucket(node: Any, texts: np.ndarray, hashed: Callable[[bytes], int]) -> Any:
    count = node.attrs("num_buckets")
    return each(lambda data: hashed(data) % count, texts, dtype=np.int64)


@host("StringToHashBucketFast")
def _fast_bucket(node: Any, texts: np.ndarray) -> Any:
    return _bucket(node, texts, hashes.fingerprint64)


@host("StringToHashBucket")
def _old_bucket(node: Any, texts: np.ndarray) -> Any:
    return _bucket(node, texts, hashes.hash64)


@host("StringToHashBucketStrong")
def _strong_bucket(node: Any, texts: np.ndarray) -> Any:
    return _bucket(node, texts, partial(hashes.siphash, key=[word % 2**64 for word in node.attrs("key")]))


# -- patterns ---------------------------------------------------------------------------------------------------------


@host("RegexReplace StaticRegexReplace")
def _replace(node: Any, texts: np.ndarray, *given: np.ndarray) -> Any:
    names = [_text(array.item()) for array in given] or [node.attrs("pattern"), node.attrs("rewrite")]
    count = 0 if node.attrs("replace_global", True) else 1
    found = searched(names[0], list(map(_text, texts.flat)), names[1], count)
    return packed(list(map(_data, found))).reshape(texts.shape)


@host("RegexFullMatch StaticRegexFullMatch")
def _matches(node: Any, texts: np.ndarray, *given: np.ndarray) -> Any:
    pattern = _text(given[0].item()) if given else node.attrs("pattern")
    return packed(searched(pattern, list(map(_text, texts.flat))), bool).reshape(texts.shape)


# -- joining and splitting --------------------------------------------------------------------------------------------


@host("StringJoin")
def _join(node: Any, *arrays: np.ndarray) -> Any:
    separator = node.attrs("separator", "").encode()
    return each(lambda *parts: separator.join(parts), *arrays)


@host("ReduceJoin")
def _join_axes(node: Any, texts: np.ndarray, axes: np.ndarray) -> Any:
    separator, rank = node.attrs("separator", "").encode(), texts.ndim
    taken = [axis % rank for axis in axes.reshape(-1).tolist()] if rank else []
    left = [axis for axis in range(rank) if axis not in taken]
    shape = [texts.shape[axis] for axis in left]
    rows = texts.transpose([*left, *reversed(taken)]).reshape(math.prod(shape), -1)
    if node.attrs("keep_dims", False):
        shape = [1 if axis in taken else texts.shape[axis] for axis in range(rank)]
    return packed([separator.join(row) for row in rows.tolist()]).reshape(shape)


@host("StringSplitV2")
def _split(node: Any, texts: np.ndarray, separator: np.ndarray) -> Any:
    most = node.attrs("maxsplit", -1)
    return _sparse([data.split(separator.item() or None, most) for data in texts.tolist()])


@host("StringSplit")
def _split_at_each(node: Any, texts: np.ndarray, delimiter: np.ndarray) -> Any:
    """Split at each of the bytes of the delimiter; without one, into bytes."""
    signs = re.escape(delimiter.item())
    rows = [re.split(b"[" + signs + b"]", data) if signs and data else _bytes(data) for data in texts.tolist()]
    skips = node.attrs("skip_empty", True)
    return _sparse([[part for part in row if part] if skips else row for row in rows])


def _bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def _sparse(rows: list[list[bytes]]) -> list[np.ndarray]:
    """Rows as a sparse tensor: indices, values and shape."""
    indices = [(row, place) for row, parts in enumerate(rows) for place in range(len(parts))]
    values = packed([part for parts in rows for part in parts])
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return [np.array(indices, np.int64).reshape(-1, 2), values, shape]


@host("StringNGrams")
def _ngrams(node: Any, texts: np.ndarray, splits: np.ndarray) -> Any:
    separator, left, right = (node.attrs(name).encode() for name in ("separator", "left_pad", "right_pad"))
    widths, pad = node.attrs("ngram_widths"), node.attrs("pad_width")
    found: list[bytes] = []
    ends = [0]
    for first, last in pairwise(splits.tolist()):
        row = texts[first:last].tolist()
        for width in widths:
            size = min(width - 1, pad) if pad >= 0 else width - 1
            padded = [left] * size + row + [right] * size
            found += [separator.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
        if len(found) == ends[-1] and row and node.attrs("preserve_short_sequences"):
            found.append(separator.join([left] * max(pad, 0) + row + [right] * max(pad, 0)))
        ends.append(len(found))
    return [packed(found), np.array(ends, splits.dtype)]


@host("StringFormat")
def _format(node: Any, *arrays: np.ndarray) -> Any:
    sign, most = node.attrs("placeholder", "%s"), node.attrs("summarize", 3)
    parts = node.attrs("template", "%s").split(sign)
    words = [_quoted(array, most) for array in arrays]
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


# -- Unicode ----------------------------------------------------------------------------------------------------------


def _marked(error: UnicodeError) -> tuple[str, int]:
    """A mark for bytes that are no text."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(MARK + error.end - error.start), error.end


codecs.register_error("dovetail.marks", _marked)


class _Decoder:
    """A decoder of strings as a node's attributes say.

    Args:
        node: with the attributes `input_encoding`, `errors`, `replacement_char` and `replace_control_characters`.
    """

    def __init__(self, node: Any) -> None:
        self.encoding = _codec(node.attrs("input_encoding"))
        self._errors, self._instead = node.attrs("errors", "replace"), node.attrs("replacement_char", 0xFFFD)
        self._controls = node.attrs("replace_control_characters", False)

    def decoded(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Pairs of a code point and the number of its first byte."""
        at = 0
        for char in data.decode(self.encoding, "dovetail.marks"):
            number = ord(char)
            is_mark = MARK < number <= MARK + 8
            if is_mark and self._errors == "strict":
                raise ValueError(f"{data!r} is no {self.encoding}.")
            if not is_mark or self._errors == "replace":
                is_other = is_mark or (self._controls and (number < 32 or number == 127))
                yield self._instead if is_other else number, at
            at += number - MARK if is_mark else len(char.encode(self.encoding))


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise Unreadable(f"Python has no encoding {name!r}") from None


@host("UnicodeDecode UnicodeDecodeWithOffsets")
def _decode(node: Any, texts: np.ndarray) -> Any:
    decoder = _Decoder(node)
    rows = [list(decoder.decoded(data)) for data in texts.reshape(-1).tolist()]
    dtype = node.attrs("Tsplits").numpy if "Tsplits" in node.attrs else np.int64
    splits = np.cumsum([0, *map(len, rows)], dtype=dtype)
    pairs = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    return [splits, pairs[:, 0].astype(np.int32), pairs[:, 1]][: 3 if node.type.endswith("Offsets") else 2]


@host("UnicodeEncode")
def _encode(node: Any, points: np.ndarray, splits: np.ndarray) -> Any:
    rows = [points[first:last].tolist() for first, last in pairwise(splits)]
    return packed([_encoded(node, row) for row in rows])


def _encoded(node: Any, points: list[int]) -> bytes:
    """Code points as a string; those that are none are replaced, left out or refused."""
    errors, instead = node.attrs("errors", "replace"), node.attrs("replacement_char", 0xFFFD)
    wrong = [point for point in points if not 0 <= point < 0x110000 or 0xD800 <= point < 0xE000]
    if wrong and errors == "strict":
        raise ValueError(f"{wrong[0]} is no code point.")
    if wrong:
        none = [instead] if errors == "replace" else []
        points = [new for point in points for new in (none if point in wrong else [point])]
    return "".join(map(chr, points)).encode(_codec(node.attrs("output_encoding")))


@host("UnicodeTranscode")
def _transcode(node: Any, texts: np.ndarray) -> Any:
    decoder = _Decoder(node)
    return each(lambda data: _encoded(node, [point for point, _ in decoder.decoded(data)]), texts)
