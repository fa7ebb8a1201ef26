"""The columns of `tf.contrib.layers`, which are those of `tf.feature_column` in other words.

Source: `tf.contrib.layers` of TensorFlow 1.15, the function of the same name.

Differs: crossed columns hash as those of `tf.feature_column`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.estimators import feature_columns
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error

SUM = "combiner='sum'"


def _column(name: str, words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: add a column, by a function of the parameters that it names."""

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        make.__name__ = name
        value(f"contrib.layers.{name}", takes(words)(make), "v1")
        return make

    return decorate


def _sums(combiner: str) -> None:
    """Refuse another way than sums to combine the weights of a linear model."""
    if combiner != "sum":
        problem = f"the combiner is 'sum', not {combiner!r}: give a linear estimator sparse_combiner."
        raise op_error(NotImplementedError, "tf.contrib.layers", problem)


@_column("real_valued_column", "column_name dimension=1 default_value=None dtype='float32' normalizer=None")
def _numeric(column_name: str, dimension: int, default_value: Any, dtype: Any, normalizer: Any) -> Any:
    """A column of numbers."""
    return feature_columns.numeric_column(column_name, (dimension,), default_value, dtype, normalizer)


@_column("sparse_column_with_keys", f"column_name keys default_value=-1 {SUM} dtype='string'")
def _listed(column_name: str, keys: Sequence[Any], default_value: int, combiner: str, dtype: Any) -> Any:
    """A column of the places of values in a list."""
    _sums(combiner)
    return feature_columns.categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)


@_column("sparse_column_with_hash_bucket", f"column_name hash_bucket_size {SUM} dtype='string'")
def _hashed(column_name: str, hash_bucket_size: int, combiner: str, dtype: Any) -> Any:
    """A column of the hashes of values."""
    _sums(combiner)
    return feature_columns.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


@_column("sparse_column_with_integerized_feature", f"column_name bucket_size {SUM} dtype='int64'")
def _numbered(column_name: str, bucket_size: int, combiner: str) -> Any:
    """A column of a feature that is an id itself."""
    _sums(combiner)
    return feature_columns.categorical_column_with_identity(column_name, bucket_size)


@_column("embedding_column", "sparse_id_column dimension combiner='mean' initializer=None trainable=True")
def _embedded(sparse_id_column: Any, dimension: int, combiner: str, initializer: Any, trainable: bool) -> Any:
    """A dense column of vectors that are trained."""
    make = feature_columns.embedding_column
    return make(sparse_id_column, dimension, combiner, initializer, trainable=trainable)


@_column("one_hot_column", "sparse_id_column")
def _indicated(sparse_id_column: Any) -> Any:
    """A dense column of how often each id comes."""
    return feature_columns.indicator_column(sparse_id_column)


@_column("bucketized_column", "source_column boundaries")
def _bucketized(source_column: Any, boundaries: Sequence[float]) -> Any:
    """A column of the buckets of numbers."""
    return feature_columns.bucketized_column(source_column, boundaries)


@_column("crossed_column", f"columns hash_bucket_size {SUM} hash_key=None")
def _crossed(columns: Sequence[Any], hash_bucket_size: int, combiner: str, hash_key: int | None) -> Any:
    """A column of the hashes of combinations of columns."""
    _sums(combiner)
    keys = [getattr(column, "key", column) for column in columns]
    return feature_columns.crossed_column(keys, hash_bucket_size, hash_key)


@_column("input_from_feature_columns", "columns_to_tensors feature_columns weight_collections=None trainable=True")
def _input(columns_to_tensors: Any, given: Any) -> Any:
    """The columns as one tensor of floats."""
    return feature_columns.input_layer(columns_to_tensors, *vars(given).values())
