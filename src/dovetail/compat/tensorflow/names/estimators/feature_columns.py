"""TensorFlow 1's functions of columns of features: the columns, and the layers that compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.estimators.columns import (
    BucketizedColumn,
    CrossedColumn,
    DenseColumn,
    EmbeddingColumn,
    IndicatorColumn,
    KeyColumn,
    NumericColumn,
    is_there,
)
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, get_collection
from dovetail.compat.tensorflow.names.strings.tables import index_table_from_tensor
from dovetail.compat.tensorflow.names.strings.tensors import called, is_text
from dovetail.compat.tensorflow.names.strings.text import STRING
from dovetail.compat.tensorflow.names.variables.initializers import TruncatedNormal, Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, variable_scope
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import static_shape
from dovetail.formats.host.arrays import each
from dovetail.formats.host.hashes import bucket

HASH_KEY = 0xDECAFCAFFE  # with which TensorFlow crosses columns


@function("feature_column.numeric_column", "v1")
def numeric_column(
    key: str, shape: Any = (1,), default_value: Any = None, dtype: Any = "float32", normalizer_fn: Any = None
) -> NumericColumn:
    """A column of numbers.

    Source: `tf.feature_column.numeric_column`.
    """
    dims = tuple(int(n) for n in (shape if hasattr(shape, "__iter__") else [shape]))
    default = None if default_value is None else np.broadcast_to(default_value, dims).tolist()
    return NumericColumn(key, dims, as_dtype(dtype), normalizer_fn, default)


@function("feature_column.bucketized_column", "v1")
def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """A column of the buckets of numbers.

    Raises:
        ValueError: the boundaries do not grow.

    Source: `tf.feature_column.bucketized_column`.
    """
    if list(boundaries) != sorted(set(boundaries)):
        raise op_error(ValueError, "tf.feature_column.bucketized_column", f"boundaries must grow, not {boundaries}.")
    return BucketizedColumn(source_column, tuple(boundaries))


@function("feature_column.categorical_column_with_identity", "v1")
def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> KeyColumn:
    """A column of a feature that is an id itself; another number is the default, or no id.

    Source: `tf.feature_column.categorical_column_with_identity`.

    Differs: without a default, a number that is no id counts as none; TensorFlow stops.
    """

    def find(x: Any) -> Any:
        x = ops.cast(x, "int64")
        is_id = ops.logical_and(ops.greater_equal(x, 0), ops.less(x, num_buckets))
        return ops.where(is_id, x, -1 if default_value is None else default_value)

    return KeyColumn(key, num_buckets, find, as_dtype("int64"))


@function("feature_column.categorical_column_with_vocabulary_list", "v1")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Sequence[Any], dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> KeyColumn:
    """A column of the places of values in a list.

    Source: `tf.feature_column.categorical_column_with_vocabulary_list`.
    """
    words = np.asarray(vocabulary_list)
    known = words if words.dtype.kind in "OSU" else words.astype("int64")

    def find(x: Any) -> Any:
        table = in_v1(index_table_from_tensor)(known, num_oov_buckets, default_value)
        return table.lookup(x if is_text(x) else ops.cast(x, "int64"))

    is_string = words.dtype.kind in "OSU"
    return KeyColumn(key, len(words) + num_oov_buckets, find, STRING if is_string else as_dtype(dtype or "int64"))


@function("feature_column.categorical_column_with_vocabulary_file", "v1")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = "string",
) -> KeyColumn:
    """A column of the places of values in the lines of a file.

    Source: `tf.feature_column.categorical_column_with_vocabulary_file`.
    """
    with open(vocabulary_file, encoding="utf-8") as file:
        words = file.read().splitlines()[:vocabulary_size]
    default = -1 if default_value is None else default_value
    return categorical_column_with_vocabulary_list(key, words, dtype, default, num_oov_buckets)


@function("feature_column.categorical_column_with_hash_bucket", "v1")
def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = "string") -> KeyColumn:
    """A column of the hashes of values.

    Source: `tf.feature_column.categorical_column_with_hash_bucket`.
    """

    def find(x: Any) -> Any:
        def hashed(values: np.ndarray) -> np.ndarray:
            buckets = each(lambda value: bucket(value, hash_bucket_size), values, dtype=np.int64)
            return np.where(is_there(values), buckets, -1)

        (ids,) = called(hashed, [x], ["int64"], [static_shape(x)], op="PyFuncStateless")
        return ids

    return KeyColumn(key, hash_bucket_size, find, STRING if is_text(None, dtype) else as_dtype(dtype))


@function("feature_column.crossed_column", "v1")
def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column of the hashes of combinations of features.

    Source: `tf.feature_column.crossed_column`.
    """
    return CrossedColumn(tuple(keys), hash_bucket_size, HASH_KEY if hash_key is None else hash_key)


