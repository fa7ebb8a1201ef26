"""Nodes that read serialised records: messages `tf.train.Example`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.errors import FormatError
from dovetail.formats.host.strings import packed
from dovetail.formats.tensorflow.host.table import host
from dovetail.formats.wire.messages import TENSORFLOW, parsed

KINDS = {"f": "float_list", "i": "int64_list", "O": "bytes_list"}  # kind of a dtype → the field with its values


@host("ParseExample")
def _parse(node: Any, records: np.ndarray, names: np.ndarray, *given: np.ndarray) -> Any:
    sparse, dense = node.attrs("Nsparse"), node.attrs("Ndense")
    keys = [array.item() for array in given[: sparse + dense]]
    return _parsed(node, records, keys[:sparse], keys[sparse:], [], given[sparse + dense :])


@host("ParseExampleV2")
def _parse_2(
    node: Any, records: np.ndarray, names: np.ndarray, sparse: np.ndarray, dense: np.ndarray, *given: np.ndarray
) -> Any:
    return _parsed(node, records, sparse.tolist(), dense.tolist(), given[0].tolist(), given[1:])


@host("ParseSingleExample")
def _parse_one(node: Any, record: np.ndarray, *defaults: np.ndarray) -> Any:
    sparse, dense = ([key.encode() for key in node.attrs(name)] for name in ("sparse_keys", "dense_keys"))
    return _parsed(node, record, sparse, dense, [], defaults)


def _parsed(
    node: Any,
    records: np.ndarray,
    sparse: Sequence[bytes],
    dense: Sequence[bytes],
    ragged: Sequence[bytes],
    defaults: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """The results of a node: indices, values and shapes of sparse features, then dense and ragged ones."""
    is_single = not records.ndim
    features = [_features(node, data) for data in records.reshape(-1).tolist()]
    rows = [_columns(features, key, kind) for key, kind in zip(sparse, _dtypes(node, "sparse_types"), strict=True)]
    parts = [_sparse(*row, is_single) for row in rows]
    whole = [
        _dense(features, key, kind, shape, default, is_single)
        for key, kind, shape, default in zip(
            dense, _dtypes(node, "Tdense"), node.attrs("dense_shapes"), defaults, strict=True
        )
    ]
    kinds = _dtypes(node, "ragged_value_types")
    uneven = [_columns(features, key, kind) for key, kind in zip(ragged, kinds, strict=True)]
    splits = [
        np.cumsum([0, *map(len, row)], dtype=dtype)
        for (row, _), dtype in zip(uneven, _dtypes(node, "ragged_split_types"), strict=True)
    ]
    flat = [_flat(row, dtype) for row, dtype in uneven]
    return [*(part[i] for i in range(3) for part in parts), *whole, *flat, *splits]


def _dtypes(node: Any, name: str) -> list[Any]:
    return [np.dtype(object if kind is None else kind.numpy) for kind in node.attrs(name, [])]


def _features(node: Any, data: bytes) -> Mapping[str, Any]:
    try:
        return parsed(TENSORFLOW.Example, data, node.reader.file).features.feature
    except FormatError:
        raise ValueError(f"the record {data[:20]!r} is no serialised tf.train.Example.") from None


def _values(features: Mapping[str, Any], key: bytes, dtype: Any) -> list[Any] | None:
    """The values of a feature; None if a record does not have it.

    Raises:
        ValueError: they are of another kind.
    """
    name = key.decode(errors="replace")
    kind = features[name].WhichOneof("kind") if name in features else None
    if kind is None:
        return None
    if kind != KINDS[dtype.kind]:
        raise ValueError(f"the feature {name!r} of a record is a {kind}, and it takes a {KINDS[dtype.kind]}.")
    return list(getattr(features[name], kind).value)


def _columns(features: Sequence[Mapping[str, Any]], key: bytes, dtype: Any) -> tuple[list[list[Any]], Any]:
    return [_values(one, key, dtype) or [] for one in features], dtype


def _flat(rows: list[list[Any]], dtype: Any) -> np.ndarray:
    return packed([value for row in rows for value in row], dtype)


def _sparse(rows: list[list[Any]], dtype: Any, is_single: bool) -> list[np.ndarray]:
    first = 1 if is_single else 0
    indices = [(row, place)[first:] for row, values in enumerate(rows) for place in range(len(values))]
    shape = [len(rows), max(map(len, rows), default=0)][first:]
    return [np.array(indices, np.int64).reshape(-1, len(shape)), _flat(rows, dtype), np.array(shape, np.int64)]


def _dense(
    features: Sequence[Mapping[str, Any]], key: bytes, dtype: Any, shape: Any, default: np.ndarray, is_single: bool
) -> np.ndarray:
    """A feature with as many values in each record; if the first dimension is not known, filled up."""
    found = [_values(one, key, dtype) for one in features]
    is_open, inner = bool(shape) and shape[0] is None, list(shape or ())
    if is_open:
        size = math.prod(inner[1:])
        inner[0] = max((len(values or []) // size for values in found), default=0)
        fill = default.item() if default.size else (b"" if dtype.kind == "O" else 0)
        found = [(values or []) + [fill] * (math.prod(inner) - len(values or [])) for values in found]
    for number, values in enumerate(found):
        if values is None and not default.size and math.prod(inner):
            raise ValueError(f"the record {number} has no feature {key.decode(errors='replace')!r}, and it must.")
    rows = [default.reshape(-1).tolist() if values is None else values for values in found]
    wrong = [len(row) for row in rows if len(row) != math.prod(inner)]
    if wrong:
        name = key.decode(errors="replace")
        raise ValueError(f"the feature {name!r} of a record has {wrong[0]} values, and it must have the shape {inner}.")
    return _flat(rows, dtype).reshape(inner if is_single else [len(rows), *inner])
