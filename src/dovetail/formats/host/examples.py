"""Serialised messages `tf.train.Example` and `SequenceExample`, as arrays of their features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import FormatError
from dovetail.formats.host.arrays import STRINGS, joined, numpy_dtype, sparse, splits_of
from dovetail.formats.wire.messages import TENSORFLOW, parsed

KINDS = {"float_list": "float32", "int64_list": "int64", "bytes_list": "bytes"}  # field with values → their dtype

Rows = Sequence[Any]  # for each example its feature, a message; or None
NOTHING = np.empty(0)


class Feature(NamedTuple):
    """A feature of examples, and how its values become arrays.

    Attributes:
        key: its name.
        dtype: NumPy's dtype of its values; `STRINGS` for strings.
        shape: of the values of an example; the first dimension may be None.  None for a sparse tensor.
        default: the values of an example without the feature, which is required if this has none.  Of an open first
            dimension, the value with which shorter examples are filled.
    """

    key: str
    dtype: Any
    shape: Sequence[int | None] | None = None
    default: np.ndarray = NOTHING

    def arrays(self, rows: Rows, is_single: bool = False) -> list[np.ndarray]:
        """The values of all examples: one array, or indices, values and shape of a sparse tensor.

        Args:
            rows: the feature of each example.
            is_single: whether there is one example, which is no axis of the arrays.

        Raises:
            ValueError: the feature of an example is missing, or has values of another kind, or of another number.
        """
        return self._sparse(rows, is_single) if self.shape is None else [self._dense(rows, is_single)]

    def values(self, rows: Rows) -> list[list[Any]]:
        """The values of each example; none if it lacks the feature."""
        return [self._values(row) or [] for row in rows]

    def _values(self, row: Any) -> list[Any] | None:
        kind = None if row is None else row.WhichOneof("kind")
        if kind is None:
            return None
        wanted = "bytes" if self.dtype == STRINGS else self.dtype.name
        if KINDS[kind] != wanted:
            raise ValueError(f"the feature {self.key!r} holds {KINDS[kind]}, not {wanted}.")
        return list(getattr(row, kind).value)

    def _sparse(self, rows: Rows, is_single: bool) -> list[np.ndarray]:
        indices, values, shape = sparse(self.values(rows), self.dtype)
        return [indices[:, 1:], values, shape[1:]] if is_single else [indices, values, shape]

    def _dense(self, rows: Rows, is_single: bool) -> np.ndarray:
        shape: list[Any] = list(self.shape or ())
        if shape and shape[0] is None:
            filled, shape[0] = self._filled(self.values(rows), math.prod(shape[1:]))
        else:
            filled = [self._whole(self._values(row), shape, number) for number, row in enumerate(rows)]
        return joined(filled, self.dtype).reshape(shape if is_single else [len(filled), *shape])

    def _filled(self, rows: list[list[Any]], each: int) -> tuple[list[list[Any]], int]:
        """The values of examples, filled up to as many steps as the longest one has; and their number."""
        for values in rows:
            if not each or len(values) % each:
                raise ValueError(
                    f"the feature {self.key!r} has {len(values)} elements, and its steps need {each} each."
                )
        longest = max(map(len, rows), default=0)
        filler = self.default.item() if self.default.size else b"" if self.dtype == STRINGS else 0
        return [values + [filler] * (longest - len(values)) for values in rows], longest // each

    def _whole(self, values: list[Any] | None, shape: Sequence[int], number: int) -> list[Any]:
        count = math.prod(shape)
        if values is None and not self.default.size and count:
            raise ValueError(
                f"the example {number} has no feature {self.key!r}: give a default_value, or leave it out."
            )
        known: list[Any] = self.default.reshape(-1).tolist() if values is None else values
        if len(known) != count:
            problem = f"has {len(known)} elements, and the shape {tuple(shape)} needs {count}."
            raise ValueError(f"the feature {self.key!r} {problem}")
        return known


def arrays_of(
    features: Sequence[Feature], examples: Sequence[Mapping[str, Any]], is_single: bool = False
) -> list[np.ndarray]:
    """The arrays of features, one after the other; see `Feature.arrays`.

    Args:
        features: the features.
        examples: for each example, its features by name.
        is_single: whether there is one example, which is no axis of the arrays.
    """
    pairs = ((feature, [one.get(feature.key) for one in examples]) for feature in features)
    return [array for feature, rows in pairs for array in feature.arrays(rows, is_single)]


# -- nodes ------------------------------------------------------------------------------------------------------------


def parse_example(
    serialized: np.ndarray,
    names: np.ndarray,
    *given: np.ndarray,
    Nsparse: int,
    Ndense: int,
    sparse_types: Sequence[Any],
    Tdense: Sequence[Any],
    dense_shapes: Sequence[Any],
) -> list[np.ndarray]:
    """The features of examples; see `parse_example_v2`.

    Args:
        serialized: the messages.
        names: are not read.
        given: the keys of sparse features, those of dense ones, and the defaults of these.
        Nsparse, Ndense: the numbers of keys.
        sparse_types, Tdense, dense_shapes: of the features.
    """
    keys, defaults = [array.item() for array in given[: Nsparse + Ndense]], given[Nsparse + Ndense :]
    return _parsed(serialized, keys[:Nsparse], sparse_types, keys[Nsparse:], Tdense, dense_shapes, defaults)


def parse_single_example(
    serialized: np.ndarray,
    *defaults: np.ndarray,
    sparse_keys: Sequence[str],
    dense_keys: Sequence[str],
    sparse_types: Sequence[Any],
    Tdense: Sequence[Any],
    dense_shapes: Sequence[Any],
) -> list[np.ndarray]:
    """The features of an example; see `parse_example_v2`."""
    return _parsed(serialized, sparse_keys, sparse_types, dense_keys, Tdense, dense_shapes, defaults)


def parse_example_v2(
    serialized: np.ndarray,
    names: np.ndarray,
    sparse_keys: np.ndarray,
    dense_keys: np.ndarray,
    ragged_keys: np.ndarray,
    *defaults: np.ndarray,
    sparse_types: Sequence[Any],
    Tdense: Sequence[Any],
    dense_shapes: Sequence[Any],
    ragged_value_types: Sequence[Any],
    ragged_split_types: Sequence[Any],
) -> list[np.ndarray]:
    """The features of examples.

    Args:
        serialized: the messages, one or a vector.
        names: are not read.
        sparse_keys, dense_keys, ragged_keys: vectors of keys.
        defaults: for each dense feature, the value of examples without it; of size 0 if there is none.
        sparse_types, Tdense, ragged_value_types: for each key its dtype; None stands for strings.
        dense_shapes: for each dense feature its shape.
        ragged_split_types: for each ragged feature the dtype of its splits.

    Returns:
        The indices of all sparse features, their values, and their shapes; the dense features; the values of the ragged
        ones, and their splits.

    Raises:
        ValueError: a message is no example, or its features are others.
    """
    found = _parsed(serialized, sparse_keys.tolist(), sparse_types, dense_keys.tolist(), Tdense, dense_shapes, defaults)
    examples = _features_of(serialized)
    features = _features(ragged_keys.tolist(), ragged_value_types)
    rows = [feature.values([example.get(feature.key) for example in examples]) for feature in features]
    values = [joined(row, feature.dtype) for row, feature in zip(rows, features, strict=True)]
    return [*found, *values, *map(splits_of, rows, ragged_split_types)]


def _features_of(serialized: np.ndarray) -> list[Mapping[str, Any]]:
    """The features of each example by name."""

    def features(data: bytes) -> Mapping[str, Any]:
        try:
            return parsed(TENSORFLOW.Example, data, "an example", "the bytes").features.feature
        except FormatError:
            raise ValueError(f"the record {data[:20]!r} is no serialised tf.train.Example.") from None

    return list(map(features, serialized.reshape(-1).tolist()))


def _features(keys: Sequence[str | bytes], dtypes: Sequence[Any], *rest: Sequence[Any]) -> list[Feature]:
    """Features of keys, dtypes, and of shapes and defaults if there are such."""
    names = [key.decode(errors="replace") if isinstance(key, bytes) else key for key in keys]
    return [Feature(*row) for row in zip(names, map(numpy_dtype, dtypes), *rest, strict=True)]


def _parsed(
    serialized: np.ndarray,
    sparse_keys: Sequence[str | bytes],
    sparse_types: Sequence[Any],
    dense_keys: Sequence[str | bytes],
    dense_types: Sequence[Any],
    dense_shapes: Sequence[Any],
    defaults: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """The indices of sparse features, their values, their shapes, and the dense features."""
    examples, is_single = _features_of(serialized), not serialized.ndim
    parts = arrays_of(_features(sparse_keys, sparse_types), examples, is_single)
    dense = arrays_of(_features(dense_keys, dense_types, dense_shapes, defaults), examples, is_single)
    return [*parts[::3], *parts[1::3], *parts[2::3], *dense]