@function("feature_column.indicator_column", "v1")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """A dense column of how often each id comes.

    Source: `tf.feature_column.indicator_column`.
    """
    return IndicatorColumn(categorical_column)


@function("feature_column.embedding_column", "v1")
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """A dense column of vectors that are trained.

    Source: `tf.feature_column.embedding_column`.
    """
    if ckpt_to_load_from is not None or max_norm is not None:
        problem = "ckpt_to_load_from and max_norm are not offered: use tf.train.init_from_checkpoint, tf.clip_by_norm."
        raise op_error(NotImplementedError, "tf.feature_column.embedding_column", problem)
    initializer = initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension))
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, trainable)


def _sorted(columns: Any) -> list[Any]:
    return sorted(columns if isinstance(columns, (list, tuple, set)) else [columns], key=lambda column: column.name)


def _collections(given: Any) -> list[str]:
    return [*dict.fromkeys([*(given or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES])]


@function("feature_column.input_layer", "v1")
def input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: Any = None,
    cols_to_output_tensors: Any = None,
) -> Any:
    """The floats of dense columns side by side, a row for each example.

    Raises:
        ValueError: a column is not dense.

    Source: `tf.compat.v1.feature_column.input_layer`.
    """
    outputs = []
    with variable_scope(None, default_name="input_layer"):
        for column in _sorted(feature_columns):
            if not isinstance(column, DenseColumn):
                problem = f"{column.name} is not dense: put it into an embedding_column or an indicator_column."
                raise op_error(ValueError, "tf.feature_column.input_layer", problem)
            with variable_scope(None, default_name=column.scope) as scope:
                outputs.append(column.dense(features, trainable, _collections(weight_collections)))
            _note(cols_to_vars, column, scope)
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = outputs[-1]
        return ops.concatenate(outputs, 1)


def _note(known: Any, column: Any, scope: Any) -> None:
    if known is not None:
        known[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, scope.name)


@function("feature_column.linear_model", "v1")
def linear_model(
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: Any = None,
) -> Any:
    """The weighted sum of columns, and a bias.

    Source: `tf.compat.v1.feature_column.linear_model`.
    """
    collections, total = _collections(weight_collections), None
    with variable_scope(None, default_name="linear_model"):
        for column in _sorted(feature_columns):
            with variable_scope(None, default_name=column.scope) as scope:
                part = column.weighted(features, units, sparse_combiner, trainable, collections)
            _note(cols_to_vars, column, scope)
            total = part if total is None else total + part
        bias = in_v1(get_variable)(
            "bias_weights", [units], initializer=Zeros(), trainable=trainable, collections=collections
        )
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return total + bias


@function("feature_column.make_parse_example_spec contrib.layers.create_feature_spec_for_parsing", "v1")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """The features of examples in files that columns read, for `tf.parse_example`.

    Source: `tf.feature_column.make_parse_example_spec`.
    """
    return {key: feature for column in feature_columns for key, feature in column.spec.items()}
