"""TensorFlow 1's columns of features: how a dict of tensors becomes the input of a network, or a linear model.

A categorical column makes ids of its feature, a matrix with a row for each example.  -1 is no id.  A dense
column makes a matrix of floats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.array.shapes import expand_dims
from dovetail.compat.tensorflow.names.array.sparse import to_dense
from dovetail.compat.tensorflow.names.io.records import FixedLenFeature, VarLenFeature
from dovetail.compat.tensorflow.names.strings.tensors import called, is_text
from dovetail.compat.tensorflow.names.strings.text import STRING
from dovetail.compat.tensorflow.names.variables.initializers import Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import is_of_strings
from dovetail.core.values.value_kinds import static_shape
from dovetail.formats.host.arrays import each
from dovetail.formats.host.hashes import fingerprint64
from dovetail.ops.shapes.shape import dims_of

MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)  # of TensorFlow's FingerprintCat64


def _feature(features: Any, key: str) -> Any:
    """A feature, a row for each example; a missing number of a sparse one is -1 or empty."""
    if key not in features:
        raise op_error(
            ValueError, "tf.feature_column", f"there is no feature {key!r}; there are {', '.join(features)}."
        )
    feature = features[key]
    if hasattr(feature, "indices") and hasattr(feature, "dense_shape"):
        is_string = is_of_strings(getattr(feature.values, "dtype", None))
        return in_v1(to_dense)(feature, "" if is_string else -1)
    values = feature if is_text(feature) else ops.convert(feature)
    return expand_dims(values, -1) if len(static_shape(values)) == 1 else values


class Column:
    """The base of columns.

    Attributes:
        name: the name, which orders columns and names their variables.
    """

    name: str

    @property
    def scope(self) -> str:
        """The scope of its variables."""
        return re.sub("[^a-zA-Z0-9._/-]", "_", self.name)

    @property
    def spec(self) -> dict[str, Any]:
        """The features of examples in files that it reads, by their keys."""
        raise NotImplementedError


class DenseColumn(Column):
    """A column that makes floats.

    Attributes:
        size: the number of floats of an example.
    """

    size: int

    def dense(self, features: Any, trainable: bool, collections: Any) -> Any:
        """The floats, a row for each example."""
        raise NotImplementedError

    def weighted(self, features: Any, units: int, combiner: str, trainable: bool, collections: Any) -> Any:
        """The part of the column in a linear model."""
        x = self.dense(features, trainable, collections)
        return ops.matmul(x, _weights([self.size, units], trainable, collections))


class CategoricalColumn(Column):
    """A column that makes ids.

    Attributes:
        count: the number of ids.
    """

    count: int

    def ids(self, features: Any) -> Any:
        """The ids, int64 (examples, ids of an example); -1 is no id."""
        raise NotImplementedError

    def weighted(self, features: Any, units: int, combiner: str, trainable: bool, collections: Any) -> Any:
        """The part of the column in a linear model."""
        return _combined(self.ids(features), _weights([self.count, units], trainable, collections), combiner)


def _weights(shape: Sequence[int], trainable: bool, collections: Any) -> Any:
    initializer = Zeros()
    made = in_v1(get_variable)
    return made("weights", shape, initializer=initializer, trainable=trainable, collections=collections)


def _combined(ids: Any, table: Any, combiner: str) -> Any:
    """The rows of ids, summed for each example, or divided by their number or its root; 0 where there is no id."""
    counts = ops.cast(ops.greater_equal(ids, 0), table.dtype)
    rows = ops.take(table, ops.maximum(ids, 0), axis=0) * ops.expand_dims(counts, -1)
    total, number = ops.sum(rows, 1), ops.sum(counts, 1, keepdims=True)
    by = {"sum": None, "mean": number, "sqrtn": ops.sqrt(number)}
    if combiner not in by:
        problem = f'combiner is "sum", "mean" or "sqrtn", not {combiner!r}.'
        raise op_error(ValueError, "tf.feature_column", problem)
    divisor = by[combiner]
    return total if divisor is None else ops.divide_no_nan(total, divisor)


# -- columns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumericColumn(DenseColumn):
    """Numbers of a feature."""

    key: str
    shape: tuple[int, ...]
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None
    default_value: Any = None

    @property
    def spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.key

    @property
    def size(self) -> int:  # type: ignore[override]
        return math.prod(self.shape)

    def dense(self, features: Any, trainable: bool = True, collections: Any = None) -> Any:
        """The numbers, normalized if the column says how."""
        x = ops.cast(_feature(features, self.key), "float32")
        x = x if self.normalizer_fn is None else self.normalizer_fn(x)
        return ops.reshape(x, [dims_of(x)[0], self.size])


@dataclass(frozen=True, eq=False)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers by the buckets between boundaries."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def spec(self) -> dict[str, Any]:
        return self.source_column.spec

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.source_column.name}_bucketized"

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.source_column.size * (len(self.boundaries) + 1)

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.size

    def ids(self, features: Any) -> Any:
        """The bucket of each number; each number has buckets of its own, in order."""
        x = self.source_column.dense(features)
        bounds = np.asarray(self.boundaries, "float32")
        buckets = ops.sum(ops.cast(ops.greater_equal(ops.expand_dims(x, -1), bounds), "int64"), -1)
        return buckets + np.arange(self.source_column.size) * (len(self.boundaries) + 1)

    def dense(self, features: Any, trainable: bool = True, collections: Any = None) -> Any:
        """The buckets as zeros and ones."""
        return ops.sum(ops.one_hot(self.ids(features), self.size, dtype="float32"), 1)

    def weighted(self, *given: Any) -> Any:
        """The part of the column in a linear model."""
        return CategoricalColumn.weighted(self, *given)


@dataclass(frozen=True, eq=False)
class KeyColumn(CategoricalColumn):
    """Ids of a feature."""

    key: str
    count: int
    find: Callable[[Any], Any]
    dtype: Any

    @property
    def spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.key

    def ids(self, features: Any) -> Any:
        """The ids of the feature."""
        return self.find(_feature(features, self.key))


@dataclass(frozen=True, eq=False)
class CrossedColumn(CategoricalColumn):
    """Ids of the pairs, triples … of several features."""

    keys: tuple[Any, ...]
    count: int
    hash_key: int

    @property
    def spec(self) -> dict[str, Any]:
        specs = [{one: VarLenFeature(STRING)} if isinstance(one, str) else one.spec for one in self.leaves]
        return {key: feature for spec in specs for key, feature in spec.items()}

    @property
    def leaves(self) -> list[Any]:
        """The columns and keys that are crossed, also inside of crossed columns."""
        return [leaf for key in self.keys for leaf in (key.leaves if isinstance(key, CrossedColumn) else [key])]

    @property
    def name(self) -> str:  # type: ignore[override]
        return "_X_".join(sorted(leaf if isinstance(leaf, str) else leaf.name for leaf in self.leaves))

    def ids(self, features: Any) -> Any:
        """The bucket of each combination of values."""
        leaves = sorted(self.leaves, key=lambda leaf: isinstance(leaf, str))  # TensorFlow's order
        values = [_feature(features, leaf) if isinstance(leaf, str) else leaf.ids(features) for leaf in leaves]
        (ids,) = called(self._crossed, values, ["int64"], [(None, None)], op="PyFuncStateless")
        return ids

    def _crossed(self, *columns: np.ndarray) -> np.ndarray:
        hashes = [_hashes(column) for column in columns]
        present = [is_there(column) for column in columns]
        rows = len(columns[0])
        mixed, whole = np.full((rows, 1), self.hash_key, np.uint64), np.ones((rows, 1), bool)
        for own, there in zip(hashes, present, strict=True):
            mixed = _joined(mixed[:, :, None], own[:, None, :]).reshape(rows, -1)
            whole = (whole[:, :, None] & there[:, None, :]).reshape(rows, -1)
        return np.where(whole, (mixed % np.uint64(self.count)).astype(np.int64), -1)


def is_there(column: np.ndarray) -> np.ndarray:
    """Whether each value is one, not an empty text or a negative number."""
    return column != b"" if column.dtype == object else column >= 0


def _hashes(column: np.ndarray) -> np.ndarray:
    if column.dtype != object:
        return column.astype(np.int64).astype(np.uint64)
    return each(fingerprint64, column, dtype=np.uint64)


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The fingerprint of two fingerprints.

    Source: `FingerprintCat64` of TensorFlow.
    """

    def mixed(value: np.ndarray) -> np.ndarray:
        return value ^ (value >> np.uint64(47))

    with np.errstate(over="ignore"):
        result = first ^ MULTIPLIER
        result = (result ^ (mixed(second * MULTIPLIER) * MULTIPLIER)) * MULTIPLIER
        return mixed(mixed(result) * MULTIPLIER)


@dataclass(frozen=True, eq=False)
class IndicatorColumn(DenseColumn):
    """How often each id comes."""

    categorical_column: Any

    @property
    def spec(self) -> dict[str, Any]:
        return self.categorical_column.spec

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.categorical_column.name}_indicator"

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.categorical_column.count

    def dense(self, features: Any, trainable: bool = True, collections: Any = None) -> Any:
        """The number of times that each id comes."""
        return ops.sum(ops.one_hot(self.categorical_column.ids(features), self.size, dtype="float32"), 1)


@dataclass(frozen=True, eq=False)
class EmbeddingColumn(DenseColumn):
    """Vectors of ids, which are trained."""

    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    trainable: bool

    @property
    def spec(self) -> dict[str, Any]:
        return self.categorical_column.spec

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.categorical_column.name}_embedding"

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.dimension

    def dense(self, features: Any, trainable: bool = True, collections: Any = None) -> Any:
        """The combined vectors of the ids."""
        table = in_v1(get_variable)(
            "embedding_weights",
            [self.categorical_column.count, self.dimension],
            initializer=self.initializer,
            trainable=self.trainable and trainable,
            collections=collections,
        )
        return _combined(self.categorical_column.ids(features), table, self.combiner)
