"""Nodes that parse serialised messages `tf.train.Example`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.formats.host.arrays import joined, numpy_dtype, splits_of
from dovetail.formats.host.examples import Feature, arrays_of
from dovetail.formats.tensorflow.table import host, shapes
from dovetail.formats.wire.messages import TENSORFLOW, parsed

shapes("""
ParseExample: [?,2] [?] [2] [?,dense_shapes]
ParseExampleV2: [?,?] [?] [?] - [?] [?]
ParseSingleExample: [?,1] [?] [1] [dense_shapes]
""")


DTYPES = "its attributes say how many features there are, and of which dtypes"


@host("ParseExample", DTYPES)
def _parse(node: Any, records: np.ndarray, names: np.ndarray, *given: np.ndarray) -> Any:
    sparse, dense = node.attrs("Nsparse"), node.attrs("Ndense")
    keys = [array.item() for array in given[: sparse + dense]]
    return _parsed(node, records, keys[:sparse], keys[sparse:], [], given[sparse + dense :])


@host("ParseExampleV2", DTYPES)
def _parse_2(
    node: Any, records: np.ndarray, names: np.ndarray, sparse: np.ndarray, dense: np.ndarray, *given: np.ndarray
) -> Any:
    return _parsed(node, records, sparse.tolist(), dense.tolist(), given[0].tolist(), given[1:])


@host("ParseSingleExample", DTYPES)
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
    examples, is_single = list(map(_features_of, records.reshape(-1).tolist())), not records.ndim
    parts = arrays_of(_features(node, sparse, "sparse_types"), examples, is_single)
    shapes = node.attrs("dense_shapes")
    whole = arrays_of(_features(node, dense, "Tdense", shapes, defaults), examples, is_single)
    uneven = _features(node, ragged, "ragged_value_types")
    rows = [feature.values([example.get(feature.key) for example in examples]) for feature in uneven]
    flat = [joined(row, feature.dtype) for row, feature in zip(rows, uneven, strict=True)]
    splits = map(splits_of, rows, node.attrs("ragged_split_types", []))
    return [*parts[::3], *parts[1::3], *parts[2::3], *whole, *flat, *splits]


def _features(node: Any, keys: Sequence[bytes], types: str, *rest: Sequence[Any]) -> list[Feature]:
    """Features of keys and of the dtypes of an attribute, with shapes and defaults if there are such."""
    names = [key.decode(errors="replace") for key in keys]
    return [Feature(*row) for row in zip(names, map(numpy_dtype, node.attrs(types, [])), *rest, strict=True)]


def _features_of(data: bytes) -> Mapping[str, Any]:
    try:
        return parsed(TENSORFLOW.Example, data, "an example", "the bytes").features.feature
    except FormatError:
        raise ValueError(f"the record {data[:20]!r} is no serialised tf.train.Example.") from None
