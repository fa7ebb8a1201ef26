"""Strings, which are computed while a model is read: StringConcat, StringSplit, RegexFullMatch, TfIdfVectorizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.read_limits import fold
from dovetail.formats.host.arrays import joined, packed
from dovetail.formats.host.strings import regex_full_match
from dovetail.formats.nodes.constants import constant_of, recorded, within
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.nodes import Later, Node, Weight
from dovetail.formats.onnx.table import special


def is_of_strings(value: Any) -> bool:
    return isinstance(value, Weight) and value.array.dtype.hasobject


def _strings(node: Node, index: int = 0) -> np.ndarray:
    value: Any = node.value(index)
    if not is_of_strings(value):
        node.refuse(index, "array of strings")
    return value.array


def elements(node: Node) -> np.ndarray:
    """The elements of an input, strings or numbers, which must be known."""
    value: Any = node.value(0)
    return value.array if is_of_strings(value) else np.asarray(node.constant(0))


def pair_of(node: Node) -> tuple[np.ndarray, ...]:
    """The strings of two inputs, with one shape."""
    x, y = _strings(node), _strings(node, 1)
    within(*np.broadcast_shapes(x.shape, y.shape))
    return np.broadcast_arrays(x, y)


def placed(words: np.ndarray) -> Later:
    """Strings as their places among themselves."""
    return Later(recorded(np.arange(words.size).reshape(words.shape), "int64"), words.reshape(-1).__getitem__)


def words_at(places: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """The strings that a function makes of some places, at once if these are known."""
    known = constant_of(places)
    return Later(places, make) if known is None else Weight("", np.asarray(make(known), object))


@special("StringConcat")
def _joined(node: Node) -> Any:
    x, y = pair_of(node)
    fold(sum(map(len, x.flat)) + sum(map(len, y.flat)))
    return Weight("", np.asarray(x + y, object))


@special("StringSplit")
def _split(node: Node) -> Any:
    """The parts of each string, with empty ones behind the last, and their number."""
    x, delimiter, most = _strings(node), node.attrs.get("delimiter"), node.attrs.get("maxsplit", -1)
    rows = [_parts(text, delimiter, most) for text in x.reshape(-1).tolist()]
    width = max(map(len, rows), default=0)
    fold(x.size * width * PLACE)
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    counts = packed([*map(len, rows)], "int64", x.shape)
    return [Weight("", joined(padded).reshape(*x.shape, width)), Weight("", counts)]


def _parts(text: str, delimiter: str | None, most: int) -> list[str]:
    """The parts of a string; without a delimiter, between spaces, of which none is left around it."""
    text = text if delimiter else text.strip(" ")
    if not text or not most:
        return [text] if text else []
    return text.split(delimiter, most) if delimiter else re.split(" +", text, maxsplit=max(most, 0))


PLACE = 8  # bytes of the place of a string in an array
CASES: Mapping[str, Callable[[str], str]] = Words({"LOWER": str.lower, "UPPER": str.upper, "NONE": str})


@special("StringNormalizer")
def _normalized(node: Node) -> Any:
    """Strings without stop words, in lower or upper case."""
    change, is_exact = CASES[node.attrs.get("case_change_action", "NONE")], node.attrs.get("is_case_sensitive", 0)
    known = str if is_exact else str.lower
    stops = {known(word) for word in node.attrs.get("stopwords", ())}
    x = _strings(node)
    kept = [change(text) for text in x.reshape(-1) if known(text) not in stops] or [""]
    return Weight("", packed(kept, shape=(1, -1) if x.ndim == 2 else (-1,)))


@special("RegexFullMatch")
def _matches(node: Node) -> Any:
    return Weight("", regex_full_match(_strings(node), node.attrs["pattern"]))


# -- features ---------------------------------------------------------------------------------------------------------


@special("TfIdfVectorizer")
def _counted(node: Node) -> Any:
    """How often each n-gram of a pool stands in a row, also with gaps between its elements."""
    x, attrs = elements(node), node.attrs
    pool, starts = attrs.get("pool_strings") or attrs["pool_int64s"], attrs["ngram_counts"]
    columns, weights = attrs["ngram_indexes"], attrs.get("weights") or [1.0] * len(attrs["ngram_indexes"])
    grams: dict[tuple[Any, ...], int] = {}
    if [0, *starts, len(pool)] != sorted([0, *starts, len(pool)]):
        raise Unreadable(f"its ngram_counts {starts} are no places in a pool of {len(pool)}, in order")
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        for at in range(start, end, size):
            grams[tuple(pool[at : at + size])] = len(grams)
    if len(weights) != len(columns) or len(columns) < len(grams) or min(columns, default=0) < 0:
        raise Unreadable(f"it has {len(grams)} n-grams, the columns {columns}, and {len(weights)} weights")
    shape = *x.shape[:-1], max(columns, default=-1) + 1
    within(*shape)
    counts = np.zeros(shape, "float32")
    sizes = range(max(attrs["min_gram_length"], 1), min(attrs["max_gram_length"], x.shape[-1]) + 1)
    within(x.size, len(sizes), min(attrs["max_skip_count"], x.shape[-1]) + 1)
    for place in np.ndindex(*x.shape[:-1]):
        for gram in _grams(x[place].tolist(), sizes, attrs["max_skip_count"]):
            if gram in grams:
                counts[(*place, columns[grams[gram]])] += 1
    scale = np.zeros(counts.shape[-1], "float32")
    scale[columns] = weights
    mode = attrs["mode"]
    return Weight("", counts if mode == "TF" else (counts * scale if mode == "TFIDF" else (counts > 0) * scale))


def _grams(row: list[Any], sizes: Sequence[int], most_skipped: int) -> Any:
    """The n-grams of a row, with gaps of equal length between their elements."""
    for size in sizes:
        for step in range(1, (min(most_skipped, len(row)) if size > 1 else 0) + 2):
            for first in range(len(row) - (size - 1) * step):
                yield tuple(row[first : first + (size - 1) * step + 1 : step])
