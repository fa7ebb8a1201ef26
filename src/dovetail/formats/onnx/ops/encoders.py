"""Categories and maps of ai.onnx.ml, of which the host looks up strings: LabelEncoder, OneHotEncoder, ZipMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.host.arrays import packed
from dovetail.formats.host.tables import find, items_of
from dovetail.formats.nodes.constants import recorded, within
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.calls import of_numbers
from dovetail.formats.onnx.nodes import Later, Node, Weight
from dovetail.formats.onnx.ops.strings import elements, is_of_strings, words_at
from dovetail.formats.onnx.table import row, special

KINDS: dict[str, Any] = {"strings": object, "int64s": "int64", "floats": "float32"}
DEFAULTS: dict[str, tuple[str, Any]] = {"O": ("string", "_Unused"), "i": ("int64", -1), "f": ("float", -0.0)}


def _list(node: Node, name: str) -> np.ndarray:
    """The values of an attribute that has a name for each kind."""
    if f"{name}_tensor" in node.attrs:
        return node.array(f"{name}_tensor")
    kind = next((kind for kind in KINDS if f"{name}_{kind}" in node.attrs), None)
    if kind is None:
        raise Unreadable(f"it has no {name}")
    return np.asarray(node.attrs[f"{name}_{kind}"], KINDS[kind])


def _looked_up(node: Node, keys: np.ndarray, values: np.ndarray) -> Any:
    """The value of each key, or the default."""
    kind, default = DEFAULTS[values.dtype.kind]
    default = node.attrs.get(f"default_{kind}", default)
    default = node.array("default_tensor")[0] if "default_tensor" in node.attrs else default
    table = np.array([*values.tolist(), default], values.dtype)
    if keys.dtype.hasobject:
        return Weight("", find(items_of(keys, values), elements(node), table[-1:].reshape(())))
    numbers = ops.expand_dims(node.tensor(0), -1)
    is_key = ops.equal(numbers, keys)
    is_key = is_key | (ops.isnan(numbers) & np.isnan(keys)) if keys.dtype.kind == "f" else is_key
    at = ops.where(ops.any(is_key, -1), ops.argmax(ops.cast(is_key, "int32"), -1), len(values))
    return words_at(at, table.__getitem__) if table.dtype.hasobject else ops.take(recorded(table, table.dtype), at, 0)


@special("ai.onnx.ml.LabelEncoder")
def _encoded(node: Node) -> Any:
    if node.version > 1:
        return _looked_up(node, _list(node, "keys"), _list(node, "values"))
    words = _list(node, "classes")
    return _between(node, words, np.arange(len(words)))


@special("ai.onnx.ml.CategoryMapper")
def _mapped(node: Node) -> Any:
    return _between(node, _list(node, "cats"), np.asarray(node.attrs["cats_int64s"], "int64"))


def _between(node: Node, words: np.ndarray, numbers: np.ndarray) -> Any:
    """The numbers of strings, or the strings of numbers."""
    pair = (words, numbers) if not node.has(0) or is_of_strings(node.value(0)) else (numbers, words)
    return _looked_up(node, *pair)


@row("ai.onnx.ml.OneHotEncoder: x; cats_int64s:categories zeros")
def _(x: Any, categories: Sequence[int] = (), zeros: int = 1) -> Any:
    return ops.cast(ops.equal(ops.expand_dims(ops.cast(x, "int64"), -1), np.asarray(categories, "int64")), "float32")


@special("ai.onnx.ml.OneHotEncoder")
def _one_hot(node: Node) -> Any:
    """1 at the place of each category; of numbers, when the graph runs."""
    if "cats_strings" not in node.attrs:
        return of_numbers(node)
    x, words = elements(node), _list(node, "cats")
    within(x.size, words.size)
    return Weight("", (x[..., None] == words).astype("float32"))


# -- maps -------------------------------------------------------------------------------------------------------------


@special("ai.onnx.ml.ZipMap")
def _maps(node: Node) -> Any:
    """Maps of labels to the numbers of each row."""
    labels = node.attrs.get("classlabels_strings") or node.attrs["classlabels_int64s"]

    def maps(rows: np.ndarray) -> Any:
        return [dict(zip(labels, row, strict=True)) for row in rows.reshape(-1, rows.shape[-1]).tolist()]

    return Later(node.tensor(0), maps)


def _map(node: Node) -> dict[Any, Any]:
    value: Any = node.value(0)
    given = value.array.item() if is_of_strings(value) and not value.array.shape else None
    if not isinstance(given, dict):
        node.refuse(0, "map")
    return given


def _row(values: list[Any]) -> Weight:
    """A matrix of one row."""
    if values and isinstance(values[0], str):
        return Weight("", packed(values, shape=(1, -1)))
    return Weight("", np.asarray([values], "int64" if all(isinstance(one, int) for one in values) else "float32"))


@special("ai.onnx.ml.DictVectorizer")
def _vector(node: Node) -> Any:
    """The values of a map in the order of a list of keys."""
    given, keys = _map(node), node.attrs.get("string_vocabulary") or node.attrs["int64_vocabulary"]
    nothing = "" if any(isinstance(one, str) for one in given.values()) else 0
    return _row([given.get(key, nothing) for key in keys])


CASTS: Mapping[str, Any] = Words({"TO_FLOAT": float, "TO_STRING": str, "TO_INT64": int})


@special("ai.onnx.ml.CastMap")
def _cast_map(node: Node) -> Any:
    """The values of a map in the order of its keys, or, of a sparse one, at the places that the keys are."""
    cast, given = CASTS[node.attrs.get("cast_to", "TO_FLOAT")], _map(node)
    if node.attrs.get("map_form", "DENSE") == "DENSE":
        return _row([cast(given[key]) for key in sorted(given)])
    most = node.attrs.get("max_map", 1)
    within(most)
    return _row([cast(given.get(key, 0)) for key in range(most)])
