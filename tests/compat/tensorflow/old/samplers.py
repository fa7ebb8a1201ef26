"""Losses over drawn classes, and rows of tables for sparse ids; the draws are given, since they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

LABELS = np.array([[1, 4], [3, 5], [0, 6], [5, 1]], "int64")


def losses(tf: Any, fed: Any) -> Any:
    x, labels = fed(array(4, 3)), fed(LABELS)
    w, b = tf.get_variable("w", [7, 3]), tf.get_variable("b", [7])
    parts = [tf.get_variable(f"part{n}", [size, 3]) for n, size in enumerate((3, 2, 2))]
    drawn = tf.constant([6, 3, 1, 2], tf.int64), fed(0.1 + array(4, 2) ** 2), tf.constant([0.5, 0.7, 0.1, 0.3])
    found = []
    for loss in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss):
        found.append(loss(w, b, labels, x, 4, 7, num_true=2, sampled_values=drawn))
        found.append(loss(parts, b, labels, x, 4, 7, 2, drawn, False, "mod"))
        found.append(loss(w, b, labels, x, 4, 7, 2, drawn, remove_accidental_hits=True, partition_strategy="div"))
    return found


def hits(tf: Any, fed: Any) -> Any:
    rows, ids, weights = tf.nn.compute_accidental_hits(fed(LABELS), tf.constant([6, 3, 1, 2], tf.int64), 2)
    return [rows, ids, weights, *tf.nn.all_candidate_sampler(fed(LABELS), 2, 7, True)]


def sparse(tf: Any, fed: Any) -> Any:
    table = tf.get_variable("table", [6, 2])
    parts = [tf.get_variable(f"part{n}", [3, 2]) for n in range(2)]
    places = [[0, 0], [0, 2], [2, 1], [3, 0], [3, 1]]
    ids = tf.SparseTensor(places, tf.constant([3, 0, 5, 1, -1], tf.int64), [5, 3])
    whole = tf.SparseTensor(places, tf.constant([3, 0, 5, 1, 2], tf.int64), [4, 3])
    weights = tf.SparseTensor(places, fed(np.array([0.5, 2.0, 1.5, -1.0, 3.0], "float32"), [5]), [5, 3])
    found = []
    for combiner in ("sum", "mean", "sqrtn"):
        found.append(tf.nn.embedding_lookup_sparse(parts, whole, None, combiner=combiner))
        found.append(tf.nn.embedding_lookup_sparse(table, whole, weights, "div", None, combiner, 0.2))
        found.append(tf.nn.safe_embedding_lookup_sparse([table], ids, weights, combiner, default_id=4))
        found.append(tf.nn.safe_embedding_lookup_sparse([table], ids, combiner=combiner))
    return found


CASES = {"losses": losses, "hits": hits, "sparse": sparse}
