"""The features of messages `tf.train.Example` and `SequenceExample` as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.formats.host.arrays import STRINGS, joined, sparse

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
