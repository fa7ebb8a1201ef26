"""Mathematics of sparse tensors, and labels that CTC decodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

PLACES = np.array([[0, 1], [0, 3], [2, 0], [2, 2], [2, 3]])
OTHERS = np.array([[0, 0], [0, 3], [1, 1], [2, 2]])
LENGTHS = np.array([6, 4, 2], "int32")


def _sparse(tf: Any, fed: Any, places: np.ndarray = PLACES, seed: int = 0) -> Any:
    return tf.SparseTensor(places, fed(array(len(places), seed=seed), [len(places)]), [4, 4])


def _parts(x: Any) -> list[Any]:
    return [x.indices, x.values, x.dense_shape]


def _of(compute: Callable[..., Any], *, dense: bool = False) -> Callable[[Any, Any], Any]:
    """A case: a function of one or two sparse tensors, whose values are those of a variable."""

    def case(tf: Any, fed: Any) -> Any:
        values = tf.get_variable("values", [len(PLACES)])
        x, y = tf.SparseTensor(PLACES, values, [4, 4]), _sparse(tf, fed, OTHERS, 1)
        found = compute(tf, x, y)
        return found if dense else _parts(found)

    return case


def unordered(tf: Any, fed: Any) -> Any:
    x = tf.SparseTensor(PLACES[::-1].copy(), fed(array(5), [5]), [4, 4])
    return _parts(tf.sparse_reorder(x))


def joined(tf: Any, fed: Any) -> Any:
    return _parts(tf.sparse_concat(1, [_sparse(tf, fed), _sparse(tf, fed, OTHERS, 1)]))


def extremes(tf: Any, fed: Any) -> Any:
    x, y = _sparse(tf, fed), _sparse(tf, fed, OTHERS, 1)
    return [*_parts(tf.sparse_maximum(x, y)), *_parts(tf.sparse_minimum(x, y))]


def filled(tf: Any, fed: Any) -> Any:
    found, is_empty = tf.sparse_fill_empty_rows(_sparse(tf, fed), 7.0)
    return [*_parts(found), is_empty]


def indicator(tf: Any, fed: Any) -> Any:
    x = tf.SparseTensor(PLACES, tf.constant([1, 0, 4, 4, 2]), [4, 4])
    return [tf.sparse_to_indicator(tf.cast(x, tf.int64), 6), *_parts(tf.sparse.expand_dims(x, 1))]


def distances(tf: Any, fed: Any) -> Any:
    words = [[1, 2, 3, 4], [5, 6], [7, 8, 9], [1]]
    others = [[1, 3, 4], [6, 5, 5], [7, 8, 9], []]

    def sparse(rows: list[list[int]]) -> Any:
        places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
        return tf.SparseTensor(places, tf.constant([x for row in rows for x in row]), [4, 4])

    found = tf.edit_distance(sparse(words), sparse(others))
    assert found.get_shape().as_list() in ([4], [None])
    return [found, tf.edit_distance(sparse(words), sparse(others), normalize=False)]


def decoded(tf: Any, fed: Any) -> Any:
    x, lengths = fed(3 * array(6, 3, 5), [6, 3, 5]), fed(LENGTHS, [3])
    (best,), score = tf.nn.ctc_greedy_decoder(x, lengths)
    (whole,), again = tf.nn.ctc_greedy_decoder(x, lengths, merge_repeated=False)
    beams, logs = tf.nn.ctc_beam_search_decoder(x, lengths, beam_width=20, top_paths=2)
    others, _ = tf.nn.ctc_beam_search_decoder_v2(x, lengths, 20)
    every = [best, whole, *beams, *others]
    return [part for one in every for part in _parts(one)] + [score, again, logs]


def made(tf: Any, fed: Any) -> Any:
    parts = [*_parts(tf.sparse.eye(3)), *_parts(tf.sparse.eye(2, 4, tf.int32))]
    rows = [tf.ragged.range([2, 1, -1]), tf.ragged.range(fed(np.int32([1, 5]), [2]), [8, 1], [3, -2])]
    return [*parts, *(part for row in [*rows, tf.ragged.range([0.5, 2.0], 3.0)] for part in _parts_of_rows(row))]


def _parts_of_rows(x: Any) -> list[Any]:
    return [x.flat_values, x.row_splits, x.row_lengths(), x.value_rowids()]


def mapped(tf: Any, fed: Any) -> Any:
    x = _sparse(tf, fed)
    maps = tf.compat.v2.sparse.map_values
    both = maps(lambda a, b, add: a * b + add, x, x, add=tf.constant(1.0))
    return _parts(maps(tf.square, x)) + _parts(both)


def merged(tf: Any, fed: Any) -> Any:
    ids = tf.SparseTensor(PLACES, tf.constant([1, 0, 4, 4, 2], tf.int64), [4, 4])
    values = _sparse(tf, fed)
    both = tf.sparse_merge([ids, ids], values, [6, 5])
    return [*_parts(tf.sparse_merge(ids, values, 6)), *_parts(both)]


def reduced(tf: Any, fed: Any) -> Any:
    """Reductions that TensorFlow cannot differentiate."""
    x = _sparse(tf, fed)
    low = tf.SparseTensor(PLACES, fed(-1 - array(5) ** 2, [5]), [4, 4])
    return [
        *(tf.sparse_reduce_max(one, axis) for one in (x, low) for axis in (0, [1])),
        tf.sparse_reduce_max(x, 1, keep_dims=True),
        tf.sparse_reduce_max(x),
    ]


def reduced_sparse(tf: Any, fed: Any) -> Any:
    x = _sparse(tf, fed)
    sums = [tf.sparse_reduce_sum_sparse(x, 0), tf.sparse_reduce_sum_sparse(x, -1, keep_dims=True)]
    return [part for one in [*sums, tf.sparse_reduce_max_sparse(x, [1])] for part in _parts(one)]


CASES = {
    "made": made,
    "reduced": reduced,
    "reduced_sparse": reduced_sparse,
    "mapped": mapped,
    "unordered": unordered,
    "retained": _of(lambda tf, x, y: tf.sparse_retain(x, tf.constant([True, False, False, True, True]))),
    "transposed": _of(lambda tf, x, y: tf.sparse_transpose(x)),
    "transposed_by": _of(lambda tf, x, y: tf.sparse.transpose(x, [0, 1])),
    "reshaped": _of(lambda tf, x, y: tf.sparse_reshape(x, [2, -1, 2])),
    "softmax": _of(lambda tf, x, y: tf.sparse_softmax(x)),
    "total": _of(lambda tf, x, y: tf.sparse_reduce_sum(x), dense=True),
    "sums": _of(lambda tf, x, y: tf.sparse_reduce_sum(x, 1, keep_dims=True), dense=True),
    "smaller": _of(lambda tf, x, y: tf.sparse_reset_shape(tf.sparse_slice(x, [0, 0], [3, 3]))),
    "larger": _of(lambda tf, x, y: tf.sparse_reset_shape(x, [5, 6])),
    "parts": lambda tf, fed: [
        part for one in tf.sparse_split(sp_input=_sparse(tf, fed), num_split=3, axis=1) for part in _parts(one)
    ],
    "merged": merged,
    "sum": _of(lambda tf, x, y: tf.sparse_add(x, y)),
    "sum_above": _of(lambda tf, x, y: tf.sparse_add(x, y, thresh=0.9)),
    "sum_dense": _of(lambda tf, x, y: tf.sparse_add(x, tf.ones([4, 4])), dense=True),
    "extremes": extremes,
    "joined": joined,
    "cut": _of(lambda tf, x, y: tf.sparse_slice(x, [1, 2], [2, 5])),
    "filled": filled,
    "indicator": indicator,
    "distances": distances,
    "decoded": decoded,
}
# The number of elements depends on their values, and jax compiles nothing for such sizes.
REFUSED = dict.fromkeys(("retained", "sum_above", "decoded", "parts", "smaller", "reduced_sparse"), ("jax",))
