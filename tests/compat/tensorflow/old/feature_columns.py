"""Columns of features, with the layers that compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

NUMBERS = np.array([[0.5, -1.0], [2.0, 3.0], [10.0, 0.0]], "float32")
IDS = np.array([[1], [0], [3]], "int64")
SEVERAL = np.array([[1, 2], [0, -1], [-1, -1]], "int64")
WORDS = ["red", "blue", "green"]


def features(tf: Any, fed: Any) -> dict[str, Any]:
    words = tf.constant([["blue"], ["none"], ["green"]])
    return {"x": fed(NUMBERS, [3, 2]), "id": fed(IDS, [3, 1]), "ids": fed(SEVERAL, [3, 2]), "word": words}


def columns(tf: Any) -> dict[str, Any]:
    fc = tf.feature_column
    x = fc.numeric_column("x", shape=(2,), normalizer_fn=lambda x: x / 2.0)
    return {
        "x": x,
        "bucket": fc.bucketized_column(fc.numeric_column("x", shape=2), [0.0, 2.0, 5.0]),
        "id": fc.categorical_column_with_identity("id", 4),
        "ids": fc.categorical_column_with_identity("ids", 4),
        "word": fc.categorical_column_with_vocabulary_list("word", WORDS),
        "other": fc.categorical_column_with_vocabulary_list("word", WORDS, num_oov_buckets=2),
        "number": fc.categorical_column_with_vocabulary_list("id", [3, 1], default_value=0),
        "hash": fc.categorical_column_with_hash_bucket("word", 5),
        "number hash": fc.categorical_column_with_hash_bucket("id", 5, dtype=tf.int64),
        "cross": fc.crossed_column(["word", "id"], 7),
    }


def inputs(*names: str, wrap: str = "", **options: Any) -> Any:
    """The case of `input_layer` of some columns, each of them inside of another column."""

    def case(tf: Any, fed: Any) -> Any:
        known, fc = columns(tf), tf.feature_column
        made = [getattr(fc, wrap)(known[name], **options) if wrap else known[name] for name in names]
        return fc.input_layer(features(tf, fed), made)

    return case


def linear(*names: str, **options: Any) -> Any:
    """The case of `linear_model` of some columns."""
    return lambda tf, fed: tf.feature_column.linear_model(
        features(tf, fed), [columns(tf)[name] for name in names], **options
    )


def crossed(tf: Any, fed: Any) -> Any:
    fc, known = tf.feature_column, columns(tf)
    cross = fc.crossed_column([known["bucket"], known["id"], "word"], 11, hash_key=5)
    return fc.input_layer(features(tf, fed), fc.indicator_column(cross))


def sparse(tf: Any, fed: Any) -> Any:
    fc = tf.feature_column
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 2, 1], tf.int64), [3, 2])
    column = fc.categorical_column_with_identity("s", 3)
    found = fc.input_layer({"s": ids}, fc.embedding_column(column, 2, combiner="sqrtn"))
    return [found, fc.linear_model({"s": ids}, [column], sparse_combiner="mean")]


def noted(tf: Any, fed: Any) -> Any:
    """The variables of columns, by column, and a second layer."""
    fc, known = tf.feature_column, columns(tf)
    column, found = fc.embedding_column(known["id"], 3), {}
    first = fc.input_layer(features(tf, fed), [column], cols_to_vars=found)
    names = tf.constant([len(found[column])])
    return [first, names, fc.input_layer({"x": fed(array(3, 2))}, [known["x"], known["bucket"]])]


CASES = {
    "numeric": inputs("x"),
    "bucketized": inputs("bucket", "x"),
    **{
        f"indicator-{name}": inputs(name, wrap="indicator_column")
        for name in ("id", "word", "other", "number", "hash", "number hash", "cross", "bucket")
    },
    "embedding": inputs("id", "word", wrap="embedding_column", dimension=3),
    "embedding-sum": inputs("cross", wrap="embedding_column", dimension=2, combiner="sum"),
    "linear": linear("x", "bucket", "id", "word", "cross"),
    "linear-units": linear("x", "hash", units=3),
    "crossed": crossed,
    "sparse": sparse,
    "noted": noted,
    "not dense": inputs("id"),
}
